"""Machine code of sealed parts: which of it fits this machine, and how it is joined to the code of an owner.

The code of a file takes its numbers by a third argument (see `lifted`), its owner calls functions of two. Between the
two stands a small object that is written here for each number of lanes. It has room for the table, which is filled in
when it is taken, in memory; on disk there are no numbers.
Where a file has no code on so many lanes, it goes through them a few at a time, with what code there is.

Behind a wall none of that is linked here: a worker process has it, or wasmtime, and the owner's code asks there.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.compile import assembler, jit
from kompono.compile.emit import Array, Code, prelude
from kompono.compile.forks import hold_at_forks
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.lower import called_symbol
from kompono.compile.numbers import HEAD, Shape, empty_table, filled
from kompono.compile.walls.places import Place, asking, stubs, symbol_of
from kompono.errors import CompileError, SealedError
from kompono.sealed.code import SealedCode, find

if TYPE_CHECKING:
    from kompono.compile.walls.room import Room
    from kompono.compile.walls.station import Station

_ENTRY = "kompono.enter"
_TABLE = f"getelementptr (i8, ptr @numbers, i64 {HEAD})"


def known(name: str, function: ca.Function) -> bool:
    """Whether a closed function has machine code of its own: it is one of a sealed part that is loaded."""
    if find(name) is not None:
        return True
    if function.class_name() != "SXFunction":
        raise CompileError(f"{name} is a function of a sealed part that is not loaded in this process.")
    return False


def holds(wall: str) -> bool:
    """Whether a wall keeps code in, whoever wrote it: WebAssembly everywhere, a process where it can be locked."""
    from kompono.compile.walls import filters

    return wall == "wasm" or (wall == "process" and filters.available())


def check_code(names: Iterable[str], path: str, wall: str) -> None:
    """Refuse a file without code for what it shall run on."""
    from kompono.compile import targets
    from kompono.compile.walls import station

    names = list(names)
    if wall == "wasm":
        if targets.WASM not in names:
            raise SealedError(
                f"it has code for {', '.join(names) or 'no machine'}, but none as WebAssembly.", path=path,
                fix=f"Ask its author to seal it for the target {targets.WASM} as well.",
            )  # fmt: skip
        return
    if wall == "process" and not station.available():
        raise SealedError("there are no worker processes on this system.", path=path, fix="Use wall='wasm'.")
    check_target(names, path)


def check_target(names: Iterable[str], path: str) -> str:
    """The target of a file that fits this machine."""
    from kompono.compile import targets

    names = list(names)
    fit = targets.fitting(names)
    if fit is None:
        alike = targets.here() in {
            targets.system(targets.TARGETS[name].triple) for name in names if name in targets.TARGETS
        }
        why = "this processor is too old for that" if alike else f"this machine is {targets.here()}"
        raise SealedError(
            f"it has code for {', '.join(names) or 'no machine'}; {why}.", path=path,
            fix="Use it as WebAssembly: Sealed(FILE, wall='wasm')." if targets.WASM in names
            else "Ask its author to seal it for this machine as well.",
        )  # fmt: skip
    return fit


def objects(names: Iterable[str], lanes: Lanes) -> dict[str, bytes]:
    """The objects that have some functions of sealed parts, by a name each; equal code comes once."""
    found = (code.object(*_available(code, lanes.count)) for code in _codes(names))
    return {f"{hashlib.sha256(data).hexdigest()} code": data for data in found}


def joints(names: Iterable[str], lanes: Lanes) -> list[tuple[str, Shape]]:
    """What stands between these and their owner, as text without numbers, and the numbers."""
    return [_joint(code, lanes.count) for code in _codes(names)]


def _codes(names: Iterable[str]) -> Iterable[SealedCode]:
    return {code.stem: code for name in names if (found := find(name)) for code in found[:1]}.values()


# -- behind a wall

_places: dict[tuple[str, int], Place] = {}  # by stem and lanes; a file has one for all who use it
_lock = threading.RLock()
hold_at_forks(_lock)


def place_of(stem: str, lanes: Lanes) -> Place:
    """Where the functions of a file run that has a wall around it."""
    found = find(f"{stem}_0")
    if found is None:
        raise CompileError(f"{stem} is a sealed part that is not loaded in this process.")
    code = found[0]
    key = stem, lanes.count if code.wall == "process" else 1
    with _lock:
        if key not in _places:
            _places[key] = _worker(code, lanes) if code.wall == "process" else _room(code)
        return _places[key]


def _names(code: SealedCode) -> list[str]:
    return [f"{code.stem}_{number}" for number in sorted(code.described)]


def _worker(code: SealedCode, lanes: Lanes) -> Station:
    from kompono.compile.walls import filters
    from kompono.compile.walls.station import Station

    made = Station(code.file.path, locked=filters.available())
    joint, shape = _joint(code, lanes.count)
    data = [code.object(*_available(code, lanes.count)), filled(assembler.assemble(joint), shape)]
    made.add(data, [called_symbol(name, lanes) for name in _names(code)])
    return made


def _room(code: SealedCode) -> Room:
    """All lanes go through one room, one by one."""
    from kompono.compile import lifted, targets
    from kompono.compile.walls.room import Room

    functions = {
        f"{code.stem}_{number}": (lifted.symbol(code.manifest.code, number, 1), described.arguments, described.results)
        for number, described in sorted(code.described.items())
    }
    return Room(code.file.path, code.object(targets.WASM, 1), functions, code.numbers)


def _available(code: SealedCode, count: int) -> tuple[str, int]:
    """The target for this machine, and the most lanes it has code for that go into `count`."""
    target = check_target(code.manifest.targets, code.file.path)
    return target, max(width for width in code.manifest.targets[target] if count % width == 0)


@functools.lru_cache(maxsize=256)
def _joint(code: SealedCode, count: int) -> tuple[str, Shape]:
    """The object between an owner and a sealed part: its text, with room for the table, and that."""
    from kompono.compile import lifted

    _, width = _available(code, count)
    shape = Shape(f"{code.stem} {count}", np.frombuffer(code.numbers, dtype="<f8"))
    text = empty_table("numbers", shape).replace("hidden", "internal")
    for number, described in sorted(code.described.items()):
        inner = lifted.symbol(code.manifest.code, number, width)
        text += f"declare void @{inner}(ptr, ptr, ptr) nounwind\n"
        text += _through(
            called_symbol(f"{code.stem}_{number}", Lanes(count)), inner, (described.arguments, described.results),
            count, width,
        )  # fmt: skip
    return prelude(text, ONE) + text, shape


def _through(outer: str, inner: str, sizes: tuple[int, int], count: int, width: int) -> str:
    """A function on `count` lanes that calls one on `width` lanes as often as needed."""
    head = f"void @{outer}(ptr noalias readonly %in, ptr noalias %out) nounwind"
    if count == width:
        return f"define {head} {{\ntail call void @{inner}(ptr %in, ptr %out, ptr {_TABLE})\nret void\n}}\n"
    code = Code()
    code.say(f"%given = alloca [{max(sizes[0] * width, 1)} x double], align 64")
    code.say(f"%taken = alloca [{max(sizes[1] * width, 1)} x double], align 64")
    with code.loop(count // width) as block:
        with code.loop(sizes[0]) as i:
            code.copy(Array(code, "%given").at(i * width), Array(code, "%in").at(i * count + block * width), width)
        code.say(f"call void @{inner}(ptr %given, ptr %taken, ptr {_TABLE})")
        with code.loop(sizes[1]) as i:
            code.copy(Array(code, "%out").at(i * count + block * width), Array(code, "%taken").at(i * width), width)
    return code.define(head)


# -- called from Python


_COLUMNS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@functools.lru_cache(maxsize=256)
def _plain(code: SealedCode) -> tuple[dict[int, Any], Any, Any]:
    """The functions of a file as they are in it, of the addresses of two columns and of the table; where that is, and
    what keeps the code in memory.
    """
    from kompono.compile import lifted

    target, _ = _available(code, 1)
    symbols = {number: lifted.symbol(code.manifest.code, number, 1) for number in code.described}
    addresses, owner = jit.place([code.object(target, 1)], list(symbols.values()))
    table = (ctypes.c_double * (len(code.numbers) // 8)).from_buffer_copy(code.numbers)
    return {number: _COLUMNS(addresses[symbol]) for number, symbol in symbols.items()}, table, owner


@functools.lru_cache(maxsize=1024)
def _entry(code: SealedCode, number: int) -> Any:
    """A native function of the addresses of two columns, which asks behind a wall."""
    inner = called_symbol(f"{code.stem}_{number}", ONE)
    text = f"""declare void @{inner}(ptr, ptr) nounwind
