"""Let the loop of a run ask Python callables at their instants (see `solve/asking.py`)."""

from __future__ import annotations

import ctypes
from typing import Any

from kompono.compile.run import Run


def listen(run: Run, asking: Any) -> None:
    """Tell the loop whom to call, and the callables where to read and answer; they live as long as the run."""
    run.asking = asking
    asking.listen(run._vector("reads"), run._vector("corrected"))
    run._block.ask = ctypes.cast(asking.native, ctypes.c_void_p).value
