"""Sealed files whose code misbehaves: as an author nobody should trust would make them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kompono import Subsystem, sealing
from kompono.compile import targets
from kompono.sealed import read_sealed

HERE = [str(targets.fitting(targets.TARGETS)), targets.WASM]
AFTER = 2000  # calls from which on code misbehaves
OPENS = (
    '@path = private constant [12 x i8] c"/etc/passwd\\00"\ndeclare i32 @open(ptr, i32)\n',
    "%f = call i32 @open(ptr @path, i32 0)",
)
CONNECTS = ("declare i32 @socket(i32, i32, i32)\n", "%f = call i32 @socket(i32 2, i32 1, i32 0)")
NEVER_ENDS = ("", "br label %l\nl:\n%v = load volatile double, ptr %in\nbr label %l\nunused:")
TRAPS = ("declare void @llvm.trap()\n", "call void @llvm.trap()")


def misbehaving(
    part: Subsystem, path: Path, what: tuple[str, str], target: str, after: int = AFTER, **options: Any
) -> Path:
    """A component sealed with some lines more in `resolve`: from so many calls on, it does what it should not."""
    head, line = what
    place = "inttoptr (i32 64 to ptr)" if target == targets.WASM else "@count"
    head += "" if target == targets.WASM else "@count = internal global i64 0\n"
    line = (
        f"%n = load i64, ptr {place}\n%m = add i64 %n, 1\nstore i64 %m, ptr {place}\n"
        f"%bad = icmp sgt i64 %m, {after}\nbr i1 %bad, label %evil, label %good\nevil:\n{line}\nbr label %good\ngood:"
    )
    sealing.seal(part, path, targets=HERE[:1], **options)
    numbers = {v.functions["resolve"].number for v in read_sealed(path).manifest.shape.variants}
    assemble = targets.assemble

    def spoiled(text: str, target: targets.Target, symbols: Any = ()) -> bytes:
        for symbol in [list(symbols)[number] for number in numbers]:
            text = re.sub(rf"(define void @{re.escape(symbol)}\([^{{]*{{\n)", lambda m: f"{m[1]}{line}\n", text)
        return assemble(head + text, target, symbols)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing.machines, "assemble", spoiled)
        patch.setattr(sealing.cache, "find", lambda key: None)  # what was made of the good part, and
        patch.setattr(sealing.cache, "keep", lambda key, made: None)  # nobody else shall get this
        sealing.seal(part, path, targets=[target], **options)
    return path