define i64 @{_ENTRY}(ptr %pair) nounwind {{
%in = load ptr, ptr %pair
%next = getelementptr ptr, ptr %pair, i64 1
%out = load ptr, ptr %next
call void @{inner}(ptr %in, ptr %out)
ret i64 0
}}
"""
    entry, place = assembler.assemble(text), place_of(code.stem, ONE)
    stub = assembler.assemble(stubs(place, code.stem, [code.functions[number]], ONE))
    return jit.load([entry, stub, asking(place)], _ENTRY, {symbol_of(code.stem, ONE): place.address}, place)


def evaluate(code: SealedCode, number: int, column: np.ndarray) -> np.ndarray:
    """What a function of a sealed part gives for a column of doubles."""
    described = code.described[number]
    if column.shape != (described.arguments,):
        raise SealedError(f"a function of {described.arguments} numbers was given {column.size}.", path=code.file.path)
    result = np.empty(described.results)
    if not code.wall:
        functions, table, _ = _plain(code)
        functions[number](column.ctypes.data, result.ctypes.data, ctypes.addressof(table))
        return result
    pair = (ctypes.c_void_p * 2)(column.ctypes.data, result.ctypes.data)
    enter = _entry(code, number)
    place = place_of(code.stem, ONE)
    place.revive()
    place.ready()
    enter(ctypes.addressof(pair))
    if place.broken:
        raise SealedError(f"{place.trouble()}.", path=code.file.path)
    return result
