"""Directions that are opposed where a loop would close are turned round on the way there.

Conditions on directions hold half a turn off as well, and a start at half a turn, as drawings have it, has no slope
that tells so: Newton's method closes the loop the wrong way round. From a start moved a little, what elements say of
their directions (`holds`, 1 where they agree, -1 half a turn off) is brought to 1 together with the conditions, by a
damped method whose slopes of it are differences; Newton's method does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kompono.solve.loops import LoopGroup, Loops, closed
from kompono.solve.newton import NewtonTask, newton

TRIES, STEPS = 8, 60
MOVED = 0.3  # [rad, or m] at first
SMALL = 1e-6  # of differences


def turned_round(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray]:
    """The state with as many parts closed as were found, and which (parts); parts no direction of which matters are
    left alone.
    """
    random, result = np.random.default_rng(6), state.copy()
    found = np.zeros(len(parts), dtype=bool)
    for k, part in enumerate(parts):
        movable = part.speeds[task.movable[part.speeds]]
        for _ in range(TRIES if len(part.holds) and len(movable) else 0):
            step = np.zeros(loops.nv)
            step[movable] = random.uniform(-MOVED, MOVED, len(movable))
            trial = _agreeing(loops, loops.move(state, step), part, task, movable)
            trial, gaps = newton(loops, trial, [part], task)
            if closed(loops, trial, [part], gaps)[0]:
                result[part.coordinates], found[k] = trial[part.coordinates], True
                break
    return result, found


def _agreeing(loops: Loops, state: np.ndarray, part: LoopGroup, task: NewtonTask, movable: np.ndarray) -> np.ndarray:
    """The state moved to where directions agree and conditions are nearly met."""
    damping, (off, slopes) = 1e-2, _residual(loops, state, part, task, movable)
    for _ in range(STEPS):
        size = float(off @ off)
        normal = slopes.T @ slopes
        change = -np.linalg.solve(normal + damping * np.eye(len(movable)), slopes.T @ off)
        step = np.zeros(loops.nv)
        step[movable] = change / max(1.0, np.abs(change).max(initial=0.0))
        trial = loops.move(state, step)
        tried = _residual(loops, trial, part, task, movable)
        better = float(tried[0] @ tried[0]) < size
        damping = damping / 5 if better else damping * 4
        if better:
            state, (off, slopes) = trial, tried
        if damping > 1e8 or (better and size - float(off @ off) < 1e-10 * size):
            break
    return state


def _residual(
    loops: Loops, state: np.ndarray, part: LoopGroup, task: NewtonTask, movable: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What conditions, targets and directions of a part are off, and slopes of it (rows, movable)."""
    off, slopes = loops.look(state, task.goal).of(part, task.held)
    holds = _holds(loops, state, part)
    turning = np.empty((len(part.holds), len(movable)))
    for j, speed in enumerate(movable):
        step = np.zeros(loops.nv)
        step[speed] = SMALL
        turning[:, j] = (_holds(loops, loops.move(state, step), part) - holds) / SMALL
    return np.concatenate([off, 1.0 - holds]), np.vstack([slopes[:, movable], -turning])


def _holds(loops: Loops, state: np.ndarray, part: LoopGroup) -> np.ndarray:
    return loops.evaluate("holds", state)[0][part.holds]
