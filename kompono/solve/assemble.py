"""A consistent start: close the loops from the user's guess, on coordinates and on speeds.

Gauss-Newton on g(q) = 0 with least-norm steps. What the user gave stays fixed if the loops can be closed without
moving it; only otherwise everything may move. Speeds follow by one linear solve. What cannot be satisfied is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.errors import AssemblyError

TOLERANCE = 1e-9  # what counts as closed, in the units of the conditions
RANK = 1e-8  # singular values below this, relative to the largest, count as zero


@dataclass(frozen=True)
class Assembly:
    """The consistent state and the names of the coordinates and speeds that had to move, with their changes."""

    state: np.ndarray
    moved: dict[str, float]
    degrees_of_freedom: int


def assemble(
    kernel: Any,
    time: float,
    state: np.ndarray,
    inputs: np.ndarray,
    parameters: np.ndarray,
    *,
    given_coordinates: np.ndarray,
    given_speeds: np.ndarray,
    rows: Sequence[str],
) -> Assembly:
    """Close all loops at `time`; `rows` names the element each condition belongs to."""
    loops = _Loops(kernel, time, inputs, parameters, rows)
    guess = state
    if rows:
        state = loops.close(state, ~holding(given_coordinates, loops, state))
        state = loops.match_speeds(state, ~given_speeds)
        loops.check_accelerations(state)
    names = (*kernel.program.coordinates, *kernel.program.speeds)
    moved = {n: float(b - a) for n, a, b in zip(names, guess, state, strict=True) if abs(b - a) > 1e-10}
    return Assembly(state, moved, loops.nv - loops.rank(state))


def holding(given_coordinates: np.ndarray, loops: _Loops, state: np.ndarray) -> np.ndarray:
    """Which speeds move given coordinates: found from q_dot = N v, one unit speed at a time."""
    held = np.zeros(loops.nv, dtype=bool)
    for k in range(loops.nv):
        unit = np.zeros(loops.nv)
        unit[k] = 1.0
        held[k] = bool(np.any((np.abs(loops.coordinate_rate(state, unit)) > 1e-12) & given_coordinates))
    return held


class _Loops:
    def __init__(
        self, kernel: Any, time: float, inputs: np.ndarray, parameters: np.ndarray, rows: Sequence[str]
    ) -> None:
        self.kernel, self.time, self.inputs, self.parameters, self.rows = kernel, time, inputs, parameters, rows
        self.nq, self.nv = len(kernel.program.coordinates), len(kernel.program.speeds)

    def evaluate(self, routine: str, state: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.kernel.evaluate(routine, self.time, state, self.inputs, self.parameters)

    def closure(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        g, g_dot, matrix, bias, *_ = self.evaluate("closure", state)
        return g, g_dot, matrix.reshape(self.nv, len(g)).T, bias

    def rank(self, state: np.ndarray) -> int:
        """Number of independent conditions."""
        matrix = self.closure(state)[2]
        if not matrix.any():
            return 0
        return int(np.linalg.matrix_rank(matrix, tol=RANK * np.linalg.norm(matrix, 2)))

    def coordinate_rate(self, state: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        moving = np.concatenate([state[: self.nq], speeds])
        return self.evaluate("rates", moving)[0]

    def close(self, state: np.ndarray, free: np.ndarray) -> np.ndarray:
        for movable in (free, np.ones(self.nv, dtype=bool)):
            if not movable.any():
                continue
            closed, gap = self._newton(state.copy(), movable)
            if gap <= TOLERANCE:
                return closed
        g = self.closure(closed)[0]
        worst = self.rows[int(np.argmax(np.abs(g)))]
        also = sorted({self.rows[int(i)] for i in np.flatnonzero(np.abs(g) > 0.1 * np.abs(g).max())} - {worst})
        raise AssemblyError(
            f"the loop cannot be closed; a gap of {np.abs(g).max():.3g} remains"
            + (f" (and at {', '.join(also)})" if also else "")
            + ".",
            path=worst,
            fix="Check the joint positions and drives of this loop, or give start values near an assembled position.",
        )

    def _newton(self, state: np.ndarray, movable: np.ndarray) -> tuple[np.ndarray, float]:
        g, _, matrix, _ = self.closure(state)
        gap = float(np.abs(g).max(initial=0.0))
        for _ in range(100):
            if gap < 1e-15:
                break
            step = np.zeros(self.nv)
            step[movable] = -np.linalg.lstsq(matrix[:, movable], g, rcond=RANK)[0]
            share = min(1.0, 1.0 / max(np.abs(step).max(), 1e-300))
            while True:
                trial = state.copy()
                trial[: self.nq] += self.coordinate_rate(state, share * step)
                g_new, _, matrix_new, _ = self.closure(trial)
                gap_new = float(np.abs(g_new).max(initial=0.0))
                if gap_new < gap or share < 1e-4:
                    break
                share /= 2
            if not gap_new < gap:
                break
            state, g, matrix, gap = trial, g_new, matrix_new, gap_new
        return state, gap

    def match_speeds(self, state: np.ndarray, free: np.ndarray) -> np.ndarray:
        for movable in (free, np.ones(self.nv, dtype=bool)):
            matched = state.copy()
            for _ in range(2):
                _, g_dot, matrix, _ = self.closure(matched)
                matched[self.nq :][movable] -= np.linalg.lstsq(matrix[:, movable], g_dot, rcond=RANK)[0]
            g_dot = self.closure(matched)[1]
            scale = 1.0 + np.abs(matched[self.nq :]).max(initial=0.0)
            if np.abs(g_dot).max(initial=0.0) <= TOLERANCE * scale:
                return matched
        self._contradiction(g_dot, "speeds")
        return matched

    def check_accelerations(self, state: np.ndarray) -> None:
        _, _, matrix, bias = self.closure(state)
        acceleration = self.evaluate("derivative", state)[0][self.nq :]
        residual = matrix @ acceleration + bias
        scale = 1.0 + np.abs(bias).max(initial=0.0) + (np.abs(matrix) @ np.abs(acceleration)).max(initial=0.0)
        if np.abs(residual).max(initial=0.0) > 1e-6 * scale:
            self._contradiction(residual, "accelerations")

    def _contradiction(self, residual: np.ndarray, what: str) -> None:
        worst = np.flatnonzero(np.abs(residual) > 0.1 * np.abs(residual).max())
        names = list(dict.fromkeys(self.rows[int(i)] for i in worst))
        raise AssemblyError(
            f"drives and constraints ask for contradictory {what} (largest residual {np.abs(residual).max():.3g}).",
            path=" and ".join(names),
            fix="Remove one of the drives, or make their motions agree.",
        )
