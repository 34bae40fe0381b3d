"""Native code for a table routine: one function per kernel, called for row after row of a table of offsets.

A row holds where an instance's state and workspace begin and where those of its neighbours do; the kernel adds constant
offsets. So code grows with the number of component types, data with the number of instances.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from kompono.compile import split
from kompono.compile.emit import INT, POINTER, Code, Value
from kompono.compile.lower import check_shape, lower
from kompono.errors import CompileError
from kompono.translate.program import ARRAYS, Loop, Place, Program, TableRoutine

_POINTERS = {"state": "%in1", "output": "%out0", "work": "%work"}
_MOST_LINES = 64  # of a row that are asked for ahead

# what kernels write to the workspace they never read in the same call
_ARGUMENTS = ("%time", "%state", "%inputs", "%parameters", "%output", "%work", "%kept", "%row")


def define(program: Program, routine: TableRoutine, head: str, stem: str, table) -> str:
    """The routine as a function with this head; `table` makes constant data."""
    check(program, routine)
    parts = [table(f"{stem}.sweeps", routine.sweeps)]
    parts += [table(f"{stem}.rows.{k}", rows) for k, rows in enumerate(routine.tables)]
    parts += [_kernel(f"{stem}.{k}", program.kernels[loop.kernel], loop) for k, loop in enumerate(routine.loops)]
    code = Code()
    _walk(code, routine, stem)
    return "".join(parts) + code.define(head)


def check(program: Program, routine: TableRoutine) -> None:
    """Raise CompileError for a routine that does not fit its kernels."""
    for loop in routine.loops:
        function = program.kernels[loop.kernel]
        check_shape(loop.kernel, function)
        if (function.nnz_in(0), function.nnz_out(0)) != (len(loop.reads), len(loop.writes)):
            raise CompileError(f"kernel {loop.kernel} in routine {routine.name} does not fit its table.")


def _kernel(name: str, function: ca.Function, loop: Loop) -> str:
    lines: list[str] = []
    bases: dict[int, str] = {}

    def address(place: Place, stem: str, written: bool) -> str:
        array, column, offset = place
        pointer = ("%kept" if written else "%work") if ARRAYS[array] == "work" else f"%{ARRAYS[array]}"
        if column >= 0:
            key = f"{pointer[1:]}.{column}"
            if column not in bases:
                bases[column] = f"%c{column}"
                lines.append(f"%p{column} = getelementptr i32, ptr %row, i64 {column}")
                lines.append(f"%i{column} = load i32, ptr %p{column}")
                lines.append(f"%c{column} = zext i32 %i{column} to i64")
            if key not in starts:
                starts.add(key)
                lines.append(f"%b.{key} = getelementptr double, ptr {pointer}, i64 {bases[column]}")
            pointer = f"%b.{key}"
        lines.append(f"{stem} = getelementptr double, ptr {pointer}, i64 {offset}")
        return stem

    starts: set[str] = set()

    def read(i: int) -> str:
        lines.append(f"%x{i} = load double, ptr {address(loop.reads[i], f'%a{i}', False)}")
        return f"%x{i}"

    def write(j: int, value: str) -> list[str]:
        return [f"store double {value}, ptr {address(loop.writes[j], f'%o{j}', True)}"]

    lower(function, lines, read, write)
    head = f"internal void @{name}({', '.join(f'ptr noalias {argument}' for argument in _ARGUMENTS)}) noinline nounwind"
    return split.function(head, name, _ARGUMENTS, lines)


def _walk(code: Code, routine: TableRoutine, stem: str) -> None:
    """For each sweep choose the loop and run it over its rows."""

    def entry(index) -> str:
        place = code.let(POINTER, f"getelementptr i32, ptr @{stem}.sweeps, i64 {code.value(index, INT)}").name
        return code.let("i32", f"load i32, ptr {place}").name

    with code.loop(len(routine.sweeps)) as sweep:
        which, first, count, way = (entry(sweep * 4 + i) for i in range(4))
        start, rows, step = (code.let(INT, f"sext i32 {name} to i64") for name in (first, count, way))
        labels, done = [code.fresh("loop") for _ in routine.loops], code.fresh("done")
        cases = " ".join(f"i32 {i}, label %{label}" for i, label in enumerate(labels))
        code.say(f"switch i32 {which}, label %{done} [{cases}]")
        for k, (label, loop) in enumerate(zip(labels, routine.loops, strict=True)):
            code.say(f"{label}:")
            width = routine.tables[loop.table].shape[1]
            with code.loop(rows) as i:
                row = _row(code, f"@{stem}.rows.{loop.table}", (start + i * step) * width)
                following = code.select(i + 1 < rows, i + 1, i)
                _prefetch(code, loop, _row(code, f"@{stem}.rows.{loop.table}", (start + following * step) * width))
                arguments = ["%in0", "%in1", "%in2", "%in3", "%out0", "%work", "%work", row]
                code.say(f"call void @{stem}.{k}({', '.join(f'ptr {a}' for a in arguments)})")
            code.say(f"br label %{done}")
        code.say(f"{done}:")


def _row(code: Code, table: str, place: Value) -> str:
    return code.let(POINTER, f"getelementptr i32, ptr {table}, i64 {place.name}").name


def _prefetch(code: Code, loop: Loop, row: str) -> None:
    """Ask for the cache lines of the next row: in a large model they come from main memory."""
    lines: dict[tuple[int, int, int], int] = {}
    for written, places in enumerate((loop.reads, loop.writes)):
        for array, column, offset in places:
            if column >= 0 and ARRAYS[array] in _POINTERS:
                lines.setdefault((array, column, offset // 8 * 8), written)
    bases: dict[int, str] = {}
    for (array, column, offset), written in list(lines.items())[:_MOST_LINES]:
        if column not in bases:
            place = code.let(POINTER, f"getelementptr i32, ptr {row}, i64 {column}").name
            bases[column] = code.let(INT, f"zext i32 {code.let('i32', f'load i32, ptr {place}').name} to i64").name
        start = code.let(POINTER, f"getelementptr double, ptr {_POINTERS[ARRAYS[array]]}, i64 {bases[column]}").name
        line = code.let(POINTER, f"getelementptr double, ptr {start}, i64 {offset}").name
        code.say(f"call void @llvm.prefetch.p0(ptr {line}, i32 {written}, i32 3, i32 1)")


def instructions(program: Program, routine: TableRoutine) -> int:
    """How many SX instructions one evaluation executes."""
    return sum(count * program.kernels[name].n_instructions() for name, count in routine.counts().items())


def interpret(program: Program, routine: TableRoutine, arrays: list[np.ndarray]) -> None:
    """Run the kernels in CasADi on arrays in the order of ARRAYS."""
    for which, first, count, way in routine.sweeps.tolist():
        loop = routine.loops[which]
        function = program.kernels[loop.kernel]
        for i in range(count):
            row = routine.tables[loop.table][first + way * i]
            for lane in range(loop.lanes):
                values = [arrays[a][_index(loop, row, column, offset, lane)] for a, column, offset in loop.reads]
                result = function(np.array(values)).full().ravel()
                for (a, column, offset), value in zip(loop.writes, result, strict=True):
                    arrays[a][_index(loop, row, column, offset, lane)] = value


def _index(loop: Loop, row: np.ndarray, column: int, offset: int, lane: int) -> int:
    if column < 0:
        return offset
    return int(row[column]) + offset
