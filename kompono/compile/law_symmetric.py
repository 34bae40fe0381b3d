"""Held rows without friction that follows a reaction: R y = r with R symmetric, not negative, maybe singular.

R, scaled to a diagonal of ones, is taken apart into L L^T with the largest pivots first; where they end, so do the
independent rows, and L has a column for each of those. A solution of least norm is then a combination of few columns,
L u, and further solutions with other weights of the unknowns (see `law_shares`) cost little more: weights D turn it
into D L u with (L^T D L) u = known.
"""

from __future__ import annotations

from kompono.compile.emit import INT, REAL, Array, Value
from kompono.compile.law_least import Equations, add, dot

_NOTHING_LEFT = 1e-10  # of the diagonal: pivots that are rounding


def factor(e: Equations, count: Value) -> Value:
    """L, row by row, to `rest`, scales to `sizes`, pivots to `order`; how many columns L has. NaN are kept in it."""
    code, left = e.code, e.taken
    with code.loop(count) as i:
        size = e.row(e.matrix, i)[i]
        mobile = ~(size <= 0.0)
        e.sizes[i] = code.select(mobile, 1.0 / code.math("sqrt", size), 0.0)
        left[i] = code.select(mobile, Value(code, "1.0", REAL), 0.0)
    rank = code.variable(INT, 0)
    with code.forever():
        best, largest = code.variable(INT, -1), code.variable(REAL, _NOTHING_LEFT)
        with code.loop(count) as i, code.when(~(left[i] <= largest.get())):
            largest.set(left[i])
            best.set(i)
        code.leave((best.get() < 0) | (rank.get() >= count))
        _column(e, best.get(), rank.get(), count)
        rank.set(rank.get() + 1)
    return rank.get()


def _column(e: Equations, pivot: Value, k: Value, count: Value) -> None:
    """The next column of L."""
    code, left, mine = e.code, e.taken, e.row(e.rest, pivot)
    size = code.math("sqrt", left[pivot])
    inverse, scale, source = 1.0 / size, e.sizes[pivot], e.row(e.matrix, pivot)
    with code.loop(count) as i:
        row = e.row(e.rest, i)
        value = inverse * (scale * e.sizes[i] * source[i] - dot(code, row, mine, k))
        value = code.select(left[i] < 0.0, Value(code, "0.0", REAL), value)  # a pivot before
        row[k] = value
        left[i] = left[i] - value * value
    mine[k] = size
    left[pivot] = -1.0
    e.order[k] = pivot


def known(e: Equations, right: Array, rank: Value, target: Array) -> None:
    """What the equations of the pivots say: L target = scaled right side, from above."""
    code = e.code
    with code.loop(rank) as k:
        i = e.order[k]
        row = e.row(e.rest, i)
        target[k] = (e.sizes[i] * right[i] - dot(code, row, target, k)) / row[k]


def solve_all(e: Equations, count: Value) -> None:
    """The solution where L has all its columns, to `result`."""
    code, y = e.code, e.work
    known(e, e.right, count, y)
    with code.loop(count) as j:
        k = count - 1 - j
        i = e.order[k]
        value = y[k] / e.row(e.rest, i)[k]
        y[k] = value
        row = e.row(e.rest, i)
        add(code, y, 0.0 - value, row, k)
        e.result[i] = e.sizes[i] * value


def solve_shared(e: Equations, weights: Array, rank: Value, count: Value) -> None:
    """The solution with the least sum of (result / weight)^2, to `result`."""
    code = e.code
    with code.loop(count) as i:
        e.result[i] = 0.0
    _middle(e, weights, rank, count)
    for again in (False, True):
        if again:  # what rounding has left
            with code.loop(count) as i:
                e.missing[i] = e.right[i] - dot(code, e.row(e.matrix, i), e.result, count)
        known(e, e.missing if again else e.right, rank, e.work)
        _within(e, rank)
        with code.loop(count) as i:
            moved = dot(code, e.row(e.rest, i), e.work, rank)
            weight, scale = weights[i], e.sizes[i]
            share = code.select(scale > 0.0, weight * weight / scale, 0.0)
            e.result[i] = e.result[i] + share * moved


def _middle(e: Equations, weights: Array, rank: Value, count: Value) -> None:
    """L^T D L, lower half, to `parts`, taken apart in turn; D = (weight / scale)^2."""
    code, middle = e.code, e.parts
    with code.loop(rank) as k, code.loop(k + 1) as m:
        e.row(middle, k)[m] = 0.0
    with code.loop(count) as i:
        row, scale = e.row(e.rest, i), e.sizes[i]
        weight = code.select(scale > 0.0, weights[i] / scale, 0.0)
        share = weight * weight
        with code.loop(rank) as k:
            add(code, e.row(middle, k), share * row[k], row, k + 1)
    with code.loop(rank) as k:
        mine = e.row(middle, k)
        with code.loop(k) as m:
            other = e.row(middle, m)
            mine[m] = (mine[m] - dot(code, mine, other, m)) / other[m]
        mine[k] = code.math("sqrt", mine[k] - dot(code, mine, mine, k))


def _within(e: Equations, rank: Value) -> None:
    """Solve with what was taken apart there, in place in `work`."""
    code, u, middle = e.code, e.work, e.parts
    with code.loop(rank) as k:
        mine = e.row(middle, k)
        u[k] = (u[k] - dot(code, mine, u, k)) / mine[k]
    with code.loop(rank) as j:
        k = rank - 1 - j
        mine = e.row(middle, k)
        value = u[k] / mine[k]
        u[k] = value
        add(code, u, 0.0 - value, mine, k)
