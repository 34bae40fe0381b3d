"""LLVM text to machine code in this process.

Two steps, so that the middle product can be kept on disk: `assemble` makes an object file for this very processor,
`load` links object files into memory. JITLink places all sections of an object side by
side, so the small code model is safe and constants are one instruction away; mathematical functions come from the
process itself.

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
which is why long ones are cut (see `split`). llvmlite holds a lock of its own around every call, so compiling in
threads would not pay.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from kompono.compile import host
from kompono.errors import CompileError

_lock = threading.Lock()
_serial = itertools.count()


@functools.cache
def _ready() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _target_machine() -> Any:
    _ready()
    _, _, triple, cpu, features = host.description()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=2, reloc="pic", codemodel="small", jit=True)


@functools.cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(_target_machine(), use_jit_link=True, suppress_errors=True)


def assemble(text: str, *, loops: bool = False) -> bytes:
    """Object code for this processor; `loops` asks for the full optimizer."""
    with _lock:
        machine = _target_machine()
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"the code generator wrote invalid code: {error}") from error
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.slp_vectorization = False
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        passes = builder.getModulePassManager() if loops else _straight_line_passes()
        passes.run(module, builder)
        return machine.emit_object(module)


def _straight_line_passes() -> Any:
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    return passes


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
