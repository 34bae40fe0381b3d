"""LLVM text to object code for this processor. Needs llvmlite alone, so that helper processes start quickly: this file
run as a program assembles what it is sent (see `parallel`).

A message is a line `<loops> <bytes>` and the text; the answer a line `<bytes>` and the object, or `error <bytes>` and
why.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any

import llvmlite.binding as llvm

_lock = threading.Lock()


@functools.cache
def _ready() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine() -> Any:
    """What makes code for the processor this runs on."""
    _ready()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = llvm.get_host_cpu_features().flatten()
    name = llvm.get_host_cpu_name()
    return target.create_target_machine(cpu=name, features=features, opt=2, reloc="pic", codemodel="small", jit=True)


def assemble(text: str, *, loops: bool = False) -> bytes:
    """Object code for this processor; `loops` asks for the full optimizer. Invalid text raises RuntimeError."""
    return emit(text, target_machine(), loops=loops)


def emit(text: str, machine: Any, *, loops: bool) -> bytes:
    """Object code for any machine LLVM knows."""
    with _lock:
        module = llvm.parse_assembly(text)
        module.verify()
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
    serve()
