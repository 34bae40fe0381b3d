"""Inverses of small symmetric matrices by sweeps, with rows that depend on others dropped (DESIGN section 4).

Sweeping all rows of A leaves -1/A. A row whose pivot falls below a tolerance times its reference, the size it has at
arbitrary positions (see `rank`), counts as implied by the others: it is not swept and gets a zero row in the inverse,
hence a zero multiplier. That is a select, not a branch. Each pattern of zeros is worked out once and kept as a CasADi
function.

Two rows, those of a planar loop, are inverted by their determinant: pivots are compared without being divided, so that
nothing waits for one division after another.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

from kompono.spatial.vectors import symmetric
from kompono.translate.symbolic import Matrix, Scalar, Vector

TOLERANCE = 1e-6  # of a pivot, relative to its reference: an angle of 1e-3
IMPLIED = 1e-9  # a pivot below this, where the conditions hold, is that of a row others imply, and no sign of danger
WELL_ABOVE = 1e-2  # what counts as a good pivot in the first round
ALWAYS = 1e-300  # a reference every pivot exceeds: that of rows which nothing else can imply


def inverse_of(matrix: Matrix) -> Matrix:
    """Inverse of a positive definite matrix by symmetric sweeps."""
    size = matrix.shape[0]
    entries = [matrix[i, j] for i in range(size) for j in range(i, size)]
    pattern = tuple(not entry.is_zero() for entry in entries)
    if size == 1:
        return 1 / matrix
    return ca.sparsify(_inverse_function(size, pattern)(ca.vertcat(*entries)))


def generalized_inverse(matrix: Matrix, reference: Vector, tolerance: Scalar) -> tuple[Matrix, Vector, Scalar]:
    """A symmetric K with A K A = A for a positive semidefinite A, which rows it keeps (the rest are zero in K), and the
    smallest pivot relative to its reference, implied rows apart. Rows whose reference is a constant zero are never
    taken; if nothing can imply any of them, nobody looks at their pivots.
    """
    size = matrix.shape[0]
    if reference.is_constant() and not np.any(ca.DM(reference).full() != ALWAYS):
        return inverse_of(matrix), ca.SX.ones(size), ca.SX(1)
    entries = [matrix[i, j] for i in range(size) for j in range(i, size)]
    pattern = tuple(not entry.is_zero() for entry in entries)
    alive = tuple(not reference[k].is_zero() for k in range(size))
    function = _generalized_inverse_function(pattern, alive)
    inverse, kept, smallest = function(ca.vertcat(*entries), ca.densify(reference), tolerance)
    return ca.sparsify(inverse), ca.sparsify(kept), smallest


def _symbols(size: int, pattern: tuple[bool, ...]) -> tuple[Matrix, Vector]:
    """A symmetric matrix of symbols with structural zeros, and the column of its upper triangle, row by row."""
    column = ca.SX.sym("a", len(pattern))
    matrix = ca.SX(size, size)
    places = [(i, j) for i in range(size) for j in range(i, size)]
    for place, ((i, j), present) in enumerate(zip(places, pattern, strict=True)):
        if present:
            matrix[i, j] = column[place]
            matrix[j, i] = column[place]
    return matrix, column


@lru_cache(maxsize=256)
def _inverse_function(size: int, pattern: tuple[bool, ...]) -> ca.Function:
    swept, column = _symbols(size, pattern)
    if size == 2:
        a, b, c = swept[0, 0], swept[1, 1], swept[0, 1]
        inverse = 1 / (a * b - c * c)
        across = -c * inverse
        return ca.Function("inverse", [column], [ca.blockcat([[b * inverse, across], [across, a * inverse]])])
    for k in range(size):
        swept = _sweep(swept, k, 1 / swept[k, k], None)
    return ca.Function("inverse", [column], [-swept])


@lru_cache(maxsize=256)
def _generalized_inverse_function(pattern: tuple[bool, ...], alive: tuple[bool, ...]) -> ca.Function:
    """Rows are taken in two rounds, first those well above their limit, so that a row that happens to be small here
    never stands in for a larger one; then all above `tolerance`. A row is swept at most once.
    """
    size = len(alive)
    swept, column = _symbols(size, pattern)
    reference, tolerance = ca.SX.sym("d", size), ca.SX.sym("t")
    kept, smallest = [ca.SX(0)] * size, ca.SX(1)
    rows = [k for k in range(size) if alive[k]]
    pair = [k for k in rows if not swept[k, k].is_zero()]
    if len(pair) == 2:
        inverse, chosen, smallest = _pair(swept[pair, pair], reference[pair], tolerance)
        outputs = [ca.SX(size, size), ca.SX(size, 1)]
        outputs[0][pair, pair], outputs[1][pair] = inverse, chosen
        return ca.Function("generalized_inverse", [column, reference, tolerance], [*outputs, smallest])
    rounds = (WELL_ABOVE, tolerance) if len(rows) > 1 else (tolerance,)
    for level in rounds:
        for k in rows:
            pivot = swept[k, k]
            if pivot.is_zero():
                continue
            accept = pivot > level * reference[k]
            if level is tolerance:
                ratio = pivot / reference[k]
                ratio = ca.if_else(ratio < IMPLIED, 1, ratio)
                smallest = ca.fmin(smallest, ca.if_else(kept[k], 1, ratio) if len(rounds) > 1 else ratio)
            swept = _sweep(swept, k, ca.if_else(accept, 1 / pivot, 0), 1 - accept)
            kept[k] = kept[k] + accept
    mask = ca.vertcat(*kept)
    outputs = [symmetric(-swept * (mask @ mask.T)), mask, smallest]
    return ca.Function("generalized_inverse", [column, reference, tolerance], outputs)


def _pair(matrix: Matrix, reference: Vector, tolerance: Scalar) -> tuple[Matrix, Vector, Scalar]:
    """The same for two rows, with the same choice."""
    a, b, c = matrix[0, 0], matrix[1, 1], matrix[0, 1]
    first, second, whole = reference[0], reference[1], a * b - c * c

    def passes(pivot: Scalar, taken: Scalar, other: Scalar, bound: Scalar) -> Scalar:
        """Whether a row's pivot, or what the other row has left of it if that was taken, is above a bound."""
        return either(both(taken, whole > bound * other), both(ca.logic_not(taken), pivot > bound))

    both, either = ca.logic_and, ca.logic_or
    good = a > WELL_ABOVE * first
    good = good, passes(b, good, a, WELL_ABOVE * second)
    keep = either(good[0], passes(a, good[1], b, tolerance * first))
    keep = keep, either(good[1], passes(b, keep, a, tolerance * second))
    together, alone = both(*keep), (both(keep[0], ca.logic_not(keep[1])), both(keep[1], ca.logic_not(keep[0])))
    inverse, single = 1 / whole, 1 / ca.if_else(keep[0], a, b)
    entries = [
        ca.if_else(together, x * inverse, 0) + ca.if_else(k, single, 0) for x, k in zip((b, a), alone, strict=True)
    ]
    across = ca.if_else(together, -c * inverse, 0)
    pivots = (
        ca.if_else(good[1], whole, a) / (first * ca.if_else(good[1], b, 1)),
        ca.if_else(keep[0], whole, b) / (second * ca.if_else(keep[0], a, 1)),
    )
    ratios = [ca.if_else(either(k, ratio < IMPLIED), 1, ratio) for k, ratio in zip(good, pivots, strict=True)]
    return (
        ca.blockcat([[entries[0], across], [across, entries[1]]]),
        ca.vertcat(*keep),
        ca.fmin(ca.fmin(ca.SX(1), ratios[0]), ratios[1]),
    )


