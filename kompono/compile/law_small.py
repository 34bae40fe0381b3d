"""Up to four rows that are held, with the friction they carry, in the native solver of laws: straight-line code.

A box on four corners is the usual machine with redundant rows: four gaps, of which three suffice. Rows are eliminated
in their order, and the last may turn out to say nothing new. Solutions are then z + t n with n the forces that move
nothing, and t makes them the least, as the searches for pivots of `law_least` and `law_symmetric` do, to rounding.
Whatever else there is (small pivots on the way, a last one that is neither clear nor rounding, redundant rows that
share by what they can bear, rows that slide by themselves) is left to these.
"""

from __future__ import annotations

from kompono.compile.emit import BOOL, INT, REAL, Value, Variable
from kompono.compile.law_columns import COLUMNS, Columns
from kompono.compile.law_work import Work

MOST = COLUMNS  # rows, asked for at once
_PIVOT = 1e-3  # of what a diagonal was: less is left to others
_NOTHING = 1e-12  # the same of the last: less is rounding
_MOBILE = 1e-9  # of the most mobile row: less may be rounding
_TOGETHER = ("laws", "least", "motion", "back")  # purposes of which the linear problem is all


def is_small(work: Work) -> bool:
    """Whether this may be all that is to do."""
    return work.sizes.purpose in _TOGETHER and work.sizes.rows > 0


def solve_small(work: Work, columns: Columns, done: Variable) -> None:
    """Forces of acting rows to `z`, and `done`, if they are few and none slides by itself."""
    code, count = work.code, work.active.get()
    with code.when((count <= MOST) & work.sliding.get().equals(0)):
        columns.ask(Value(code, "0", INT), count)
        for size in range(1, min(MOST, work.most) + 1):
            with code.when(count.equals(size)):
                _Elimination(work, columns, size).solve(done)


class _Elimination:
    """The equations of so many rows."""

    def __init__(self, work: Work, columns: Columns, size: int) -> None:
        self.work, self.code, self.last = work, work.code, size - 1
        self.rows = [work.which[k] for k in range(size)]
        self.matrix = [[columns.answer(row, k) for k in range(size)] for row in self.rows]
        self.right = [0.0 - work.law(row, "offset") for row in self.rows]

    def solve(self, done: Variable) -> None:
        """Eliminate, and write what is found if that is all there is to it."""
        code, last = self.code, self.last
        before = [self.matrix[k][k] for k in range(last + 1)]
        good, inverse = self._mobile(before), []
        for k in range(last):
            pivot = self.matrix[k][k]
            good = good & (code.math("fabs", pivot) > _PIVOT * before[k])
            inverse.append(1.0 / pivot)
            self._eliminate(k, inverse[k])
        pivot, rounding = self.matrix[last][last], _NOTHING * before[last]
        clear = code.math("fabs", pivot) > _PIVOT * before[last]
        spare = (code.math("fabs", pivot) <= rounding) & self._shares_alike()
        with code.when(good & (clear | spare)):
            self._write(clear, inverse)
            done.set(True)

    def _mobile(self, diagonal: list[Value]) -> Value:
        """Whether forces clearly move all rows they act on."""
        largest = diagonal[0]
        for one in diagonal[1:]:
            largest = self.code.math("maxnum", largest, one)
        found = diagonal[0] > _MOBILE * largest
        for one in diagonal[1:]:
            found = found & (one > _MOBILE * largest)
        return found

    def _eliminate(self, k: int, inverse: Value) -> None:
        for i in range(k + 1, self.last + 1):
            share = self.matrix[i][k] * inverse
            self.right[i] = self.right[i] - share * self.right[k]
            for j in range(k + 1, self.last + 1):
                self.matrix[i][j] = self.matrix[i][j] - share * self.matrix[k][j]

    def _shares_alike(self) -> Value:
        """Whether no row is friction that sticks: these share by what they can bear."""
        found = Value(self.code, "true", BOOL)
        for row in self.rows:
            found = found & ~((self.work.law(row, "mu") > 0.0) | (self.work.law(row, "limit") > 0.0))
        return found

    def _write(self, clear: Value, inverse: list[Value]) -> None:
        """z + t n: t from the last equation, or, if that says nothing, so that n has no part in the sum."""
        code, last = self.code, self.last
        z = self._back([self.right[k] for k in range(last)], inverse)
        n = self._back([0.0 - self.matrix[k][last] for k in range(last)], inverse)
        along, square = Value(code, "0.0", REAL), Value(code, "1.0", REAL)
        for one, other in zip(z, n, strict=True):
            along, square = along - one * other, square + other * other
        t = code.select(clear, self.right[last], along) / code.select(clear, self.matrix[last][last], square)
        for k in range(last):
            self.work.z[k] = z[k] + t * n[k]
        self.work.z[last] = t

    def _back(self, right: list[Value], inverse: list[Value]) -> list[Value]:
        """Unknowns of all rows but the last, that of which is in the right side."""
        found: dict[int, Value] = {}
        for k in reversed(range(len(right))):
            value = right[k]
            for j in range(k + 1, len(right)):
                value = value - self.matrix[k][j] * found[j]
            found[k] = value * inverse[k]
        return [found[k] for k in range(len(right))]
