"""Files of tests, written where a test wants them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a text (or bytes) as a file and give its path."""

    def write(content: str | bytes, name: str = "robot.urdf") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
