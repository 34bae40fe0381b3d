"""Lower a CasADi SX function to LLVM instructions.

An SX function is already a list of scalar instructions, so lowering is one line of text per instruction: virtual
registers become single assignments. Text beats llvmlite's IR builder by an order of magnitude in time, which matters
because models have 10^4 to 10^5 instructions. Where the inputs come from and where the outputs go is the caller's
business (`read`, `write`), so the same body serves a routine that works on its own arguments and a shared kernel that
works on slots.

A product that only one sum uses is fused with it, here and not by LLVM, which would decide by what it happens to see at
once. So every instruction has one meaning, without fast-math flags, and the result does not depend on how code is cut
into functions (see `split`).

A call of a function that CasADi may not inline stays a call: that is what a closed part is to its owner. Its arguments
and results go through an array `%calls` of the function around it, each call with places of its own.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca

from kompono.compile import functions
from kompono.compile.copied import Lying, copied_runs, needed_beside
from kompono.compile.far import spell_ask, spell_go, spell_post, spell_take
from kompono.compile.lanes import ONE, Lanes, constant
from kompono.compile.straight import (
    COSINE,
    RESULT,
    ROUND,
    SINE,
    TURNS,
    Instruction,
    absorbed,
    fusions,
    in_rounds,
    in_turns,
    instructions,
)
from kompono.errors import CompileError, KomponoError, ModelError
from kompono.foreign.code import find
from kompono.foreign.places import spelled

if TYPE_CHECKING:
    from kompono.compile.packed import OnLanes

_ARITHMETIC = {
    ca.OP_ADD: "fadd {real} {0}, {1}",
    ca.OP_SUB: "fsub {real} {0}, {1}",
    ca.OP_MUL: "fmul {real} {0}, {1}",
    ca.OP_DIV: "fdiv {real} {0}, {1}",
    ca.OP_NEG: "fneg {real} {0}",
    ca.OP_SQ: "fmul {real} {0}, {0}",
    ca.OP_TWICE: "fadd {real} {0}, {0}",
    ca.OP_INV: "fdiv {real} {one}, {0}",
}
_CALLS = {
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_SQRT: "sqrt",
    ca.OP_FABS: "fabs",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow",
    ca.OP_COPYSIGN: "copysign",
    ca.OP_FMIN: "minnum",
    ca.OP_FMAX: "maxnum",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh",
    ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh",
    ca.OP_ERF: "erf",
    ca.OP_LOG1P: "log1p",
    ca.OP_EXPM1: "expm1",
    ca.OP_ATAN2: "atan2",
    ca.OP_HYPOT: "hypot",
    ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder",
}
_COMPARISONS = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
_LOGIC = {ca.OP_AND: "and", ca.OP_OR: "or"}
# operations of one or two operands and one result
_SINGLE = (ca.OP_NOT, ca.OP_IF_ELSE_ZERO, ca.OP_SIGN, ca.OP_ASSIGN, ca.OP_LIFT)
SIMPLE = (*_ARITHMETIC, *_CALLS, *_COMPARISONS, *_LOGIC, *_SINGLE)
_NAMES = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}


def check_shape(name: str, function: ca.Function) -> None:
    """A kernel has one dense column in, one dense column out, and is made of scalars."""
    if function.class_name() != "SXFunction":
        raise CompileError(f"kernel {name} is a {function.class_name()}, only SX functions can be lowered.")
    if function.n_in() != 1 or function.n_out() != 1:
        raise CompileError(f"kernel {name} has {function.n_in()} inputs and {function.n_out()} outputs, not 1 and 1.")
    if not (function.sparsity_in(0).is_dense() and function.sparsity_out(0).is_dense()):
        raise CompileError(f"kernel {name} has structural zeros in its input or output.", fix="Use ca.densify.")


class Body:
    """The instructions of one function: register -> value, and the truth value behind a comparison's 0 or 1."""

    def __init__(self, lines: list[str], prefix: str, lanes: Lanes, grouped: bool, turns: bool = False) -> None:
        self.lines = lines
        self.prefix = prefix
        self.lanes, self.grouped, self.turns = lanes, grouped, turns
        self.zero, self.one, self.minus_one = (lanes.constant(value) for value in (0.0, 1.0, -1.0))
        self.truths: dict[str, str] = {}
        self.count = 0

    def let(self, text: str) -> str:
        """Append one instruction and name its value."""
        self.count += 1
        name = f"%{self.prefix}{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def truth(self, value: str) -> str:
        """Whether a value is not zero (NaN is true, as in C)."""
        return self.truths.get(value) or self.let(f"fcmp une {self.lanes.real} {value}, {self.zero}")

    def number(self, truth: str) -> str:
        """A truth value as 1.0 or 0.0."""
        value = self.let(f"uitofp {self.lanes.truth} {truth} to {self.lanes.real}")
        self.truths[value] = truth
        return value

    def choose(self, truth: str, yes: str, no: str) -> str:
        """One of two values."""
        real = self.lanes.real
        return self.let(f"select {self.lanes.truth} {truth}, {real} {yes}, {real} {no}")

    def operate(self, op: int, values: Sequence[str]) -> str:
        """The value of one SX operation."""
        real, truth = self.lanes.real, self.lanes.truth
        if op == ca.OP_INV and values[0].startswith("0x"):  # LLVM would divide each time
            (known,) = struct.unpack("<d", struct.pack("<Q", int(values[0], 16)))
            return constant(1.0 / known if known else math.copysign(math.inf, known))
        if op in _ARITHMETIC:
            return self.let(_ARITHMETIC[op].format(*values, real=real, one=self.one))
        if op in _CALLS:
            name = _CALLS[op]
            arguments = ", ".join(f"{real} {v}" for v in (values if name in functions.BINARY else values[:1]))
            symbol = functions.symbol(name, self.lanes, grouped=self.grouped, turns=self.turns)
            return self.let(f"call {real} @{symbol}({arguments})")
        if op in _COMPARISONS:
            return self.number(self.let(f"fcmp {_COMPARISONS[op]} {real} {values[0]}, {values[1]}"))
        if op in _LOGIC:
            return self.number(self.let(f"{_LOGIC[op]} {truth} {self.truth(values[0])}, {self.truth(values[1])}"))
        if op == ca.OP_NOT:
            return self.number(self.let(f"xor {truth} {self.truth(values[0])}, {self.lanes.all('i1', 'true')}"))
        if op == ca.OP_IF_ELSE_ZERO:
            return self.choose(self.truth(values[0]), values[1], self.zero)
        if op == ca.OP_SIGN:
            return self.sign(values[0])
        if op in (ca.OP_ASSIGN, ca.OP_LIFT):
            return values[0]
        raise CompileError(f"operation {_NAMES.get(op, op)} cannot be lowered to native code.")

    def negative(self, value: str) -> str:
        """-value."""
        if value[0] == "%":
            return self.let(f"fneg {self.lanes.real} {value}")
        digits = value[value.index("0x") :].rstrip(")")
        return value.replace(digits, f"0x{int(digits, 16) ^ 1 << 63:016X}")

    def fuse(self, op: int, side: int, factors: Sequence[str], other: str) -> str:
        """x y + other, x y - other, or, with the product on side 1, other - x y."""
        x, y = factors[0], factors[-1]
        if op == ca.OP_SUB and side == 0:
            other = self.negative(other)
        elif op == ca.OP_SUB:
            x, y = (y, x) if x[0] != "%" else (x, y)
            x = self.negative(x)
        real = self.lanes.real
        return self.let(f"call {real} @llvm.fmuladd.{self.lanes.suffix}({real} {x}, {real} {y}, {real} {other})")

    def invoke(
        self, calls: Calls, function: ca.Function, values: Sequence[str], tell: Callable[[int], None] | None = None,
        copied: Sequence[tuple[int, int, int]] = (), lying: Lying | None = None,
    ) -> str:  # fmt: skip
        """Call a function on values, or on what `tell` stores from a place on; names the address of its results. From a
        place on, so many are `copied` from where inputs are `lying`.
        """
        real, aligned = self.lanes.real, self.lanes.aligned
        first, result = calls.take(function)
        if tell is not None:
            tell(first)
        within = set[int]()
        for begin, count, number in copied:
            assert lying is not None
            source = self.let(lying.address(number))
            place = self.let(f"getelementptr {real}, ptr %calls, i64 {first + begin}")
            given = f"ptr {place}, ptr {source}, i64 {8 * self.lanes.count * count}, i1 false"
            self.lines.append(f"call void @llvm.memcpy.p0.p0.i64({given})")
            within |= {*range(begin, begin + count)}
        for i, value in enumerate(values if tell is None else ()):
            if i in within:
                continue
            place = self.let(f"getelementptr {real}, ptr %calls, i64 {first + i}")
            self.lines.append(f"store {real} {value}, ptr {place}{aligned}")
        given = self.let(f"getelementptr {real}, ptr %calls, i64 {first}")
        taken = self.let(f"getelementptr {real}, ptr %calls, i64 {result}")
        call = calls.spell(function, self.lanes, given, taken)
        self.lines += [line for line in (calls.before, call) if line]
        calls.before = ""
        return taken

    def turn(self, calls: Calls, angles: Sequence[str]) -> str:
        """Sines and cosines of angles; names the address of the sines, behind which the cosines are."""
        count = functions.turned_together(len(angles))
        first = calls.reserve(3 * count)
        for i, angle in enumerate([*angles, *[self.zero] * (count - len(angles))]):
            place = self.let(f"getelementptr double, ptr %calls, i64 {first + i}")
            self.lines.append(f"store double {angle}, ptr {place}")
        given, sines = (self.let(f"getelementptr double, ptr %calls, i64 {first + k * count}") for k in range(2))
        self.lines.append(f"call void @{functions.TURNS}(ptr {given}, ptr {sines}, i64 {count})")
        return sines

    def result(self, address: str, index: int) -> str:
        """One result of a call."""
        place = self.let(f"getelementptr {self.lanes.real}, ptr {address}, i64 {index}")
        return self.let(f"load {self.lanes.real}, ptr {place}{self.lanes.aligned}")

    def turned(self, op: int, sines: str, count: int, index: int) -> str:
        """One of the sines or cosines of so many angles."""
        return self.result(sines, index + (functions.turned_together(count) if op == COSINE else 0))

    def sign(self, x: str) -> str:
        """-1, 1, or x itself when it is zero or NaN."""
        positive = self.let(f"fcmp ogt {self.lanes.real} {x}, {self.zero}")
        negative = self.let(f"fcmp olt {self.lanes.real} {x}, {self.zero}")
        return self.choose(negative, self.minus_one, self.choose(positive, self.one, x))


