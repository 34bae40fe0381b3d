"""The far side of a part: native code that keeps its vectors and works off frames (`far`), whoever carries them.

One function, `answer(context)`, reads a frame and writes the reply. It is generated from the functions of a part, so
sums are made by the same instructions as in a step loop, and functions are the same machine code as in one process:
hence the same bits. Vectors lie in a ring, each with its number beside it, so that one that is gone is noticed; those
of recorded states in a ring of their own, the book. Behind its numbers each has what it is (`descent`): what would show
them is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kompono.compile.descent import (
    FROM,
    JUMP,
    KIND,
    OFFERED,
    RATE,
    ROOT,
    SELF,
    STATE,
    Sum,
    same_state,
)
from kompono.compile.descent import ROWS as DESCENT
from kompono.compile.emit import (
    INT,
    POINTER,
    Array,
    Code,
    Value,
    anywhere,
    plus_product,
    prelude,
)
from kompono.compile.far import NUMBER_BITS, PINNED, RING, Broken, Op
from kompono.compile.keeper_frames import (
    Context,
    answer_text,
    dispatch_text,
    failure,
    receive_text,
    transmit_text,
    whole_number,
)
from kompono.compile.keeper_looks import check, compare, error_of
from kompono.compile.keeper_operation import Operation, rows_are, rows_of
from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.sealed.kept import Gives, KeptFunction, KeptPart, tells


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


# -- vectors


def _place(code: Code, number: Value, part: KeptPart, lanes: Lanes) -> tuple[Value, Value, Value]:
    """Address of a vector and of its tag, and whether there can be such a number."""
    context = Context(code)
    lasting, span = number >= PINNED, rows_of(part) * lanes.count
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
        with code.when(nothing), code.loop(rows_of(part)) as i:
            target[i * width + lane] = 0.0
        with code.when(~nothing):
            place, tag, good = _place(code, number, part, lanes)
            known = good & code.let(INT, f"load i64, ptr {tag.name}").equals(number)
            result.set(code.select(known, result.get(), failure(Broken.FORGOTTEN)))
            with code.when(known):
                source = Array(code, place.name)
                with code.loop(rows_of(part)) as i:
                    target[i * width + lane] = source[i * width + lane]
    return code.define("internal i64 @find(ptr %context, ptr %handles, ptr %target) nounwind", result.get())


def _keep(part: KeptPart, lanes: Lanes) -> str:
    """Store a vector under a number."""
    code = Code()
    number, result = Value(code, "%number", INT), code.variable(INT, 0)
    place, tag, good = _place(code, number, part, lanes)
    result.set(code.select(good, Value(code, "0", INT), failure(Broken.FORM)))
    with code.when(good):
        code.copy(Array(code, place.name), Array(code, "%source"), rows_of(part) * lanes.count)
        code.say(f"store i64 {number.name}, ptr {tag.name}")
    return code.define("internal i64 @keep(ptr %context, i64 %number, ptr %source) nounwind", result.get())


def _operation(part: KeptPart, lanes: Lanes, op: Op) -> str:
    made = Operation(part, lanes)
    {
        Op.COMBINE: _combine, Op.COMBINE_SPEEDS: _combine_speeds, Op.PIN: _pin, Op.COMPARE: compare,
        Op.ERROR: error_of, Op.CHECK: check, Op.START: _start, Op.MODES: _modes, Op.SETTLE: _settle,
        Op.MODES_OF: _modes_of, Op.PUSH: _push,
    }[op](made)  # fmt: skip
    return made.finish(f"op.{int(op)}")


@contextmanager
def _sum(made: Operation, total: Array, first: int, other: Array | None = None) -> Iterator[Value]:
    """Add factor * vector for all pairs of rows from `first` on, as `Machine.combine` does, term by term; go on with a
    new name if it makes sense (with `other`).
    """
    code, size, width = made.code, made.part.size, made.lanes.count
    term, base = made.vector(), made.vector()
    code.copy(base, total, rows_of(made.part))
    tally = Sum(made.descent(base))
    if other is not None:
        tally.join(made.descent(other))
    pairs = (made.count - first * width) // (2 * width)
    with code.loop(pairs) as k, code.when(made.result.get() >= 0), made.found(k * 2 + (first + 1), term):
        factor = made.number(k * 2 + first)
        tally.add(factor, made.descent(term))
        with code.loop(size) as i:
            total[i] = plus_product(total[i], factor, term[i])
    with code.when(made.result.get() >= 0):
        name = made.name()
        with made.allowed(tally.describe(made.descent(total), name)):
            yield name


def _combine(made: Operation) -> None:
    total, width = made.vector(), made.lanes.count
    with made.given((made.count % (2 * width)).equals(width)), made.found(0, total), _sum(made, total, 1):
        made.keep(total)


def _combine_speeds(made: Operation) -> None:
    width, total, other = made.lanes.count, made.vector(), made.vector()
    even = (made.count % (2 * width)).equals(0) & (made.count > 0)
    with made.given(even), made.found(0, other), made.found(1, total), _sum(made, total, 2, other) as name:
        mine, sums = made.descent(other), made.descent(total)
        with made.allowed(same_state(sums, sums) & same_state(mine, mine)):
            for index in made.speeds():
                other[index] = total[index]
            mine.set(STATE, name, 0.0, mine[ROOT], 0.0)
            made.keep(other)


def _pin(made: Operation) -> None:
    x = made.vector()
    with made.given(rows_are(made, 1)), made.found(0, x):
        made.keep(x)


def _start(made: Operation) -> None:
    code, size = made.code, made.part.size
    x, start = made.vector(), Array(code, Context(code).array("start").pointer, made.lanes.real)
    with made.given(rows_are(made, size)):
        with code.loop(size) as i:
            x[i] = start[i] + made.number(i)
        name = made.name()
        made.descent(x).set(OFFERED, name, 0.0, name, 0.0)
        made.keep(x)


def _modes(made: Operation) -> None:
    x, modes = made.vector(), made.part.modes
    with made.given(rows_are(made, 1)), made.found(0, x), made.allowed(~anywhere(made.descent(x)[KIND] < STATE)):
        for k, place in enumerate(modes):
            made.out[k] = x[place]
        made.result.set(len(modes) * made.lanes.count)


def _settle(made: Operation) -> None:
    x, known = made.vector(), made.part.modes
    with made.given(rows_are(made, 1 + len(known))), made.found(0, x):
        mine = made.descent(x)
        with made.allowed(~anywhere(mine[KIND] < STATE)):
            for k, place in enumerate(known):
                x[place] = made.number(1 + k)
            mine.set(STATE, made.name(), 0.0, mine[ROOT], 0.0)
            made.keep(x)


def _modes_of(made: Operation) -> None:
    x, other = made.vector(), made.vector()
    with made.given(rows_are(made, 2)), made.found(0, x), made.found(1, other):
        mine, theirs = made.descent(x), made.descent(other)
        good = mine.is_state & theirs.is_state & theirs[ROOT].equals(mine[ROOT])
        with made.allowed(~anywhere(~good)):
            for place in made.part.modes:
                x[place] = other[place]
            mine.set(STATE, made.name(), 0.0, mine[ROOT], 0.0)
            made.keep(x)


def _push(made: Operation) -> None:
    """Nothing is fused: so are the speeds of an owner, in Python."""
    code, kind, x, jump = made.code, made.lanes.real, made.vector(), made.vector()
    with made.given(rows_are(made, 3)), made.found(0, x), made.found(2, jump):
        mine, change, factor = made.descent(x), made.descent(jump), made.number(1)
        good = mine.is_state & change[KIND].equals(JUMP) & change[ROOT].equals(mine[ROOT])
        with made.allowed(~anywhere(~good)):
            for index in made.speeds():
                part = code.let(kind, f"fmul {kind} {factor.name}, {jump[index].name}")
                x[index] = code.let(kind, f"fadd {kind} {x[index].name}, {part.name}")
            mine.set(STATE, made.name(), 0.0, mine[ROOT], 0.0)
            made.keep(x)


# -- functions of the part


def _function(part: KeptPart, lanes: Lanes, k: int) -> str:
    """A function of the part: its column, with the handle of x in the place of x."""
    function, made = part.functions[k], Operation(part, lanes)
    code, before = made.code, function.before
    if function.gives is Gives.UNKNOWN:
        made.result.set(failure(Broken.REFUSED))
        return made.finish(f"op.{Op.FUNCTION + k}")
    x, taken = made.vector(), made.vector() if function.results <= part.size else made.room(function.results)
    size = part.size if function.takes else 0
    column, known = made.room(function.others + size), made.descent(x)
    makes = Value(code, "%number", INT).equals(0)
    good = rows_are(made, 1 + function.others) & (makes if tells(function.gives) else ~makes)
    least = OFFERED if function.gives is Gives.STARTS else STATE
    with made.given(good), made.found(before, x), made.allowed(~anywhere(known[KIND] < least)):
        code.copy(column, Array(code, made.row(0), lanes.real), before)
        code.copy(column.at(before), x, size)
        rest = Array(code, made.row(1 + before), lanes.real)
        code.copy(column.at(before + size), rest, function.others - before)
        _call(made, function, column, taken)
        _give(made, function, x, taken)
    return made.finish(f"op.{Op.FUNCTION + k}")


def _call(made: Operation, function: KeptFunction, column: Array, taken: Array) -> None:
    """What it gives for a column."""
    code = made.code
    if not function.results:
        return
    symbol = called_symbol(function.name, made.lanes)
    code.say(f"call void @{symbol}(ptr {column.pointer}, ptr {taken.pointer})")
    if function.still and function.takes:
        start, there = Array(code, Context(code).array("start").pointer, made.lanes.real), made.room(function.results)
        for index in made.speeds():
            column[index + function.before] = start[index]
        code.say(f"call void @{symbol}(ptr {column.pointer}, ptr {there.pointer})")
        with code.loop(function.results) as i:
            taken[i] = taken[i] - there[i]


def _give(made: Operation, function: KeptFunction, x: Array, taken: Array) -> None:
    """Reply with what was computed, or keep it and what it is."""
    code, known, new = made.code, made.descent(x), made.descent(taken)
    if tells(function.gives):
        code.copy(made.out, taken, function.results)
        made.result.set(function.results * made.lanes.count)
    elif function.gives is Gives.RATE:
        new.set(RATE, known[SELF], known[FROM], known[ROOT], 1.0)
        made.keep(taken)
    elif function.gives is Gives.JUMP:
        new.set(JUMP, 0.0, 0.0, known[ROOT], 0.0)
        made.keep(taken)
    elif function.gives is Gives.STATE:
        new.set(*[known[row] for row in DESCENT])
        made.keep(taken)
    elif function.gives is Gives.SAMPLED:
        new.set(STATE, made.name(), 0.0, known[ROOT], 0.0)
        made.keep(taken)
    else:
        for j, entry in enumerate(function.entries):
            x[entry] = taken[j]
        known.set(STATE, made.name(), 0.0, known[ROOT], 0.0)
        made.keep(x)
