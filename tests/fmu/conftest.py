"""FMUs of small models, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fmu.fmu_models import Latch

from kompono import Subsystem, export_fmu

HERE = "x86_64-linux"


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The FMU of a model class, by version and options."""
    folder, made = tmp_path_factory.mktemp("fmus"), {}

    def make(model: type[Subsystem], version: int = 3, **options: Any) -> Path:
        key = model.__name__, version, repr(sorted(options.items()))
        if key not in made:
            path = folder / f"{model.__name__}{version}-{len(made)}.fmu"
            export_fmu(model(), path, fmi=version, platforms=HERE, **options)
            made[key] = path
        return made[key]

    return make


@pytest.fixture(scope="session", params=[2, 3])
def latch(request: pytest.FixtureRequest, exported: Callable[..., Path]) -> Path:
    """The latch, in both versions."""
    return exported(Latch, request.param)
