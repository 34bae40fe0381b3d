"""LLVM text to machine code in this process.

Two steps, so that the middle product can be kept on disk: `assembler.assemble` makes an object file for this very
processor, `load` links object files into memory. JITLink places all sections of an object side by side, so the small
code model is safe and constants are one instruction away; mathematical functions come from the process itself.

Choice of effort, measured on straight-line functions of 20,000 SX instructions, a chain of bodies and the solution of a
dense linear system (2.8 GHz Ice Lake, one core):

    optimizer               codegen   compile          evaluation
    none                    0         0.16 / 0.10 s    7.4 / 7.0 us
    none                    2         0.41 / 0.72 s    5.0 / 3.6 us
    value numbering         2         0.50 / 0.81 s    4.9 / 3.6 us
    O1                      2         0.55 / 1.10 s    5.0 / 3.6 us
    O3                      3         0.63 s           4.9 us
    O2 + SLP vectors        2         3.1 s            4.3 us

Straight-line code leaves little to optimize, so it gets value numbering only, which shares what CasADi did not. Step
loops are small and do profit from O2 with the loop vectorizer. Compile time grows faster than the length of a function,
which is why long ones are cut (see `split`).
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from kompono.compile.assembler import target_machine
from kompono.errors import CompileError

_lock = threading.Lock()
_serial = itertools.count()


@functools.cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(target_machine(), use_jit_link=True, suppress_errors=True)


def load(objects: Iterable[bytes], name: str) -> Any:
    """Link object files into this process: a function of one pointer that returns an integer.

    It is called with the interpreter's lock released, and the code lives as long as the function.
    """
    builder = llvm.JITLibraryBuilder().add_current_process().export_symbol(name)
    for data in objects:
        builder.add_object_img(data)
    with _lock:
        try:
            tracker = builder.link(_linker(), f"kompono.{next(_serial)}")
        except RuntimeError as error:
            raise CompileError(f"the machine code could not be linked: {error}") from error
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(tracker[name])
    function.owner = tracker  # type: ignore[attr-defined]
    return function
