"""Machine code of sealed parts: which of it fits this machine, and how it is joined to the code of an owner.

The code of a file takes its numbers by a third argument (see `lifted`), its owner calls functions of two. Between the
two stands a small object that is written here for each number of lanes, with the table in it, and lives in memory only.
Where a file has no code on so many lanes, it goes through them a few at a time, with what code there is.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import struct
from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from kompono.compile import assembler, jit, lifted, targets
from kompono.compile.emit import Array, Code, prelude
from kompono.compile.lanes import ONE, Lanes, constant
from kompono.compile.lower import called_symbol
from kompono.errors import CompileError, SealedError
from kompono.sealed.code import SealedCode, find

_ENTRY = "kompono.enter"


def known(name: str, function: ca.Function) -> bool:
    """Whether a closed function has machine code of its own: it is one of a sealed part that is loaded."""
    if function.class_name() == "SXFunction":
        return False
    if find(name) is None:
        raise CompileError(f"{name} is a function of a sealed part that is not loaded in this process.")
    return True


def check_target(names: Iterable[str], path: str) -> str:
    """The target of a file that fits this machine."""
    names = list(names)
    fit = targets.fitting(names)
    if fit is None:
        alike = targets.here() in {
            targets.system(targets.TARGETS[name].triple) for name in names if name in targets.TARGETS
        }
        why = "this processor is too old for that" if alike else f"this machine is {targets.here()}"
        raise SealedError(
            f"it has code for {', '.join(names) or 'no machine'}; {why}.", path=path,
            fix="Ask its author to seal it for this machine as well.",
        )  # fmt: skip
    return fit


def objects(names: Iterable[str], lanes: Lanes) -> dict[str, bytes]:
    """The objects that have some functions of sealed parts, by a name each; equal code comes once."""
    codes = {code.stem: code for name in names if (found := find(name)) for code in found[:1]}
    made: dict[str, bytes] = {}
    for stem, code in codes.items():
        target, width = _available(code, lanes.count)
        data = code.object(target, width)
        made[f"{hashlib.sha256(data).hexdigest()} code"] = data
        made[f"{stem} {lanes.count}"] = _joint(code, lanes.count)
    return made


def _available(code: SealedCode, count: int) -> tuple[str, int]:
    """The target for this machine, and the most lanes it has code for that go into `count`."""
    target = check_target(code.manifest.targets, code.file.path)
    return target, max(width for width in code.manifest.targets[target] if count % width == 0)


@functools.lru_cache(maxsize=256)
def _joint(code: SealedCode, count: int) -> bytes:
    """The object between an owner and a sealed part."""
    _, width = _available(code, count)
    table = [constant(value) for value in struct.unpack(f"<{len(code.numbers) // 8}d", code.numbers)]
    values = ", ".join(f"double {value}" for value in table)
    text = f"@numbers = private unnamed_addr constant [{len(table)} x double] [{values}], align 8\n"
    for number, described in sorted(code.described.items()):
        inner = lifted.symbol(code.manifest.code, number, width)
        text += f"declare void @{inner}(ptr, ptr, ptr) nounwind\n"
        text += _through(
            called_symbol(f"{code.stem}_{number}", Lanes(count)), inner, (described.arguments, described.results),
            count, width,
        )  # fmt: skip
    return assembler.assemble(prelude(text, ONE) + text)


def _through(outer: str, inner: str, sizes: tuple[int, int], count: int, width: int) -> str:
    """A function on `count` lanes that calls one on `width` lanes as often as needed."""
    head = f"void @{outer}(ptr noalias readonly %in, ptr noalias %out) nounwind"
    if count == width:
        return f"define {head} {{\ntail call void @{inner}(ptr %in, ptr %out, ptr @numbers)\nret void\n}}\n"
    code = Code()
    code.say(f"%given = alloca [{max(sizes[0] * width, 1)} x double], align 64")
    code.say(f"%taken = alloca [{max(sizes[1] * width, 1)} x double], align 64")
    with code.loop(count // width) as block:
        with code.loop(sizes[0]) as i:
            code.copy(Array(code, "%given").at(i * width), Array(code, "%in").at(i * count + block * width), width)
        code.say(f"call void @{inner}(ptr %given, ptr %taken, ptr @numbers)")
        with code.loop(sizes[1]) as i:
            code.copy(Array(code, "%out").at(i * count + block * width), Array(code, "%taken").at(i * width), width)
    return code.define(head)


# -- called from Python


@functools.lru_cache(maxsize=1024)
def _entry(code: SealedCode, number: int) -> Any:
    """A native function of the addresses of two columns."""
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
    parts = objects([f"{code.stem}_{number}"], ONE).values()
    return jit.load([assembler.assemble(text), *parts], _ENTRY)


def evaluate(code: SealedCode, number: int, column: np.ndarray) -> np.ndarray:
    """What a function of a sealed part gives for a column of doubles."""
    described = code.described[number]
    if column.shape != (described.arguments,):
        raise SealedError(f"a function of {described.arguments} numbers was given {column.size}.", path=code.file.path)
    result = np.empty(described.results)
    pair = (ctypes.c_void_p * 2)(column.ctypes.data, result.ctypes.data)
    _entry(code, number)(ctypes.addressof(pair))
    return result
