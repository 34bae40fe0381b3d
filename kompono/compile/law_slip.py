"""Rows that slide, in the native solver of laws: their equations, and their own multipliers taken out of them.

Friction is limited by the size of a reaction N, along its present direction n: abs(N) = n N to first order, and N is
linear in all multipliers. A count of -1 says that N is one number that pushes (the force of the contact itself): it is
taken as it is, so that where friction would have to pull, that is seen by its sign. The equations are independent as
long as friction does not feed itself more than it takes.
"""

from __future__ import annotations

from kompono.compile.emit import BOOL, INT, REAL, Array, Value
from kompono.compile.law_least import dot
from kompono.compile.law_work import Work

_NOTHING = 1e-15  # of the terms of N: less is rounding


def write_slip_equations(work: Work) -> tuple[Value, Value, Value]:
    """z + d (mu n (n0 + B z) + limit) = 0 for rows that slide, n the present direction of N.

    Whether a measured reaction limits any of them, whether the direction of one is another than the last time, and the
    largest force that the terms of such a reaction would make.
    """
    code, count = work.code, work.active.get()
    limited, turned, reach = code.variable(BOOL, False), code.variable(BOOL, False), code.variable(REAL, 0.0)
    with code.loop(work.sliding.get()) as s:
        row, curve = work.which[s], work.curve(s)
        direction = work.law(row, "direction")
        with code.loop(count) as a:
            curve[a] = 0.0
        curve[s] = 1.0
        curve[count] = 0.0 - direction * work.law(row, "limit")
        given = work.integer(row, "count")
        pushes = given < 0
        size = code.select(pushes, Value(code, "1", INT), given)
        with code.when(size > 0):
            limited.set(True)
            first = work.integer(row, "first")
            side, terms = _point(work, first, size)
            reach.set(code.math("maxnum", reach.get(), code.math("fabs", work.law(row, "mu")) * terms))
            with code.when(pushes):
                work.measured.at(first)[0] = 1.0
            side = code.select(pushes, Value(code, "1.0", REAL), side)
            turned.set(turned.get() | (size > 1) | ~side.equals(work.sides[s]))
            work.sides[s] = side
            _add_limit(work, curve, direction * work.law(row, "mu"), first, size)
    return limited.get(), turned.get(), reach.get()


def _point(work: Work, first: Value, size: Value) -> tuple[Value, Value]:
    """The direction of N at the present z, to its places in `measured`; 1 or -1 as the sign of its first component, and
    the sum of the sizes of all its terms.

    Where N is nothing but rounding a single reaction counts as positive, several have no direction.
    """
    code, rows = work.code, work.sizes.rows
    n, n0, square = work.measured.at(first), work.n0.at(first), code.variable(REAL, 0.0)
    terms = code.variable(REAL, 0.0)
    with code.loop(size) as j:
        value = code.variable(REAL, n0[j])
        terms.set(terms.get() + code.math("fabs", n0[j]))
        with code.loop(work.active.get()) as a:
            term = work.column(a).at(first + rows)[j] * work.z[a]
            value.set(value.get() + term)
            terms.set(terms.get() + code.math("fabs", term))
        n[j] = value.get()
        square.set(square.get() + value.get() * value.get())
    norm = code.math("sqrt", square.get())
    nowhere = norm <= _NOTHING * terms.get()
    instead = code.select(size.equals(1), Value(code, "1.0", REAL), 0.0)
    with code.loop(size) as j:
        n[j] = code.select(nowhere, instead, n[j] / norm)
    return code.select(n[0] < 0.0, Value(code, "-1.0", REAL), 1.0), terms.get()


def _add_limit(work: Work, curve: Array, factor: Value, first: Value, size: Value) -> None:
    """Add factor * n (n0 + B z) to an equation."""
    code, count, n = work.code, work.active.get(), work.measured.at(first)
    with code.loop(count) as a:
        answer = work.column(a).at(first + work.sizes.rows)
        curve[a] = curve[a] + factor * dot(code, n, answer, size)
    curve[count] = curve[count] - factor * dot(code, n, work.n0.at(first), size)


def solve_for_slipping(work: Work) -> None:
    """Solve the equations of sliding rows for their own multipliers, Gauss-Jordan with the largest pivots."""
    code, sliding = work.code, work.sliding.get()
    width = work.active.get() + 1
    with code.loop(sliding) as s:
        pivot = _largest_below(work, s)
        mine, other = work.curve(s), work.curve(pivot)
        with code.when(~pivot.equals(s)), code.loop(width) as a:
            kept = mine[a]
            mine[a] = other[a]
            other[a] = kept
        inverse = 1.0 / mine[s]
        with code.loop(width) as a:
            mine[a] = mine[a] * inverse
        with code.loop(sliding) as i:
            curve = work.curve(i)
            share = curve[s]
            with code.when(~(i.equals(s) | share.equals(0.0))), code.loop(width) as a:
                curve[a] = curve[a] - share * mine[a]


def _largest_below(work: Work, s: Value) -> Value:
    """The equation, from s on, with the largest coefficient of multiplier s."""
    code = work.code
    best, largest = code.variable(INT, s), code.variable(REAL, 0.0)
    with code.loop(work.sliding.get() - s) as i:
        size = code.math("fabs", work.curve(i + s)[s])
        with code.when(size > largest.get()):
            largest.set(size)
            best.set(i + s)
    return best.get()
