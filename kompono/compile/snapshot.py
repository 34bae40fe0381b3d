"""All that a native run needs to go on, as numbers that a file can keep, and back into a run of another process.

A run leaves everything in its block and its memory (`block.py`), so these two are the snapshot: without addresses,
which mean nothing elsewhere, and without the workspace, which means nothing from one evaluation to the next. Records
are not part of it; whoever takes a snapshot takes them first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kompono.compile.block import LASTING, PASSING
from kompono.compile.run import EVENTS, Run
from kompono.errors import RunError


def snapshot(run: Run) -> tuple[dict[str, float], np.ndarray]:
    """The fields of a run by name, and its vectors in one."""
    fields = {name: getattr(run._block, name) for name in LASTING}
    return fields, np.concatenate([run._vector(name) for name in _vectors(run)])


def recall(run: Run, fields: Mapping[str, float], vectors: np.ndarray, events: np.ndarray) -> None:
    """Let a run be where another of the same program and method was; `events` (n, 2) are all it had until then."""
    names = _vectors(run)
    sizes = [run._places[name][1] for name in names]
    if len(vectors) != sum(sizes) or set(fields) != set(LASTING) or (len(events) and not run._guards):
        raise RunError("what was kept of the run does not fit this model.")
    for name, part in zip(names, np.split(vectors, np.cumsum(sizes)[:-1]), strict=True):
        run._vector(name)[:] = part
    for name, value in fields.items():
        setattr(run._block, name, value)
    if run._guards:
        run._set_log(np.concatenate([events.reshape(-1, 2), np.zeros((EVENTS + run._guards, 2))]))
    run._block.log_rows = len(events)


def _vectors(run: Run) -> list[str]:
    return [name for name in run._places if name not in PASSING]
