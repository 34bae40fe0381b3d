"""Frames at the far side: each operation of a frame is worked off in turn, and the reply written."""

from __future__ import annotations

from kompono.compile.emit import INT, POINTER, Array, Code, Value, Variable, flush_tiny
from kompono.compile.far import FRAME, HEADER, OPERATION, ROWS, Broken, Op
from kompono.compile.lanes import Lanes
from kompono.sealed.kept import KeptPart, tells

CONTEXT = (
    "frame", "length", "reply", "room", "replied", "ring", "tags", "book", "book_tags", "book_rows", "start", "names",
)  # fmt: skip
_POINTERS = ("frame", "reply", "ring", "tags", "book", "book_tags", "start")
ANSWER, TRANSMIT, RECEIVE = (f"kompono.keeper.{name}" for name in ("answer", "transmit", "receive"))


HEAD = "(ptr %context, i64 %number, ptr %arguments, i64 %count, ptr %out) nounwind"  # of each operation


class Context:
    """The fields of a keeper from inside its code."""

    def __init__(self, code: Code) -> None:
        self.code = code

    def get(self, name: str) -> Value:
        kind = POINTER if name in _POINTERS else INT
        place = self.code.let(POINTER, f"getelementptr i64, ptr %context, i64 {CONTEXT.index(name)}").name
        return self.code.let(kind, f"load {kind}, ptr {place}")

    def set(self, name: str, value: Value | str) -> None:
        kind, text = (INT, value.name) if isinstance(value, Value) else (POINTER, value)
        place = self.code.let(POINTER, f"getelementptr i64, ptr %context, i64 {CONTEXT.index(name)}").name
        self.code.say(f"store {kind} {text}, ptr {place}")

    def array(self, name: str) -> Array:
        return Array(self.code, self.get(name).name)


def whole_number(code: Code, number: Value) -> Value:
    return code.let(INT, f"call i64 @llvm.fptosi.sat.i64.f64(double {number.name})")


def failure(why: Broken) -> int:
    return -int(why)


def _largest_reply(part: KeptPart, op: int) -> int:
    """Rows of values an operation gives."""
    if op < Op.FUNCTION:
        return len(part.modes) if op == Op.MODES else ROWS.get(Op(op), 0)
    function = part.functions[op - Op.FUNCTION]
    return function.results if tells(function.gives) else 0


def dispatch_text(part: KeptPart, lanes: Lanes) -> str:
    """An operation by its code, if there is room for what it gives."""
    codes = [int(op) for op in Op if op is not Op.FUNCTION] + [Op.FUNCTION + k for k in range(len(part.functions))]
    cases = " ".join(f"i64 {op}, label %case{op}" for op in codes)
    lines = [f"define internal i64 @dispatch(i64 %op, i64 %room, {HEAD[1:]} {{"]
    lines.append(f"switch i64 %op, label %no [{cases}]")
    arguments = "ptr %context, i64 %number, ptr %arguments, i64 %count, ptr %out"
    for op in codes:
        lines.append(f"case{op}:")
        lines.append(f"%fits{op} = icmp sle i64 {_largest_reply(part, op) * lanes.count}, %room")
        lines.append(f"br i1 %fits{op}, label %do{op}, label %no")
        lines.append(f"do{op}:")
        lines += [f"%r{op} = call i64 @op.{op}({arguments})", f"ret i64 %r{op}"]
    lines += ["no:", f"ret i64 {failure(Broken.FORM)}", "}", ""]
    return "\n".join(lines)


def answer_text(lanes: Lanes) -> str:
    code, width = Code(lanes), lanes.count
    restore = flush_tiny(code)
    context = Context(code)
    frame, reply, length = context.array("frame"), context.array("reply"), context.get("length")
    first = HEADER + width
    status, place, written = code.variable(INT, 0), code.variable(INT, HEADER), code.variable(INT, 0)
    reply[0], reply[1] = FRAME, 0.0
    with code.loop(width) as i:
        reply[i + HEADER] = 0.0
    with code.when(length < HEADER):
        status.set(failure(Broken.FORM))
    with code.when(length >= HEADER):
        reply[1] = frame[1]
        good = frame[0].equals(FRAME) & frame[2].equals(length.real())
        status.set(code.select(good, Value(code, "0", INT), failure(Broken.FORM)))
        with code.forever():
            code.leave((status.get() < 0) | (place.get() >= length))
            _work_off(code, context, (status, place, written), first)
        asked = frame[3].equals(written.get().real())
        status.set(code.select(asked | (status.get() < 0), status.get(), failure(Broken.FORM)))
    reply[2] = (0 - status.get()).real()
    total = code.select(status.get() < 0, Value(code, str(first), INT), written.get() + first)
    reply[3] = (total - first).real()
    context.set("replied", total)
    restore()
    return code.define(f"i64 @{ANSWER}(ptr %context) {lanes.stack}nounwind", status.get())


def _work_off(code: Code, context: Context, cells: tuple[Variable, Variable, Variable], first: int) -> None:
    """One operation of the frame."""
    status, place, written = cells
    frame, length = context.array("frame"), context.get("length")
    now = place.get()
    headed = now + OPERATION <= length
    with code.when(~headed):
        status.set(failure(Broken.FORM))
    with code.when(headed):
        head = frame.at(now)
        op, number, count = (whole_number(code, head[k]) for k in range(3))
        whole = (count >= 0) & (count <= length - now - OPERATION)
        with code.when(~whole):
            status.set(failure(Broken.FORM))
        with code.when(whole):
            out = context.array("reply").at(written.get() + first)
            room = context.get("room") - first - written.get()
            arguments = f"ptr {head.at(OPERATION).pointer}, i64 {count.name}, ptr {out.pointer}"
            text = f"call i64 @dispatch(i64 {op.name}, i64 {room.name}, ptr %context, i64 {number.name}, {arguments})"
            made = code.let(INT, text)
            with code.when(made < 0):
                status.set(made)
            with code.when(made >= 0):
                written.set(written.get() + made)
            place.set(now + count + OPERATION)


# -- in the same process, frames travel by address


def transmit_text() -> str:
    code = Code()
    context = Context(code)
    context.set("frame", "%frame")
    context.set("length", Value(code, "%length", INT))
    code.say(f"call i64 @{ANSWER}(ptr %context)")
    zero = Value(code, "0", INT)
    return code.define(f"i64 @{TRANSMIT}(ptr %context, ptr %frame, i64 %length) nounwind", zero)


def receive_text() -> str:
    code = Code()
    context = Context(code)
    count, result = context.get("replied"), code.variable(INT, -1)
    with code.when(count <= Value(code, "%room", INT)):
        result.set(count)
        source, target = context.array("reply"), Array(code, "%reply")
        with code.loop(count) as i:
            target[i] = source[i]
    return code.define(f"i64 @{RECEIVE}(ptr %context, ptr %reply, i64 %room) nounwind", result.get())
