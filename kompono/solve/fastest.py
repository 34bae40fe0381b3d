"""The fastest motion at a state: the largest eigenvalue of the rate, found by power iteration on differences of it.

It tells how short an explicit step must be (about two divided by it), and whose coordinate it is tells where to look: a
body with next to no inertia, a spring far too stiff.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ROUNDS = 40
MEAN = 8
SMALL = 1e-7  # of a change: metres, radians


@dataclass(frozen=True)
class Fastest:
    """The speed that takes part most, and how fast the motion is [1/s]."""

    name: str
    rate: float


def fastest_motion(kernel: Any, time: float, state: np.ndarray, inputs: Any, parameters: np.ndarray) -> Fastest | None:
    """The fastest motion near a state, or None where the rate is not finite or nothing moves."""
    program = kernel.program
    if "derivative" not in program.routines or not len(program.speeds):
        return None
    first = len(program.coordinates)
    modes = first + len(program.speeds)
    states = modes + len(program.modes)
    places = [*range(first, modes), *range(states, states + len(program.states))]
    names = [*program.speeds, *program.states]
    still = [*range(modes, states), *range(states + len(program.states), len(state))]  # modes do not move, nor handles

    def rate(y: np.ndarray) -> np.ndarray:
        return kernel.evaluate("derivative", time, y, inputs, parameters)[0]

    base, change = rate(state), np.random.default_rng(0).standard_normal(len(state))
    change[still] = 0.0
    growth: list[float] = []
    for _ in range(ROUNDS):
        change /= np.abs(change).max()
        after = (rate(state + SMALL * change) - base) / SMALL
        after[still] = 0.0
        largest = float(np.abs(after).max())
        if not np.isfinite(largest) or largest == 0:
            break
        growth.append(largest)  # position and speed take turns: only their mean over an even number tells
        change = after
    if len(growth) < MEAN:
        return None
    where = names[int(np.argmax(np.abs(change[places])))]
    return Fastest(
        (where.rpartition(".")[0] or where).removesuffix(".free"), float(np.exp(np.mean(np.log(growth[-MEAN:]))))
    )
