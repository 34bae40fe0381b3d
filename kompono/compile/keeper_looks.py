"""Looks of a step loop at vectors of a keeper: what it must know to decide, and no more (`descent`)."""

from __future__ import annotations

from contextlib import ExitStack

from kompono.compile.descent import makes_an_error, same_state
from kompono.compile.emit import REAL, Array, Value, spread
from kompono.compile.error_level import ESTIMATE, hidden_error, level, plus_hidden_square
from kompono.compile.far import HEADER, LARGE_CHANGE, LOST, ROWS, SIZES, Broken, Op
from kompono.compile.keeper_frames import Context, failure
from kompono.compile.keeper_operation import Operation, rows_are
from kompono.compile.law_bounds import SLOW


def finite(made: Operation, *vectors: Array) -> Value:
    code = made.code
    total = code.variable(made.lanes.real, 0.0)
    with code.loop(made.part.size) as i:
        for vector in vectors:
            total.set(total.get() + 0.0 * vector[i])
    return total.get().equals(0.0)


def compare(made: Operation) -> None:
    code, size = made.code, made.part.size
    a, b = made.vector(), made.vector()
    with (
        made.given(rows_are(made, 2)), made.found(0, a), made.found(1, b),
        made.allowed(same_state(made.descent(a), made.descent(b))),
    ):  # fmt: skip
        change, same = code.variable(made.lanes.real, 0.0), code.variable(made.lanes.truth, True)
        with code.loop(size) as i:
            square = (a[i] - b[i]) * (a[i] - b[i])
            change.set(code.select(square > change.get(), square, change.get()))
            same.set(same.get() & a[i].equals(b[i]))
        small, large, lost = (spread(code, value) for value in SIZES)
        far = code.select(change.get() > LOST**2, lost, large)
        made.out[0] = code.select(change.get() > LARGE_CHANGE**2, far, small)
        made.out[1] = code.select(same.get(), spread(code, 1.0), 0.0)
        made.out[2] = code.select(finite(made, a), spread(code, 1.0), 0.0)
        faster = code.variable(made.lanes.truth, False)
        for index in made.speeds():
            faster.set(faster.get() | (code.math("fabs", a[index] - b[index]) > SLOW))
        made.out[3] = code.select(faster.get(), spread(code, 1.0), 0.0)
        made.result.set(ROWS[Op.COMPARE] * made.lanes.count)


def error_of(made: Operation) -> None:
    """The estimate of the one method that has one, from the rates of its stages: no other combination."""
    code, size = made.code, made.part.size
    if made.lanes.count > 1:  # methods with error control run on one lane
        made.result.set(failure(Broken.FORM))
        return
    total, state, end, rates = code.variable(REAL, 0.0), made.vector(), made.vector(), [made.vector() for _ in ESTIMATE]
    vectors = (state, end, *rates)
    with ExitStack() as all_of:
        all_of.enter_context(made.given(rows_are(made, len(vectors) + 3)))
        step, relative, absolute = (made.number(len(vectors) + k) for k in range(3))
        for k, vector in enumerate(vectors):
            all_of.enter_context(made.found(k, vector))
        known = [made.descent(vector) for vector in vectors]
        all_of.enter_context(made.allowed(makes_an_error(known[0], known[1], known[2:])))
        error = made.room(size)
        with code.loop(size) as i:
            error[i] = one = hidden_error(code, step, [rate[i] for rate in rates])
            total.set(plus_hidden_square(code, total.get(), one, relative, absolute))
        made.out[0] = level(code, total.get())
        made.out[1] = code.select(finite(made, error, end), spread(code, 1.0), 0.0)
        made.result.set(ROWS[Op.ERROR])


def check(made: Operation) -> None:
    """Flags are in the reply, right behind its header."""
    x, code = made.vector(), made.code
    with made.given(rows_are(made, 1)), made.found(0, x):
        flags = Array(code, Context(code).array("reply").at(HEADER).pointer, made.lanes.real)
        flags[0] = code.select(finite(made, x), flags[0], spread(code, 1.0))
