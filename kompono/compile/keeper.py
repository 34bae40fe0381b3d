"""The far side of a part: native code that keeps its vectors and works off frames (`far`), whoever carries them.

One function, `answer(context)`, reads a frame and writes the reply. It is generated from the functions of a part, so
sums are made by the same instructions as in a step loop, and functions are the same machine code as in one process:
hence the same bits. Vectors lie in a ring, each with its number beside it, so that one that is gone is noticed; those
of recorded states in a ring of their own, the book.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kompono.compile.emit import INT, POINTER, REAL, Array, Code, Value, Variable, prelude, room, spread
from kompono.compile.far import HEADER, NUMBER_BITS, PINNED, RING, ROWS, Broken, Op
from kompono.compile.keeper_frames import (
    HEAD,
    Context,
    answer_text,
    dispatch_text,
    failure,
    receive_text,
    transmit_text,
    whole_number,
)
from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.sealed.kept import Gives, KeptPart


def keeper_text(part: KeptPart, lanes: Lanes) -> str:
    """The module of a keeper; the functions of the part are declared."""
    body = "".join(
        f"declare void @{called_symbol(name, lanes)}(ptr, ptr) nounwind\n" for name in part.called
    )  # fmt: skip
    speeds = ", ".join(f"i64 {k}" for k in part.speeds)
    body += f"@speeds = private constant [{len(part.speeds)} x i64] [{speeds}]\n" if part.speeds else ""
    body += _find(part, lanes) + _keep(part, lanes)
    body += "".join(_operation(part, lanes, op) for op in Op if op is not Op.FUNCTION)
    body += "".join(_function(part, lanes, k) for k in range(len(part.functions)))
    body += dispatch_text(part, lanes) + answer_text(lanes) + transmit_text() + receive_text()
    return prelude(body, lanes) + body


@contextmanager
def _unless_broken(code: Code, result: Variable, status: Value) -> Iterator[None]:
    """Go on if a status is 0; else it is the result."""
    result.set(code.select(status < 0, status, result.get()))
    with code.when(status >= 0):
        yield


# -- vectors


def _place(code: Code, number: Value, part: KeptPart, lanes: Lanes) -> tuple[Value, Value, Value]:
    """Address of a vector and of its tag, and whether there can be such a number."""
    context = Context(code)
    lasting, span = number >= PINNED, part.size * lanes.count
    row = code.select(lasting, (number - PINNED) % context.get("book_rows"), number % RING)
    base = code.select(lasting, context.get("book"), context.get("ring"))
    tags = code.select(lasting, context.get("book_tags"), context.get("tags"))
    good = number > 0
    safe = code.select(good, row, code.let(INT, "add i64 0, 0"))
    place = code.let(POINTER, f"getelementptr double, ptr {base.name}, i64 {(safe * span).name}")
    tag = code.let(POINTER, f"getelementptr i64, ptr {tags.name}, i64 {safe.name}")
    return place, tag, good


def _find(part: KeptPart, lanes: Lanes) -> str:
    """Load the vector that W handles name, lane by lane, to `%target`."""
    code, width = Code(), lanes.count
    result, handles, target = code.variable(INT, 0), Array(code, "%handles"), Array(code, "%target")
    with code.loop(width) as lane:
        whole = whole_number(code, handles[lane])
        number = code.let(INT, f"and i64 {whole.name}, {(1 << NUMBER_BITS) - 1}")
        nothing = handles[lane].equals(0.0)
        with code.when(nothing), code.loop(part.size) as i:
            target[i * width + lane] = 0.0
        with code.when(~nothing):
            place, tag, good = _place(code, number, part, lanes)
            known = good & code.let(INT, f"load i64, ptr {tag.name}").equals(number)
            result.set(code.select(known, result.get(), failure(Broken.FORGOTTEN)))
            with code.when(known):
                source = Array(code, place.name)
                with code.loop(part.size) as i:
                    target[i * width + lane] = source[i * width + lane]
    return code.define("internal i64 @find(ptr %context, ptr %handles, ptr %target) nounwind", result.get())


def _keep(part: KeptPart, lanes: Lanes) -> str:
    """Store a vector under a number."""
    code = Code()
    number, result = Value(code, "%number", INT), code.variable(INT, 0)
    place, tag, good = _place(code, number, part, lanes)
    result.set(code.select(good, Value(code, "0", INT), failure(Broken.FORM)))
    with code.when(good):
        code.copy(Array(code, place.name), Array(code, "%source"), part.size * lanes.count)
        code.say(f"store i64 {number.name}, ptr {tag.name}")
    return code.define("internal i64 @keep(ptr %context, i64 %number, ptr %source) nounwind", result.get())


# -- operations: functions of the context, the number of what is made, arguments and their count, and where values go;
# -- they give how many doubles they wrote there, or something negative


class _Operation:
    """What operations have in common."""

    def __init__(self, part: KeptPart, lanes: Lanes) -> None:
        self.part, self.lanes, self.code = part, lanes, Code(lanes)
        self.result = self.code.variable(INT, 0)
        self.count = Value(self.code, "%count", INT)
        self.arguments, self.out = Array(self.code, "%arguments"), Array(self.code, "%out", lanes.real)

    def room(self, rows: int) -> Array:
        """Room for a column."""
        return room(self.code, max(rows, 1))

    def row(self, index: Value | int) -> str:
        """The address of a row of arguments."""
        return self.arguments.at(index * self.lanes.count).pointer

    def number(self, index: Value | int) -> Value:
        """A row of arguments as a value on all lanes."""
        return Array(self.code, self.row(index), self.lanes.real)[0]

    @contextmanager
    def given(self, good: Value) -> Iterator[None]:
        """Go on if the arguments are as they should be."""
        with _unless_broken(self.code, self.result, self.code.select(good, Value(self.code, "0", INT), -1)):
            yield

    @contextmanager
    def found(self, index: Value | int, target: Array) -> Iterator[None]:
        """Go on with a vector that is named by a row."""
        text = f"call i64 @find(ptr %context, ptr {self.row(index)}, ptr {target.pointer})"
        with _unless_broken(self.code, self.result, self.code.let(INT, text)):
            yield

    def keep(self, source: Array) -> None:
        """Store what was made."""
        self.result.set(self.code.let(INT, f"call i64 @keep(ptr %context, i64 %number, ptr {source.pointer})"))

    def finish(self, name: str) -> str:
        return self.code.define(f"internal i64 @{name}{HEAD}", self.result.get())


def _operation(part: KeptPart, lanes: Lanes, op: Op) -> str:
    made = _Operation(part, lanes)
    {
        Op.COMBINE: _combine, Op.COMBINE_SPEEDS: _combine_speeds, Op.PIN: _pin, Op.COMPARE: _compare, Op.NORM: _norm,
        Op.LARGEST: _largest, Op.CHECK: _check, Op.START: _start,
    }[op](made)  # fmt: skip
    return made.finish(f"op.{int(op)}")


def _rows(made: _Operation, count: int) -> Value:
    return made.count.equals(count * made.lanes.count)


def _sum(made: _Operation, total: Array, first: int) -> None:
    """Add factor * vector for all pairs of rows from `first` on; as `Machine.combine` does, term by term."""
    code, size, width = made.code, made.part.size, made.lanes.count
    term = made.room(size)
    pairs = (made.count - first * width) // (2 * width)
    with code.loop(pairs) as k, code.when(made.result.get() >= 0), made.found(k * 2 + (first + 1), term):
        factor = made.number(k * 2 + first)
        with code.loop(size) as i:
            total[i] = total[i] + factor * term[i]


def _combine(made: _Operation) -> None:
    width = made.lanes.count
    total = made.room(made.part.size)
    with made.given((made.count % (2 * width)).equals(width)), made.found(0, total):
        _sum(made, total, 1)
        with made.code.when(made.result.get() >= 0):
            made.keep(total)


def _combine_speeds(made: _Operation) -> None:
    code, width, size = made.code, made.lanes.count, made.part.size
    total, other = made.room(size), made.room(size)
    even = (made.count % (2 * width)).equals(0) & (made.count > 0)
    with made.given(even), made.found(0, other), made.found(1, total):
        _sum(made, total, 2)
        for index in _speeds(made):
            other[index] = total[index]
        with code.when(made.result.get() >= 0):
            made.keep(other)


def _speeds(made: _Operation) -> Iterator[Value]:
    """Inside a loop, the place of each speed in x."""
    if not made.part.speeds:
        return
    with made.code.loop(len(made.part.speeds)) as k:
        place = made.code.let(POINTER, f"getelementptr i64, ptr @speeds, i64 {k.name}")
        yield made.code.let(INT, f"load i64, ptr {place.name}")


def _pin(made: _Operation) -> None:
    x = made.room(made.part.size)
    with made.given(_rows(made, 1)), made.found(0, x):
        made.keep(x)


def _start(made: _Operation) -> None:
    code, size = made.code, made.part.size
    x, start = made.room(size), Array(code, Context(code).array("start").pointer, made.lanes.real)
    with made.given(_rows(made, size)):
        with code.loop(size) as i:
            x[i] = start[i] + made.number(i)
        made.keep(x)


def _finite(made: _Operation, *vectors: Array) -> Value:
    code = made.code
    total = code.variable(made.lanes.real, 0.0)
    with code.loop(made.part.size) as i:
        for vector in vectors:
            total.set(total.get() + 0.0 * vector[i])
    return total.get().equals(0.0)


def _compare(made: _Operation) -> None:
    code, size = made.code, made.part.size
    a, b = made.room(size), made.room(size)
    with made.given(_rows(made, 2)), made.found(0, a), made.found(1, b):
        change, same = code.variable(made.lanes.real, 0.0), code.variable(made.lanes.truth, True)
        with code.loop(size) as i:
            square = (a[i] - b[i]) * (a[i] - b[i])
            change.set(code.select(square > change.get(), square, change.get()))
            same.set(same.get() & a[i].equals(b[i]))
        made.out[0] = change.get()
        made.out[1] = code.select(same.get(), spread(code, 1.0), 0.0)
        made.out[2] = code.select(_finite(made, a), spread(code, 1.0), 0.0)
        made.result.set(ROWS[Op.COMPARE] * made.lanes.count)


def _norm(made: _Operation) -> None:
    code, size = made.code, made.part.size
    if made.lanes.count > 1:  # methods with error control run on one lane
        made.result.set(failure(Broken.FORM))
        return
    error, state, other = (made.room(size) for _ in range(3))
    with made.given(_rows(made, 5)), made.found(0, error), made.found(1, state), made.found(2, other):
        total, relative, absolute = code.variable(REAL, 0.0), made.number(3), made.number(4)
        with code.loop(size) as i:
            total.set(plus_square(code, total.get(), (error[i], state[i], other[i], relative, absolute)))
        made.out[0] = total.get()
        made.out[1] = code.select(_finite(made, error, other), spread(code, 1.0), 0.0)
        made.result.set(ROWS[Op.NORM])


def plus_square(code: Code, total: Value, given: Sequence[Value]) -> Value:
    """A sum with the square of an error in units of the tolerance at the larger of two states: error, states, relative
    and absolute tolerance. Nothing is fused, so that the sum does not depend on the loop around it.
    """
    error, state, other, relative, absolute = given
    largest = code.math("maxnum", code.math("fabs", state), code.math("fabs", other))

    def let(operation: str, left: Value, right: Value) -> Value:
        return code.let(REAL, f"{operation} double {left.name}, {right.name}")

    part = let("fdiv", error, let("fadd", absolute, let("fmul", relative, largest)))
    return let("fadd", total, let("fmul", part, part))


def _largest(made: _Operation) -> None:
    code, size = made.code, made.part.size
    vectors = made.room(size), made.room(size)
    with made.given(_rows(made, 2)), made.found(0, vectors[0]), made.found(1, vectors[1]):
        cells = [code.variable(made.lanes.real, 0.0) for _ in vectors]
        for index in _speeds(made):
            for cell, vector in zip(cells, vectors, strict=True):
                square = vector[index] * vector[index]
                cell.set(code.select(square > cell.get(), square, cell.get()))
        for k, cell in enumerate(cells):
            made.out[k] = cell.get()
        made.result.set(ROWS[Op.LARGEST] * made.lanes.count)


def _check(made: _Operation) -> None:
    """Flags are in the reply, right behind its header."""
    x, code = made.room(made.part.size), made.code
    with made.given(_rows(made, 1)), made.found(0, x):
        flags = Array(code, Context(code).array("reply").at(HEADER).pointer, made.lanes.real)
        flags[0] = code.select(_finite(made, x), flags[0], spread(code, 1.0))


def _function(part: KeptPart, lanes: Lanes, k: int) -> str:
    """A function of the part: its column, with the handle of x in the place of x."""
    function, made = part.functions[k], _Operation(part, lanes)
    code, width, before = made.code, lanes.count, function.before
    values = function.gives is Gives.VALUES
    x, taken = made.room(part.size), made.room(function.results)
    size = part.size if function.takes else 0
    column = made.room(function.others + size)
    makes = Value(code, "%number", INT).equals(0)
    with made.given(_rows(made, 1 + function.others) & (makes if values else ~makes)), made.found(before, x):
        code.copy(column, Array(code, made.row(0), lanes.real), before)
        code.copy(column.at(before), x, size)
        rest = Array(code, made.row(1 + before), lanes.real)
        code.copy(column.at(before + size), rest, function.others - before)
        if function.results:
            code.say(f"call void @{called_symbol(function.name, lanes)}(ptr {column.pointer}, ptr {taken.pointer})")
        if values:
            code.copy(made.out, taken, function.results)
            made.result.set(function.results * width)
        elif function.gives is Gives.VECTOR:
            made.keep(taken)
        else:
            for j, entry in enumerate(function.entries):
                x[entry] = taken[j]
            made.keep(x)
    return made.finish(f"op.{Op.FUNCTION + k}")
