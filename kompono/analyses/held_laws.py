"""What contact and friction hold at a state: closed gaps and friction that sticks are conditions, as joints are.

Modes are those of the state, chosen as at the start of a run. Rows of laws are linear in the speeds, so their matrix W
is known from the speeds of the rows at unit speeds. Where modes that are chosen again behind an analysis are the same,
what was held does hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.solve.instant import TOUCHING
from kompono.solve.laws.units import Kind


def law_speeds(point: Any) -> np.ndarray:
    """W (rows of all laws, speeds): how fast rows move."""
    count = len(point.simulation.program.speeds)

    def rates(speeds: np.ndarray) -> np.ndarray:
        state = point.state.copy()
        state[point.place.v] = speeds
        return point.with_state(state).evaluate("law_view")[1]

    still = rates(np.zeros(count))
    return np.array([rates(unit) - still for unit in np.eye(count)]).reshape(count, len(still)).T


def held_rows(point: Any, friction: bool = True) -> list[int]:
    """Rows that are held: those of closed gaps, and those of what sticks."""
    modes, units = point.state[point.place.modes], point.simulation.program.laws
    found = []
    for unit in units:
        first = modes[unit.modes[0]]
        if unit.kind == Kind.ONE_SIDED:
            found += [unit.row] if first > 0 else []
        elif friction and first == 0 and (unit.contact < 0 or modes[units[unit.contact].modes[0]] > 0):
            found += [unit.row + k for k in range(2 if unit.kind == Kind.PLANAR else 1)]
    return found


def held_matrix(point: Any, friction: bool = True) -> np.ndarray:
    """G (conditions, speeds) of loops, and of what laws hold."""
    loops = point.conditions()[2]
    rows = held_rows(point, friction) if point.simulation.program.laws else []
    return np.vstack([loops, law_speeds(point)[rows]]) if rows else loops


def held_gaps(point: Any) -> np.ndarray:
    """How far closed gaps are off zero [m, rad]."""
    units = [unit for unit in point.simulation.program.laws if unit.kind == Kind.ONE_SIDED and unit.level == "position"]
    closed = [unit.row for unit in units if point.state[point.place.modes][unit.modes[0]] > 0]
    return point.evaluate("law_view")[0][closed] if closed else np.zeros(0)


def sliding(point: Any) -> str:
    """The path of friction that slides; empty if none does."""
    modes, units = point.state[point.place.modes], point.simulation.program.laws
    for unit in units:
        acts = unit.contact < 0 or modes[units[unit.contact].modes[0]] > 0
        if unit.kind != Kind.ONE_SIDED and acts and modes[unit.modes[0]] != 0:
            return unit.path
    return ""


def holding(point: Any) -> Any:
    """The same as if all gaps that touch were closed and all friction did stick: forces may let them when the machine
    rests, whatever a run would do that begins here.
    """
    units = point.simulation.program.laws
    if not units:
        return point
    state, gaps, first = point.state.copy(), point.evaluate("law_view")[0], point.place.modes.start
    for unit in units:
        places = [first + k for k in unit.modes]
        if unit.kind != Kind.ONE_SIDED:
            state[places] = 0.0
        elif unit.level == "position" and gaps[unit.row] < TOUCHING:
            state[places[0]] = 1.0
    return point.with_state(state).closed().at_rest()


def overlap(point: Any, most: float = 1e-9) -> str:
    """The path of the deepest open gap that bodies overlap in by more than `most`; empty if they do not."""
    units = [unit for unit in point.simulation.program.laws if unit.level == "position"]
    if not units:
        return ""
    gaps = point.evaluate("law_view")[0]
    depth, path = min((float(gaps[unit.row]), unit.path) for unit in units)
    return path if depth < -most else ""


def settled(point: Any) -> Any:
    """The same with modes as a run that begins there has them."""
    settler = point.simulation.settler
    if settler is None or not point.simulation.program.laws:
        return point
    return point.with_state(settler.start(point.time, point.state, point.inputs, point.parameters))
