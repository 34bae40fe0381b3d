"""Ways to a closed position when Newton's method does not get there from the start as given.

First the machine is closed with everything free, and what was asked for is then approached in small steps along the
motion, as a person would turn the crank. If that ends short of it, directions that are opposed are turned round
(`turning.py`). Then other guesses of what may move are tried, the near ones first; they are random, with a fixed seed,
so that the same model always starts the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kompono.solve.loops import COARSE, TOLERANCE, LoopGroup, Loops, closed
from kompono.solve.newton import NewtonTask, newton
from kompono.solve.turning import turned_round

LARGEST_CHANGE = 0.7  # of a coordinate [rad or sizes of the machine] within one small step: more is another branch
SHORTEST = 1.0 / 512  # of the way to what was asked
AGREES = 0.03  # [rad or sizes of the machine] by which values that are rounded may miss a closed position


def search(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray]:
    """The state with as many parts closed as were found, and which (parts)."""
    found, result = np.zeros(len(parts), dtype=bool), state.copy()
    tight = [_tight(loops, state, part, task) for part in parts]
    for attempt in (_from_neutral, _from_start, _few, turned_round, _from_elsewhere):
        left = [k for k in range(len(parts)) if not found[k] and tight[k] == (attempt is _few)]
        if attempt is _few:
            left = [k for k in left if not _rounded(loops, state, parts[k])]
        if not left:
            continue
        candidate, good = attempt(loops, state, [parts[k] for k in left], task)
        for k in (k for k, done in zip(left, good, strict=True) if done):
            result[parts[k].coordinates] = candidate[parts[k].coordinates]
            found[k] = True
    return result, found


def _tight(loops: Loops, state: np.ndarray, part: LoopGroup, task: NewtonTask) -> bool:
    """Whether more is held than there is freedom: then a closed position is there by agreement only, if at all."""
    elsewhere = loops.move(state, np.random.default_rng(5).uniform(-0.3, 0.3, loops.nv))
    _, slopes = loops.look(elsewhere, task.goal).of(part, task.held)
    movable = part.speeds[task.movable[part.speeds]]
    everything, free = (np.linalg.matrix_rank(slopes[:, chosen], tol=COARSE) for chosen in (part.speeds, movable))
    return bool(everything > free)


def _rounded(loops: Loops, state: np.ndarray, part: LoopGroup) -> bool:
    """Whether what was given is next to a closed position and only too many digits short of it, as where a file lists
    all coordinates: then no other position agrees with it better.
    """
    near, gaps = newton(loops, state, [part], _free(loops), limit=20)
    size = loops.extent(state, part)
    scale = np.array([size if loops.start.units[k] == "m" else 1.0 for k in part.coordinates])
    change = np.abs(near - state)[part.coordinates]
    return bool(closed(loops, near, [part], gaps)[0] and (change < AGREES * scale).all())


def _free(loops: Loops) -> NewtonTask:
    targets = loops.targets
    return NewtonTask(np.ones(loops.nv, dtype=bool), np.zeros(targets.size, dtype=bool), targets.asked)


def _from_neutral(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray]:
    neutral = state.copy()
    neutral[: loops.nq] = loops.start.neutral
    return _approach(loops, neutral, state, parts, task)


def _from_start(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray]:
    return _approach(loops, state, state, parts, task)


def _approach(
    loops: Loops, begin: np.ndarray, aim: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray]:
    """Close the parts with everything free, then take small steps towards what is held."""
    begin, _ = newton(loops, begin, parts, _free(loops), damped=True)
    begin, gaps = newton(loops, begin, parts, _free(loops))
    good = closed(loops, begin, parts, gaps)
    held = [np.setdiff1d(part.coordinates, np.flatnonzero(_moved_by(loops, task, part))) for part in parts]
    first_goal = loops.targets.values(loops.measured(begin)[0]) if loops.targets.size else task.goal
    here, reached, stride = begin.copy(), np.zeros(len(parts)), np.full(len(parts), 0.125)
    for _ in range(120):
        going = np.flatnonzero(good & (reached < 1.0) & (stride >= SHORTEST)).tolist()
        if not going:
            break
        trial, goal = here.copy(), task.goal.copy()
        for k in going:
            share, mine = min(1.0, reached[k] + stride[k]), parts[k].targets
            trial[held[k]] = aim[held[k]] if share == 1.0 else begin[held[k]] + share * (aim - begin)[held[k]]
            goal[mine] = first_goal[mine] + share * (task.goal - first_goal)[mine]
        chosen = [parts[k] for k in going]
        trial, gaps = newton(loops, loops.normalized(trial), chosen, replace(task, goal=goal), limit=30)
        for k, gap in zip(going, gaps, strict=True):
            mine = parts[k].coordinates
            if gap <= TOLERANCE and np.abs(trial - here)[mine].max(initial=0.0) < LARGEST_CHANGE:
                reached[k], stride[k] = min(1.0, reached[k] + stride[k]), 1.5 * stride[k]
                here[mine] = trial[mine]
            else:
                stride[k] /= 2
    return here, closed(loops, here, parts, np.where(good & (reached >= 1.0), 0.0, np.inf))


def _moved_by(loops: Loops, task: NewtonTask, part: LoopGroup) -> np.ndarray:
    """Which coordinates the movable speeds of a part move (nq)."""
    return np.asarray(loops.touches[part.speeds[task.movable[part.speeds]]].any(axis=0))


def _from_elsewhere(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask, tries: int = 60
) -> tuple[np.ndarray, np.ndarray]:
    """Other guesses, further and further away."""
    random = np.random.default_rng(1)
    found, result = np.zeros(len(parts), dtype=bool), state.copy()
    scale = np.ones(loops.nv)
    for part in parts:
        slides = part.speeds[loops.lengths[part.speeds]]
        scale[slides] = loops.extent(state, part) / np.pi if len(slides) else 1.0
    tries = min(tries, max(12, 4000 // max(loops.nv, 1)))
    ends: list[list[float]] = [[] for _ in parts]
    for attempt in range(tries):
        left = [k for k in range(len(parts)) if not found[k] and not _hopeless(ends[k])]
        if not left:
            break
        size = np.pi * min(1.0, 0.1 * 10 ** (2 * attempt / tries))
        step = random.uniform(-size, size, loops.nv) * scale * task.movable
        chosen = [parts[k] for k in left]
        trial, _ = newton(loops, loops.move(state, step), chosen, task, damped=True, limit=60)
        trial, gaps = newton(loops, trial, chosen, task, limit=30)
        for k, good, gap in zip(left, closed(loops, trial, chosen, gaps), gaps, strict=True):
            ends[k].append(gap)
            if good:
                found[k] = True
                result[parts[k].coordinates] = trial[parts[k].coordinates]
    return result, found


def _few(
    loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray]:
    return _from_elsewhere(loops, state, parts, task, tries=12)


def _hopeless(gaps: list[float]) -> bool:
    """Whether all guesses so far, near and far, ended with the same gap: there is no other way to end."""
    return len(gaps) >= 10 and max(gaps) - min(gaps) <= 1e-6 * max(gaps) and min(gaps) > TOLERANCE
