"""Names of the native functions that solve for the multipliers of laws.

Such a function is no graph of CasADi's: it loops as long as it must. All the compiler has to know about it, its sizes
and the function it calls, is in its name, so that it can stand in graphs like any other closed function.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FIELDS = (
    "kind",
    "direction",
    "offset",
    "mu",
    "limit",
    "first",
    "count",
    "unit",
)  # of a row in the table of laws, which has them one after the other: first all kinds
OFF, HELD, SLIDES = 0.0, 1.0, 2.0  # kinds of rows: z = 0; w = 0; z = -direction * limit
STRAIGHT = 1e30  # so many times more is told of the speed of slip that does not turn; twice if it may be marked so
WIDE = 128.0  # times the speed below which slip that is straight leans: a step in place of its shortest pieces
BENT = 1e-12  # part of slip, or of that speed, to the side of the direction chosen: it is not straight
TRUE = 0.1  # of that, of both: slip with less to the side may be marked as straight
BACK = 1e-16  # [m, m/s, rad, rad/s] of what is held: less is not brought back
ASKEW = 1e-15  # of the speed of slip: a speed of its gap that is less is rounding
PUSHES, OWN = -1, -2  # counts of one measure that is never negative; the latter is the force of row `unit` of the table
_RESPOND = re.compile(r"respond(\d+)_\w+")
_FEET = re.compile(r"respond\d+_stand(\d+)_")  # "feet" in older names, which tell no columns
_NAME = re.compile(r"(laws|driven|least|motion|speeds|back|slope|share|pull|bear)(\d*)_(\d+)_(\d+)_(\d+)_(\w+)")


class Sizes(NamedTuple):
    """What the name of a solver tells: numbers in the factor, rows, measures, the function it asks, and what for.

    "laws": forces; "driven": the same where drives may tear at redundant rows (see `compile/law_torn.py`); "least":
    forces that are linear in what is given, redundant rows share alike; "motion": what forces do, so that redundant
    rows need not share what they bear; "back" and "speeds": corrections of coordinates and of speeds that are off,
    which may be rounding;
    "slope": how forces change in some directions (`columns`), for what they do; "share": the same for themselves, which
    redundant rows have not. "pull" and "bear" are these two transposed: what rows and measures get of the forces.
    """

    factor: int
    rows: int
    measures: int
    respond: str
    purpose: str = "laws"
    columns: int = 0

    @property
    def transposed(self) -> bool:
        """Whether slopes are taken back."""
        return self.purpose in ("pull", "bear")

    @property
    def told(self) -> bool:
        """Whether the factor is what the machine answers itself, column by column."""
        return self.respond == told_name(self.rows, self.measures)

    @property
    def feet(self) -> int:
        """How many rows are gaps of feet, if all others are their slips, foot by foot; else 0."""
        return feet_told(self.respond)

    @property
    def slips(self) -> int:
        """How many slips each of these feet has."""
        return (self.rows - self.feet) // self.feet if self.feet else 0

    @property
    def base(self) -> int:
        """Numbers that all solvers are given: factor, table of rows, measures without multipliers."""
        return self.factor + len(FIELDS) * self.rows + self.measures

    @property
    def given(self) -> int:
        """Numbers in the column of arguments: those of the `base`; of feet also what the force of each, with the
        friction it carries, does to all gaps, gap by gap; of slopes the forces, and what changes of rows and measures,
        direction by direction, or, transposed, a weight of each force.
        """
        first = self.base
        if self.transposed:
            return first + 2 * self.rows
        if not self.columns:
            return first + self.feet**2
        return first + self.rows + self.columns * (self.rows + self.measures)

    def place(self, row: int, field: str) -> int:
        """Where an entry of the table is in the column of arguments."""
        return self.factor + FIELDS.index(field) * self.rows + row

    @property
    def found(self) -> int:
        """Numbers in the column of results: forces of the rows, or their changes, direction by direction; transposed,
        numbers for rows and measures.
        """
        if self.transposed:
            return self.rows + self.measures
        return self.rows * (self.columns or 1)

    @property
    def name(self) -> str:
        """The name of the solver: what it calls and its sizes are in it."""
        directions = self.columns or ""
        return f"{self.purpose}{directions}_{self.factor}_{self.rows}_{self.measures}_{self.respond}"


def respond_name(rows: int, digest: str, feet: int = 0) -> str:
    """The name of a function that answers forces on so many rows; if the first of them are the gaps of feet, and the
    others their slips, with the number of `feet`.
    """
    return f"respond{rows}_stand{feet}_{digest}" if feet else f"respond{rows}_{digest}"


def told_name(rows: int, measures: int) -> str:
    """The name of the one whose factor is what it answers, for one unit of each force."""
    return respond_name(rows, f"told{measures}")


def feet_told(respond: str) -> int:
    """How many feet the name of such a function tells; 0: its rows may be any."""
    found = _FEET.match(respond)
    return 0 if found is None else int(found[1])


def rows_asked(name: str) -> int | None:
    """How many rows a function of this name answers for, behind its factor; None for any other function."""
    found = _RESPOND.fullmatch(name)
    return None if found is None else int(found[1])


def sizes(name: str) -> Sizes | None:
    """The sizes of a solver and what it calls, from its name; None for any other function."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    return Sizes(int(found[3]), int(found[4]), int(found[5]), found[6], found[1], int(found[2] or 0))


def is_solver(name: str) -> bool:
    """Whether a name is that of a solver."""
    return _NAME.fullmatch(name) is not None
