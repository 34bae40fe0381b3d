"""Close all parts of a machine, holding what was given as long as possible.

Each part is tried with everything held first; where neither Newton's method nor a search gets it closed, what was
given least firmly is let go, and so on. A position half a turn off counts as open. A redundant loop whose points are
rounded cannot be closed exactly; it is taken with the gap that is left, if it is as small as rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kompono.errors import AssemblyError
from kompono.solve.loops import COARSE, RANK, TOLERANCE, LoopGroup, Loops, closed
from kompono.solve.newton import NewtonTask, newton
from kompono.solve.speeds import levels_of

ROUNDED = 2e-6  # of the size of the machine [m], or of a radian: the gap that rounded points may leave
FINE = 0.02  # [rad or m] how far slopes that may be rounding are followed


@dataclass(frozen=True)
class LoopGap:
    """The gap that is left, its unit and the element it is at; singular values below `rank` are what rounding left."""

    gap: float = 0.0
    unit: str = ""
    open_at: str = ""
    rank: float = RANK


@dataclass
class _Open:
    """A part that is not closed yet: what to hold in the attempts to come, and its best position so far."""

    part: LoopGroup
    levels: list[int]
    best: np.ndarray
    size: float = np.inf
    turned: set[str] = field(default_factory=set)


def close(loops: Loops, state: np.ndarray) -> tuple[np.ndarray, LoopGap]:
    """The state with all loops closed, and what is left of gaps; AssemblyError if there is no such state."""
    firmness, result = loops.firmness(), LoopGap()
    waiting = [_Open(p, levels_of(firmness[p.speeds], loops.targets.firmness[p.targets]), state) for p in loops.parts]
    begin = state
    while waiting:
        task = _task(loops, firmness, waiting)
        state, done, gaps = _attempt(loops, state, begin, waiting, task)
        for now, gap in zip(waiting, gaps, strict=True):
            if gap > result.gap:
                result = _rounded_gap(loops, state, now.part, gap)
        waiting = [now for now, good in zip(waiting, done, strict=True) if not good]
        for now in waiting:
            if len(now.levels) == 1:
                _give_up(loops, now)
            now.levels = now.levels[1:]
    return state, result


def _task(loops: Loops, firmness: np.ndarray, waiting: list[_Open]) -> NewtonTask:
    movable, held = np.zeros(loops.nv, dtype=bool), np.zeros(loops.targets.size, dtype=bool)
    for now in waiting:
        speeds, targets = now.part.speeds, now.part.targets
        movable[speeds] = firmness[speeds] < now.levels[0]
        held[targets] = loops.targets.firmness[targets] >= now.levels[0]
    return NewtonTask(movable, held, loops.targets.asked)


def _attempt(
    loops: Loops, state: np.ndarray, begin: np.ndarray, waiting: list[_Open], task: NewtonTask
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One attempt at each part from where all began: state, which parts are closed, gaps left by rounding."""
    parts = [now.part for now in waiting]
    state = state.copy()
    for part in parts:
        state[part.coordinates] = begin[part.coordinates]
    first = state
    state, gaps = newton(loops, first, parts, task)
    done = closed(loops, state, parts, gaps)
    left = np.zeros(len(parts))
    for k in np.flatnonzero(~done & (gaps <= 1e-3)):
        state, done[k], left[k] = _finish(loops, state, parts[k], task)
    _note(loops, state, waiting, done)
    for numbers in _searched(waiting, task, done):
        from kompono.solve.search import search

        found, good = search(loops, first, [parts[k] for k in numbers], task)
        for k in numbers[good]:
            state[parts[k].coordinates] = found[parts[k].coordinates]
            done[k] = True
    return state, done, left


def _searched(waiting: list[_Open], task: NewtonTask, done: np.ndarray) -> list[np.ndarray]:
    """Parts worth a search: places of bodies are let go without one, and where nothing may move there is none."""
    from kompono.translate.starts.asked import BODY

    numbers = [
        k for k, now in enumerate(waiting)
        if not done[k] and task.movable[now.part.speeds].any() and (now.levels[0] > BODY or len(now.levels) == 1)
    ]  # fmt: skip
    return [np.array(numbers)] if numbers else []


def _finish(loops: Loops, state: np.ndarray, part: LoopGroup, task: NewtonTask) -> tuple[np.ndarray, bool, float]:
    """A part that is almost closed: closed along small slopes if that is a small change, or taken as rounded."""
    fine, gaps = newton(loops, state, [part], task, rank=RANK)
    change = np.abs(fine - state)[part.coordinates].max(initial=0.0)
    good = bool(closed(loops, fine, [part], gaps)[0])
    if good and change < FINE:
        return fine, True, 0.0
    gap = _rounded(loops, state, part, task)
    if gap > 0.0 and not loops.as_meant(state, [part]):
        return state, True, gap
    return (fine, True, 0.0) if good else (state, False, 0.0)


