"""Where a search for modes starts again: answers of other methods, then all combinations or random ones.

Lemke's method is exact for dry rows and close for planar ones, from where Newton's on projections goes on. Few
combinations are tried all; where they are many, random ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from kompono.solve.laws.check import ONE_SIDED, Freedom
from kompono.solve.laws.cones import projected
from kompono.solve.laws.forces import HELD, OFF, SLIDES, System, UnitStates, solve
from kompono.solve.laws.lemke import polygonal

FEW = 4096  # combinations that are tried all
TRIES = 20  # random starts

Option = tuple[int, tuple[float, float]]


def proposals(system: System, start: UnitStates, freedom: Freedom) -> Iterator[UnitStates]:
    """States to start from, the most promising first."""
    polygon = polygonal(system, start, freedom)
    near = None
    if polygon is not None:
        yield polygon.copy()
        near, _ = solve(system, polygon)
    for z in (near, start.z, None):
        cone = projected(system, start, freedom, z)
        if cone is not None:
            yield cone
    groups = _groups(system, start, freedom)
    few = np.prod([float(len(group)) for group in groups]) <= FEW
    yield from _all(start, groups) if few else _random(system, start, freedom, groups)


def _groups(system: System, start: UnitStates, freedom: Freedom) -> list[list[dict[int, Option]]]:
    """Per contact with its friction, and per friction alone, the modes and directions it may have."""
    layout, groups = system.layout, []
    for unit, kind in enumerate(layout.kinds):
        if layout.contacts[unit] is not None:
            continue
        if kind != ONE_SIDED:
            groups.append([{unit: option} for option in _ways(system, start, freedom, unit)])
            continue
        shut = [{}]
        for friction in layout.frictions[unit]:
            shut = [{**a, friction: b} for a in shut for b in _ways(system, start, freedom, friction)]
        options = [{unit: (HELD, (0.0, 0.0)), **rest} for rest in shut]
        opened = {unit: (OFF, (0.0, 0.0)), **{f: (OFF, start.ways[f]) for f in layout.frictions[unit]}}
        if freedom.free[unit]:
            groups.append([*options, opened])
        else:
            groups.append(options if start.modes[unit] == HELD else [opened])
    return [group for group in groups if len(group) > 1 or group]


def _ways(system: System, start: UnitStates, freedom: Freedom, unit: int) -> list[Option]:
    """Modes and directions of friction that acts."""
    if not freedom.free[unit]:
        moving = any(start.ways[unit])
        return [(SLIDES if moving else start.modes[unit] or HELD, start.ways[unit])]
    ways = [(1.0, 0.0), (-1.0, 0.0)] + ([(0.0, 1.0), (0.0, -1.0)] if len(system.layout.rows[unit]) == 2 else [])
    options = [(HELD, (0.0, 0.0)), *((SLIDES, way) for way in ways)]
    return [option for option in options if freedom.allows(unit, option[0])]


def _all(start: UnitStates, groups: list[list[dict[int, Option]]]) -> Iterator[UnitStates]:
    for picks in product(*groups):
        yield _picked(start, picks)


def _random(
    system: System, start: UnitStates, freedom: Freedom, groups: list[list[dict[int, Option]]]
) -> Iterator[UnitStates]:  # fmt: skip
    random = np.random.default_rng(0)
    for _ in range(TRIES):
        state = _picked(start, [group[random.integers(len(group))] for group in groups])
        yield state.copy()
        cone = projected(system, start, freedom, solve(system, state)[0])
        if cone is not None:
            yield cone


def _picked(start: UnitStates, picks) -> UnitStates:
    state = start.copy()
    state.z = None
    for pick in picks:
        for unit, (mode, way) in pick.items():
            state.modes[unit], state.ways[unit] = mode, way
    return state
