"""Let the loop of a run ask Python callables at their instants (see `solve/asking.py`); tell it other parameters."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from kompono.compile.run import Run, vector


def listen(run: Run, asking: Any) -> None:
    """Tell the loop whom to call, and the callables where to read and answer; they live as long as the run."""
    run.asking = asking
    asking.listen(run._vector("reads"), run._vector("corrected"))
    run._block.ask = ctypes.cast(asking.native, ctypes.c_void_p).value


def set_parameters(run: Run, values: np.ndarray) -> None:
    """Go on with other parameters."""
    run._parameters[:] = vector("parameters", values, run._parameters.size)
    run._block.history = run._block.checked = run._block.rated = 0
