"""All that a native run needs to go on, as numbers that a file can keep, and back into a run of another process.

A run leaves everything in its block and its memory (`block.py`), so these two are the snapshot: without addresses,
which mean nothing elsewhere, and without the workspace, which means nothing from one evaluation to the next. Records
are not part of it; whoever takes a snapshot takes them first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kompono.compile.block import LASTING, OF_STATE, PASSING
from kompono.compile.run import EVENTS, Run
from kompono.errors import RunError


def snapshot(run: Any) -> tuple[dict[str, float], np.ndarray]:
    """The fields of a run by name, and its vectors in one; a run on several processes knows how (`share_of`)."""
    if not isinstance(run, Run):
        return run.snapshot()
    fields = {name: getattr(run._block, name) for name in LASTING}
    return fields, np.concatenate([run._vector(name) for name in _vectors(run)])


def recall(run: Any, fields: Mapping[str, float], vectors: np.ndarray, events: np.ndarray) -> None:
    """Let a run be where another of the same program and method was; `events` (n, 2) are all it had until then."""
    if not isinstance(run, Run):
        run.recall(fields, vectors)
        return
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
    return [name for name in run._places if name not in (*PASSING, "sampling")]


# -- of a run whose state several processes have parts of: what all have alike is kept once

_SHARED = OF_STATE[:-2]  # tolerances are those of the process


def share_of(run: Run) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Fields, what is the same in all processes in one, and the vectors of this one's part of the state, one a row."""
    fields = {name: getattr(run._block, name) for name in LASTING}
    alike = [run._vector(name) for name in _alike(run)]
    return fields, np.concatenate([np.zeros(0), *alike]), np.array([run._vector(name) for name in _SHARED])


def recall_share(run: Run, fields: Mapping[str, float], vectors: np.ndarray, whole: int, places: np.ndarray) -> None:
    """Let a run be where another was, of which `vectors` are what all have alike and then those of the `whole` state;
    this one's part of it is at `places`.
    """
    sizes = [run._places[name][1] for name in _alike(run)]
    alike, states = np.split(vectors, [sum(sizes)])
    if len(states) != whole * len(_SHARED) or set(fields) != set(LASTING):
        raise RunError("what was kept of the run does not fit this model.")
    for name, part in zip(_alike(run), np.split(alike, np.cumsum(sizes)[:-1]), strict=True):
        run._vector(name)[:] = part
    for name, state in zip(_SHARED, states.reshape(len(_SHARED), whole), strict=True):
        run._vector(name)[:] = state[places]
    for name, value in fields.items():
        setattr(run._block, name, value)


def _alike(run: Run) -> list[str]:
    return [name for name in _vectors(run) if name not in OF_STATE]
