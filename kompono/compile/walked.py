"""Routines that are walked: the code of a routine as a table, and one native function that goes through such tables.

LLVM needs about 50 us for an instruction, and a machine of thirty bodies has a hundred thousand of them in all that a
first step asks for. Most of that runs a few times only. So what is not asked often is a table of rows (operation,
place of the result, places of operands), made in a few microseconds a row, that `kompono.walk` follows: about ten
times as slow as native code, and ready at once (see `tiers`).

Every operation of the walker is written by `lower`, and sums take in the same products: results have the same bits as
those of native code. Whoever takes a routine's native code later, even in the middle of a run, changes nothing.

Places are numbers of doubles in one array: results, constants, inputs, what calls of closed functions are given and
give, and values in between, which use a place again when nobody needs what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.compile.lanes import ONE
from kompono.compile.lower import SIMPLE, Body, called_symbol, is_far
from kompono.compile.numbers import Table
from kompono.translate.program import Program, Routine, TableRoutine

if TYPE_CHECKING:
    from kompono.compile.straight import Instruction

WALK = "kompono.walk"
_MOST = 1 << 16  # places: they are written in two bytes
_FUSED = ((ca.OP_ADD, 0), (ca.OP_SUB, 0), (ca.OP_SUB, 1))  # sum or difference, and where its product stands
_CODES = {op: code for code, op in enumerate(SIMPLE)}
_FUSE = {kind: len(SIMPLE) + code for code, kind in enumerate(_FUSED)} | {(ca.OP_ADD, 1): len(SIMPLE)}
_CALL = len(SIMPLE) + len(_FUSED)
_ASSIGN = _CODES[ca.OP_ASSIGN]


def walker_text() -> str:
    """The native function `void kompono.walk(rows, number of rows, places, closed functions)`."""
    lines = [
        f"define void @{WALK}(ptr noalias readonly %rows, i64 %count, ptr %places, ptr %functions) nounwind {{",
        "start:", "%none = icmp eq i64 %count, 0", "br i1 %none, label %end, label %next", "next:",
        "%k = phi i64 [0, %start], [%k1, %keep], [%k1c, %call]",
        "%row = getelementptr [5 x i16], ptr %rows, i64 %k",
    ]  # fmt: skip
    for index, name in enumerate(("op", "to", "a", "b", "c")):
        lines.append(f"%{name}.at = getelementptr i16, ptr %row, i64 {index}")
        lines.append(f"%{name}.short = load i16, ptr %{name}.at")
        lines.append(f"%{name}.number = zext i16 %{name}.short to i64")
    for index, name in enumerate(("to", "a", "b", "c")):
        lines.append(f"%{name} = getelementptr double, ptr %places, i64 %{name}.number")
        lines.extend([f"%x{index} = load double, ptr %{name}"] if index else [])
    codes = [*range(_CALL), _CALL]
    cases = " ".join(f"i16 {code}, label %{'call' if code == _CALL else f'op{code}'}" for code in codes)
    lines += [f"switch i16 %op.short, label %end [{cases}]"]
    values = []
    for code in range(_CALL):
        lines.append(f"op{code}:")
        body = Body(lines, f"v{code}.", ONE, grouped=False, turns=True)
        if code < len(SIMPLE):
            values.append(body.operate(SIMPLE[code], ("%x1", "%x2")))
        else:
            values.append(body.fuse(*_FUSED[code - len(SIMPLE)], ("%x1", "%x2"), "%x3"))
        lines.append("br label %keep")
    met = ", ".join(f"[{value}, %op{code}]" for code, value in enumerate(values))
    lines += [
        "keep:", f"%value = phi double {met}", "store double %value, ptr %to", "%k1 = add i64 %k, 1",
        "%more = icmp ult i64 %k1, %count", "br i1 %more, label %next, label %end",
        "call:", "%which = getelementptr ptr, ptr %functions, i64 %b.number", "%called = load ptr, ptr %which",
        "call void %called(ptr %a, ptr %to)", "%k1c = add i64 %k, 1", "%morec = icmp ult i64 %k1c, %count",
        "br i1 %morec, label %next, label %end", "end:", "ret void", "}", "",
    ]  # fmt: skip
    return "\n".join(lines)


def can_walk(program: Program, routine: Routine) -> bool:
    """Whether a routine can be a table: one call of one kernel, which asks nobody elsewhere."""
    if isinstance(routine, TableRoutine) or len(routine.calls) != 1:
        return False
    if routine.calls[0].kernel in program.coded:
        return not any(is_far(name) for name in program.coded[routine.calls[0].kernel].called)
    return walks_kernel(program, routine.calls[0].kernel)


def walks_kernel(program: Program, name: str) -> bool:
    """Whether a kernel can be a table."""
    kernel = program.kernels[name]
    return kernel.class_name() == "SXFunction" and not any(is_far(f.name()) for f in kernel.find_functions())


class Walked:
    """The table of a routine."""

    def __init__(self, program: Program, routine: Routine, numbers: Table | None = None) -> None:
        from kompono.compile.straight import instructions

        self.routine, self.call, self.numbers = routine, routine.calls[0], numbers
        self.given = sum(size for _, size in routine.inputs)
        self.image: list[float] = []  # results and constants, as they are before the first row
        self.goals: dict[int, list[int]] = {}  # slot of the routine -> places of results
        for slot in (slot for row in routine.result for slot in row):
            if not isinstance(slot, float):
                self.goals.setdefault(slot, []).append(len(self.image))
            self.image.append(slot if isinstance(slot, float) else 0.0)
        self.rows: list[tuple[int, ...]] = []  # operation, result, three operands
        self.functions: dict[str, int] = {}
        coded = numbers.coded if numbers else None
        kernel = coded.code() if coded else program.kernels[self.call.kernel]
        self.size = self._written(instructions(kernel, coded.text if coded else ""))

    def _written(self, found: Sequence[Instruction]) -> int:
        """Write the rows; the number of places."""
        from kompono.compile.straight import RESULT, absorbed, fusions

        fused = fusions(found)
        inside = absorbed(found, fused)
        operands = _operands(found, fused, inside)
        place = [-1] * len(found)
        self._place_constants(found, place)
        inputs = len(self.image)
        size = inputs + self.given
        between = size = _place_calls(found, place, size)
        last = [-1] * len(found)
        for k, needed in enumerate(operands):
            for operand in needed:
                last[operand] = k
        free: list[int] = []
        rows = self.rows
        for slot in [slot for slot in self.goals if slot < self.given]:
            rows.extend((_ASSIGN, goal, inputs + slot, 0, 0) for goal in self.goals.pop(slot))
        for k, instruction in enumerate(found):
            op = instruction.op
            if op == ca.OP_INPUT:
                place[k] = self._input(instruction.index, inputs)
            elif op == ca.OP_OUTPUT:
                source = place[instruction.operands[0]]
                goals = self.goals.get(self.call.outputs[instruction.index], ())
                rows.extend((_ASSIGN, goal, source, 0, 0) for goal in goals)
            elif op == ca.OP_CALL:
                self._called(instruction, place, place[k])
            elif op not in (ca.OP_CONST, RESULT) and k not in inside:
                sources = [place[i] for i in operands[k]]
                _release(k, operands[k], place, last, between, free)
                place[k] = free.pop() if free else size
                size = max(size, place[k] + 1)
                code = _FUSE[op, fused[k]] if k in fused else _CODES[op]
                rows.append((code, place[k], *sources, *([0] * (3 - len(sources)))))
                continue
            _release(k, operands[k], place, last, between, free)
        return size

    def _input(self, index: int, inputs: int) -> int:
        """The place of an input of the kernel, or of a number behind them."""
        own = len(self.call.inputs)
        return inputs + self.call.inputs[index] if index < own else self.plain + index - own

    def _place_constants(self, found: Sequence[Instruction], place: list[int]) -> None:
        """Constants stand behind the results, equal ones once; those of the table of numbers are the last."""
        known: dict[str, int] = {}
        tabled: dict[int, int] = {}  # instruction -> place in the table
        for k, instruction in enumerate(found):
            if instruction.op == ca.OP_CONST:
                entry = self.numbers.place(instruction.constant) if self.numbers else -1
                if entry >= 0:
                    tabled[k] = entry
                    continue
                key = instruction.constant.hex()
                if key not in known:
                    known[key] = len(self.image)
                    self.image.append(instruction.constant)
                place[k] = known[key]
        self.plain = len(self.image)
        self.image.extend([0.0] * (len(self.numbers.shape.numbers) if self.numbers else 0))
        for k, entry in tabled.items():
            place[k] = self.plain + entry

    def _called(self, instruction: Instruction, place: Sequence[int], first: int) -> None:
        """Put down what a closed function is given, and call it."""
        assert instruction.function is not None
        number = self.functions.setdefault(instruction.function.name(), len(self.functions))
        for index, operand in enumerate(instruction.operands):
            self.rows.append((_ASSIGN, first + index, place[operand], 0, 0))
        self.rows.append((_CALL, first + instruction.function.nnz_in(), first, number, 0))

    @property
    def fits(self) -> bool:
        """Whether there are few enough places."""
        return self.size < _MOST

    def text(self, head: str, table: Callable[..., str]) -> str:
        """The routine as LLVM text: `head` from `define` to its body, `table(name, values, type)` writes data."""
        stem = f"w.{self.routine.name}"
        names = [f"@{called_symbol(name, ONE)}" for name in self.functions]
        data = table(f"{stem}.rows", np.array(self.rows, dtype=np.uint16).reshape(-1), np.uint16)
        data += table(f"{stem}.image", self.image[: self.plain], np.float64)
        listed = ", ".join(f"ptr {name}" for name in names) or "ptr null"
        data += f"@{stem}.called = private constant [{max(len(names), 1)} x ptr] [{listed}]\n"
        lines = [f"define {head} {{", f"%places = alloca [{max(self.size, 1)} x double], align 64"]
        offset = len(self.image)
        lines.append(_copied("%places", f"@{stem}.image", self.plain))
        if self.numbers and offset > self.plain:
            data += self.numbers.text()
            lines.append(f"%numbers = getelementptr double, ptr %places, i64 {self.plain}")
            lines.append(_copied("%numbers", self.numbers.address(0), offset - self.plain))
        for which, (_, size) in enumerate(self.routine.inputs):
            lines += [f"%i{which} = getelementptr double, ptr %places, i64 {offset}"]
            lines += [_copied(f"%i{which}", f"%in{which}", size)]
            offset += size
        lines.append(f"call void @{WALK}(ptr @{stem}.rows, i64 {len(self.rows)}, ptr %places, ptr @{stem}.called)")
        offset = 0
        for which, row in enumerate(self.routine.result):
            lines += [f"%o{which} = getelementptr double, ptr %places, i64 {offset}"]
            lines += [_copied(f"%out{which}", f"%o{which}", len(row))]
            offset += len(row)
        return data + f"declare void @{WALK}(ptr, i64, ptr, ptr)\n" + "\n".join([*lines, "ret void", "}", ""])


def _copied(to: str, source: str, count: int) -> str:
    return f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {8 * count}, i1 false)"


def _operands(found: Sequence[Instruction], fused: dict[int, int], inside: set[int]) -> list[tuple[int, ...]]:
    """What each instruction reads; nothing where it is done `inside` sums."""
    operands = [instruction.operands for instruction in found]
    for k, side in fused.items():
        factors = found[found[k].operands[side]].operands
        operands[k] = (factors[0], factors[-1], found[k].operands[1 - side])
    for product in inside:
        operands[product] = ()
    return operands


def _place_calls(found: Sequence[Instruction], place: list[int], size: int) -> int:
    """Places of what closed functions are given and give; the number of places then."""
    from kompono.compile.straight import RESULT

    for k, instruction in enumerate(found):
        if instruction.op == ca.OP_CALL:
            assert instruction.function is not None
            place[k] = size
            size += instruction.function.nnz_in() + instruction.function.nnz_out()
        elif instruction.op == RESULT:
            call = instruction.operands[0]
            called = found[call].function
            assert called is not None
            place[k] = place[call] + called.nnz_in() + instruction.index
    return size


def _release(
    k: int, operands: Sequence[int], place: Sequence[int], last: list[int], between: int, free: list[int]
) -> None:
    """Add the places of values that nobody needs after instruction k to those that are `free`; lasting ones are before
    the place `between`.
    """
    for i in operands:
        if last[i] == k and place[i] >= between:
            last[i] = -1
            free.append(place[i])