def _sweep(matrix: Matrix, k: int, inverse: Scalar, refused: Scalar | None) -> Matrix:
    """The symmetric sweep of row k: after sweeping all rows the matrix is minus its inverse.

    Where a row is `refused` (1) its `inverse` is zero and nothing changes. A swept row's diagonal is negative, so that
    it is never taken again.
    """
    size = matrix.shape[0]
    column = [matrix[i, k] for i in range(size)]
    scaled = [entry * inverse for entry in column]
    result = ca.SX(size, size)
    for i in range(size):
        for j in range(i, size):
            if i == k and j == k:
                new = -inverse if refused is None else ca.if_else(refused, matrix[k, k], 0) - inverse
            elif k in (i, j):
                other = j if i == k else i
                new = scaled[other] + (0 if refused is None else ca.if_else(refused, column[other], 0))
            else:
                new = matrix[i, j] - scaled[i] * column[j]
            if not new.is_zero():
                result[i, j] = new
                result[j, i] = new
    return result


def pair_inverse(m: Matrix, h: Matrix) -> Matrix:
    """The inverse of [M, 1; 1, -D] with h = -D: with K = M (1 + D M)^-1 it is [D - D K D, 1 - D K; 1 - K D, -K].

    K, what M and D have in parallel, is found by adding what hangs on the port one direction at a time: for each m of
    M = sum w m m^T it grows by e e^T w / (1 + w m^T D e), e = m - K D m. So nothing is divided by what may be zero, and
    K is a sum of terms of one sign: however heavy M is, K is exact as far as D is.
    """
    d, unit, k = ca.sparsify(-h), ca.SX(ca.DM.eye(6)), ca.SX(6, 6)
    w = d
    for column, weight in _directions(m):
        moved = w @ column
        e = column - k @ (d @ column)
        share = weight / (1 + weight * (column.T @ moved))
        w = symmetric(w - (moved @ moved.T) * share)
        k = symmetric(k + (e @ e.T) * share)
    across = unit - d @ k
    return ca.sparsify(ca.blockcat([[w, across], [across.T, -k]]))