class Calls:
    """Places in the array `%calls` of one native function for what it gives to, and gets from, functions it calls."""

    def __init__(self) -> None:
        self.size = 0
        self.functions: dict[str, ca.Function] = {}
        self._asked: list[tuple[str, str, int]] = []
        self.before = ""  # the line that must come before a call

    def take(self, function: ca.Function) -> tuple[int, int]:
        """Offsets of the arguments and of the results of one call."""
        if not is_far(function.name()):
            self.functions[function.name()] = function
        first = self.reserve(function.nnz_in() + function.nnz_out())
        return first, first + function.nnz_in()

    def reserve(self, count: int) -> int:
        """The offset of so many places."""
        self.size += count
        return self.size - count

    def spell(self, function: ca.Function, lanes: Lanes, given: str, taken: str) -> str:
        """The line that calls a function, from the address of its arguments to that of its results."""
        far = _FAR.fullmatch(function.name())
        if far is not None:
            return self._write(far[1], (int(far[2]), int(far[3])), function, lanes, (given, taken))
        return f"call void @{called_symbol(function.name(), lanes)}(ptr {given}, ptr {taken})"

    def _write(
        self, way: str, what: tuple[int, int], function: ca.Function, lanes: Lanes, places: tuple[str, str]
    ) -> str:
        """Write to a part elsewhere, which the handle in the place of x tells."""
        (op, before), (given, taken) = what, places
        count, values = function.nnz_in() * lanes.count, function.nnz_out() * lanes.count
        whose = f"{taken}.whose"
        self.before = f"{whose} = getelementptr {lanes.real}, ptr {given}, i64 {before}"
        if way == "post":
            return spell_post(op, whose, given, count, taken, lanes.count)
        self._asked.append((whose, taken, values))
        return spell_ask(op, whose, given, count, values)

    def collect(self) -> list[str]:
        """Lines that send what was asked since the last time, and wait for the replies."""
        asked, self._asked = self._asked, []
        return [spell_go(given) for given, _, _ in asked] + [spell_take(*each) for each in asked]


