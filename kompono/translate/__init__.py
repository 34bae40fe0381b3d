"""Translation: a declared model becomes a program of symbolic kernels and schedules. Pure functions, no LLVM, no
numbers.
"""

from kompono.translate.program import Call, Channel, Program, Routine
from kompono.translate.translate import NESTED_FROM, Translation, assembly_program, placing_program, translate

__all__ = [
    "NESTED_FROM",
    "Call",
    "Channel",
    "Program",
    "Routine",
    "Translation",
    "assembly_program",
    "placing_program",
    "translate",
]
