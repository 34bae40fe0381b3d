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
    """The consistent state and the names of the coordinates and speeds that had to move, with their changes.

    `redundant` names the closing elements whose multipliers are not unique, because their conditions depend on others.
    """

    state: np.ndarray
    moved: dict[str, float]
    degrees_of_freedom: int
    redundant: tuple[str, ...] = ()


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
        state = loops.close(state, loops.held_speeds(state, given_coordinates))
        state = loops.match_speeds(state, given_speeds)
        if "derivative" in kernel.program.routines:
            loops.check_accelerations(state)
    names = (*kernel.program.coordinates, *kernel.program.speeds, *kernel.program.modes)
    moved = {n: float(b - a) for n, a, b in zip(names, guess, state, strict=True) if abs(b - a) > 1e-10}
    if not rows:
        return Assembly(state, moved, loops.nv)
    matrix = loops.closure(state)[2]
    return Assembly(state, moved, degrees_of_freedom(matrix), _not_unique(matrix, rows))


def moves(assembly: Assembly) -> str:
    """What assembly had to move, in words; empty if nothing by much."""
    large = {name: change for name, change in assembly.moved.items() if abs(change) > 1e-6}
    listed = ", ".join(f"{name} by {change:+.6g}" for name, change in list(large.items())[:6])
    return listed + (f" and {len(large) - 6} more" if len(large) > 6 else "")


def degrees_of_freedom(matrix: np.ndarray) -> int:
    """Speeds less independent conditions, from G (rows, speeds)."""
    largest = np.linalg.norm(matrix, 2) if matrix.size else 0.0
    return matrix.shape[1] - int(np.linalg.matrix_rank(matrix, tol=RANK * largest) if largest else 0)


def _not_unique(matrix: np.ndarray, rows: Sequence[str]) -> tuple[str, ...]:
    """Elements with rows in some combination lambda^T G = 0."""
    left, values, _ = np.linalg.svd(matrix)
    rank = int(np.sum(values > RANK * values.max(initial=0.0)))
    shared = np.abs(left[:, rank:]).max(axis=1, initial=0.0) > 1e-6
    return tuple(dict.fromkeys(name for name, free in zip(rows, shared, strict=True) if free))


