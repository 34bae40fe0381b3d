"""Frames between processes by a message library (MPI), in native code: the library is called by address.

The one who asks sends a frame with the number of the keeper before it, and does not wait for it to leave; replies come
with the number as their tag. The one who keeps parts stays in `serve`, a loop of receiving, answering and sending,
until a number below zero comes. A handle of the library is an integer or a pointer, which 64 bits are right for.
"""

from __future__ import annotations

import functools
from typing import Any

from kompono.compile import assembler, jit
from kompono.compile.emit import INT, POINTER, Array, Code, Value, prelude
from kompono.compile.far import HEADER
from kompono.compile.keeper_frames import CONTEXT
from kompono.compile.lanes import ONE

TRANSMIT, RECEIVE, SERVE = (f"kompono.carry.{name}" for name in ("transmit", "receive", "serve"))
FRAMES, REPLIES = 7301, 7400  # tags; that of a reply has the number of its keeper added
LIBRARY = ("send", "isend", "recv", "wait", "kind", "group", "status")  # addresses and handles of the library
ASKING = (*LIBRARY, "rank", "number", "lanes", "buffer", "request")  # fields of who asks
SERVING = (*LIBRARY, "rank", "buffer", "room", "contexts", "answers", "count")  # fields of who keeps
_POINTERS = ("send", "isend", "recv", "wait", "status", "buffer", "contexts", "answers")


class _Fields:
    def __init__(self, code: Code, pointer: str, names: tuple[str, ...]) -> None:
        self.code, self.pointer, self.names = code, pointer, names

    def place(self, name: str) -> str:
        return self.code.let(POINTER, f"getelementptr i64, ptr {self.pointer}, i64 {self.names.index(name)}").name

    def __getattr__(self, name: str) -> str:
        kind = POINTER if name in _POINTERS else INT
        return self.code.let(kind, f"load {kind}, ptr {self.place(name)}").name

    def short(self, name: str) -> str:
        """A field as an int of C."""
        return _short(self.code, getattr(self, name))


def _short(code: Code, value: str) -> str:
    return code.let("i32", f"trunc i64 {value} to i32").name


def _whole(code: Code, number: Value) -> Value:
    return code.let(INT, f"call i64 @llvm.fptosi.sat.i64.f64(double {number.name})")


def _transmit() -> str:
    code = Code()
    own = _Fields(code, "%context", ASKING)
    buffer = own.buffer
    number = code.let("double", f"sitofp i64 {own.number} to double").name
    code.say(f"store double {number}, ptr {buffer}")
    first = Array(code, buffer).at(1).pointer
    size = Value(code, "%length", INT)
    code.say(f"call void @llvm.memcpy.p0.p0.i64(ptr {first}, ptr %frame, i64 {(size * 8).name}, i1 false)")
    count = _short(code, (size + 1).name)
    arguments = f"ptr {buffer}, i32 {count}, i64 {own.kind}, i32 {own.short('rank')}, i32 {FRAMES}, i64 {own.group}"
    result = code.let("i32", f"call i32 {own.isend}({arguments}, ptr {own.place('request')})")
    wide = code.let(INT, f"sext i32 {result.name} to i64")
    return code.define(f"i64 @{TRANSMIT}(ptr %context, ptr %frame, i64 %length) nounwind", wide)


def _receive() -> str:
    code = Code()
    own = _Fields(code, "%context", ASKING)
    tag = _short(code, (Value(code, own.number, INT) + REPLIES).name)
    room = _short(code, "%room")
    arguments = f"ptr %reply, i32 {room}, i64 {own.kind}, i32 {own.short('rank')}, i32 {tag}, i64 {own.group}"
    failed = code.let("i32", f"call i32 {own.recv}({arguments}, ptr {own.status})")
    code.say(f"call i32 {own.wait}(ptr {own.place('request')}, ptr {own.status})")
    good = code.let("i1", f"icmp eq i32 {failed.name}, 0")
    values = _whole(code, Array(code, "%reply")[3])
    count = values + Value(code, own.lanes, INT) + HEADER
    result = code.select(good, count, -1)
    return code.define(f"i64 @{RECEIVE}(ptr %context, ptr %reply, i64 %room) nounwind", result)


def _serve() -> str:
    """0 when it was told to leave, 1 if the library failed or what came made no sense."""
    code = Code()
    own, result = _Fields(code, "%context", SERVING), code.variable(INT, 0)
    buffer = Array(code, own.buffer)
    with code.forever():
        arguments = (
            f"ptr {buffer.pointer}, i32 {own.short('room')}, i64 {own.kind}, i32 {own.short('rank')}, i32 {FRAMES}"
        )
        failed = code.let("i32", f"call i32 {own.recv}({arguments}, i64 {own.group}, ptr {own.status})")
        bad = code.let("i1", f"icmp ne i32 {failed.name}, 0")
        number, frame = _whole(code, buffer[0]), buffer.at(1)
        result.set(code.select(bad | (number >= Value(code, own.count, INT)), Value(code, "1", INT), 0))
        code.leave(bad | (number < 0) | (number >= Value(code, own.count, INT)))
        keeper = code.let(POINTER, f"load ptr, ptr {_entry(code, own.contexts, number)}").name
        answer = code.let(POINTER, f"load ptr, ptr {_entry(code, own.answers, number)}").name
        length, room = _whole(code, frame[2]), Value(code, own.room, INT) - 1
        fits = (length >= 0) & (length <= room)
        fields = _Fields(code, keeper, CONTEXT)
        code.say(f"store ptr {frame.pointer}, ptr {fields.place('frame')}")
        code.say(f"store i64 {code.select(fits, length, 0).name}, ptr {fields.place('length')}")
        code.say(f"call i64 {answer}(ptr {keeper})")
        reply = code.let(POINTER, f"load ptr, ptr {fields.place('reply')}").name
        count = _short(code, code.let(INT, f"load i64, ptr {fields.place('replied')}").name)
        tag = _short(code, (number + REPLIES).name)
        given = f"ptr {reply}, i32 {count}, i64 {own.kind}, i32 {own.short('rank')}, i32 {tag}, i64 {own.group}"
        code.say(f"call i32 {own.send}({given})")
    return code.define(f"i64 @{SERVE}(ptr %context) nounwind", result.get())


def _entry(code: Code, table: str, number: Value) -> str:
    return code.let(POINTER, f"getelementptr ptr, ptr {table}, i64 {number.name}").name


@functools.cache
def _library() -> tuple[dict[str, int], Any]:
    body = _transmit() + _receive() + _serve()
    return jit.place([assembler.assemble(prelude(body, ONE) + body)], (TRANSMIT, RECEIVE, SERVE))


def addresses() -> dict[str, int]:
    """Where these functions are."""
    return _library()[0]
