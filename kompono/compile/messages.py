"""Native code by which a process exchanges numbers with others while it evaluates and steps.

The second word of a workspace is the address of the `Wires` of this process: functions of the message library, its
handles, and two buffers. So no address is in object code, which may be kept, and generated code calls the library
without anything in between. A handle is an integer in some libraries and a pointer in others; passed as 64 bits it is
right for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kompono.compile.emit import INT, POINTER, REAL, Array, Code, Value
from kompono.translate.program import HEADER, Exchange, TableRoutine

WORD = 1  # of the workspace
AGREED = 4  # doubles of a message by which all processes agree on something
_WORDS = (
    "gather", "send", "receive",  # functions: MPI_Allgatherv, MPI_Send, MPI_Recv
    "group", "kind", "status",  # handles: communicator, double, no status
    "ranks", "out", "in",  # how many processes, buffers
    "counts", "starts", "agreed_counts", "agreed_starts",  # of gathered messages, as 32-bit integers
)  # fmt: skip
_INFINITY = "0x7FF0000000000000"


class Wires:
    """What native code needs to reach the others: `functions` and `handles` by name, doubles told by each process."""

    def __init__(self, functions: dict[str, int], handles: dict[str, int], counts: Sequence[int], largest: int) -> None:
        ranks = len(counts)
        self._tables = {
            "counts": np.array(counts, dtype=np.int32),
            "starts": np.cumsum([0, *counts[:-1]], dtype=np.int32),
            "agreed_counts": np.full(ranks, AGREED, dtype=np.int32),
            "agreed_starts": AGREED * np.arange(ranks, dtype=np.int32),
            "out": np.zeros(max(largest, AGREED, *counts)),
            "in": np.zeros(max(largest, AGREED * ranks, sum(counts))),
        }
        known = {**functions, **handles, "ranks": ranks, **{k: t.ctypes.data for k, t in self._tables.items()}}
        self._words = np.array([known[name] for name in _WORDS], dtype=np.uint64)

    def connect(self, workspace: np.ndarray) -> None:
        """Let whatever is evaluated on this workspace use the wires, which must live as long."""
        workspace[:HEADER].view(np.uint64)[WORD] = self._words.ctypes.data


def largest_message(routine: TableRoutine) -> int:
    """Doubles of the longest message of a routine between two processes."""
    return max((max(len(told.send), len(told.receive)) for told in routine.exchanges), default=0)


def tables(routine: TableRoutine, stem: str, table: Callable[[str, np.ndarray], str]) -> str:
    """Constant data of all exchanges; `table` makes it."""
    parts = [(f"{stem}.send.{k}", told.send) for k, told in enumerate(routine.exchanges)]
    parts += [(f"{stem}.receive.{k}", told.receive) for k, told in enumerate(routine.exchanges)]
    return "".join(table(name, places) for name, places in parts)


def exchange(code: Code, stem: str, number: int, told: Exchange) -> None:
    """One exchange of a routine whose workspace is %work."""
    work, wires = Array(code, "%work"), _wires(code, "%work")
    out, heard = (Array(code, _pointer(code, wires, name)) for name in ("out", "in"))
    with code.loop(len(told.send)) as i:
        out[i] = work[_entry(code, f"@{stem}.send.{number}", i)]
    if told.kind == "gather":
        _gather(code, wires, len(told.send), "counts", "starts")
    elif told.kind == "send":
        _call(code, wires, "send", _message(code, wires, "out", len(told.send), told.peer))
    else:
        status = f"i64 {_word(code, wires, 'status').name}"
        _call(code, wires, "receive", [*_message(code, wires, "in", len(told.receive), told.peer), status])
    with code.loop(len(told.receive)) as i:
        work[_entry(code, f"@{stem}.receive.{number}", i)] = heard[i]


def tell_all(code: Code, work: Array, values: Sequence[Value]) -> tuple[Array, Value]:
    """Tell all processes up to `AGREED` numbers (real, or integers as they are); what each told, and how many."""
    wires = _wires(code, work.pointer)
    out = _pointer(code, wires, "out")
    for k, value in enumerate(values):
        place = code.let(POINTER, f"getelementptr double, ptr {out}, i64 {k}").name
        code.say(f"store {value.kind} {value.name}, ptr {place}")
    _gather(code, wires, AGREED, "agreed_counts", "agreed_starts")
    return Array(code, _pointer(code, wires, "in")), _word(code, wires, "ranks")


def whole(code: Code, heard: Array, index: Value) -> Value:
    """A number that was told as an integer."""
    return code.let(INT, f"load i64, ptr {heard.at(index).pointer}")


def finite_or_infinite(code: Code, value: Value) -> Value:
    """The same, infinity in the place of not a number: so it wins every comparison."""
    known = code.let("i1", f"fcmp ord double {value.name}, {value.name}")
    return code.let(REAL, f"select i1 {known.name}, double {value.name}, double {_INFINITY}")


def _wires(code: Code, work: str) -> str:
    place = code.let(POINTER, f"getelementptr i64, ptr {work}, i64 {WORD}").name
    return code.let(POINTER, f"load ptr, ptr {place}").name


def _word(code: Code, wires: str, name: str) -> Value:
    place = code.let(POINTER, f"getelementptr i64, ptr {wires}, i64 {_WORDS.index(name)}").name
    return code.let(INT, f"load i64, ptr {place}")


def _pointer(code: Code, wires: str, name: str) -> str:
    return code.let(POINTER, f"inttoptr i64 {_word(code, wires, name).name} to ptr").name


def _message(code: Code, wires: str, buffer: str, count: int, peer: int) -> list[str]:
    group, kind = (_word(code, wires, name).name for name in ("group", "kind"))
    return [
        f"ptr {_pointer(code, wires, buffer)}",
        f"i32 {count}",
        f"i64 {kind}",
        f"i32 {peer}",
        "i32 0",
        f"i64 {group}",
    ]


def _gather(code: Code, wires: str, count: int, counts: str, starts: str) -> None:
    out, heard, sizes, places = (_pointer(code, wires, name) for name in ("out", "in", counts, starts))
    kind, group = (_word(code, wires, name).name for name in ("kind", "group"))
    given = [f"ptr {out}", f"i32 {count}", f"i64 {kind}"]
    taken = [f"ptr {heard}", f"ptr {sizes}", f"ptr {places}", f"i64 {kind}", f"i64 {group}"]
    _call(code, wires, "gather", [*given, *taken])


def _call(code: Code, wires: str, name: str, arguments: Sequence[str]) -> None:
    """Errors are the library's concern, which ends all processes."""
    code.let("i32", f"call i32 {_pointer(code, wires, name)}({', '.join(arguments)})")


def _entry(code: Code, table: str, index: Value) -> Value:
    place = code.let(POINTER, f"getelementptr i32, ptr {table}, i64 {index.name}").name
    return code.let(INT, f"zext i32 {code.let('i32', f'load i32, ptr {place}').name} to i64")
