"""Held rows without friction that follows a reaction: R y = r with R symmetric, not negative, maybe singular.

R, scaled to a diagonal of ones, is taken apart into L L^T with the largest pivots first; where they end, so do the
independent rows, and L has a column for each of those. A solution of least norm is then a combination of few columns,
L u, and further solutions with other weights of the unknowns (see `law_shares`) cost little more: weights D turn it
into D L u with (L^T D L) u = known. Columns lie one behind the other, so that loops along them are wide.
"""

from __future__ import annotations

from kompono.compile.emit import INT, REAL, Array, Value
from kompono.compile.law_least import Equations, add, dot

_NOTHING_LEFT = 1e-10  # of the diagonal: pivots that are rounding


def factor(e: Equations, count: Value) -> Value:
    """L, column by column, to `rest`, scales to `sizes`, pivots to `order`; how many columns. NaN are kept in it."""
    code, left = e.code, e.taken
    with code.loop(count) as i:
        size = e.row(e.matrix, i)[i]
        mobile = ~(size <= 0.0)
        e.sizes[i] = code.select(mobile, 1.0 / code.math("sqrt", size), 0.0)
        left[i] = code.select(mobile, Value(code, "1.0", REAL), 0.0)
        e.result[i] = 0.0
    rank = code.variable(INT, 0)
    with code.forever():
        best, largest = code.variable(INT, -1), code.variable(REAL, _NOTHING_LEFT)
        with code.loop(count) as i:
            more = ~(left[i] <= largest.get())
            largest.set(code.select(more, left[i], largest.get()))
            best.set(code.select(more, i, best.get()))
        code.leave((best.get() < 0) | (rank.get() >= count))
        _column(e, best.get(), rank.get(), count)
        rank.set(rank.get() + 1)
    return rank.get()


def _column(e: Equations, pivot: Value, k: Value, count: Value) -> None:
    """The next column of L."""
    code, left, mine = e.code, e.taken, e.row(e.rest, k)
    size = code.math("sqrt", left[pivot])
    inverse, scale, source = 1.0 / size, e.sizes[pivot] / size, e.row(e.matrix, pivot)
    with code.loop(count) as i:
        mine[i] = scale * e.sizes[i] * source[i]
    with code.loop(k) as j:
        before = e.row(e.rest, j)
        add(code, mine, 0.0 - before[pivot] * inverse, before, count)
    with code.loop(count) as i:
        mine[i] = code.select(left[i] < 0.0, Value(code, "0.0", REAL), mine[i])  # a pivot before
        left[i] = left[i] - mine[i] * mine[i]
    mine[pivot] = size
    left[pivot] = -1.0
    e.order[k] = pivot


def _known(e: Equations, right: Array, rank: Value) -> None:
    """What the equations of the pivots say: L work = scaled right side, from above."""
    code, target = e.code, e.work
    with code.loop(rank) as k:
        i = e.order[k]
        value = code.variable(REAL, e.sizes[i] * right[i])
        with code.loop(k) as j:
            value.set(value.get() - e.row(e.rest, j)[i] * target[j])
        target[k] = value.get() / e.row(e.rest, k)[i]


def solve_all(e: Equations, count: Value) -> None:
    """The solution where L has all its columns, to `result`, or that in which the pivots of so many bear all."""
    code, y = e.code, e.work
    _known(e, e.right, count)
    with code.loop(count) as j:
        k = count - 1 - j
        i = e.order[k]
        value = code.variable(REAL, y[k])
        with code.loop(j) as m:
            later = e.order[k + m + 1]
            value.set(value.get() - e.row(e.rest, k)[later] * y[k + m + 1])
        y[k] = value.get() / e.row(e.rest, k)[i]
        e.result[i] = e.sizes[i] * y[k]


def solve_shared(e: Equations, weights: Array, rank: Value, count: Value) -> None:
    """The solution with the least sum of (result / weight)^2, to `result`, but for rounding (see `refine`)."""
    code = e.code
    with code.loop(count) as i:
        scale = e.sizes[i]
        e.shares[i] = code.select(scale > 0.0, weights[i] * weights[i] / scale, 0.0)
        e.result[i] = 0.0
    _middle(e, rank, count)
    _known(e, e.right, rank)
    _add_within(e, rank, count)


def refine(e: Equations, rank: Value, count: Value) -> None:
    """Add to the result what it misses."""
    code = e.code
    with code.loop(count) as i:
        e.missing[i] = e.right[i] - dot(code, e.row(e.matrix, i), e.result, count, wide=True)
    _known(e, e.missing, rank)
    _add_within(e, rank, count)


def _middle(e: Equations, rank: Value, count: Value) -> None:
    """L^T D L, lower half, to `parts`, taken apart in turn; D = (weight / scale)^2."""
    code, middle = e.code, e.parts
    with code.loop(rank) as k:
        column, mine = e.row(e.rest, k), e.row(middle, k)
        with code.loop(count) as i:
            scale = e.sizes[i]
            e.missing[i] = code.select(scale > 0.0, column[i] * e.shares[i] / scale, 0.0)
        with code.loop(k + 1) as m:
            mine[m] = dot(code, e.missing, e.row(e.rest, m), count, wide=True)
        with code.loop(k) as m:
            other = e.row(middle, m)
            mine[m] = (mine[m] - dot(code, mine, other, m)) / other[m]
        mine[k] = code.math("sqrt", mine[k] - dot(code, mine, mine, k))


def _add_within(e: Equations, rank: Value, count: Value) -> None:
    """Solve with what was taken apart there, for what `work` is known to be, and add D L u to the result."""
    code, u, middle = e.code, e.work, e.parts
    with code.loop(rank) as k:
        mine = e.row(middle, k)
        u[k] = (u[k] - dot(code, mine, u, k)) / mine[k]
    with code.loop(count) as i:
        e.missing[i] = 0.0
    with code.loop(rank) as j:
        k = rank - 1 - j
        mine = e.row(middle, k)
        value = u[k] / mine[k]
        add(code, u, 0.0 - value, mine, k)
        add(code, e.missing, value, e.row(e.rest, k), count)
    with code.loop(count) as i:
        e.result[i] = e.result[i] + e.shares[i] * e.missing[i]
