"""Which slip in a plane is straight: equal steps need not be divided for it, however slow it is.

The direction of friction follows that of slip as fast as slip is slow, which no step could follow; where nothing moves
slip sideways, that is rounding. Units that slip so have their first mode below zero: their direction leans to the one
that was chosen below a far higher speed, and what they then have to the side is an event before it is more than
rounding (`answer.trace_guards`). Nothing else differs, so that who asks how a motion changes with what acts, and not
what it is, takes them for any other slip (`usual`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.solve.laws.units import Kind
from kompono.translate.laws.naming import BENT, WIDE

if TYPE_CHECKING:
    from kompono.solve.settling import Settler

STEADY = 0.1  # of what is an event: slip that has so much to the side after a step is not straight


def usual(program: Any, state: np.ndarray) -> np.ndarray:
    """A state in which slip that is straight is taken for any other."""
    places = _planar(program)[:, 0]
    if not np.any(state[places] < 0.0):
        return state
    state = state.copy()
    state[places] = np.abs(state[places])
    return state


def straighten(
    settler: Settler, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float
) -> np.ndarray:  # fmt: skip
    """A state whose modes were just chosen, where what a step shows to slip straight is marked so."""
    program = settler.program
    places, x, y, rows = _planar(program).T
    known = "derivative" in program.routines and not (settler.steps or program.opaque or program.away)
    if not (known and np.any(state[places] > 0.0)):
        return state
    ask = settler.kernel.evaluate
    first = ask("derivative", time, state, inputs, parameters)[0]
    second = ask("derivative", time + step, state + step * first, inputs, parameters)[0]
    moved = state + 0.5 * step * (first + second)
    _, rate, *_ = ask("law_view", time + step, moved, inputs, parameters)
    along = state[x] * rate[rows] + state[y] * rate[rows + 1]
    aside = np.abs(state[x] * rate[rows + 1] - state[y] * rate[rows])
    bent = BENT * np.maximum(along, WIDE * state[places])
    marked = places[(state[places] > 0.0) & (along > 0.0) & (aside <= STEADY * bent)]
    state = state.copy()
    state[marked] = -state[marked]
    return state


def _planar(program: Any) -> np.ndarray:
    """Of units that slip in a plane and may be marked: where their modes are in a state, and their first rows."""
    found = program.worked_out.get("planar")
    if found is None:
        first = len(program.coordinates) + len(program.speeds)
        units = [unit for unit in program.laws if unit.kind == Kind.PLANAR and unit.straight]
        table = [[*(first + place for place in unit.modes), unit.row] for unit in units]
        found = program.worked_out["planar"] = np.array(table, dtype=int).reshape(-1, 4)
    return found
