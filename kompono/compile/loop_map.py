"""Evaluate one routine over many rows natively; one row is how a single evaluation is made, too.

The only argument is an array of integers: the number of rows, then address and stride (in doubles) of each input and
output of the routine, then the address of the workspace. Strides let rows of a record buffer be read where they lie,
and let outputs nobody wants fall on one spot.
"""

from __future__ import annotations

from kompono.compile.emit import INT, POINTER, Array, Code
from kompono.compile.schedule import symbol
from kompono.translate.program import Routine


def map_loop(routine: Routine, name: str) -> str:
    """The text of the function."""
    code = Code()
    count = len(routine.inputs) + len(routine.outputs)

    def entry(index: int, kind: str):
        place = code.let(POINTER, f"getelementptr i64, ptr %block, i64 {index}").name
        return code.let(kind, f"load {kind}, ptr {place}")

    rows = entry(0, INT)
    arrays = [(Array(code, entry(1 + 2 * i, POINTER).name), entry(2 + 2 * i, INT)) for i in range(count)]
    work = Array(code, entry(1 + 2 * count, POINTER).name)
    with code.loop(rows) as row:
        code.call(symbol(routine.name), [*(array.at(row * stride) for array, stride in arrays), work])
    return code.define(f"i64 @{name}(ptr %block) nounwind", rows)
