"""Whether laws hold the same thing from two sides of the border of a closed part, at a state.

Rows that are held may imply each other. Where all of these are inside one part, or all outside, whoever has them shares
what they bear; where they are not, parts hand on their rows (`translate/laws/tied.py`), and routines called `tied_...`
are asked in the place of others. So it is asked which rows are held, and what they do to each other: there are more
combinations that move nothing than all sides have by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kompono.compile.law_state import HOLDS, TIED, acts
from kompono.translate.program import LAW_EVENTS, LawUnit, Program

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
    return TIED if tied_here(program, evaluate, time, state, *given) else found


def tied_here(program: Program, evaluate: Evaluate, time: float, state: np.ndarray, *given: Any) -> bool:
    """Whether they are tied there."""
    size = dict(program.routines["law_view"].outputs)["gap"]
    inputs, parameters = given

    def column(row: int) -> np.ndarray:
        force = np.zeros(size)
        force[row] = 1.0
        return evaluate("law_respond", time, state, inputs, np.concatenate([parameters, force]))[0]

    return is_tied(program, modes_here(program, state), column)


def modes_here(program: Program, state: np.ndarray) -> np.ndarray:
    """All modes at a state that is here."""
    return state[len(program.coordinates) + len(program.speeds) :]


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


def may_tie(program: Program) -> bool:
    """Whether there are laws on several sides of borders."""
    return len({unit.side for unit in program.laws}) > 1


def are_untold(program: Program) -> bool:
    """Whether laws may be tied, and a part cannot hand on its rows: its file is of an older version."""
    return may_tie(program) and "tied_derivative" not in program.routines


def _idle(matrix: np.ndarray) -> int:
    """How many combinations of rows move nothing."""
    return int(np.sum(np.linalg.eigvalsh(matrix) < LEFT * len(matrix)))


def told_ties(units: Sequence[LawUnit], numbers: Sequence[int]) -> str:
    """That forces of these units may be rounding; nothing if there are none."""
    if not numbers:
        return ""
    paths = ", ".join(sorted(units[k].path for k in numbers))
    return (
        f"{paths}: some of them hold the same thing, inside and outside of a part whose file is of an older version: "
        "their forces may be rounding. Seal it again;"
    )


def held_units(program: Program, modes: np.ndarray) -> list[int]:
    """Numbers of the units that hold something, by modes as units name them."""
    on = [bool(modes[unit.modes[0]]) for unit in program.laws]
    alone = [unit.contact < 0 for unit in program.laws]
    return [
        k
        for k, unit in enumerate(program.laws)
        if (on[k] if unit.kind == 0 else not on[k] and (alone[k] or on[unit.contact]))
    ]


def held_on_both(program: Program, modes: np.ndarray) -> bool:
    """Whether units of several sides hold something, be they tied or not."""
    return len({program.laws[k].side for k in held_units(program, modes)}) > 1


def held_rows(program: Program, modes: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows that are held, and the side of each."""
    rows, sides = [], []
    for unit in (program.laws[k] for k in held_units(program, modes)):
        count = 2 if unit.kind == PLANAR else 1
        rows += range(unit.row, unit.row + count)
        sides += [unit.side] * count
    return rows, sides


def note_ties(run: Any) -> None:
    """Have a run remember what was said when laws were settled."""
    if run.tied is None and (why := run.settle.now.tied):
        run.tied = run._block.time, why


def note_here(run: Any, evaluate: Evaluate) -> None:
    """Have a run remember that laws are tied where it is, and parts cannot say so."""
    program, block = run._program, run._block
    if program.opaque:  # modes were chosen just now, and are elsewhere
        note_ties(run)
        return
    given = run._inputs_at(block.time), run._parameters
    if run.tied is None and tied_here(program, evaluate, block.time, run.state, *given):
        run.tied = block.time, told_ties(program.laws, held_units(program, modes_here(program, run.state)))


def tied_rows(kernel: Any, columns: list[np.ndarray], parameters: np.ndarray) -> np.ndarray:
    """At which of some rows (times, states, inputs) laws are tied; as long as modes stay it is what it was: those of
    laws, and others on which conditions may depend.
    """
    program, (times, states, inputs) = kernel.program, columns
    tied = np.zeros(len(states), dtype=bool)
    if not len(states):
        return tied
    modes = kernel.law_states().modes_of_all(states)
    patterns = (modes[:, [unit.modes[0] for unit in program.laws]] != 0.0).astype(float)
    if program.catching or len(program.events) > len(LAW_EVENTS) * len(program.laws):
        others = np.setdiff1d(np.arange(modes.shape[1]), [mode for unit in program.laws for mode in unit.modes])
        patterns = np.hstack([patterns, modes[:, others]])
    begins = np.flatnonzero(np.any(patterns[1:] != patterns[:-1], axis=1)) + 1
    for part in np.split(np.arange(len(states)), begins):
        if held_on_both(program, modes[part[0]]):
            k, given = part[0], parameters if parameters.ndim == 1 else parameters[part[0]]
            tied[part] = kernel.level(float(times[k, 0]), states[k], inputs[k], given) == TIED
    return tied
