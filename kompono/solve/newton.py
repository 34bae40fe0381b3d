"""Gauss-Newton on the conditions, all independent parts side by side, each with a step length of its own.

A step is the least change of the movable speeds that undoes the residual to first order; it is shortened until the
residual shrinks. Far from a solution it may be damped instead (Levenberg-Marquardt), which also gets along with
positions where slopes vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kompono.solve.loops import COARSE, LoopGroup, Loops, LoopView

SMALL = 1e-15  # a residual below this is not worth a step


@dataclass(frozen=True)
class NewtonTask:
    """What may move and what is asked: speeds (nv) and targets (t) by truth value, the values of the targets (t)."""

    movable: np.ndarray
    held: np.ndarray
    goal: np.ndarray


@dataclass
class _Progress:
    """One part on its way: the norm of its residual, its next step, and how much of it (or of damping) to take."""

    size: float
    step: np.ndarray | None = None
    share: float = 1.0
    damping: float = 1e-2
    slow: int = 0


def newton(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask, *,
    rank: float = COARSE, damped: bool = False, limit: int = 200,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The state with these parts closed as well as can be, and the largest residual left in each (parts)."""
    view = loops.look(state, task.goal)
    active = {k: _Progress(_norm(view, part, task)) for k, part in enumerate(parts)}
    for _ in range(limit):
        active = {k: now for k, now in active.items() if now.size >= SMALL and task.movable[parts[k].speeds].any()}
        if not active:
            break
        total = np.zeros(loops.nv)
        for k, now in active.items():
            if now.step is None:
                now.step = _step(view, parts[k], task, now.damping if damped else None, rank)
                now.share = 1.0 if damped else min(1.0, 1.0 / max(np.abs(now.step).max(), 1e-300))
            total[parts[k].speeds] = _limited(now.share * now.step)
        trial = loops.move(state, total)
        tried = loops.look(trial, task.goal)
        for k, now in list(active.items()):
            part = parts[k]
            size = _norm(tried, part, task)
            if size < now.size:
                state, view = _taken(state, trial, view, tried, part)
                now.slow = now.slow + 1 if size > (0.999 if damped else 1 - 1e-9) * now.size else 0
                now.size, now.step, now.damping = size, None, now.damping / 5
                if now.slow > (10 if damped else 0):
                    del active[k]
            elif now.share < 1e-6 or now.damping > 1e8:
                del active[k]
            elif damped:
                now.damping, now.step = now.damping * 4, None
            else:
                now.share /= 2
    left = [np.abs(view.of(part, task.held)[0]).max(initial=0.0) for part in parts]
    return state, np.array(left)


def _norm(view: LoopView, part: LoopGroup, task: NewtonTask) -> float:
    size = float(np.linalg.norm(view.of(part, task.held)[0]))
    return size if np.isfinite(size) else np.inf


def _limited(step: np.ndarray) -> np.ndarray:
    """Steps of at most a radian or metre."""
    return step / max(1.0, np.abs(step).max(initial=0.0))


def _step(view: LoopView, part: LoopGroup, task: NewtonTask, damping: float | None, rank: float) -> np.ndarray:
    """The change of a part's speeds."""
    residual, slopes = view.of(part, task.held)
    movable = task.movable[part.speeds]
    slopes = slopes[:, part.speeds[movable]]
    if damping is not None:
        weight = np.sqrt(damping) * np.linalg.norm(slopes, axis=0).clip(1e-3 * np.linalg.norm(slopes) + 1e-12)
        slopes = np.vstack([slopes, np.diag(weight)])
        residual = np.concatenate([residual, np.zeros(len(weight))])
    step = np.zeros(len(part.speeds))
    if np.isfinite(residual).all() and np.isfinite(slopes).all():
        step[movable] = -np.linalg.lstsq(slopes, residual, rcond=rank)[0]
    return step


def _taken(
    state: np.ndarray, trial: np.ndarray, view: LoopView, tried: LoopView, part: LoopGroup
) -> tuple[np.ndarray, LoopView]:
    """State and view with a part's own entries replaced by those of the trial."""
    state = state.copy()
    state[part.coordinates] = trial[part.coordinates]
    for old, new, mine in (
        (view.g, tried.g, part.rows), (view.matrix, tried.matrix, part.rows),
        (view.off, tried.off, part.targets), (view.slopes, tried.slopes, part.targets),
    ):  # fmt: skip
        old[mine] = new[mine]
    return state, view
