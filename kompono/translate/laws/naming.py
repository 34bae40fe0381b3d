"""Names of the native functions that solve for the multipliers of laws.

Such a function is no graph of CasADi's: it loops as long as it must. All the compiler has to know about it, its sizes
and the function it calls, is in its name, so that it can stand in graphs like any other closed function.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FIELDS = ("kind", "direction", "offset", "mu", "limit", "first", "count", "unit")  # of one row in the table of laws
OFF, HELD, SLIDES = 0.0, 1.0, 2.0  # kinds of rows: z = 0; w = 0; z = -direction * limit
PUSHES, OWN = -1, -2  # counts of one measure that is never negative; the latter is the force of row `unit` of the table
_NAME = re.compile(r"(laws|least|motion|back)_(\d+)_(\d+)_(\d+)_(\w+)")


class Sizes(NamedTuple):
    """What the name of a solver tells: numbers in the factor, rows, measures, the function it asks, and what for.

    "laws": forces; "least": forces that are linear in what is given, redundant rows share alike; "motion": what forces
    do, so that redundant rows need not share what they bear; "back": corrections of what is off, which may be rounding.
    """

    factor: int
    rows: int
    measures: int
    respond: str
    purpose: str = "laws"

    @property
    def given(self) -> int:
        """Numbers in the column of arguments: factor, table of rows, measures without multipliers."""
        return self.factor + len(FIELDS) * self.rows + self.measures


def name_of(respond: str, factor: int, rows: int, measures: int, purpose: str = "laws") -> str:
    """The name of the solver of a set of laws: what it calls and its sizes are in the name."""
    return f"{purpose}_{factor}_{rows}_{measures}_{respond}"


def sizes(name: str) -> Sizes | None:
    """The sizes of a solver and what it calls, from its name; None for any other function."""
    found = _NAME.fullmatch(name)
    return Sizes(int(found[2]), int(found[3]), int(found[4]), found[5], found[1]) if found else None


def is_solver(name: str) -> bool:
    """Whether a name is that of a solver."""
    return _NAME.fullmatch(name) is not None
