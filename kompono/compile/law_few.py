"""Laws of few rows as one linear problem, in straight-line code; on lanes or alone.

A row that is off has z = 0, one that is held A z = -b, and one that slides z + d mu n (n0 + B z) = -d limit, n the
direction of the reaction; the last is multiplied by the length of that, so that nothing waits for a division. That is
eliminated on all lanes at once, without looking for pivots, and again until no direction changes. Lanes on which this
is not the answer (rows that depend on each other, directions that do not come to rest) are left to others.
"""

from __future__ import annotations

from collections.abc import Callable

from kompono.compile.emit import INT, Array, Code, Value, Variable, anywhere, room, spread
from kompono.translate.laws.naming import BACK, FIELDS, HELD, OFF, SLIDES, Sizes

MOST_ROWS = 6  # that are eliminated together
MOST_MEASURES = 12  # that may limit them
_TRIES = 12  # directions of reactions that are tried
_CHANGE = 1e-14  # of z, relative to the largest: that is settled
_TURNED = 1e-15  # of the length of a reaction, by which it exceeds its part along a direction: that is no turn
_PIVOT = 1e-3  # of what a diagonal was: less is left to others
_MOBILE = 1e-9  # of the most mobile row: less may be rounding
_TOGETHER = ("laws", "driven", "least", "motion", "speeds", "back")  # purposes of which the linear problem is all


def are_few(known: Sizes, most: int = MOST_ROWS) -> bool:
    """Whether laws of these sizes, with no more rows than `most`, are solved so."""
    return known.rows <= most and known.measures <= MOST_MEASURES and known.purpose in _TOGETHER


