"""Where a number went wrong: run the derivative kernel by kernel and name the component of the first that is not
finite.
"""

from __future__ import annotations

import numpy as np

from kompono.translate.program import TableRoutine
from kompono.translate.translate import Translation


def diagnose(
    translation: Translation, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float
) -> str:
    """Path of the component whose kernel first gives NaN or infinity at or shortly after the last good state."""
    if isinstance(translation.program.routines["derivative"], TableRoutine):
        return ""  # one kernel call per component in Python would take too long
    if translation.program.laws:
        return ""  # their forces are not to be had kernel by kernel
    routine = translation.make_engine(True).derivative()
    kernels = translation.program.kernels
    size = len(state)

    def first_bad(t: float, y: np.ndarray) -> tuple[str, np.ndarray]:
        work = np.zeros(routine.workspace)
        given = np.concatenate([[t], y, inputs, parameters])
        work[: len(given)] = given
        for call in routine.calls:
            values = kernels[call.kernel](work[list(call.inputs)]).full().ravel()
            work[list(call.outputs)] = values
            if not np.all(np.isfinite(values)):
                return call.path or "model", np.zeros(size)
        return "", np.array([work[s] if isinstance(s, int) else s for s in routine.result[0]])

    place, rate = first_bad(time, state)
    for share in (1e-6, 0.25, 0.5, 0.75, 1.0):
        if place:
            return place
        place, _ = first_bad(time + share * step, state + share * step * rate)
    return place
