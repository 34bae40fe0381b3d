"""Certificates are made once for all tests here; without gRPC there is nothing to test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("GRPC_VERBOSITY", "NONE")
pytest.importorskip("grpc", reason="remote parts need the extra kompono[remote]")
pytest.importorskip("cryptography", reason="remote parts need the extra kompono[remote]")

from remote.support import Papers


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers(tmp_path_factory.mktemp("papers") / "ada")


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    """Of another authority that uses the same names."""
    return Papers(tmp_path_factory.mktemp("papers") / "eve")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"