class FewRows:
    """The linear problem of few rows; `respond(load, column)` asks the machine."""

    def __init__(self, code: Code, known: Sizes, respond: Callable[[Array, Array], None]) -> None:
        self.code, self.known, self.kind, self.respond = code, known, code.lanes.real, respond
        self.given, self.rows = Array(code, "%in", self.kind), range(known.rows)
        self.table = [{field: self._law(i, field) for field in FIELDS} for i in self.rows]

    def _law(self, i: int, field: str) -> Value:
        return self.given[self.known.place(i, field)]

    def _number(self, value: float) -> Value:
        return spread(self.code, value)

    def solve(self, tell: Callable[[Value], None]) -> None:
        """Forces to `%out`; `tell` which lanes are done."""
        code, out = self.code, Array(self.code, "%out", self.kind)
        on = [~row["kind"].equals(OFF) for row in self.table]
        if self.known.purpose == "back":
            matters = self._matters(on)
            on = [one & matters for one in on]
        slides = [one & row["kind"].equals(SLIDES) for one, row in zip(on, self.table, strict=True)]
        held = [one & row["kind"].equals(HELD) for one, row in zip(on, self.table, strict=True)]
        fed = [one & ~row["count"].equals(0.0) for one, row in zip(slides, self.table, strict=True)]
        easy = code.variable(code.lanes.truth, True)
        for one, hold, slide in zip(on, held, slides, strict=True):
            easy.set(easy.get() & (~one | hold | slide))
        for i, (slide, row) in enumerate(zip(slides, self.table, strict=True)):
            out[i] = code.select(slide, 0.0 - row["direction"] * row["limit"], 0.0)
        coupled = held[0] | fed[0]
        for hold, one in zip(held[1:], fed[1:], strict=True):
            coupled = coupled | hold | one
        with code.when(anywhere(coupled)):
            self._eliminate(on, held, fed, easy, out)
        tell(code.select(easy.get(), self._number(1.0), 0.0))

    def _matters(self, on: list[Value]) -> Value:
        """Whether what acting rows are off is more than rounding; or no number."""
        code, found = self.code, ~on[0] & on[0]
        for one, row in zip(on, self.table, strict=True):
            found = found | (one & ~(code.math("fabs", row["offset"]) <= BACK))
        return found

    def _columns(self, on: list[Value]) -> list[Array]:
        """What the machine answers to one unit of each row that acts on any lane."""
        code, known = self.code, self.known
        if known.told:
            return [self.given.at(i * (known.rows + known.measures)) for i in self.rows]
        load = room(code, known.factor + known.rows)
        code.copy(load, self.given, known.factor)
        columns = [room(code, known.rows + known.measures) for _ in self.rows]
        for i in self.rows:
            load[known.factor + i] = 0.0
        for i, column in enumerate(columns):
            with code.loop(known.rows + known.measures) as k:
                column[k] = 0.0
            with code.when(anywhere(on[i])):
                load[known.factor + i] = 1.0
                self.respond(load, column)
                load[known.factor + i] = 0.0
        return columns

    def _eliminate(self, on: list[Value], held: list[Value], fed: list[Value], easy: Variable, out: Array) -> None:
        """Equations of all rows, those without any being z = what it is already, until the directions of all reactions
        are known; `easy` are lanes of which this is the answer.
        """
        code, columns = self.code, self._columns(on)
        plain = [code.variable(self.kind, out[i]) for i in self.rows]
        n0 = [self.given[self.known.factor + len(FIELDS) * self.known.rows + m] for m in range(self.known.measures)]
        ways = [room(code, self.known.measures + 1) for _ in self.rows]
        for i, way in enumerate(ways):
            self._point(self.table[i], n0, way)
        tries, settled = code.variable(INT, 0), code.variable(code.lanes.truth, False)
        with code.forever():
            matrix, right = [], []
            for i, (row, way) in enumerate(zip(self.table, ways, strict=True)):
                share = code.select(fed[i], row["direction"] * row["mu"], 0.0)
                size = code.select(fed[i], way[len(n0)], 1.0)
                answers = [
                    self._along(way, [column[self.known.rows + m] for m in range(len(n0))]) for column in columns
                ]
                line = [
                    code.select(held[i], columns[j][i], (size if i == j else 0.0) + share * answers[j])
                    for j in self.rows
                ]
                matrix.append([code.select(on[j], line[j], float(i == j)) for j in self.rows])
                base = plain[i].get() * size - share * self._along(way, n0)
                right.append(code.select(held[i], 0.0 - row["offset"], base))
            self._look_at_mobility(matrix, held, easy)
            found = self._solved(matrix, right, easy)
            change, largest = self._number(0.0), self._number(0.0)
            if code.lanes.count > 1:  # what has settled is not changed by what has not
                found = [code.select(settled.get(), out[i], found[i]) for i in self.rows]
            for i in self.rows:
                change = code.math("maxnum", change, code.math("fabs", found[i] - out[i]))
                largest = code.math("maxnum", largest, code.math("fabs", found[i]))
                out[i] = found[i]
            now = [n0[m] + self._sum(columns, found, self.known.rows + m) for m in range(len(n0))]
            kept = ~(fed[0] & ~fed[0])
            for i, way in enumerate(ways):
                kept = kept & (~fed[i] | self._keeps(self.table[i], now, way))
            settled.set(settled.get() | kept | (change <= _CHANGE * largest))
            tries.set(tries.get() + 1)
            code.leave(~anywhere(easy.get() & ~settled.get()) | (tries.get() >= _TRIES))
            for i, way in enumerate(ways):
                self._point(self.table[i], now, way)
        easy.set(easy.get() & settled.get())

    def _look_at_mobility(self, matrix: list[list[Value]], held: list[Value], easy: Variable) -> None:
        """Leave lanes to the solver for one on which a held row may be one that nothing can move."""
        largest = self._number(0.0)
        for i in self.rows:
            largest = self.code.math("maxnum", largest, self.code.select(held[i], matrix[i][i], 0.0))
        for i in self.rows:
            easy.set(easy.get() & (~held[i] | (matrix[i][i] > _MOBILE * largest)))

    def _sum(self, columns: list[Array], z: list[Value], place: int) -> Value:
        total = self._number(0.0)
        for column, one in zip(columns, z, strict=True):
            total = total + column[place] * one
        return total

    def _along(self, way: Array, numbers: list[Value]) -> Value:
        """The sum of the products of several numbers with those of a direction."""
        total = self._number(0.0)
        for m, number in enumerate(numbers):
            total = total + way[m] * number
        return total

    def _limits(self, row: dict[str, Value], reaction: list[Value]) -> tuple[list[Value], Value, Value]:
        """Which measures limit a row, the length of these, and whether they only push."""
        code, square = self.code, self._number(0.0)
        pushes = row["count"] < 0.0
        last = row["first"] + code.select(pushes, self._number(1.0), row["count"])
        mine = [(row["first"] <= float(m)) & (last > float(m)) for m in range(len(reaction))]
        for one, number in zip(mine, reaction, strict=True):
            square = square + code.select(one, number * number, 0.0)
        return mine, code.math("sqrt", square), pushes

    def _point(self, row: dict[str, Value], reaction: list[Value], way: Array) -> None:
        """Write the measures that limit a row, and behind them their length; of what pushes both are 1."""
        one = self._number(1.0)
        mine, size, pushes = self._limits(row, reaction)
        for m, (belongs, number) in enumerate(zip(mine, reaction, strict=True)):
            way[m] = self.code.select(belongs, self.code.select(pushes, one, number), 0.0)
        way[len(reaction)] = self.code.select(pushes, one, size)

    def _keeps(self, row: dict[str, Value], reaction: list[Value], way: Array) -> Value:
        """Whether the measures that limit a row are as long as they are along what they were."""
        _, size, pushes = self._limits(row, reaction)
        both = size * way[len(reaction)]
        return pushes | (both - self._along(way, reaction) <= _TURNED * both)

    def _solved(self, matrix: list[list[Value]], right: list[Value], easy: Variable) -> list[Value]:
        """By elimination in the order of the rows; a pivot that is small says that they depend on each other."""
        code, rows = self.code, self.known.rows
        work, side = [list(line) for line in matrix], list(right)
        inverse: list[Value] = []
        for k in range(rows):
            pivot, was = work[k][k], code.math("fabs", matrix[k][k])
            easy.set(easy.get() & (code.math("fabs", pivot) > _PIVOT * was))
            inverse.append(1.0 / pivot)
            for i in range(k + 1, rows):
                factor = work[i][k] * inverse[k]
                side[i] = side[i] - factor * side[k]
                for j in range(k + 1, rows):
                    work[i][j] = work[i][j] - factor * work[k][j]
        found: dict[int, Value] = {}
        for k in reversed(range(rows)):
            value = side[k]
            for j in range(k + 1, rows):
                value = value - work[k][j] * found[j]
            found[k] = value * inverse[k]
        return [found[k] for k in range(rows)]