class _Loops:
    def __init__(
        self, kernel: Any, time: float, inputs: np.ndarray, parameters: np.ndarray, rows: Sequence[str]
    ) -> None:
        self.kernel, self.time, self.inputs, self.parameters, self.rows = kernel, time, inputs, parameters, rows
        self.nq, self.nv = len(kernel.program.coordinates), len(kernel.program.speeds)

    def evaluate(self, routine: str, state: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.kernel.evaluate(routine, self.time, state, self.inputs, self.parameters)

    def closure(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        g, g_dot, matrix, bias = self.evaluate("conditions", state)
        return g, g_dot, matrix.reshape(self.nv, len(g)).T, bias

    def coordinate_rate(self, state: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        moving = np.concatenate([state[: self.nq], speeds, state[self.nq + self.nv :]])
        return self.evaluate("rates", moving)[0]

    def held_speeds(self, state: np.ndarray, given: np.ndarray) -> np.ndarray:
        """How firmly each speed's coordinates were given: found from q_dot = N v, one unit speed at a time."""
        firmness = np.zeros(self.nv, dtype=int)
        for k in range(self.nv):
            unit = np.zeros(self.nv)
            unit[k] = 1.0
            moves = np.abs(self.coordinate_rate(state, unit)) > 1e-12
            firmness[k] = given[moves].max(initial=0)
        return firmness

    def close(self, state: np.ndarray, firmness: np.ndarray) -> np.ndarray:
        closed = state
        for level in range(1, 4):
            closed, gap = self._newton(state.copy(), firmness < level)
            if gap <= TOLERANCE:
                return closed
        g = self.closure(closed)[0]
        gaps = {name: float(np.linalg.norm(g[[i for i, n in enumerate(self.rows) if n == name]])) for name in self.rows}
        worst = max(gaps, key=lambda name: gaps[name])
        also = [name for name, gap in gaps.items() if name != worst and gap > 0.1 * gaps[worst]]
        raise AssemblyError(
            f"the loop cannot be closed; a gap of {gaps[worst]:.3g} remains"
            + (f" (and at {', '.join(also)})" if also else "")
            + ".",
            path=worst,
            fix="Check the joint positions and drives of this loop, or give start values near an assembled position.",
        )

    def _newton(self, state: np.ndarray, movable: np.ndarray) -> tuple[np.ndarray, float]:
        """Damped Gauss-Newton with the movable speeds; the state and the largest violation left."""
        g, _, matrix, _ = self.closure(state)
        for _ in range(200):
            size = float(np.linalg.norm(g))
            if size < 1e-15 or not movable.any():
                break
            step = np.zeros(self.nv)
            step[movable] = -np.linalg.lstsq(matrix[:, movable], g, rcond=RANK)[0]
            share = min(1.0, 1.0 / max(np.abs(step).max(), 1e-300))
            while True:
                trial = state.copy()
                trial[: self.nq] += self.coordinate_rate(state, share * step)
                g_new, _, matrix_new, _ = self.closure(trial)
                if np.linalg.norm(g_new) < size or share < 1e-6:
                    break
                share /= 2
            if not np.linalg.norm(g_new) < size * (1 - 1e-9):
                break
            state, g, matrix = trial, g_new, matrix_new
        return state, float(np.abs(g).max(initial=0.0))

    def match_speeds(self, state: np.ndarray, firmness: np.ndarray) -> np.ndarray:
        matched, g_dot = state, np.zeros(0)
        for level in range(1, 4):
            movable = firmness < level
            matched = state.copy()
            for _ in range(2):
                _, g_dot, matrix, _ = self.closure(matched)
                matched[self.nq : self.nq + self.nv][movable] -= np.linalg.lstsq(matrix[:, movable], g_dot, rcond=RANK)[
                    0
                ]
            _, g_dot, matrix, _ = self.closure(matched)
            scale = 1.0 + np.abs(matched[self.nq : self.nq + self.nv]).max(initial=0.0)
            if np.abs(g_dot).max(initial=0.0) <= TOLERANCE * scale:
                return matched
        self._contradiction(g_dot, self.closure(matched)[2], "speeds")
        return matched

    def check_accelerations(self, state: np.ndarray) -> None:
        _, _, matrix, bias = self.closure(state)
        acceleration = self.evaluate("derivative", state)[0][self.nq : self.nq + self.nv]
        residual = matrix @ acceleration + bias
        scale = 1.0 + np.abs(bias).max(initial=0.0) + (np.abs(matrix) @ np.abs(acceleration)).max(initial=0.0)
        if np.abs(residual).max(initial=0.0) > 1e-6 * scale:
            self._contradiction(residual, matrix, "accelerations")

    def _contradiction(self, residual: np.ndarray, matrix: np.ndarray, what: str) -> None:
        """Name the elements with the largest residuals, and those whose conditions are the same as theirs."""
        worst = np.flatnonzero(np.abs(residual) > 0.1 * np.abs(residual).max())
        others = np.setdiff1d(np.arange(len(residual)), worst)
        involved = {self.rows[int(i)]: None for i in worst}
        for i in worst if len(others) else []:
            share = np.linalg.lstsq(matrix[others].T, matrix[i], rcond=None)[0]
            involved.update({self.rows[int(k)]: None for k in others[np.abs(share) > 1e-6]})
        raise AssemblyError(
            f"drives and constraints ask for contradictory {what} (largest residual {np.abs(residual).max():.3g}).",
            path=" and ".join(involved),
            fix="Remove one of the drives, or make their motions agree.",
        )
