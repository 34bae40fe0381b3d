"""Turn a routine into one native function `void NAME(time, state, inputs, parameters, output..., work)`.

There are two ways, and the number of instructions decides. A *direct* routine is straight-line code: every call is
inlined, values pass from call to call in registers, inputs are read from and outputs written to the arguments, and the
workspace is not touched. That is the fast way for a small model, and the only sensible one for a single call. A
*tabled* routine keeps values in the workspace: each kernel is a function of (workspace, row of slots), and a loop walks
through constant tables of kernel numbers and slots. Its code grows with the number of kernels, not of calls, and so
does the time to compile it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import casadi as ca
import numpy as np

from kompono.compile.called import called
from kompono.compile.copied import Lying
from kompono.compile.emit import INT, POINTER, Array, Code, prelude
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.lower import Calls, called_symbol, check_shape, lower
from kompono.compile.numbers import Table, TabledNumbers
from kompono.compile.rows import RowLayout, kernel_of_rows, row_layouts
from kompono.compile.walked import Walked
from kompono.compile.walked_calls import WalkedCalls
from kompono.errors import CompileError
from kompono.translate.program import Call, Program, Routine, TableRoutine

DIRECT_LIMIT = 4000  # instructions; above it several calls are made through tables


def symbol(routine: str) -> str:
    """The native name of a routine."""
    return f"kompono.{routine}"


def instructions(program: Program, routine: Routine) -> int:
    """How many SX instructions one evaluation executes."""
    return sum(count * whole_length(kernel) for kernel, count in _kernels(program, routine))


def are_short(program: Program, routines: Iterable[Routine], most: int) -> bool:
    """Whether routines together execute so few instructions at most; what long ones call is not looked at."""
    routines, least = list(routines), 0
    for routine in routines:
        _check_known(program, routine)
        least += sum(count * _least_length(program, name) for name, count in routine.counts().items())
    if least > most:
        return False
    runs = [run for routine in routines for run in _kernels(program, routine)]
    known = dict[str, int]()
    return sum(count * whole_length(kernel, known) for kernel, count in runs) <= most


def _kernels(program: Program, routine: Routine) -> list[tuple[ca.Function, int]]:
    """Kernels of a routine, and how often each runs."""
    _check_known(program, routine)
    return [(program.kernels[name], count) for name, count in routine.counts().items()]


def _check_known(program: Program, routine: Routine) -> None:
    missing = sorted(name for name in routine.counts() if name not in program.kernels)
    if missing:
        raise CompileError(f"routine {routine.name} calls kernel {missing[0]}, which the program does not have.")


def _least_length(program: Program, kernel: str) -> int:
    """Instructions that a kernel has in any case, found without looking at each; equal ones may be among them."""
    if kernel in program.coded:
        return program.coded[kernel].length // 4
    function = program.kernels[kernel]
    return (
        function.nnz_in() + function.nnz_out()
        if function.class_name() != "SXFunction"
        else function.n_instructions() // 4
    )


def whole_length(function: ca.Function, known: dict[str, int] | None = None) -> int:
    """Instructions of a function and of those it calls; of a sealed one, which shows none, at least its columns. What
    is called, by names that tell what it is, is looked at once: the solver of a network calls its step 60 times.
    """
    from kompono.compile import straight

    if function.class_name() != "SXFunction":
        return function.nnz_in() + function.nnz_out()
    found, known = straight.instructions(function), {} if known is None else known
    called = [one.function for one in found if one.function is not None]
    for one in called:
        if one.name() not in known:
            known[one.name()] = whole_length(one, known)
    return len(found) + sum(known[one.name()] for one in called)


def declare_called(functions: Iterable[str], lanes: Lanes) -> str:
    """Declarations of closed functions that live in other objects."""
    return "".join(f"declare void @{called_symbol(name, lanes)}(ptr, ptr) nounwind\n" for name in functions)


def has_numbers(program: Program, routine: Routine) -> bool:
    """Whether the first call of a routine of several writes numbers that may be others in another model."""
    return len(routine.calls) > 1 and not routine.calls[0].inputs and routine.calls[0].kernel in program.coded


def define_called(function: ca.Function, lanes: Lanes) -> str:
    """A closed function: from the column of its arguments to that of its results."""
    from kompono.compile import split

    lines: list[str] = []
    real = lanes.real

    def read(i: int) -> str:
        lines.append(f"%p{i} = getelementptr {real}, ptr %in, i64 {i}")
        lines.append(f"%x{i} = load {real}, ptr %p{i}{lanes.aligned}")
        return f"%x{i}"

    def write(j: int, value: str) -> list[str]:
        place = f"%o{j} = getelementptr {real}, ptr %out, i64 {j}"
        return [place, f"store {real} {value}, ptr %o{j}{lanes.aligned}"]

    check_shape(function.name(), function)
    calls = Calls()
    lying = Lying(f"getelementptr {real}, ptr %in, i64 {{}}".format, lambda i: i > 0)
    lower(function, lines, read, write, lanes=lanes, calls=calls, lying=lying)
    symbol = called_symbol(function.name(), lanes)
    head = f"void @{symbol}(ptr noalias readonly %in, ptr noalias %out) {lanes.stack}nounwind"
    text = split.function(head, f"f.{symbol}", ("%in", "%out"), lines, lanes, calls.size)
    return declare_called(calls.functions, lanes) + text


def define_nobody(routine: Routine) -> str:
    """A function in the place of a routine: its first result is no number."""
    return f"define {_head(routine, ONE)} {{\nstore double 0x7FF8000000000000, ptr %out0\nret void\n}}\n"


def declare(routine: Routine) -> str:
    """Declaration of a routine that lives in another object."""
    count = len(routine.inputs) + len(routine.outputs) + 1
    return f"declare void @{symbol(routine.name)}({', '.join(['ptr'] * count)})\n"


def define(
    program: Program, routines: Iterable[Routine], lanes: Lanes = ONE, tables: Mapping[str, Table] | None = None, *,
    turns: bool = False,
) -> str:  # fmt: skip
    """Definitions of the routines and of the kernels they share; routines of one call, and those whose first call
    writes them, may have their numbers in `tables`. With `turns`, which is for this processor, sines and cosines are
    made together.
    """
    from kompono.compile import sweeps

    routines = list(routines)
    parts: list[str] = [declare_called(called(program, routines), lanes)]
    tabled: list[tuple[Routine, Table | None, Sequence[int]]] = []
    for routine in routines:
        if isinstance(routine, TableRoutine):
            numbers = tables.get(routine.name) if tables else None
            head = _head(routine, lanes)
            parts.append(sweeps.define(program, routine, head, f"t.{routine.name}", _table, lanes, numbers))
            continue
        _check(program, routine)
        numbers = tables.get(routine.name) if tables else None
        if len(routine.calls) <= 1 or instructions(program, routine) <= DIRECT_LIMIT:
            parts.append(_direct(program, routine, lanes, numbers, turns))
        else:
            left = replace(routine, calls=routine.calls[1:]) if numbers else routine
            tabled.append((left, numbers, routine.calls[0].outputs))
    layouts = row_layouts(call for routine, _, _ in tabled for call in routine.calls)
    parts.extend(_tabled(*one, layouts, lanes) for one in tabled)
    parts.extend(kernel_of_rows(name, program.kernels[name], layout, lanes, turns) for name, layout in layouts.items())
    return "".join(parts)


def define_walked(program: Program, routine: Routine, numbers: Table | None = None) -> str:
    """A routine of one call as a table to walk through (see `walked`), or one of many (see `walked_calls`); native code
    where it has too many places.
    """
    _check(program, routine)
    places = routine.calls[0].outputs if routine.calls else ()
    if len(routine.calls) > 1:
        table = WalkedCalls(program, routine.calls[1:] if numbers else routine.calls)
    else:
        table = Walked(program, routine, numbers)
    if not table.fits:
        body = define(program, [routine], ONE, {routine.name: numbers} if numbers else {}, turns=True)
    elif isinstance(table, WalkedCalls):
        body = _tabled(replace(routine, calls=table.calls), numbers, places, table, ONE)
    else:
        body = table.text(_head(routine, ONE), _table)
    body = declare_called(called(program, [routine]) if table.fits else (), ONE) + body
    return prelude(body, ONE) + body


def _check(program: Program, routine: Routine) -> None:
    if len(routine.inputs) != 4 or routine.inputs[0][1] != 1:
        raise CompileError(f"routine {routine.name} must take one time, then state, inputs and parameters.")
    for name in {call.kernel for call in routine.calls}:
        check_shape(name, program.kernels[name])
    written = set(range(sum(size for _, size in routine.inputs)))
    for call in routine.calls:
        function = program.kernels[call.kernel]
        if (function.nnz_in(0), function.nnz_out(0)) != (len(call.inputs), len(call.outputs)):
            message = f"a call of kernel {call.kernel} in routine {routine.name} does not fit its shape."
            raise CompileError(message, path=call.path)
        _check_slots(routine, call.inputs, written, call.path)
        written.update(call.outputs)
    for slots in routine.result:
        _check_slots(routine, [slot for slot in slots if not isinstance(slot, float)], written, "")


def _check_slots(routine: Routine, slots: Sequence[int], written: set[int], path: str) -> None:
    missing = set(slots) - written
    if missing:
        message = f"routine {routine.name} reads slot {min(missing)} before any call has written it."
        raise CompileError(message, path=path)


def _head(routine: Routine, lanes: Lanes) -> str:
    readers = [f"ptr noalias readonly %in{i}" for i in range(len(routine.inputs))]
    writers = [f"ptr noalias %out{i}" for i in range(len(routine.outputs))]
    return f"void @{symbol(routine.name)}({', '.join([*readers, *writers, 'ptr noalias %work'])}) {lanes.stack}nounwind"


def _arguments(routine: Routine) -> list[str]:
    return [*(f"%in{i}" for i in range(len(routine.inputs))), *(f"%out{i}" for i in range(len(routine.outputs)))]


def _sources(routine: Routine) -> list[tuple[int, int]]:
    """For each input slot of the workspace, the argument it belongs to and its place there."""
    return [(which, place) for which, (_, size) in enumerate(routine.inputs) for place in range(size)]


# -- direct ----------------------------------------------------------------------------------------------------------


def _direct(program: Program, routine: Routine, lanes: Lanes, numbers: Table | None = None, turns: bool = False) -> str:
    from kompono.compile import split

    lines: list[str] = []
    real = lanes.real
    sources = _sources(routine)
    values: dict[int, str] = {}  # workspace slot -> value
    goals: dict[int, list[tuple[int, int]]] = {}  # slot -> outputs and places it goes to

    def store(value: str, which: int, place: int) -> list[str]:
        name = f"%o{which}.{place}"
        made = f"{name} = getelementptr {real}, ptr %out{which}, i64 {place}"
        return [made, f"store {real} {value}, ptr {name}{lanes.aligned}"]

    for which, slots in enumerate(routine.result):
        for place, slot in enumerate(slots):
            if isinstance(slot, float):
                lines.extend(store(lanes.constant(slot), which, place))
            else:
                goals.setdefault(slot, []).append((which, place))

    def fetch(slot: int) -> str:
        if slot not in values:
            which, place = sources[slot]
            kind, name = ("double", f"%c{slot}") if which in lanes.common else (real, f"%x{slot}")
            lines.append(f"%p{slot} = getelementptr {kind}, ptr %in{which}, i64 {place}")
            lines.append(f"{name} = load {kind}, ptr %p{slot}{lanes.aligned}")
            lines.extend(lanes.spread(f"%x{slot}", name) if kind != real else [])
            values[slot] = f"%x{slot}"
        return values[slot]

    def keep(slot: int, value: str) -> list[str]:
        values[slot] = value
        return [line for which, place in goals.pop(slot, ()) for line in store(value, which, place)]

    tabled = TabledNumbers(numbers, lines)

    def read(i: int, call: Call) -> str:
        return fetch(call.inputs[i]) if i < len(call.inputs) else tabled.entry(i - len(call.inputs))

    calls, written = Calls(), routine.calls[0].outputs if numbers and len(routine.calls) > 1 else ()
    placed = {slot: place for place, slot in enumerate(written)}
    for number, call in enumerate(routine.calls):
        lower(
            numbers.coded.code() if numbers and numbers.coded and not number else program.kernels[call.kernel], lines,
            read=lambda i, call=call: read(i, call),
            write=lambda j, value, call=call: keep(call.outputs[j], value), prefix=f"c{number}.", lanes=lanes,
            calls=calls, constant=tabled.constant if numbers else None, turns=turns,
            lying=_in_table(tabled, call, placed) if numbers else None,
        )  # fmt: skip
    for slot, places in goals.items():  # inputs, which no call makes
        for which, place in places:
            lines.extend(store(fetch(slot), which, place))
    text = split.function(_head(routine, lanes), f"s.{routine.name}", _arguments(routine), lines, lanes, calls.size)
    return tabled.text() + text


def _in_table(tabled: TabledNumbers, call: Call, placed: Mapping[int, int]) -> Lying:
    """Where inputs of a call lie that are entries of the table: those behind its own, and slots that are `placed`."""
    count = len(call.inputs)

    def place(i: int) -> int:
        return i - count if i >= count else placed.get(call.inputs[i], -1)

    def follows(i: int) -> bool:
        return i > 0 and place(i - 1) >= 0 and place(i) == place(i - 1) + 1

    return Lying(lambda i: tabled.address(place(i)), follows)


# -- tabled ----------------------------------------------------------------------------------------------------------


def _table(name: str, values: Sequence[int] | np.ndarray, dtype: type = np.int32) -> str:
    """Constant data; bytes in a string, because LLVM reads those fastest."""
    data = np.ascontiguousarray(values, dtype=dtype).tobytes()
    text = "\\" + data.hex("\\") if data else ""
    return f'@{name} = private unnamed_addr constant [{len(data)} x i8] c"{text}", align 8\n'


def _tabled(
    routine: Routine, numbers: Table | None, places: Sequence[int], how: Mapping[str, RowLayout] | WalkedCalls,
    lanes: Lanes,
) -> str:  # fmt: skip
    """With `numbers` these are put at some `places` of the workspace first; kernels are functions or walked."""
    stem = f"t.{routine.name}"
    tables, code = "", Code(lanes)
    _copy_inputs(code, routine)
    if numbers is not None:
        tables += numbers.text()
        assert list(places) == list(range(places[0], places[0] + len(places)))  # the translator lays them side by side
        code.copy(Array(code, "%work").at(places[0]), Array(code, numbers.address(0)), len(places))
    if isinstance(how, WalkedCalls):
        tables += "".join(_table(name, *one) for name, one in how.text(stem, code).items()) + how.declared(stem)
    else:
        tables += _walk(code, stem, routine, how)
    for which, slots in enumerate(routine.result):
        tables += _gather(code, f"{stem}.{which}", f"%out{which}", slots)
    return tables + code.define(_head(routine, lanes))


def _copy_inputs(code: Code, routine: Routine) -> None:
    work, offset = Array(code, "%work", code.lanes.real), 0
    for which, (_, size) in enumerate(routine.inputs):
        if which in code.lanes.common:
            with code.loop(size) as i:
                work[i + offset] = Array(code, f"%in{which}")[i]
        else:
            code.copy(work.at(offset), Array(code, f"%in{which}", code.lanes.real), size)
        offset += size


def _integer(code: Code, table: str, index: object) -> str:
    place = code.let(POINTER, f"getelementptr i32, ptr {table}, i64 {code.value(index, INT)}").name  # type: ignore
    return code.let("i32", f"load i32, ptr {place}").name


def _walk(code: Code, stem: str, routine: Routine, layouts: Mapping[str, RowLayout]) -> str:
    """For each group of equal calls, choose the kernel and run it over the group's rows; the tables for that."""
    names = list(dict.fromkeys(call.kernel for call in routine.calls))
    groups = [(names.index(kernel), list(calls)) for kernel, calls in groupby(routine.calls, key=lambda c: c.kernel)]
    tables = _table(f"{stem}.groups", [n for which, calls in groups for n in (which, len(calls))])
    tables += _table(f"{stem}.rows", [slot for call in routine.calls for slot in layouts[call.kernel].row(call)])
    row = code.variable(POINTER, code.let(POINTER, f"getelementptr i8, ptr @{stem}.rows, i64 0"))
    with code.loop(len(groups)) as group:
        which = _integer(code, f"@{stem}.groups", group * 2)
        repeats = _integer(code, f"@{stem}.groups", group * 2 + 1)
        wide = code.let(INT, f"sext i32 {repeats} to i64")
        labels, done = [code.fresh("kernel") for _ in names], code.fresh("done")
        cases = " ".join(f"i32 {i}, label %{label}" for i, label in enumerate(labels))
        code.say(f"switch i32 {which}, label %{done} [{cases}]")
        for name, label in zip(names, labels, strict=True):
            code.say(f"{label}:")
            width = len(layouts[name].left)
            with code.loop(wide):
                now = row.get()
                code.say(f"call void @k.{name}(ptr %work, ptr %work, ptr {now.name})")
                row.set(code.let(POINTER, f"getelementptr i32, ptr {now.name}, i64 {width}"))
            code.say(f"br label %{done}")
        code.say(f"{done}:")
    return tables


def _gather(code: Code, stem: str, target: str, slots: Sequence[int | float]) -> str:
    """Copy constants from a template, the rest from the workspace through a table of (place, slot)."""
    fixed = [slot if isinstance(slot, float) else 0.0 for slot in slots]
    moved = [n for place, slot in enumerate(slots) if not isinstance(slot, float) for n in (place, slot)]
    tables = _table(f"{stem}.moved", moved)
    if len(moved) < 2 * len(slots):
        tables += _table(f"{stem}.fixed", np.repeat(fixed, code.lanes.count), np.float64)
        code.copy(Array(code, target), Array(code, f"@{stem}.fixed", code.lanes.real), len(slots))
    with code.loop(len(moved) // 2) as i:
        place = code.let(INT, f"zext i32 {_integer(code, f'@{stem}.moved', i * 2)} to i64")
        slot = code.let(INT, f"zext i32 {_integer(code, f'@{stem}.moved', i * 2 + 1)} to i64")
        Array(code, target, code.lanes.real)[place] = Array(code, "%work", code.lanes.real)[slot]
    return tables
