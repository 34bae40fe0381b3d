"""Whether a step of the discrete engine is stable: the fastest motion of everything that pushes and damps.

Small changes d of the positions and speeds of a state change its accelerations by -S d and -D d. A step is stable where
h^2 S + 4 h D has no eigenvalue above 4. The largest is found by power iteration with the native routines themselves, so
springs and dampers of the model, contacts and controllers count as well as links. Differences are taken between small
and twice as small changes, not from the state itself: a law that jumps right there (friction at rest) is not stiff.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.solve.stiffness import LIMIT, LinkTable

ROUNDS = 80
SMALL = 1e-7  # of a change: metres, radians


@dataclass(frozen=True)
class FastestMode:
    """The fastest motion: its size h^2 s + 4 h d (4 is the limit), s [1/s^2], d [1/s] and its shape (speeds)."""

    size: float
    stiffness: float
    damping: float
    shape: np.ndarray

    @property
    def stable(self) -> bool:
        """Whether the step holds, as far as this state tells."""
        return not self.size > LIMIT

    def step(self, share: float = 0.7) -> float:
        """A step [s] that is stable for this motion: `share` of the limit."""
        s, d = max(self.stiffness, 0.0), max(self.damping, 0.0)
        if s == 0:
            return share / d if d else np.inf
        return share * (np.sqrt(4 * d**2 + LIMIT * s) - 2 * d) / s


def fastest(
    kernel: Any, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float
) -> list[FastestMode]:
    """Power iteration at the states (runs, n) of several runs with parameters (runs, p) of their own."""
    program, runs = kernel.program, len(states)
    start, count = len(program.coordinates), len(program.speeds)
    speeds = slice(start, start + count)
    times, fed = np.full(runs, time), np.broadcast_to(inputs, (runs, len(program.inputs)))

    def asked(routine: str, y: np.ndarray) -> np.ndarray:
        return kernel.map(routine, times, y, fed, parameters)

    def moved(change: np.ndarray) -> np.ndarray:
        y = states.copy()
        y[:, speeds] = change
        y = asked("drift", y)
        y[:, speeds] = states[:, speeds]
        return y

    def faster(change: np.ndarray) -> np.ndarray:
        y = states.copy()
        y[:, speeds] += change
        return y

    shape = np.tile(np.random.default_rng(0).standard_normal(count), (runs, 1))
    size, s, d, going = np.zeros(runs), np.zeros(runs), np.zeros(runs), np.full(runs, True)
    for _ in range(ROUNDS):
        shape = shape / np.abs(shape).max(axis=1, keepdims=True, initial=1e-300)
        small = SMALL * shape
        pushed, damped = ((asked("kick", y(small)) - asked("kick", y(2 * small))) / SMALL for y in (moved, faster))
        change = step**2 * pushed + 4 * step * damped
        going &= np.isfinite(change).all(axis=1) & change.any(axis=1)
        if not going.any():
            break
        length = _dot(shape, shape)
        for values, new in (
            (size, np.sqrt(_dot(change, change) / length)),
            (s, _dot(shape, pushed) / length),
            (d, _dot(shape, damped) / length),
        ):
            values[going] = new[going]
        shape[going] = change[going]
    shape = shape / np.abs(shape).max(axis=1, keepdims=True, initial=1e-300)
    return [FastestMode(float(size[k]), float(s[k]), float(d[k]), shape[k]) for k in range(runs)]


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of rows (runs,)."""
    return np.einsum("ri,ri->r", a, b)


def shares(
    table: LinkTable, stiffness: np.ndarray, damping: np.ndarray, size: float, shapes: np.ndarray, step: float
) -> dict[str, float]:
    """How much of a motion's push and damping comes from each link of one run, by path; what is missing to 1 is the
    model's.

    `shapes` (bodies, 6) is the motion in body axes, `size` that of `FastestMode`.
    """
    relative = np.zeros(len(stiffness))
    for first, body, (block,) in table.blocks:
        relative[first : first + len(block)] += block @ shapes[body]
    work = (step**2 * stiffness + 4 * step * damping) * relative**2
    total = size * float(np.einsum("bi,bij,bj->", shapes, np.linalg.inv(table.weights[0]), shapes))
    paths = np.repeat([path for path, _ in table.groups], [count for _, count in table.groups])
    return {path: float(work[paths == path].sum() / max(total, 1e-300)) for path in dict.fromkeys(paths.tolist())}
