"""Native code that factors a sparse matrix in an order that is chosen beforehand, and solves with the factors.

Where a matrix may have entries is known when code is made: so are the order in which unknowns are eliminated, by least
degree, and all entries that arise then. The code walks along tables of places. There are no row exchanges: matrices of
stages are 1 - g J, and those of machines and networks that take up energy need none. Whoever asks for factors tries
them, and takes dense ones where they fail (`stage_matrix.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from kompono.compile.emit import INT, REAL, Array, Code, Value

DEAR = 8  # times as long as one of a dense matrix an operation takes here


@dataclass(frozen=True)
class Plan:
    """The order of elimination of a matrix, whose entries lie at `entries` (row by row), and where factors have theirs:
    `rows` (in this order) of places in it.
    """

    size: int
    entries: tuple[int, ...]
    order: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]

    @cached_property
    def operations(self) -> int:
        """Products in the factoring."""
        later = [sum(1 for j in row if j > i) for i, row in enumerate(self.rows)]
        return sum(count * (count + 1) for count in later)

    @property
    def pays(self) -> bool:
        """Whether it is quicker than a dense one."""
        return DEAR * self.operations < self.size**3 / 3

    @property
    def starts(self) -> list[int]:
        """Where the rows of the factors begin, and the last one ends."""
        starts = [0]
        for row in self.rows:
            starts.append(starts[-1] + len(row))
        return starts


@lru_cache(32)
def make_plan(size: int, entries: tuple[int, ...]) -> Plan:
    """The order of least degree for a matrix, as if it were symmetric."""
    near: list[set[int]] = [set() for _ in range(size)]
    for place in entries:
        i, j = divmod(place, size)
        if i != j:
            near[i].add(j)
            near[j].add(i)
    order, left, cliques = [], set(range(size)), []
    while left:
        pivot = min(left, key=lambda k: (len(near[k]), k))
        left.remove(pivot)
        order.append(pivot)
        cliques.append(near[pivot])
        for other in near[pivot]:
            near[other] |= near[pivot]
            near[other] -= {other, pivot}
    place = {unknown: k for k, unknown in enumerate(order)}
    rows: list[set[int]] = [{k} for k in range(size)]
    for k, clique in enumerate(cliques):
        for other in clique:
            rows[k].add(place[other])
            rows[place[other]].add(k)
    return Plan(size, entries, tuple(order), tuple(tuple(sorted(row)) for row in rows))


class Tables:
    """Whole numbers beside the code."""

    def __init__(self, code: Code, stem: str) -> None:
        self._code, self._stem, self._texts = code, stem, list[str]()

    def put(self, numbers: Sequence[int]) -> Array:
        """A table of numbers."""
        name = f"@{self._stem}.{len(self._texts)}"
        values = ", ".join(f"i64 {number}" for number in numbers or [0])
        self._texts.append(f"{name} = private unnamed_addr constant [{max(len(numbers), 1)} x i64] [{values}]\n")
        return Array(self._code, name, INT)

    @property
    def text(self) -> str:
        """All of them."""
        return "".join(self._texts)


class SparseLU:
    """Factors of one matrix: `given` has its entries, `factors` theirs, `row` one of them while it is made."""

    def __init__(self, code: Code, plan: Plan, tables: Tables) -> None:
        self._code, self._plan = code, plan
        place = {unknown: k for k, unknown in enumerate(plan.order)}
        sources: list[list[tuple[int, int]]] = [[] for _ in range(plan.size)]
        for number, entry in enumerate(plan.entries):
            i, j = divmod(entry, plan.size)
            sources[place[i]].append((place[j], number))
        ends = [0]
        for row in sources:
            ends.append(ends[-1] + len(row))
        flat = [pair for row in sources for pair in row]
        starts = plan.starts
        middles = [start + row.index(k) for k, (start, row) in enumerate(zip(starts, plan.rows, strict=False))]
        self._given_ends = tables.put(ends)
        self._given_columns, self._given_numbers = tables.put([a for a, _ in flat]), tables.put([b for _, b in flat])
        self._starts, self._middles = tables.put(starts), tables.put(middles)
        self._columns = tables.put([j for row in plan.rows for j in row])
        self._order = tables.put(plan.order)

    def factor(self, given: Array, factors: Array, row: Array) -> None:
        """Factors from entries; inverses of pivots on the diagonal."""
        code, columns, middles = self._code, self._columns, self._middles
        with code.loop(self._plan.size) as i:
            start, middle, end = self._starts[i], middles[i], self._starts[i + 1]
            with code.loop(end - start) as p:
                row[columns[start + p]] = 0.0
            first = self._given_ends[i]
            with code.loop(self._given_ends[i + 1] - first) as e:
                row[self._given_columns[first + e]] = given[self._given_numbers[first + e]]
            with code.loop(middle - start) as p:
                k = columns[start + p]
                pivot = middles[k]
                share = row[k] * factors[pivot]
                factors[start + p] = share
                source, places = factors.at(pivot + 1), columns.at(pivot + 1)
                with code.loop(self._starts[k + 1] - pivot - 1) as q:
                    j = places[q]
                    row[j] = row[j] - share * source[q]
            factors[middle] = 1.0 / row[i]
            with code.loop(end - middle - 1) as p:
                place = middle + 1 + p
                factors[place] = row[columns[place]]

    def solve(self, factors: Array, values: Array, row: Array) -> None:
        """values = matrix^-1 values, with the factors."""
        code, size, columns = self._code, self._plan.size, self._columns
        with code.loop(size) as i:
            start, total = self._starts[i], code.variable(REAL, values[self._order[i]])
            with code.loop(self._middles[i] - start) as p:
                total.set(total.get() - factors[start + p] * row[columns[start + p]])
            row[i] = total.get()
        with code.loop(size) as back:
            i = size - 1 - back
            middle, total = self._middles[i], code.variable(REAL, row[i])
            with code.loop(self._starts[i + 1] - middle - 1) as p:
                place = middle + 1 + p
                total.set(total.get() - factors[place] * row[columns[place]])
            row[i] = total.get() * factors[middle]
            values[self._order[i]] = row[i]


class SparseRows:
    """A sparse matrix, row by row, that multiplies."""

    def __init__(self, code: Code, rows: int, columns: int, entries: Sequence[int], tables: Tables) -> None:
        self._code, self._rows = code, rows
        ends = [0] * (rows + 1)
        for entry in entries:
            ends[entry // columns + 1] += 1
        for i in range(rows):
            ends[i + 1] += ends[i]
        self._ends, self._columns = tables.put(ends), tables.put([entry % columns for entry in entries])

    def add(self, matrix: Array, source: Array, target: Array, sign: float = 1.0) -> None:
        """target = matrix * source + sign * target."""

        def put(i: Value, total: Value, _: Value) -> None:
            target[i] = sign * target[i] + total

        self.each(matrix, source, put)

    def each(self, matrix: Array, source: Array, take: Callable[[Value, Value, Value], None]) -> None:
        """Row by row: `take(number, matrix * source there, sum of the sizes of its terms)`."""
        code = self._code
        with code.loop(self._rows) as i:
            first, total, terms = self._ends[i], code.variable(REAL, 0.0), code.variable(REAL, 0.0)
            with code.loop(self._ends[i + 1] - first) as e:
                term = matrix[first + e] * source[self._columns[first + e]]
                total.set(total.get() + term)
                terms.set(terms.get() + code.math("fabs", term))
            take(i, total.get(), terms.get())
