"""Program to native code: `compile_program` turns the symbolic program into functions and step loops of the machine."""

from __future__ import annotations

from kompono.compile.block import ChunkEnd, loop_routines
from kompono.compile.host import lanes as native_lanes
from kompono.compile.interpreter import Interpreter
from kompono.compile.kernel import Kernel
from kompono.compile.run_fixed import FixedRun
from kompono.translate.program import Program

__all__ = [
    "ChunkEnd",
    "FixedRun",
    "Interpreter",
    "Kernel",
    "compile_program",
    "loop_routines",
    "native_lanes",
]


def compile_program(
    program: Program, *, native: bool = True, cache: bool = True, threads: int | None = None
) -> Kernel | Interpreter:
    """Native code for a program (made when first used, kept on disk if `cache`), or an interpreter of it.

    `threads` may work on one run of a large model; None: as many as pay.
    """
    return Kernel(program, cache=cache, threads=threads) if native else Interpreter(program)
