"""Up to four rows that are held, with the friction they carry, in the native solver of laws: straight-line code.

A box on four corners is the usual machine with redundant rows: four gaps, of which three suffice. Rows are eliminated
in their order, and the last may turn out to say nothing new. Solutions are then z + t n with n the forces that move
nothing, and t makes them the least, as the searches for pivots of `law_least` and `law_symmetric` do, to rounding.
Whatever else there is (small pivots on the way, a last one that is neither clear nor rounding, redundant rows that
share by what they can bear, rows that slide by themselves) is left to these. Which rows act is found out for four rows
of the table at a time (see `law_listing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kompono.compile.emit import BOOL, REAL, Code, Value, Variable, room
from kompono.compile.law_columns import COLUMNS, Columns
from kompono.compile.law_listing import Listing
from kompono.compile.law_torn import LEFT
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import Sizes

MOST_ROWS = 64  # of a table
_PIVOT = 1e-3  # of what a diagonal was: less is left to others
_NOTHING = 1e-12  # the same of the last: less is rounding
_MOBILE = 1e-9  # of the most mobile row: less may be rounding
_TOGETHER = ("laws", "driven", "least", "motion", "speeds", "back")  # purposes of which the linear problem is all


def is_small(work: Work) -> bool:
    """Whether this may be all that is to do."""
    return work.sizes.purpose in _TOGETHER and COLUMNS <= work.sizes.rows <= MOST_ROWS


def solve_small(work: Work, columns: Columns, done: Variable) -> None:
    """Forces of all rows to `out`, and `done`, if no more than four act and none slides by itself."""
    code, listing = work.code, Listing(work)
    with code.when(listing.is_easy & (listing.count <= COLUMNS)):
        with code.when(listing.count.equals(0)):
            listing.write(None)
            done.set(True)
        with code.when(listing.count > 0):
            acting, z = listing.acting(), room(code, work.sizes.rows)
            columns.ask_few(listing, acting)
            for k in range(work.sizes.rows):
                z[k] = 0.0
            for size in range(1, COLUMNS + 1):
                with code.when(listing.count.equals(size)):
                    elimination = elimination_of(work, columns, acting[:size])
                    with code.when(elimination.is_clear):
                        for row, force in zip(acting, elimination.forces(), strict=False):
                            z[row] = force
                        done.set(True)
            with code.when(done.get()):
                listing.write(z)


class Rows(Protocol):
    """Numbers of rows, by place and field of the table."""

    @property
    def code(self) -> Code:
        """Where code goes."""
        ...

    @property
    def sizes(self) -> Sizes:
        """What forces are wanted for."""
        ...

    def law(self, i: Any, field: str) -> Value:
        """A number of a row."""
        ...


class Answers(Protocol):
    """What the machine answers to one unit of some rows."""

    def answer(self, row: Any, k: int) -> Value:
        """What the k-th of them does to a row."""
        ...


def elimination_of(work: Rows | Work, columns: Answers, rows: Sequence[Value | int]) -> Elimination:
    """The equations of up to four rows, whose columns are there."""
    return (_Pairs if len(rows) == COLUMNS else Elimination)(work, columns, rows)


class Elimination:
    """The equations of some rows."""

    def __init__(self, work: Rows | Work, columns: Answers, rows: Sequence[Value | int]) -> None:
        self.work, self.code, self.rows, self.last = work, work.code, rows, len(rows) - 1
        self.matrix = [[columns.answer(row, k) for k in range(len(rows))] for row in rows]
        self.right = [0.0 - work.law(row, "offset") for row in rows]
        self._fuses = isinstance(work, Work)  # what also stands in line has the same bits there
        self.inverse: list[Value] = []
        self.code.fuses, before = self._fuses, self.code.fuses
        self.is_clear = self._eliminate_all()
        self.code.fuses = before

    def _eliminate_all(self) -> Value:
        """Eliminate; whether that is all there is to it."""
        code, last = self.code, self.last
        before = [self.matrix[k][k] for k in range(last + 1)]
        good = self._mobile(before)
        for k in range(last):
            pivot = self.matrix[k][k]
            good = good & (code.math("fabs", pivot) > _PIVOT * before[k])
            self.inverse.append(1.0 / pivot)
            self._eliminate(k)
        size = code.math("fabs", self.matrix[last][last])
        self.says_something = size > _PIVOT * before[last]
        spare = (size <= _NOTHING * before[last]) & self._shares_alike()
        if self._may_tear:
            spare = spare & self._implied(self.right[last], code.math("fabs", self.work.law(self.rows[last], "offset")))
        return good & (self.says_something | spare)

    @property
    def _may_tear(self) -> bool:
        """Whether rows that say the same may want different motions."""
        return self.work.sizes.purpose == "driven"

    def _implied(self, left: Value, size: Value) -> Value:
        """Whether the other rows leave nothing of what the last one says."""
        return self.code.math("fabs", left) <= LEFT * size

    def _mobile(self, diagonal: list[Value]) -> Value:
        """Whether forces clearly move all rows they act on."""
        largest = diagonal[0]
        for one in diagonal[1:]:
            largest = self.code.math("maxnum", largest, one)
        found = diagonal[0] > _MOBILE * largest
        for one in diagonal[1:]:
            found = found & (one > _MOBILE * largest)
        return found

    def _eliminate(self, k: int) -> None:
        for i in range(k + 1, self.last + 1):
            share = self.matrix[i][k] * self.inverse[k]
            self.right[i] = self.right[i] - share * self.right[k]
            for j in range(k + 1, self.last + 1):
                self.matrix[i][j] = self.matrix[i][j] - share * self.matrix[k][j]

    def _shares_alike(self) -> Value:
        """Whether no row is friction that sticks: these share by what they can bear."""
        found = Value(self.code, "true", BOOL)
        for row in self.rows:
            found = found & ~(self.work.law(row, "mu") + self.work.law(row, "limit") > 0.0)
        return found

    def forces(self) -> list[Value]:
        """Forces of the rows."""
        self.code.fuses, before = self._fuses, self.code.fuses
        found = self._forces()
        self.code.fuses = before
        return found

    def _forces(self) -> list[Value]:
        """z + t n: t from the last equation, or, if that says nothing, so that n has no part in the sum."""
        code, last, clear = self.code, self.last, self.says_something
        z = self._back([self.right[k] for k in range(last)])
        n = self._back([0.0 - self.matrix[k][last] for k in range(last)])
        along, square = Value(code, "0.0", REAL), Value(code, "1.0", REAL)
        for one, other in zip(z, n, strict=True):
            along, square = along - one * other, square + other * other
        t = code.select(clear, self.right[last], along) / code.select(clear, self.matrix[last][last], square)
        return [*(one + t * other for one, other in zip(z, n, strict=True)), t]

    def _back(self, right: list[Value]) -> list[Value]:
        """Unknowns of all rows but the last, that of which is in the right side."""
        found: dict[int, Value] = {}
        for k in reversed(range(len(right))):
            value = right[k]
            for j in range(k + 1, len(right)):
                value = value - self.matrix[k][j] * found[j]
            found[k] = value * self.inverse[k]
        return [found[k] for k in range(len(right))]


class _Pairs(Elimination):
    """Four rows, two and two: a processor waits for two divisions, one after the other, and not for four."""

    def _eliminate_all(self) -> Value:
        code, a, r = self.code, self.matrix, self.right
        before = [a[k][k] for k in range(4)]
        whole = a[0][0] * a[1][1] - a[0][1] * a[1][0]
        good = self._mobile(before) & (code.math("fabs", whole) > _PIVOT * (before[0] * before[1]))
        inverse = 1.0 / whole
        self.first = [self._first(inverse, a[0][j], a[1][j]) for j in (2, 3)]
        self.found = self._first(inverse, r[0], r[1])
        self.left = [[a[i][j] - self._along(i, self.first[j - 2]) for j in (2, 3)] for i in (2, 3)]
        self.rest = [r[i] - self._along(i, self.found) for i in (2, 3)]
        (self.pivot, beside), (below, last) = self.left
        self.whole = self.pivot * last - beside * below
        size, scale = code.math("fabs", self.whole), code.math("fabs", self.pivot) * before[3]
        self.says_something = size > _PIVOT * scale
        spare = (size <= _NOTHING * scale) & self._shares_alike()
        if self._may_tear:
            most = code.math("fabs", self.pivot * self.work.law(self.rows[3], "offset"))
            spare = spare & self._implied(self.pivot * self.rest[1] - below * self.rest[0], most)
        return good & (code.math("fabs", self.pivot) > _PIVOT * before[2]) & (self.says_something | spare)

    def _first(self, inverse: Value, above: Value, below: Value) -> tuple[Value, Value]:
        """What the first two unknowns are for a right side of their equations."""
        a = self.matrix
        return (a[1][1] * above - a[0][1] * below) * inverse, (a[0][0] * below - a[1][0] * above) * inverse

    def _along(self, i: int, first: tuple[Value, Value]) -> Value:
        return self.matrix[i][0] * first[0] + self.matrix[i][1] * first[1]

    def _forces(self) -> list[Value]:
        """As of others, with z and n multiplied by the third pivot, so that nothing waits for its reciprocal."""
        code, (beside, below), clear = self.code, (self.left[0][1], self.left[1][0]), self.says_something
        z = [*(self.pivot * self.found[k] - self.first[0][k] * self.rest[0] for k in range(2)), self.rest[0]]
        n = [*(self.first[0][k] * beside - self.first[1][k] * self.pivot for k in range(2)), 0.0 - beside]
        along = (0.0 - z[0] * n[0]) - z[1] * n[1] - z[2] * n[2]
        square = (n[0] * n[0] + n[1] * n[1]) + (n[2] * n[2] + self.pivot * self.pivot)
        above = code.select(clear, self.pivot * self.rest[1] - below * self.rest[0], along)
        share, t = 1.0 / self.pivot, above / (self.pivot * code.select(clear, self.whole, square))
        return [*(share * one + t * other for one, other in zip(z, n, strict=True)), t * self.pivot]
