"""Tests have keys and trusted authors of their own; translated models are shared by the tests of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kompono.sealed import keys


@pytest.fixture(scope="module", autouse=True)
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of keys and trust."""
    folder, before = tmp_path_factory.mktemp("config"), os.environ.get("KOMPONO_CONFIG")
    os.environ["KOMPONO_CONFIG"] = str(folder)
    yield folder
    if before is None:
        del os.environ["KOMPONO_CONFIG"]
    else:
        os.environ["KOMPONO_CONFIG"] = before


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> keys.Identity:
    """An author nobody trusts: the key of another user."""
    own, folder = os.environ["KOMPONO_CONFIG"], tmp_path_factory.mktemp("stranger")
    os.environ["KOMPONO_CONFIG"] = str(folder)
    try:
        return keys.make("Mallory")
    finally:
        os.environ["KOMPONO_CONFIG"] = own