def _directions(m: Matrix) -> list[tuple[Vector, Scalar]]:
    """Columns l and weights d with M = sum d l l^T for a positive semidefinite M.

    M may be of any rank, and all but: where a joint is near a special position a pivot may be 1e-14 of what it was made
    of. So each time the largest pivot that is left is taken, and what is left in the end is as small as the last one.
    """
    found: list[tuple[Vector, Scalar]] = []
    for rows in _coupled(m):
        rest, alive = ca.SX(m[rows, rows]), [ca.SX(1)] * len(rows)
        for _ in rows:
            largest, chosen, column = _largest(rest, alive)
            usable = largest > 0
            inverse = ca.if_else(usable, 1 / ca.if_else(usable, largest, 1), 0)
            whole = ca.SX(6, 1)
            whole[rows] = column * inverse
            found.append((whole, ca.if_else(usable, largest, 0)))
            rest = symmetric(rest - (column @ column.T) * inverse)
            alive = [a - c for a, c in zip(alive, chosen, strict=True)]
    return found


def _coupled(m: Matrix) -> list[list[int]]:
    """Rows of a symmetric matrix that zeros do not separate, rows of zeros left out."""
    groups: list[list[int]] = []
    for k in range(m.shape[0]):
        near = [group for group in groups if any(not m[k, other].is_zero() for other in group)]
        if near or not m[k, k].is_zero():
            groups = [group for group in groups if group not in near] + [[*(i for group in near for i in group), k]]
    return [sorted(group) for group in groups]


def _largest(rest: Matrix, alive: list[Scalar]) -> tuple[Scalar, list[Scalar], Vector]:
    """The largest of the pivots that were not taken yet, which it is (ones and zeros), and its column in them."""
    pivots = [rest[k, k] * a for k, a in enumerate(alive)]
    largest, column = pivots[0], rest[:, 0]
    for k, pivot in enumerate(pivots[1:], 1):
        larger = pivot > largest
        largest, column = ca.if_else(larger, pivot, largest), ca.if_else(larger, rest[:, k], column)
    chosen, taken = [], ca.SX(0)
    for k, pivot in enumerate(pivots):
        this = alive[k] * (pivot >= largest) * (1 - taken)
        chosen.append(this)
        taken = taken + this
    return largest, chosen, ca.vertcat(*alive) * column
