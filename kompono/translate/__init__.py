"""Translation: a declared model becomes a program of symbolic kernels and schedules. Pure functions, no LLVM, no
numbers.
"""

from kompono.translate.program import Call, Channel, Program, Routine
from kompono.translate.translate import (
    Translation,
    assembly_program,
    away_translation,
    closed_parts,
    placing_program,
    translate,
    translated,
)

__all__ = [
    "Call",
    "Channel",
    "Program",
    "Routine",
    "Translation",
    "assembly_program",
    "away_translation",
    "closed_parts",
    "placing_program",
    "translate",
    "translated",
]
