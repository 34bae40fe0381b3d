"""A model as code for graphics processors: one thread for each run, with the very step loop of native runs.

**Untried**: no such processor was at hand. What is known: NVIDIA's assembler takes the text, and the same text moves as
native runs do when its threads are counted through on a processor (`tests/compile/test_gpu.py`).

The kernel `ENTRY(blocks, size, count)` lets the run of each thread go on by the budget in its block. `blocks` is where
the first block is (`block.Block`, with pointers as the device sees them), the others follow `size` bytes apart; the
word before each is told how its chunk ended (`ChunkEnd`). Functions that PTX does not have are those of NVIDIA's
libdevice (`__nv_sin`), which its linker knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from kompono.compile.web import LOOP, METHODS, loop_text, once, places
from kompono.errors import CompileError, RunError, either
from kompono.translate.program import Program, Routine

ENTRY = "kompono_run"
TRIPLE = "nvptx64-nvidia-cuda"
PROCESSOR = "sm_80"
_OURS = re.compile(r"@(kompono[\w.]+)")
_MATH = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log", "pow",
    "log1p", "expm1", "atan2", "hypot", "fmod", "remainder", "erf",
)  # fmt: skip
_FUNCTION = re.compile(rf"@(?:llvm\.)?({'|'.join(_MATH)})(?:\.f64)?\(")
_PREFETCH = re.compile(r"^.*@llvm\.prefetch.*\n", re.MULTILINE)

KERNEL = f"""
declare i64 @kompono_thread()

define void @{ENTRY}(ptr %blocks, i64 %size, i64 %count) nounwind {{
  %thread = call i64 @kompono_thread()
  %mine = icmp slt i64 %thread, %count
  br i1 %mine, label %go, label %done
go:
  %offset = mul i64 %thread, %size
  %block = getelementptr i8, ptr %blocks, i64 %offset
  %ended = call i64 @{LOOP.replace(".", "_")}(ptr %block)
  %place = getelementptr i8, ptr %block, i64 -8
  store i64 %ended, ptr %place
  br label %done
done:
  ret void
}}
"""
_THREAD = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

define internal i64 @kompono_thread() nounwind alwaysinline {
  %place = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %wide = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %before = mul i32 %group, %wide
  %thread = add i32 %before, %place
  %number = zext i32 %thread to i64
  ret i64 %number
}
"""


@dataclass(frozen=True)
class GpuModule:
    """PTX of a model, and where in the memory of a run things are, as plain data (see `web.places`)."""

    text: str
    places: dict[str, Any]


def gpu_module(program: Program, method: str, outputs: Routine, processor: str = PROCESSOR) -> GpuModule:
    """PTX for a processor of NVIDIA's."""
    if method not in METHODS:
        raise RunError(f"threads make equal steps, and {method} chooses its own.", fix=f"Use {either(list(METHODS))}.")
    if program.laws or program.controllers:
        raise RunError("contact, dry friction and Python callables need a processor that runs Python.")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = f'target triple = "{TRIPLE}"\n' + kernel_text(program, method, outputs).replace(
        "declare i64 @kompono_thread()\n", _THREAD
    )
    text += f'!nvvm.annotations = !{{!0}}\n!0 = !{{ptr @{ENTRY}, !"kernel", i32 1}}\n'
    try:
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=processor, opt=3)
        with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
            module.verify()
            made = machine.emit_assembly(module)
    except RuntimeError as error:
        raise CompileError(f"no PTX could be made: {error}") from error
    return GpuModule(made, places(program, outputs, 0))


def kernel_text(program: Program, method: str, outputs: Routine) -> str:
    """LLVM text of the kernel for whoever defines `kompono_thread`, the number of the thread that asks."""
    text = _PREFETCH.sub("", loop_text(program, method, outputs))
    text = _OURS.sub(lambda name: "@" + name[1].replace(".", "_"), text)
    text = _FUNCTION.sub(r"@__nv_\1(", text)
    return once(text + KERNEL)
