"""Every test has keys and trusted authors of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kompono.sealed import keys


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of keys and trust."""
    folder = tmp_path / "config"
    monkeypatch.setenv("KOMPONO_CONFIG", str(folder))
    return folder


@pytest.fixture
def me(config: Path) -> keys.Identity:
    """My own key."""
    return keys.make("Ada")
