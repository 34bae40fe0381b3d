"""How redundant rows share what they bear: by what they can bear.

Where rows are redundant, forces are those with the least sum of (force / weight)^2. What sticks has the root of its
limit as weight: forces are in the ratio of the squares then, so that four feet on a floor, or two clutches side by
side, begin to slip together and not one after the other. Normal forces have ten times the largest of these
weights among the rows they move: friction does not bear what a normal force can, and what is elsewhere has no say.
Limits follow forces, so this is repeated until they stay.
"""

from __future__ import annotations

from kompono.compile.emit import BOOL, INT, REAL, Value
from kompono.compile.law_work import Work

PASSES = 12  # with weights that follow the last forces, at most
STEADY = 1e-9  # of a weight: one that changes less is found
FIRM = 10.0  # times the largest other weight: that of rows that have no limit
LEAST = 1e-5  # of the largest such weight: no row has less; its square is how much too early lifting feet may slip


def first_weights(work: Work) -> Value:
    """Weights of held rows where no forces are known yet; whether any of these rows has a limit."""
    code, rest = work.code, work.active.get() - work.sliding.get()
    some = code.variable(INT, 0)
    with code.loop(rest) as i:
        limited = _limited(work, i)
        some.set(some.get() + code.select(limited, Value(code, "1", INT), 0))
        work.weights[i] = code.select(limited, Value(code, "1.0", REAL), FIRM)
    return some.get() > 0


def next_weights(work: Work) -> Value:
    """The same, from limits with the forces found last; whether they are what they were."""
    code, rest = work.code, work.active.get() - work.sliding.get()
    last, known, roots = code.variable(REAL, 0.0), code.variable(INT, -1), work.held.missing
    changed = code.variable(BOOL, False)
    with code.loop(rest) as i:
        roots[i] = 0.0
        with code.when(_limited(work, i)):
            unit = work.integer(work.which[i + work.sliding.get()], "unit")
            with code.when(~unit.equals(known.get())):  # the second row of a plane has the limit of the first
                last.set(code.math("sqrt", _limit(work, i)))
                known.set(unit)
            roots[i] = last.get()
    with code.loop(rest) as i:
        largest, moved = code.variable(REAL, 0.0), work.held.row(work.held.matrix, i)
        with code.loop(rest) as j:
            beside = code.select(moved[j].equals(0.0), 0.0, roots[j])
            largest.set(code.math("maxnum", largest.get(), beside))
        most = code.select(largest.get() > 0.0, largest.get(), 1.0)
        least = code.math("maxnum", roots[i], LEAST * most)
        weight = code.select(_limited(work, i), least, FIRM * most)
        changed.set(changed.get() | (code.math("fabs", weight - work.weights[i]) > STEADY * weight))
        work.weights[i] = weight
    return ~changed.get()


def _limited(work: Work, i: Value) -> Value:
    """Whether a held row is friction that sticks."""
    row = work.which[i + work.sliding.get()]
    return (work.law(row, "mu") > 0.0) | (work.law(row, "limit") > 0.0)


def _limit(work: Work, i: Value) -> Value:
    """The limit of a held row; zero where the force that makes it pulls."""
    code, row = work.code, work.which[i + work.sliding.get()]
    given, first = work.integer(row, "count"), work.integer(row, "first")
    pushes = given < 0
    size = code.select(pushes, Value(code, "1", INT), given)
    square, value = code.variable(REAL, 0.0), code.variable(REAL, 0.0)
    with code.loop(size) as j:
        value.set(work.n0.at(first)[j])
        with code.loop(work.active.get()) as a:
            value.set(value.get() + work.column(a).at(first + work.sizes.rows)[j] * work.z[a])
        square.set(square.get() + value.get() * value.get())
    norm = code.math("sqrt", square.get())
    normal = code.select(pushes, code.math("maxnum", value.get(), 0.0), norm)
    return work.law(row, "mu") * normal + work.law(row, "limit")
