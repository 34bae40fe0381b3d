"""`kompono.resume`: go on with a run from its file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kompono.keeping import resume_request
from kompono.model.subsystem import Subsystem
from kompono.result import Result
from kompono.single import simulate


def resume(model: Subsystem, file: str | Path, **options: Any) -> Result:
    """Go on with the run of a model that was interrupted or killed, from the HDF5 file it has written as it went
    (`hdf5` of `simulate`), with the options it was begun with.

    `options` are those of `simulate` that a file cannot keep (inputs, watcher, progress); others must be the same. The
    result is that of a run that was never interrupted, and in the file. Bit by bit for the native methods, RK23, RK45
    and DOP853; to their tolerances for Radau, BDF and LSODA.
    """
    return simulate(model, **{**resume_request(file), **options}, resume=file)
