"""LLVM text to object code for this processor. Needs llvmlite alone, so that helper processes start quickly: this file
run as a program assembles what it is sent (see `parallel`).

A message is a line `<loops> <bytes>` and the text; the answer a line `<bytes>` and the object, or `error <bytes>` and
why.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

LONG = 50_000  # characters of a text from which on its loops are not worth the full optimizer (see `jit`)

lock = threading.RLock()


@functools.cache
def _ready() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def quick() -> bool:
    """Whether code shall be made soon rather than well: `KOMPONO_EFFORT=quick`. It is compiled in less than half the
    time and runs two to five times as long; numbers are the same to rounding.
    """
    return os.environ.get("KOMPONO_EFFORT") == "quick"


def target_machine() -> Any:
    """What makes code for the processor this runs on."""
    return _machine(0 if quick() else 2)


@functools.cache
def _machine(effort: int) -> Any:
    _ready()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = llvm.get_host_cpu_features().flatten()
    name = llvm.get_host_cpu_name()
    options = {"reloc": "pic", "codemodel": "small", "jit": True}
    return target.create_target_machine(cpu=name, features=features, opt=effort, **options)


def assemble(text: str, *, loops: bool = False) -> bytes:
    """Object code for this processor; `loops` asks for the full optimizer, which only short texts get. Invalid text
    raises RuntimeError.
    """
    return emit(text, target_machine(), loops=loops, here=True)


def emit(text: str, machine: Any, *, loops: bool, here: bool = False) -> bytes:
    """Object code for any machine LLVM knows; what is not for `here` is always made well.

    LLVM keeps every constant and type of a context as long as the context, so each text has one of its own.
    """
    with lock, llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.verify()
        if not (here and quick()):
            _optimize(module, machine, loops and len(text) < LONG)
        return machine.emit_object(module)


@functools.cache
def _builder(machine: Any) -> Any:
    """What runs passes for a machine, made once: llvmlite does not free all of it."""
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = False
    options.loop_vectorization = True
    return llvm.create_pass_builder(machine, options)


def _optimize(module: Any, machine: Any, loops: bool) -> None:
    passes = _builder(machine).getModulePassManager() if loops else _straight_line_passes()
    passes.run(module, _builder(machine))
    # A manager inherits an empty `_dispose` before the one that frees it, so `close` would leave it all in memory.
    getattr(NewPassManager, "_dispose", type(passes)._dispose)(passes)
    passes.detach()


def _straight_line_passes() -> Any:
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    return passes


def serve() -> None:
    """Answer messages on standard input until it ends."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while head := source.readline().split():
        text = source.read(int(head[1])).decode()
        try:
            data, word = assemble(text, loops=head[0] == b"1"), b""
        except RuntimeError as error:
            data, word = str(error).encode(), b"error "
        target.write(word + b"%d\n" % len(data) + data)
        target.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C on a terminal is for who sent us the work
    try:
        serve()
    except (BrokenPipeError, EOFError):  # it has gone away
        os._exit(1)
