"""Whether laws hold the same thing from two sides of the border of a closed part, at a state.

Rows that are held may imply each other. Where all of these are inside one part, or all outside, whoever has them shares
what they bear; where they are not, parts hand on their rows (`translate/laws/tied.py`), and routines called `tied_...`
are asked in the place of others. So it is asked which rows are held, and what they do to each other: there are more
combinations that move nothing than all sides have by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.compile.law_state import HOLDS, TIED, acts
from kompono.translate.program import Program

LEFT = 1e-10  # of the diagonal: what moves less is held twice, as in `law_symmetric`
IMMOBILE = 1e-12  # of the most mobile row: what joints hold anyway
PLANAR = 2
Evaluate = Callable[..., tuple[np.ndarray, ...]]


def tied_name(program: Program, routine: str) -> str:
    """The name of what is asked in the place of a routine; empty if there is nothing."""
    name = f"tied_{routine}"
    return name if name in program.routines else ""


def level(program: Program, evaluate: Evaluate, time: float, state: np.ndarray, *given: Any) -> int:
    """What laws do at a state that is here, with its inputs and parameters: as `acts`, or they are tied."""
    found = acts(program, state)
    if found < HOLDS or "tied_derivative" not in program.routines:
        return found
    first = len(program.coordinates) + len(program.speeds)
    size = dict(program.routines["law_view"].outputs)["gap"]
    inputs, parameters = given

    def column(row: int) -> np.ndarray:
        force = np.zeros(size)
        force[row] = 1.0
        return evaluate("law_respond", time, state, inputs, np.concatenate([parameters, force]))[0]

    return TIED if is_tied(program, state[first:], column) else found


def is_tied(program: Program, modes: np.ndarray, column: Callable[[int], np.ndarray]) -> bool:
    """Whether they are, by modes as units of laws name them; a column says what a force on a row does to all rows."""
    rows, sides = held_rows(program, modes)
    if len(set(sides)) < 2:
        return False
    return are_tied(np.array([column(row)[rows] for row in rows]).T, np.array(sides))


def are_tied(matrix: np.ndarray, sides: np.ndarray) -> bool:
    """Whether rows of several sides imply each other; the matrix (n, n) says how their forces move them."""
    mobile = matrix.diagonal() > IMMOBILE * matrix.diagonal().max(initial=0.0)
    matrix, sides = matrix[mobile][:, mobile], sides[mobile]
    if len(set(sides.tolist())) < 2 or not np.isfinite(matrix).all():
        return False
    scale = 1.0 / np.sqrt(matrix.diagonal())
    matrix = scale[:, None] * (matrix + matrix.T) * scale / 2
    alone = sum(_idle(matrix[own][:, own]) for own in (sides == side for side in set(sides.tolist())))
    return _idle(matrix) > alone


def are_untold(program: Program) -> bool:
    """Whether laws may be tied, and a part cannot hand on its rows: its file is of an older version."""
    return len({unit.side for unit in program.laws}) > 1 and "tied_derivative" not in program.routines


def _idle(matrix: np.ndarray) -> int:
    """How many combinations of rows move nothing."""
    return int(np.sum(np.linalg.eigvalsh(matrix) < LEFT * len(matrix)))


def held_on_both(program: Program, modes: np.ndarray) -> bool:
    """Whether rows of several sides are held, be they tied or not."""
    return len(set(held_rows(program, modes)[1])) > 1


def held_rows(program: Program, modes: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows that are held, and the side of each."""
    rows, sides = [], []
    for unit in program.laws:
        mode, contact = modes[unit.modes[0]], unit.contact
        if unit.kind == 0:
            held = bool(mode)
        else:
            held = not mode and (contact < 0 or bool(modes[program.laws[contact].modes[0]]))
        for row in range(unit.row, unit.row + (2 if unit.kind == PLANAR else 1)) if held else ():
            rows.append(row)
            sides.append(unit.side)
    return rows, sides


def tied_rows(kernel: Any, columns: list[np.ndarray], parameters: np.ndarray) -> np.ndarray:
    """At which of some rows (times, states, inputs) laws are tied; as long as modes stay it is what it was."""
    times, states, inputs = columns
    tied = np.zeros(len(states), dtype=bool)
    if not len(states):
        return tied
    modes = kernel.law_states().modes_of_all(states)
    patterns = modes[:, [unit.modes[0] for unit in kernel.program.laws]] != 0.0
    begins = np.flatnonzero(np.any(patterns[1:] != patterns[:-1], axis=1)) + 1
    for part in np.split(np.arange(len(states)), begins):
        if held_on_both(kernel.program, modes[part[0]]):
            k, given = part[0], parameters if parameters.ndim == 1 else parameters[part[0]]
            tied[part] = kernel.level(float(times[k, 0]), states[k], inputs[k], given) == TIED
    return tied
