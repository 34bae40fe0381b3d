"""Which units hold something together with others beyond the border of a part, where that part cannot hand on its rows
(see `compile/law_ties.py`): their forces may be rounding, and whoever runs the machine is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kompono.compile.law_ties import are_tied
from kompono.solve.laws.units import Kind, LawsInPlay, UnitChoice, UnitMode
from kompono.translate.program import LawUnit


def tied_units(units: Sequence[LawUnit], chosen: Sequence[int], part: LawsInPlay, found: UnitChoice) -> list[int]:
    """Numbers of units that hold where modes were found for those that were chosen, if some of them are tied."""
    rows, sides, held = [], [], []
    for i, number in enumerate(chosen):
        if found.modes[i] == UnitMode.HELD:
            count = 2 if units[number].kind == Kind.PLANAR else 1
            rows += range(part.units[i].row, part.units[i].row + count)
            sides += [units[number].side] * count
            held.append(number)
    return held if are_tied(part.problem.A[np.ix_(rows, rows)], np.array(sides)) else []
