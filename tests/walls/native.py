"""Machine code for tests: functions that compute, and functions that misbehave."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from kompono.compile import assembler, jit
from kompono.compile.walls import ask
from kompono.compile.walls.places import Place, asking

_HEAD = "(ptr %in, ptr %out) nounwind {\n"
TEXTS = {
    "root": "declare double @llvm.sqrt.f64(double)\n@DEFINE%x = load double, ptr %in\n"
    "%y = call double @llvm.sqrt.f64(double %x)\nstore double %y, ptr %out\nret void\n}\n",
    "tiny": "@DEFINE%x = load double, ptr %in\n%y = fmul double %x, 5.0e-01\nstore double %y, ptr %out\nret void\n}\n",
    "opens": '@path = private constant [12 x i8] c"/etc/passwd\\00"\ndeclare i32 @open(ptr, i32)\n'
    "@DEFINE%f = call i32 @open(ptr @path, i32 0)\n%y = sitofp i32 %f to double\nstore double %y, ptr %out\n"
    "ret void\n}\n",
    "connects": "declare i32 @socket(i32, i32, i32)\n@DEFINE%f = call i32 @socket(i32 2, i32 1, i32 0)\nret void\n}\n",
    "forks": "declare i32 @fork()\n@DEFINE%f = call i32 @fork()\nret void\n}\n",
    "writes": "declare i64 @write(i32, ptr, i64)\n@DEFINE%f = call i64 @write(i32 1, ptr %in, i64 8)\nret void\n}\n",
    "crash": "@DEFINEstore double 1.0, ptr inttoptr (i64 8 to ptr)\nret void\n}\n",
    "endless": "@DEFINEbr label %l\nl:\n%v = load volatile double, ptr %in\nbr label %l\n}\n",
}


def code(name: str) -> bytes:
    """An object with one of them, under its name."""
    return assembler.assemble(TEXTS[name].replace("@DEFINE", f"define void @{name}{_HEAD}"))


def asker(place: Place, which: int, sizes: tuple[int, int] = (1, 1), lanes: int = 1) -> Any:
    """A function of columns that asks at a place, as the code of an owner does."""
    kinds = "".join(f"%a{k} = getelementptr ptr, ptr %pair, i64 {k}\n%p{k} = load ptr, ptr %a{k}\n" for k in range(2))
    given = f"ptr @here, i64 {which}, ptr %p0, i64 {sizes[0] * lanes}, ptr %p1, i64 {sizes[1] * lanes}, i64 {lanes}"
    text = f"@here = external global i8\ndeclare void @{place.asks}({ask.KINDS})\n"
    text += f"define i64 @enter(ptr %pair) {{\n{kinds}call void @{place.asks}({given})\nret i64 0\n}}\n"
    function = jit.load([assembler.assemble(text), asking(place)], "enter", {"here": place.address}, place)

    def call(column: Any) -> np.ndarray:
        values, result = np.array(column, dtype=float).ravel(), np.full(sizes[1] * lanes, -7.0)
        pair = (ctypes.c_void_p * 2)(values.ctypes.data, result.ctypes.data)
        function(ctypes.addressof(pair))
        return result

    return call