def called_symbol(name: str, lanes: Lanes) -> str:
    """The native name of a function that others call."""
    return f"kompono.{spelled(name)}.{lanes.count}"


_FAR = re.compile(r"far_(ask|post)_(\d+)_(\d+)_\d+_\d+")  # functions of parts elsewhere: operation, place of x


def is_far(name: str) -> bool:
    """Whether a function is one of a part that is kept elsewhere."""
    return _FAR.fullmatch(name) is not None


def lower(
    function: ca.Function, lines: list[str], read: Callable[[int], str], write: Callable[[int, str], Iterable[str]],
    prefix: str = "v", lanes: Lanes = ONE, calls: Calls | None = None, constant: Callable[[float], str] | None = None,
    grouped: bool = False, turns: bool = False, lying: Lying | None = None,
) -> None:  # fmt: skip
    """Append the instructions of `function` to `lines`.

    `read(i)` appends what it needs and names the value of input i; `write(j, value)` gives the lines that keep
    output j. `prefix` keeps the names of several bodies in one function apart, `calls` the places of calls. `constant`
    says how a number is spelled where it is used, if not as itself (see `lifted`). With `grouped`, one lane gives the
    same bits as several; with `turns`, too, and makes sines and cosines together. Inputs that are `lying` one behind
    the other can be given to calls at once.
    """
    constant = constant or lanes.constant
    turns = turns and lanes == ONE and functions.turns()
    body = Body(lines, prefix, lanes, grouped, turns)
    found = in_rounds(instructions(function))
    found = in_turns(found) if turns and calls is not None else found
    fused = fusions(found)
    inside, inputs = absorbed(found, fused), dict[int, str]()
    values: list[str] = [""] * len(found)

    def single(k: int) -> None:
        instruction = found[k]
        op, operands = instruction.op, [values[i] for i in instruction.operands]
        if op == ca.OP_OUTPUT:
            lines.extend(write(instruction.index, operands[0]))
        elif op == ca.OP_CONST:
            values[k] = constant(instruction.constant)
        elif op == ca.OP_INPUT:
            if instruction.index not in inputs:
                inputs[instruction.index] = read(instruction.index)
            values[k] = inputs[instruction.index]
        elif op == ca.OP_CALL:
            if calls is None or instruction.function is None:
                raise _nobody_asked(instruction.function)
            ask = partial(body.invoke, calls, instruction.function, operands, copied=copied.get(k, ()), lying=lying)
            values[k] = ask() if on_lanes is None else on_lanes.call(k, ask)
        elif op == ROUND and calls is not None:
            lines.extend(calls.collect())
        elif op == RESULT:
            values[k] = body.result(operands[0], instruction.index)
        elif op == TURNS and calls is not None:
            values[k] = body.turn(calls, operands)
        elif op in (SINE, COSINE):
            count = len(found[instruction.operands[0]].operands)
            values[k] = body.turned(op, operands[0], count, instruction.index)
        elif k in fused:
            factors = [values[i] for i in found[instruction.operands[fused[k]]].operands]
            values[k] = body.fuse(op, fused[k], factors, operands[1 - fused[k]])
        elif k not in inside:
            values[k] = body.operate(op, operands)

    on_lanes = _side_by_side(found, fused, body, values, single) if calls is not None and lanes == ONE else None
    copied = copied_runs(found, lying.follows) if on_lanes is None and lying is not None and calls is not None else {}
    if on_lanes is not None:
        return on_lanes.write()
    for k in needed_beside(found, copied):
        single(k)
    return None


def _side_by_side(
    found: list[Instruction], fused: dict[int, int], body: Body, values: list[str], single: Callable[[int], None]
) -> OnLanes | None:
    """Who writes units of laws side by side, if there are any."""
    if not any(one.op == ca.OP_CALL for one in found):
        return None
    from kompono.compile import packs
    from kompono.compile.packed import OnLanes

    planned = packs.packs_of(found, fused)
    made = None if planned is None else OnLanes(planned, body, values, single)
    return made if made is not None and made.has_order else None


def _nobody_asked(function: ca.Function | None) -> KomponoError:
    """What is wrong where a piece of a step asks somebody, on the discrete engine."""
    found = find(function.name()) if function is not None else None
    if found is None:
        return CompileError("a closed function is called where that is not possible.")
    fix = "Use engine='relative' or 'absolute', or co-simulation: Fmu(..., kind='cs', every=1e-3)."
    return ModelError(
        "forces follow from an FMU in model exchange, which no piece of a step asks.", path=found[0].place, fix=fix
    )