def _rounded(loops: Loops, state: np.ndarray, part: LoopGroup, task: NewtonTask) -> float:
    """The gap of a part that cannot be closed for rounding alone, 0 if there is another reason."""
    view = loops.look(state, task.goal)
    off, slopes = view.of(part, task.held)
    size = loops.extent(state, part)
    units = [loops.rows.units()[k] for k in part.rows]
    limits = np.array([ROUNDED * (size if unit == "m" else 1.0) for unit in units])
    if (np.abs(off[: len(part.rows)]) > limits).any() or np.abs(off[len(part.rows) :]).max(initial=0.0) > TOLERANCE:
        return 0.0
    left, values, right = np.linalg.svd(slopes[:, part.speeds])
    count = int(np.sum(values > COARSE * values.max(initial=0.0)))
    if np.abs(left[:, :count].T @ off).max(initial=0.0) > TOLERANCE:
        return 0.0  # some of it could be closed by moving what is held
    free = right[count:]
    return float(np.abs(off).max()) if not len(free) or _stays_open(loops, state, part, free, limits) else 0.0


def _stays_open(loops: Loops, state: np.ndarray, part: LoopGroup, free: np.ndarray, limits: np.ndarray) -> bool:
    """Whether the same small gap is there along the motion as well: a position that is merely out of reach is not
    redundant, and gives way to no motion.
    """
    step = np.zeros(loops.nv)
    way = np.random.default_rng(3).uniform(0.5, 1.0, len(free)) @ free
    step[part.speeds] = 1e-2 * way / np.abs(way).max()
    everything = NewtonTask(
        np.ones(loops.nv, dtype=bool), np.zeros(loops.targets.size, dtype=bool), loops.targets.asked
    )
    moved = loops.move(state, step)
    there, _ = newton(loops, moved, [part], everything, limit=20)
    went, meant = (np.linalg.norm((other - state)[part.coordinates]) for other in (there, moved))
    gaps = np.abs(loops.conditions(there)[0][part.rows])
    return bool(went > 0.3 * meant and (gaps <= 3 * limits).all())


def _rounded_gap(loops: Loops, state: np.ndarray, part: LoopGroup, gap: float) -> LoopGap:
    g = loops.conditions(state)[0]
    worst = part.rows[int(np.argmax(np.abs(g[part.rows])))]
    rank = max(RANK, min(COARSE, 1e3 * gap / loops.extent(state, part)))
    return LoopGap(gap, loops.rows.units()[worst], loops.rows.elements[worst], rank)


def _note(loops: Loops, state: np.ndarray, waiting: list[_Open], done: np.ndarray) -> None:
    """Remember the best position of what is still open, and what is half a turn off there."""
    g = loops.conditions(state)[0]
    bad = loops.as_meant(state, [now.part for now in waiting])
    for k, now in enumerate(waiting):
        size = float(np.linalg.norm(g[now.part.rows]))
        if not done[k] and size < now.size:
            now.size, now.best = size, state.copy()
            now.turned = {loops.rows.holds[i] for i in bad.get(k, ())}


def _give_up(loops: Loops, now: _Open) -> None:
    g, part, rows = loops.conditions(now.best)[0], now.part, loops.rows
    if now.turned and np.abs(g[part.rows]).max(initial=0.0) <= TOLERANCE:
        names = sorted(now.turned)
        raise AssemblyError(
            "the loop closes only half a turn off, where the directions of this element are opposed.",
            path=" and ".join(names),
            fix="Give start values nearer to the position that is meant, turn one of its frames round "
            "(orientation=...), or declare a mate with opposed=True.",
        )
    elements = [rows.elements[k] for k in part.rows]
    gaps = {name: float(np.linalg.norm(g[[k for k in part.rows if rows.elements[k] == name]])) for name in elements}
    worst = max(gaps, key=lambda name: gaps[name])
    also = [name for name, gap in gaps.items() if name != worst and gap > 0.1 * gaps[worst]]
    units = rows.units()
    unit = {units[k] for k in part.rows if rows.elements[k] == worst and abs(g[k]) > 0.1 * gaps[worst]}
    couples = all(rows.coupling[k] for k in part.rows)
    what = "these drives and couplings contradict and cannot be closed" if couples else "the loop cannot be closed"
    raise AssemblyError(
        f"{what}; a gap of {gaps[worst]:.3g}{' ' + unit.pop() if len(unit) == 1 else ''} remains"
        + (f" (and at {', '.join(also)})" if also else "")
        + f".{_asked(loops, part)}",
        path=worst,
        fix="Check the joint positions and drives of this loop, or give start values near an assembled position.",
    )


def _asked(loops: Loops, part: LoopGroup) -> str:
    """Start values that were given in a part, in words."""
    start, names = loops.start, loops.kernel.program.coordinates
    given = [k for k in part.coordinates if start.given_coordinates[k]]
    listed = [f"{names[k]} = {start.state[k]:.6g} {start.units[k]}".strip() for k in given[:4]]
    return f" Asked for: {', '.join(listed)}{', ...' if len(given) > 4 else ''}." if listed else ""
