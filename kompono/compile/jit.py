"""LLVM text to machine code in this process.

Two steps, so that the middle product can be kept on disk: `assembler.assemble` makes an object file for this very
processor, `load` links object files into memory. JITLink places all sections of an object side by side, so the small
code model is safe and constants are one instruction away; mathematical functions come from the process itself.

The same objects are in memory once, for all who use them, and go with the last of them. LLVM never forgets the
*name* of a library that is gone (about 10 kB with its tables), so no linker makes more than a few: then a new one takes
its place, and the old one is gone with the last code it placed.

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
loops of small models do profit from O2 with the loop vectorizer, by up to 15 %. Those of models with inputs, conditions
and guards are long and wait for routines: there O2 took twice as long (the car, rk4) or more (3 s with four guards)
and gained 1 % at most, so long ones get value numbering, too. The numbers are the same to the last bit. Compile time
grows faster than the length of a function, which is why long ones are cut (see `split`).

`KOMPONO_EFFORT=quick` takes the first row of the table, for models that are changed more than run.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm

from kompono.compile import assembler
from kompono.compile.assembler import target_machine
from kompono.compile.forks import hold_at_forks
from kompono.errors import CompileError

LIBRARIES = 32  # that one linker makes: a linker takes 130 kB and 0.4 ms

_lock = threading.RLock()  # no finalizer takes it: one may run wherever memory is asked for
_loaded: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()  # functions by what they are made of
hold_at_forks(assembler.lock)
hold_at_forks(_lock)


class _Linkers:
    """The linker of the day. Libraries keep the one that made them; it is closed here and ends with the last."""

    def __init__(self) -> None:
        self._linker: Any = None
        self._made = 0

    def link(self, builder: Any) -> Any:
        """A library in memory; it is unloaded when the answer is gone."""
        if self._linker is None or self._made >= LIBRARIES:
            self._linker = llvm.create_lljit_compiler(target_machine(), use_jit_link=True, suppress_errors=True)
            self._made = 0
        self._made += 1
        return builder.link(self._linker, f"kompono.{self._made}")


_linkers = _Linkers()


def load(objects: Iterable[bytes], name: str, imports: Mapping[str, int] | None = None, kept: Any = None) -> Any:
    """Link object files into this process: a function of one pointer that returns an integer.

    It is called with the interpreter's lock released, and the code lives as long as the function. `imports` are
    addresses of symbols nobody else knows; what is `kept` lives as long, too.
    """
    parts, known = list(objects), dict(imports or {})
    digest = hashlib.blake2b(repr((name, known, [len(data) for data in parts])).encode())
    for data in parts:
        digest.update(data)
    with _lock:
        function = _loaded.get(digest.digest())
        if function is None:
            function = _loaded[digest.digest()] = _link(parts, name, known)
            function.kept = kept
    return function


def place(objects: Iterable[bytes], names: Sequence[str]) -> tuple[dict[str, int], Any]:
    """Addresses of functions of some object files, and what keeps them in memory."""
    with _lock:
        tracker = _placed(list(objects), names, {})
    return {name: tracker[name] for name in names}, tracker


def callable_at(address: int) -> Any:
    """A function of one pointer that returns an integer."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)


def _link(parts: list[bytes], name: str, imports: Mapping[str, int]) -> Any:
    tracker = _placed(parts, [name], imports)
    function = callable_at(tracker[name])
    function.owner = tracker
    return function


def _placed(parts: list[bytes], names: Sequence[str], imports: Mapping[str, int]) -> Any:
    builder = llvm.JITLibraryBuilder().add_current_process()
    for name in names:
        builder.export_symbol(name)
    for symbol, address in imports.items():
        builder.import_symbol(symbol, address)
    for data in parts:
        builder.add_object_img(data)
    try:
        return _linkers.link(builder)
    except RuntimeError as error:
        raise CompileError(f"the machine code could not be linked: {error}") from error
