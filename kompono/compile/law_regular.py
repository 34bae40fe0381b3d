"""A few independent linear equations in native code, the usual case: Gauss elimination of R y = r.

Rows and unknowns are scaled so that the diagonal is one, whatever their units. As soon as a pivot is small the
equations may be redundant, and it is left to others to say what the solution shall be (see `law_least`).
"""

from __future__ import annotations

from kompono.compile.emit import BOOL, INT, REAL, Value, Variable
from kompono.compile.law_least import Equations, add, dot

_SMALL = 1e-6  # pivots that may mean redundancy; rounding has 1e-16


def solve_regular(e: Equations, count: Value) -> Value:
    """Write the solution of the first `count` equations to `result`; whether they are clearly independent."""
    code = e.code
    good = code.variable(BOOL, True)
    _scale(e, count, good)
    s = code.variable(INT, 0)
    with code.forever():
        now = s.get()
        code.leave((now >= count) | ~good.get())
        eliminate(e, now, count, good, _SMALL)
        s.set(now + 1)
    with code.when(good.get()):
        back(e, count)
    return good.get()


def _scale(e: Equations, count: Value, good: Variable) -> None:
    """The scaled equations to `rest`, the scaled right side to `result`, scales to `sizes`."""
    code = e.code
    with code.loop(count) as i:
        size = code.math("fabs", e.row(e.matrix, i)[i])
        good.set(good.get() & (size > 0.0))
        e.sizes[i] = 1.0 / code.math("sqrt", size)
    with code.loop(count) as i:
        scale, source, target = e.sizes[i], e.row(e.matrix, i), e.row(e.rest, i)
        with code.loop(count) as j:
            target[j] = scale * e.sizes[j] * source[j]
        e.result[i] = scale * e.right[i]


def eliminate(e: Equations, s: Value, count: Value, good: Variable, small: float) -> None:
    """Take unknown s out of the equations below, after that with its largest coefficient has come to place s; not
    `good` if that is small.
    """
    code = e.code
    best, largest = code.variable(INT, s), code.variable(REAL, 0.0)
    with code.loop(count - s) as i:
        size = code.math("fabs", e.row(e.rest, i + s)[s])
        with code.when(size > largest.get()):
            largest.set(size)
            best.set(i + s)
    good.set(good.get() & (largest.get() > small))
    pivot = best.get()
    mine, other = e.row(e.rest, s), e.row(e.rest, pivot)
    with code.when(~pivot.equals(s)):
        with code.loop(count) as j:
            kept = mine[j]
            mine[j] = other[j]
            other[j] = kept
        kept = e.result[s]
        e.result[s] = e.result[pivot]
        e.result[pivot] = kept
    inverse, right, width = 1.0 / mine[s], e.result[s], count - s
    with code.loop(width - 1) as k:
        i = k + s + 1
        row = e.row(e.rest, i)
        factor = 0.0 - row[s] * inverse
        add(code, row.at(s), factor, mine.at(s), width)
        e.result[i] = e.result[i] + factor * right


def back(e: Equations, count: Value) -> None:
    """Unknowns from the last to the first, then in their own units."""
    code = e.code
    with code.loop(count) as k:
        i = count - 1 - k
        row = e.row(e.rest, i)
        e.result[i] = (e.result[i] - dot(code, row.at(i + 1), e.result.at(i + 1), k)) / row[i]
    with code.loop(count) as i:
        e.result[i] = e.result[i] * e.sizes[i]
