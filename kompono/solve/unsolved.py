"""Whether rates that are no numbers are those of a network whose equations could not be solved: looked for between the
last good state and where a step would lead, and named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

HALVINGS = 30


def unsolved(
    kernel: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float
) -> str:
    """Paths of networks whose iteration does not end at or shortly after a state, in words; empty if that is not it."""
    if not kernel.program.iterated:
        return ""

    def done(share: float) -> np.ndarray:
        at, there = time + share * step, state + share * step * ahead
        return kernel.evaluate("iterated", at, there, inputs, parameters)[0] == 1.0

    ahead = np.zeros_like(state)
    found = done(0.0)
    if found.all():
        rates = kernel.evaluate("derivative", time, state, inputs, parameters)[0]
        if not np.all(np.isfinite(rates)):
            return ""
        ahead[: len(rates)] = rates
        shares = [1.0, 0.5, *(0.5**k for k in range(2, HALVINGS))]
        found = next((some for share in shares if not (some := done(share)).all()), found)
    names = [name for name, ok in zip(kernel.program.iterated, found, strict=True) if not ok]
    if not names:
        return ""
    return f"{', '.join(names)}: no solution of its equations is found (Newton's iteration does not end)"
