"""Native code for a table routine: one function per kernel, called for row after row of a table of offsets.

A row holds where an instance's state and workspace begin and where those of its neighbours do; the kernel adds constant
offsets. So code grows with the number of component types, data with the number of instances.

A row may stand for several instances, which one simulation computes on lanes. Several simulations at once take one
instance after the other instead (`unpacked`): numbers of all simulations lie side by side, where lanes of one have to
gather them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from kompono.compile import messages, pool, split
from kompono.compile.emit import INT, POINTER, Code, Value
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.lower import check_shape, lower
from kompono.compile.numbers import Table
from kompono.errors import CompileError
from kompono.translate.program import ARRAYS, Column, Loop, Place, Program, TableRoutine

_POINTERS = {"state": "%in1", "output": "%out0", "work": "%work"}
_SHARED = ("%in0", "%in1", "%in2", "%in3", "%out0", "%work")
_NUMBERS = ARRAYS.index("numbers")
_MOST_LINES = 64  # of a row that are asked for ahead
_FAR = 30_000  # doubles of workspace from which on it may not be in the cache any more

# what kernels write to the workspace they never read in the same call
_ARGUMENTS = ("%time", "%state", "%inputs", "%parameters", "%output", "%work", "%kept", "%row")


def define(
    program: Program, routine: TableRoutine, head: str, stem: str, table, wide: Lanes = ONE,
    numbers: Table | None = None,
) -> str:  # fmt: skip
    """The routine as a function with this head, for as many simulations as `wide` says; `table` makes constant data.
    Its numbers are in a table of their own, or constant.
    """
    check(program, routine)
    if wide != ONE:
        routine = unpacked(routine)
    base = numbers.address(0) if numbers else f"@{stem}.numbers"
    kept = numbers.text() if numbers else table(f"{stem}.numbers", routine.numbers, np.float64)
    parts = [table(f"{stem}.{name}", getattr(routine, name)) for name in ("sweeps", "tasks", "phases")]
    parts += [table(f"{stem}.rows.{k}", rows) for k, rows in enumerate(routine.tables)]
    parts.append(messages.tables(routine, stem, table))
    parts += [
        _kernel(f"{stem}.{k}", program.kernels[loop.kernel], loop, wide, base) for k, loop in enumerate(routine.loops)
    ]
    parts.append(kept)
    if wide != ONE:  # nobody helps: threads have simulations of their own
        return "".join([*parts, _task(routine, stem, wide), _walk_alone(routine, stem, head)])
    parts += [pool.declarations(), _task(routine, stem, wide), pool.help_function(stem), _walk(routine, stem, head)]
    parts.append(pool.worker_function(worker(routine.name), stem))
    return "".join(parts)


def unpacked(routine: TableRoutine) -> TableRoutine:
    """The same with one instance in each row; those that fill up lanes are left out."""
    if routine.exchanges:
        raise CompileError(f"routine {routine.name} is a part of a model, it cannot run several simulations.")
    loops, tables, sweeps = [], [], []
    for which, first, count, way in routine.sweeps.tolist():
        loop = routine.loops[which]
        rows = routine.tables[loop.table][first + way * np.arange(count)]
        columns, entries = [], []  # entries: (place in a row, how much it grows from one lane to the next)
        for column in loop.columns:
            each = column.spread in ("each", "every")
            columns.append(Column(len(entries), "every" if column.spread == "every" else "one", column.stride))
            entries.append((column.start, each, column.spread == "lanes"))
            if column.spread == "every":
                entries.append((column.start + loop.lanes, True, False))
        lanes = np.arange(loop.lanes)
        places = np.array([[start + each * lane for start, each, _ in entries] for lane in lanes], dtype=int)
        added = np.array([[beside * lane for *_, beside in entries] for lane in lanes], dtype=int)
        table = rows[:, places] + added  # (rows, lanes, entries)
        filled = lanes < (rows[:, loop.filled, None] if loop.filled >= 0 else loop.lanes)
        table = table[np.broadcast_to(filled, table.shape[:2])].astype(np.int32)
        sweeps.append((len(loops), 0, len(table), 1))
        loops.append(Loop(loop.kernel, loop.reads, loop.writes, len(tables), 1, tuple(columns)))
        tables.append(table)
    made = np.array(sweeps, dtype=np.int32).reshape(-1, 4)
    return replace(routine, loops=tuple(loops), tables=tuple(tables), sweeps=made)


def worker(routine: str) -> str:
    """The native name of the function that helps with a routine."""
    return f"kompono.worker.{routine}"


def widest(routine: Any) -> Lanes:
    """The lanes inside a routine, as far as it has any of its own."""
    return Lanes(max(loop.lanes for loop in routine.loops)) if isinstance(routine, TableRoutine) else ONE


def check(program: Program, routine: TableRoutine) -> None:
    """Raise CompileError for a routine that does not fit its kernels."""
    for loop in routine.loops:
        function = program.kernels[loop.kernel]
        check_shape(loop.kernel, function)
        if (function.nnz_in(0), function.nnz_out(0)) != (len(loop.reads), len(loop.writes)):
            raise CompileError(f"kernel {loop.kernel} in routine {routine.name} does not fit its table.")


class _Access:
    """Loads and stores of one kernel: addresses from the row of the table. `unit` is what offsets count: a number of
    one simulation, or of all on lanes. Numbers, which all simulations share, begin at `base`.
    """

    def __init__(self, loop: Loop, lines: list[str], wide: Lanes, base: str) -> None:
        self.loop, self.lines, self.lanes, self.wide, self.base = loop, lines, loop.lanes, wide, base
        self.unit, self.kind = wide.real, wide.real if wide != ONE else Lanes(loop.lanes).real
        self._entries: set[int] = set()
        self._starts: set[str] = set()

    def _say(self, line: str) -> None:
        self.lines.append(line)

    def _entry(self, index: int) -> str:
        """An entry of the row, as i64."""
        if index not in self._entries:
            self._entries.add(index)
            self._say(f"%p{index} = getelementptr i32, ptr %row, i64 {index}")
            self._say(f"%i{index} = load i32, ptr %p{index}")
            self._say(f"%c{index} = zext i32 %i{index} to i64")
        return f"%c{index}"

    def _start(self, pointer: str, index: int) -> str:
        name = f"%b.{pointer[1:]}.{index}"
        if name not in self._starts:
            entry = self._entry(index)
            self._starts.add(name)
            self._say(f"{name} = getelementptr {self.unit}, ptr {pointer}, i64 {entry}")
        return name

    def address(self, place: Place, name: str, written: bool, lane: int = 0) -> str:
        """The address of a scalar, or of one lane of it."""
        array, number, offset = place
        pointer = ("%kept" if written else "%work") if ARRAYS[array] == "work" else f"%{ARRAYS[array]}"
        shift: object = offset
        if number >= 0:
            column = self.loop.columns[number]
            each = lane if column.spread in ("each", "every") else 0
            pointer = self._start(pointer, column.start + each)
            shift = offset * column.stride
            if column.spread == "every":
                stride = self._entry(column.start + self.lanes + lane)
                self._say(f"{name}.s = mul i64 {stride}, {offset}")
                shift = f"{name}.s"
        self._say(f"{name} = getelementptr {self.unit}, ptr {pointer}, i64 {shift}")
        return name

    def _number(self, place: Place, i: int) -> None:
        """Read a number of the instance, or of those on the lanes: side by side, where the row says it is written."""
        _, number, offset = place
        column = self.loop.columns[number]
        if "%begin" not in self._starts:
            self._starts.add("%begin")
            self._say(f"%told = getelementptr i64, ptr {self.base}, i64 {self._entry(column.start)}")
            self._say("%begin = load i64, ptr %told, !invariant.load !{}")
            self._say(f"%numbers = getelementptr double, ptr {self.base}, i64 %begin")
        self._say(f"%a{i} = getelementptr double, ptr %numbers, i64 {offset * column.stride}")
        name, kind = (f"%x{i}", self.kind) if self.wide == ONE else (f"%y{i}", "double")
        self._say(f"{name} = load {kind}, ptr %a{i}, align 8, !invariant.load !{{}}")
        if self.wide != ONE:
            self.lines.extend(self.wide.spread(f"%x{i}", f"%y{i}"))

    def _spread(self, place: Place) -> str:
        return self.loop.columns[place[1]].spread if place[1] >= 0 else "same"

    def read(self, i: int) -> str:
        """The value of input i."""
        place, spread = self.loop.reads[i], self._spread(self.loop.reads[i])
        if place[0] == _NUMBERS:
            self._number(place, i)
            return f"%x{i}"
        if place[0] in self.wide.common:  # the same in all simulations
            self._say(f"%a{i} = getelementptr double, ptr %{ARRAYS[place[0]]}, i64 {place[2]}")
            self._say(f"%y{i} = load double, ptr %a{i}")
            self.lines.extend(self.wide.spread(f"%x{i}", f"%y{i}"))
            return f"%x{i}"
        if self.lanes == 1 or spread == "lanes":
            self._say(f"%x{i} = load {self.kind}, ptr {self.address(place, f'%a{i}', False)}, align 8")
            return f"%x{i}"
        before = "poison"
        for lane in range(self.lanes if spread != "same" else 1):
            address = self.address(place, f"%a{i}.{lane}", False, lane)
            self._say(f"%y{i}.{lane} = load double, ptr {address}")
            name = f"%x{i}" if lane == self.lanes - 1 else f"%x{i}.{lane}"
            self._say(f"{name} = insertelement {self.kind} {before}, double %y{i}.{lane}, i64 {lane}")
            before = name
        if spread == "same":
            mask = f"<{self.lanes} x i32> zeroinitializer"
            self._say(f"%x{i} = shufflevector {self.kind} {before}, {self.kind} poison, {mask}")
        return f"%x{i}"

    def write(self, j: int, value: str) -> list[str]:
        """Keep output j."""
        place, spread = self.loop.writes[j], self._spread(self.loop.writes[j])
        if self.lanes == 1 or spread == "lanes":
            self._say(f"store {self.kind} {value}, ptr {self.address(place, f'%o{j}', True)}, align 8")
            return []
        for lane in range(self.lanes):
            self._say(f"%z{j}.{lane} = extractelement {self.kind} {value}, i64 {lane}")
            self._say(f"store double %z{j}.{lane}, ptr {self.address(place, f'%o{j}.{lane}', True, lane)}")
        return []


def _kernel(name: str, function: ca.Function, loop: Loop, wide: Lanes, base: str) -> str:
    lines: list[str] = []
    access = _Access(loop, lines, wide, base)
    lanes = Lanes(loop.lanes) if wide == ONE else wide
    lower(function, lines, access.read, access.write, lanes=lanes, grouped=True)
    arguments = ", ".join(f"ptr noalias {argument}" for argument in _ARGUMENTS)
    head = f"internal void @{name}({arguments}) noinline {lanes.stack}nounwind"
    return split.function(head, name, _ARGUMENTS, lines, lanes)


def _entry(code: Code, table: str, index: Value) -> Value:
    place = code.let(POINTER, f"getelementptr i32, ptr {table}, i64 {index.name}").name
    return code.let(INT, f"sext i32 {code.let('i32', f'load i32, ptr {place}').name} to i64")


def _task(routine: TableRoutine, stem: str, wide: Lanes) -> str:
    """`STEM.task(arguments, task)`: for each of its sweeps choose the loop and run it over the rows."""
    code = Code()
    number = Value(code, "%task", INT)
    begin, end = (_entry(code, f"@{stem}.tasks", number * 2 + i) for i in range(2))
    with code.loop(end - begin) as count:
        sweep = begin + count
        which, start, rows, step = (_entry(code, f"@{stem}.sweeps", sweep * 4 + i) for i in range(4))
        labels, done = [code.fresh("loop") for _ in routine.loops], code.fresh("done")
        cases = " ".join(f"i64 {i}, label %{label}" for i, label in enumerate(labels))
        code.say(f"switch i64 {which.name}, label %{done} [{cases}]")
        for k, (label, loop) in enumerate(zip(labels, routine.loops, strict=True)):
            code.say(f"{label}:")
            table, width = f"@{stem}.rows.{loop.table}", routine.tables[loop.table].shape[1]
            with code.loop(rows) as i:
                row = _row(code, table, (start + i * step) * width)
                if routine.workspace >= _FAR and wide == ONE:
                    following = code.select(i + 1 < rows, i + 1, i)
                    _prefetch(code, loop, _row(code, table, (start + following * step) * width))
                arguments = [*_SHARED, "%work", row]
                code.say(f"call void @{stem}.{k}({', '.join(f'ptr {a}' for a in arguments)})")
            code.say(f"br label %{done}")
        code.say(f"{done}:")
    pointers = ", ".join(f"ptr {name}" for name in _SHARED)
    return code.define(f"internal void @{stem}.task({pointers}, i64 %task) noinline nounwind")


def _walk(routine: TableRoutine, stem: str, head: str) -> str:
    """The routine itself: phase after phase, alone or with the threads of a pool; messages between them."""
    code = Code()
    code.say("%address = load i64, ptr %work")
    code.say("%pool = inttoptr i64 %address to ptr")
    alone = Value(code, "%address", INT).equals(0)
    done = 0
    for number, told in enumerate(routine.exchanges):
        _phases(code, stem, alone, done, told.after)
        messages.exchange(code, stem, number, told)
        done = told.after
    _phases(code, stem, alone, done, len(routine.phases))
    return code.define(head)


def _walk_alone(routine: TableRoutine, stem: str, head: str) -> str:
    """The routine itself, task after task."""
    code, pointers = Code(), ", ".join(f"ptr {name}" for name in _SHARED)
    with code.loop(len(routine.phases)) as phase:
        begin, end = (_entry(code, f"@{stem}.phases", phase * 2 + i) for i in range(2))
        with code.loop(end - begin) as i:
            code.say(f"call void @{stem}.task({pointers}, i64 {(begin + i).name})")
    return code.define(head)


def _phases(code: Code, stem: str, alone: Value, first: int, last: int) -> None:
    pointers = ", ".join(f"ptr {name}" for name in _SHARED)
    with code.loop(last - first) as count:
        begin, end = (_entry(code, f"@{stem}.phases", (count + first) * 2 + i) for i in range(2))
        single = alone | (end - begin <= 1)
        with code.when(single), code.loop(end - begin) as i:
            code.say(f"call void @{stem}.task({pointers}, i64 {(begin + i).name})")
        with code.when(~single):
            pool.publish(code, stem, begin, end - begin)


def _row(code: Code, table: str, place: Value) -> str:
    return code.let(POINTER, f"getelementptr i32, ptr {table}, i64 {place.name}").name


def _prefetch(code: Code, loop: Loop, row: str) -> None:
    """Ask for the cache lines of the next row: in a large model they come from main memory."""
    lines: dict[tuple[int, int, int], int] = {}
    for written, places in enumerate((loop.reads, loop.writes)):
        for array, number, offset in places:
            if number >= 0 and ARRAYS[array] in _POINTERS:
                column = loop.columns[number]
                lines.setdefault((array, column.start, offset * column.stride // 8 * 8), written)
    bases: dict[int, str] = {}
    for (array, entry, offset), written in list(lines.items())[:_MOST_LINES]:
        if entry not in bases:
            place = code.let(POINTER, f"getelementptr i32, ptr {row}, i64 {entry}").name
            bases[entry] = code.let(INT, f"zext i32 {code.let('i32', f'load i32, ptr {place}').name} to i64").name
        start = code.let(POINTER, f"getelementptr double, ptr {_POINTERS[ARRAYS[array]]}, i64 {bases[entry]}").name
        line = code.let(POINTER, f"getelementptr double, ptr {start}, i64 {offset}").name
        code.say(f"call void @llvm.prefetch.p0(ptr {line}, i32 {written}, i32 3, i32 1)")


def interpret(program: Program, routine: TableRoutine, arrays: list[np.ndarray]) -> None:
    """Run the kernels in CasADi on arrays in the order of ARRAYS."""
    for which, first, count, way in routine.sweeps.tolist():
        loop = routine.loops[which]
        function = program.kernels[loop.kernel]
        for i in range(count):
            row = routine.tables[loop.table][first + way * i]
            for lane in range(loop.lanes):
                values = [
                    _number(arrays[a], loop, row, column, offset, lane) if a == _NUMBERS
                    else arrays[a][_index(loop, row, column, offset, lane)]
                    for a, column, offset in loop.reads
                ]  # fmt: skip
                result = function(np.array(values)).full().ravel()
                for (a, column, offset), value in zip(loop.writes, result, strict=True):
                    arrays[a][_index(loop, row, column, offset, lane)] = value


def _number(numbers: np.ndarray, loop: Loop, row: np.ndarray, number: int, offset: int, lane: int) -> float:
    column = loop.columns[number]
    return numbers[int(numbers.view(np.int64)[row[column.start]]) + offset * column.stride + lane]


def _index(loop: Loop, row: np.ndarray, number: int, offset: int, lane: int) -> int:
    if number < 0:
        return offset
    column = loop.columns[number]
    start = int(row[column.start + (lane if column.spread in ("each", "every") else 0)])
    stride = int(row[column.start + loop.lanes + lane]) if column.spread == "every" else column.stride
    return start + offset * stride + (lane if column.spread == "lanes" else 0)
