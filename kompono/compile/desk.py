"""The desk of this process: native functions by which generated code writes to parts that are kept elsewhere.

A session is one part in one run: a few fields (`FIELDS`) that Python makes and the functions here work with. Handles
say which session they belong to, so code that is given a state needs nothing else. What makes a vector is only
*posted*: its number is chosen here and it rides on the next frame. What wants values is *asked*; all sessions that are
asked at the same time are sent their frames (`go`) before the first reply is waited for (`take`). How frames travel is
two functions of each session: `transmit(context, frame, doubles)` gives 0, `receive(context, reply, room)` the doubles
received, both something negative if that was not possible; then every value is NaN and the session says why.

What Python asks before generated code does rides on the frame of that code: such values come first in the reply, and
are put *aside*.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np

from kompono.compile import assembler, jit
from kompono.compile.emit import INT, POINTER, REAL, Array, Code, Value, prelude
from kompono.compile.far import (
    ASK,
    FLAGS,
    FRAME,
    GO,
    HEADER,
    IMPORTS,
    MOST_LANES,
    NUMBER_BITS,
    OPERATION,
    POST,
    SESSION_BITS,
    TAKE,
    Broken,
)  # fmt: skip
from kompono.compile.lanes import ONE

FIELDS = (
    "transmit", "receive", "context", "out", "out_length", "out_room", "reply", "reply_place", "reply_room", "wanted",
    "waiting", "expected", "next", "next_pinned", "broken", "flags", "round_trips", "sequence", "lanes", "index",
    "aside", "aside_out",
)  # fmt: skip
_POINTERS = ("transmit", "receive", "context", "out", "reply", "flags", "aside_out")
_SYNC, _TABLE = "kompono.far.sync", "kompono.far.table"


class _Session:
    """The fields of a session from inside native code."""

    def __init__(self, code: Code, pointer: str) -> None:
        self.code, self.pointer = code, pointer

    def _place(self, name: str) -> str:
        return self.code.let(POINTER, f"getelementptr i64, ptr {self.pointer}, i64 {FIELDS.index(name)}").name

    def get(self, name: str) -> Value:
        kind = POINTER if name in _POINTERS else INT
        return self.code.let(kind, f"load {kind}, ptr {self._place(name)}")

    def set(self, name: str, value: Value | int) -> None:
        self.code.say(f"store i64 {self.code.value(value, INT)}, ptr {self._place(name)}")

    def array(self, name: str) -> Array:
        return Array(self.code, self.get(name).name)


def _found(code: Code) -> Value:
    """The session whose handle `%whose` points at; null if there is none."""
    handle = code.let(REAL, "load double, ptr %whose")
    whole = code.let(INT, f"call i64 @llvm.fptosi.sat.i64.f64(double {handle.name})")
    shifted = code.let(INT, f"lshr i64 {whole.name}, {NUMBER_BITS}")
    index = code.let(INT, f"and i64 {shifted.name}, {(1 << SESSION_BITS) - 1}")
    place = code.let(POINTER, f"getelementptr ptr, ptr @sessions, i64 {index.name}")
    return code.let(POINTER, f"load ptr, ptr {place.name}")


def _is(code: Code, pointer: Value) -> Value:
    return code.let("i1", f"icmp ne ptr {pointer.name}, null")


def _count(value: Value) -> Value:
    return value.code.let(INT, f"fptosi double {value.name} to i64")


def _put(session: _Session, op: str, number: Value | int, arguments: str, count: str) -> None:
    """Append an operation to the frame; one without room is sent first, if nothing is asked in it."""
    code = session.code
    size = Value(code, count, INT)
    over = session.get("out_length") + size + OPERATION > session.get("out_room")
    with code.when(over & session.get("wanted").equals(0)):
        code.say(f"call i64 @{_SYNC}(ptr {session.pointer})")
    fits = session.get("out_length") + size + OPERATION <= session.get("out_room")
    with code.when(~fits):
        session.set("broken", Broken.FORM)
    with code.when(fits):
        length = session.get("out_length")
        place = session.array("out").at(length)
        place[0] = Value(code, op, INT).real()
        place[1] = number.real() if isinstance(number, Value) else float(number)
        place[2] = size.real()
        start = place.at(OPERATION)
        given = f"ptr {start.pointer}, ptr {arguments}, i64 {(size * 8).name}, i1 false"
        code.say(f"call void @llvm.memcpy.p0.p0.i64({given})")
        session.set("out_length", length + size + OPERATION)


def _ask() -> str:
    code = Code()
    found = _found(code)
    with code.when(_is(code, found)):
        session = _Session(code, found.name)
        _put(session, "%op", 0, "%arguments", "%count")
        session.set("wanted", session.get("wanted") + Value(code, "%values", INT))
    return code.define(f"void @{ASK}(i64 %op, ptr %whose, ptr %arguments, i64 %count, i64 %values) nounwind")


def _go() -> str:
    code = Code()
    found = _found(code)
    with code.when(_is(code, found)):
        session = _Session(code, found.name)
        with code.when(session.get("wanted") > 0):
            code.say(f"call void @send(ptr {found.name})")
    return code.define(f"void @{GO}(ptr %whose) nounwind")


def _send() -> str:
    code = Code()
    session = _Session(code, "%session")
    out, sequence = session.array("out"), session.get("sequence") + 1
    session.set("sequence", sequence)
    out[0], out[1], out[2] = FRAME, sequence.real(), session.get("out_length").real()
    out[3] = session.get("wanted").real()
    with code.when(session.get("broken").equals(0)):
        call = f"call i64 {session.get('transmit').name}(ptr {session.get('context').name}, ptr {out.pointer}, "
        result = code.let(INT, f"{call}i64 {session.get('out_length').name})")
        with code.when(~result.equals(0)):
            session.set("broken", Broken.LINK)
    session.set("expected", session.get("wanted"))
    session.set("wanted", 0)
    session.set("waiting", 1)
    session.set("out_length", HEADER)
    return code.define("internal void @send(ptr %session) nounwind")


def _receive() -> str:
    code = Code()
    session = _Session(code, "%session")
    session.set("waiting", 0)
    with code.when(session.get("broken").equals(0)):
        reply, lanes = session.array("reply"), session.get("lanes")
        call = f"call i64 {session.get('receive').name}(ptr {session.get('context').name}, ptr {reply.pointer}, "
        count = code.let(INT, f"{call}i64 {session.get('reply_room').name})")
        with code.when(count < HEADER):
            session.set("broken", Broken.LINK)
        with code.when(count >= HEADER):
            status = _count(reply[2])
            with code.when(~status.equals(0)):
                session.set("broken", status)
            told = reply[0].equals(FRAME) & reply[1].equals(session.get("sequence").real())
            whole = count.equals(session.get("expected") + lanes + HEADER)
            with code.when(status.equals(0) & ~(told & whole)):
                session.set("broken", Broken.LINK)
            with code.when(session.get("broken").equals(0)):
                flags = session.array("flags")
                with code.loop(lanes) as i:
                    flags[i] = code.math("maxnum", flags[i], reply[i + HEADER])
            with code.when(session.get("broken").equals(0)), code.loop(session.get("aside")) as i:
                session.array("aside_out")[i] = reply[i + lanes + HEADER]
        session.set("reply_place", session.get("aside") + lanes + HEADER)
        session.set("aside", 0)
        session.set("round_trips", session.get("round_trips") + 1)
    return code.define("internal void @receive(ptr %session) nounwind")


def _take() -> str:
    code = Code()
    out, count, found = Array(code, "%out"), Value(code, "%count", INT), _found(code)
    with code.loop(count) as i:
        out[i] = math.nan
    with code.when(_is(code, found)):
        session = _Session(code, found.name)
        with code.when(session.get("waiting") > 0):
            code.say(f"call void @receive(ptr {found.name})")
        with code.when(session.get("broken").equals(0)):
            place = session.get("reply_place")
            values = session.array("reply").at(place)
            with code.loop(count) as i:
                out[i] = values[i]
            session.set("reply_place", place + count)
    return code.define(f"void @{TAKE}(ptr %whose, ptr %out, i64 %count) nounwind")


def _post() -> str:
    """`%kind` 0: a vector, 1: a lasting one, 2: no vector is made."""
    code = Code()
    kind, lanes, found = Value(code, "%kind", INT), Value(code, "%lanes", INT), _found(code)
    out, handle = Array(code, "%out"), code.variable(REAL, 0.0)
    with code.when(_is(code, found)):
        session = _Session(code, found.name)
        number = code.variable(INT, 0)
        for which, field in enumerate(("next", "next_pinned")):
            with code.when(kind.equals(which)):
                number.set(session.get(field))
                session.set(field, session.get(field) + 1)
        _put(session, "%op", number.get(), "%arguments", "%count")
        base = code.let(INT, f"shl i64 {session.get('index').name}, {NUMBER_BITS}")
        handle.set((base + number.get()).real())
    with code.when(kind < 2), code.loop(lanes) as i:
        out[i] = handle.get()
    head = f"void @{POST}(i64 %op, ptr %whose, ptr %arguments, i64 %count, ptr %out, i64 %lanes, i64 %kind) nounwind"
    return code.define(head)


def _flags() -> str:
    code = Code()
    found, result = _found(code), code.variable(POINTER, Value(code, "@lost", POINTER))
    with code.when(_is(code, found)):
        session = _Session(code, found.name)
        result.set(session.get("flags"))
    return code.define(f"ptr @{FLAGS}(ptr %whose) nounwind", result.get())


def _sync() -> str:
    """Send what is posted and wait for the reply, of a session by its address."""
    code = Code()
    session = _Session(code, "%session")
    with code.when(session.get("out_length") > HEADER):
        code.say("call void @send(ptr %session)")
        code.say("call void @receive(ptr %session)")
    return code.define(f"i64 @{_SYNC}(ptr %session) nounwind", session.get("broken"))


def _table() -> str:
    return f"define i64 @{_TABLE}(ptr %unused) {{\n%a = ptrtoint ptr @sessions to i64\nret i64 %a\n}}\n"


@functools.cache
def _library() -> tuple[dict[str, int], Any]:
    body = f"@sessions = internal global [{1 << SESSION_BITS} x ptr] zeroinitializer, align 64\n"
    lost = ", ".join(["double 1.0"] * MOST_LANES)
    body += f"@lost = internal constant [{MOST_LANES} x double] [{lost}], align 64\n"
    body += "".join(f() for f in (_send, _receive, _ask, _go, _take, _post, _flags, _sync, _table))
    return jit.place([assembler.assemble(prelude(body, ONE) + body)], (*IMPORTS, _SYNC, _TABLE))


def addresses() -> dict[str, int]:
    """Where the functions are that generated code calls."""
    found = _library()[0]
    return {name: found[name] for name in IMPORTS}


def sync_address() -> int:
    """Of the function that sends what a session has posted."""
    return _library()[0][_SYNC]


def table_address() -> int:
    """Of the table of sessions, pointers by index."""
    return jit.callable_at(_library()[0][_TABLE])(None)


def heard(handle: float) -> np.ndarray | None:
    """Send what the session of a handle has posted; its flags (lanes,), or None if it cannot be asked."""
    table = (ctypes.c_void_p * (1 << SESSION_BITS)).from_address(table_address())
    address = table[int(handle) >> NUMBER_BITS]
    if not address or jit.callable_at(sync_address())(address):
        return None
    fields = (ctypes.c_int64 * len(FIELDS)).from_address(address)
    flags = (ctypes.c_double * fields[FIELDS.index("lanes")]).from_address(fields[FIELDS.index("flags")])
    return np.array(flags)
