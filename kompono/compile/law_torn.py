"""What rows bear that tear at each other: redundant rows whose equations contradict each other, by a drive.

Jaws that are driven upwards and the floor hold the same block: as long as both do, no forces suffice, and the equations
that were dropped as implied by others are left over. If each row yielded next to nothing, forces would grow until one
of them can hold no longer, a contact pulls or friction passes its limit: that one gives way. So forces that yield so
are added where more is left over than rounding, and guards rise that would rise then, in their order.

Weights say how rows share what is redundant (see `law_shares`); by their squares rows yield. What is left over of
dropped equations depends on which were dropped, and so on the order of rows; how far all of them yield does not, and
that decides.
"""

from __future__ import annotations

from dataclasses import replace

from kompono.compile.emit import BOOL, REAL, Array, Value
from kompono.compile.law_least import Equations
from kompono.compile.law_regular import back, eliminate

LEFT = 1e-8  # of the terms of an equation: less left over is rounding, also of what is as good as redundant
NOTICED = 0.1  # of that: where so much is left over of equations that were dropped, all of them are looked at
ELSEWHERE = 1e-13  # the same of the largest of all equations, for what hardly moves does so by rounding
TURNS = 6  # of weights that follow what is torn
YIELDING = 1e-10  # of the mobility of a row that yields least: so much it yields


def add_torn(e: Equations, weights: Array, count: Value) -> Value:
    """Add to the result of the first `count` equations what rows that tear at each other bear; whether some do."""
    code, e = e.code, replace(e, rest=e.parts)  # what was taken apart is asked for again
    seen, firmest = _look(e, weights, count)
    worst = code.variable(REAL, 0.0)
    with code.when(seen > NOTICED):
        kept = e.shares
        with code.loop(count) as i:
            scale, source, target = e.sizes[i], e.row(e.matrix, i), e.row(e.rest, i)
            with code.loop(count) as j:
                target[j] = scale * e.sizes[j] * source[j]
            firm = weights[i] * weights[i] * code.math("fabs", source[i])
            yielding = YIELDING * firmest / code.select(firm > 0.0, firm, 1.0)
            e.taken[i] = code.select(firm > 0.0, yielding, 1.0)
            target[i] = target[i] + e.taken[i]
            kept[i] = e.result[i]
            e.result[i] = scale * e.missing[i]
        good = code.variable(BOOL, True)
        with code.loop(count) as s:
            eliminate(e, s, count, good, 0.0)
        back(e, count)
        with code.loop(count) as i:
            yielded = code.math("fabs", e.taken[i] * e.row(e.matrix, i)[i] * e.result[i])
            worst.set(code.math("maxnum", worst.get(), code.select(yielded > e.work[i], yielded / e.work[i], 0.0)))
        with code.loop(count) as i:
            share = code.select(worst.get() > 1.0, 1.0 - 1.0 / worst.get(), 0.0)
            e.result[i] = kept[i] + share * e.result[i]
    return worst.get() > 1.0


def _look(e: Equations, weights: Array, count: Value) -> tuple[Value, Value]:
    """What is left over, to `missing`, what is rounding of that, to `work`, and scales, to `sizes`; how many times too
    much is left of the worst, and what the firmest row has in the place of a mobility of one.
    """
    code, reaches = e.code, e.work
    overall, most, firmest, worst = (code.variable(REAL, 0.0) for _ in range(4))
    with code.loop(count) as i:
        row, left, reach = e.row(e.matrix, i), code.variable(REAL, e.right[i]), code.variable(REAL, 0.0)
        size = code.math("fabs", row[i])
        root = code.math("sqrt", size)
        e.sizes[i] = code.select(size > 0.0, 1.0 / root, 0.0)
        reach.set(code.math("fabs", e.right[i]))
        with code.loop(count) as j:
            term = row[j] * e.result[j]
            left.set(left.get() - term)
            reach.set(reach.get() + code.math("fabs", term))
        e.missing[i] = left.get()
        reaches[i] = reach.get()
        most.set(code.math("maxnum", most.get(), reach.get()))
        overall.set(code.math("maxnum", overall.get(), reach.get() * e.sizes[i]))
        overall.set(code.math("maxnum", overall.get(), code.math("fabs", e.result[i]) * root))
        firmest.set(code.math("maxnum", firmest.get(), weights[i] * weights[i] * size))
    with code.loop(count) as i:
        size = code.math("sqrt", code.math("fabs", e.row(e.matrix, i)[i]))
        rounding = LEFT * reaches[i] + ELSEWHERE * code.math("maxnum", size * overall.get(), most.get())
        reaches[i] = rounding
        left = code.math("fabs", e.missing[i])
        over = code.select(left > rounding, left / rounding, 0.0)
        worst.set(code.math("maxnum", worst.get(), over))
    return worst.get(), firmest.get()
