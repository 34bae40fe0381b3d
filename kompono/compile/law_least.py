"""The smallest solution of a few linear equations, in native code: R y = r, R square, maybe singular but consistent.

Redundant laws (four legs of a table) leave the multipliers open; the ones of least norm do not depend on the order in
which laws were declared. Unknowns may have weights (see `law_shares`): then the squares of y / weight add up to the
least. Rows are made orthogonal one after the other, always the one of which most is left compared with what it was;
rows of which nothing is left are implied by the others. What is then known of the solution are its components along the
orthogonal directions. Components along any other direction are zero: that is the least norm.
"""

from __future__ import annotations

from dataclasses import dataclass

from kompono.compile.emit import INT, REAL, Array, Code, Value, room

_NOTHING_LEFT = 1e-10  # share of a row that is rounding


@dataclass(frozen=True)
class Equations:
    """Memory of up to `most` equations: `matrix` (row by row, `most` apart) and `right` are given, `result` is found.

    `rest` is what is left of each row, a unit vector in the end; `parts` its components along these vectors.
    """

    code: Code
    most: int
    matrix: Array
    right: Array
    result: Array
    rest: Array
    parts: Array
    sizes: Array
    order: Array
    taken: Array
    work: Array
    missing: Array
    shares: Array

    def row(self, of: Array, i: Value) -> Array:
        """One row of a matrix."""
        return of.at(i * self.most)


def make_equations(code: Code, most: int) -> Equations:
    """Memory for up to `most` equations."""
    square, column = most * most, most
    matrix, rest, parts = (room(code, square) for _ in range(3))
    right, result, sizes, order, taken, work, missing, shares = (room(code, column) for _ in range(8))
    order = Array(code, order.pointer, INT)
    return Equations(code, most, matrix, right, result, rest, parts, sizes, order, taken, work, missing, shares)


def dot(code: Code, a: Array, b: Array, count: Value, wide: bool = False) -> Value:
    """The inner product of two vectors; `wide`: its terms may be added in any order, several at once."""
    total = code.variable(REAL, 0.0)
    with code.loop(count) as i:
        term = a[i] * b[i]
        before = total.get()
        total.set(code.let(REAL, f"fadd reassoc contract double {before.name}, {term.name}") if wide else before + term)
    return total.get()


def add(code: Code, target: Array, factor: Value, other: Array, count: Value) -> None:
    """target = target + factor * other."""
    with code.loop(count) as i:
        target[i] = target[i] + factor * other[i]


def solve_least(e: Equations, weights: Array, count: Value) -> None:
    """Write the solution of least norm of the first `count` equations; NaN if one of the numbers is."""
    code = e.code
    with code.loop(count) as i:
        row = e.row(e.matrix, i)
        with code.loop(count) as j:
            row[j] = row[j] * weights[j]
    start = _begin(e, count)
    rank = code.variable(INT, 0)
    with code.forever():
        best = _most_left(e, count)
        code.leave(best < 0)
        _take(e, best, rank.get(), count)
        rank.set(rank.get() + 1)
    with code.loop(count) as i:
        e.result[i] = start
    _substitute(e, rank.get(), count)
    _substitute(e, rank.get(), count)
    with code.loop(count) as j:
        e.result[j] = e.result[j] * weights[j]


def _begin(e: Equations, count: Value) -> Value:
    """All is left of all rows. The value is zero, or NaN if one of the numbers is not finite."""
    code = e.code
    total = code.variable(REAL, 0.0)
    with code.loop(count) as i:
        rest, source = e.row(e.rest, i), e.row(e.matrix, i)
        with code.loop(count) as j:
            rest[j] = source[j]
        e.sizes[i] = dot(code, source, source, count)
        e.taken[i] = 0.0
        total.set(total.get() + 0.0 * e.sizes[i] + 0.0 * e.right[i])
    return total.get()


def _most_left(e: Equations, count: Value) -> Value:
    """The row of which the largest share is left; -1 if nothing is left of any. Rows of zeros have no share."""
    code = e.code
    best, largest = code.variable(INT, -1), code.variable(REAL, _NOTHING_LEFT**2)
    with code.loop(count) as i, code.when(e.taken[i].equals(0.0)):
        rest = e.row(e.rest, i)
        share = dot(code, rest, rest, count) / e.sizes[i]
        with code.when(share > largest.get()):
            largest.set(share)
            best.set(i)
    return best.get()


def _take(e: Equations, i: Value, rank: Value, count: Value) -> None:
    """Make a row the next direction; the others lose their part along it."""
    code = e.code
    rest, parts = e.row(e.rest, i), e.row(e.parts, i)
    with code.loop(rank) as j:  # once more: what rounding has left of earlier directions
        parts[j] = parts[j] + _remove(e, rest, e.row(e.rest, e.order[j]), count)
    size = code.math("sqrt", dot(code, rest, rest, count))
    parts[rank] = size
    inverse = 1.0 / size
    with code.loop(count) as j:
        rest[j] = rest[j] * inverse
    e.order[rank], e.taken[i] = i, 1.0
    with code.loop(count) as k, code.when(e.taken[k].equals(0.0)):
        e.row(e.parts, k)[rank] = _remove(e, e.row(e.rest, k), rest, count)


def _remove(e: Equations, vector: Array, direction: Array, count: Value) -> Value:
    """Take its part along a unit vector off a vector."""
    part = dot(e.code, vector, direction, count)
    add(e.code, vector, 0.0 - part, direction, count)
    return part


def _substitute(e: Equations, rank: Value, count: Value) -> None:
    """Add to the result what the equations still miss, direction by direction."""
    code = e.code
    missing = e.sizes  # not needed any more
    with code.loop(rank) as i:
        which = e.order[i]
        missing[i] = e.right[which] - dot(code, e.row(e.matrix, which), e.result, count)
    with code.loop(rank) as i:
        parts = e.row(e.parts, e.order[i])
        missing[i] = (missing[i] - dot(code, parts, missing, i)) / parts[i]
    with code.loop(rank) as i:
        add(code, e.result, missing[i], e.row(e.rest, e.order[i]), count)
