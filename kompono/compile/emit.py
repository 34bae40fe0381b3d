"""A small language in which the native loops are written.

`Code` collects LLVM text; its values overload Python's operators, its `loop`, `forever` and `when` are `with`
statements, and mutable variables are `Variable`s that LLVM turns into registers. A loop written with it reads like the
algorithm:

    with code.loop(n) as i:
        y[i] = y[i] + h * k[i]

On several lanes (see `lanes`), numbers of the simulations are wide: arrays of the kind `code.lanes.real` have one
element for all lanes, operators work lane by lane, and single numbers are spread where they meet wide ones.

Only the loops use it. Kernels are lowered line by line (see `lower`), because they are large.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kompono.compile import host
from kompono.compile.far import DECLARATIONS
from kompono.compile.functions import declarations
from kompono.compile.lanes import ONE, Lanes, constant

REAL, INT, BOOL, POINTER = "double", "i64", "i1", "ptr"

_OPERATORS = {
    ("+", REAL): "fadd contract", ("-", REAL): "fsub contract", ("*", REAL): "fmul contract",
    ("/", REAL): "fdiv contract", ("+", INT): "add", ("-", INT): "sub", ("*", INT): "mul", ("/", INT): "sdiv",
    ("%", INT): "srem", ("&", BOOL): "and", ("|", BOOL): "or",
    ("<", REAL): "fcmp olt", ("<=", REAL): "fcmp ole", (">", REAL): "fcmp ogt", (">=", REAL): "fcmp oge",
    ("==", REAL): "fcmp oeq", ("<", INT): "icmp slt", ("<=", INT): "icmp sle", (">", INT): "icmp sgt",
    (">=", INT): "icmp sge", ("==", INT): "icmp eq", ("!=", INT): "icmp ne",
}  # fmt: skip
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_FAR = re.compile(r"call (void|ptr) @kompono\.far\.")  # functions of the desk


def prelude(text: str, lanes: Lanes) -> str:
    """What must stand before a text that calls functions of others."""
    lines = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    lines.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    lines.append("declare i64 @llvm.fptosi.sat.i64.f64(double)")
    lines += ["declare i64 @llvm.ctpop.i64(i64)", "declare i64 @llvm.cttz.i64(i64, i1)"]
    lines += [f"declare void @llvm.x86.sse.{name}mxcsr(ptr)" for name in ("st", "ld") if host.slow_near_zero()]
    if _FAR.search(text):
        lines.append(DECLARATIONS)
    if lanes.count > 1:
        lines.append(f"declare i1 @llvm.vector.reduce.or.v{lanes.count}i1({lanes.truth})")
    return declarations(text, lanes) + "\n".join(lines) + "\n"


@dataclass(frozen=True, eq=False)
class Value:
    """A native value: the name LLVM knows it by, and its type."""

    code: Code
    name: str
    kind: str

    def __add__(self, other: Value | float) -> Value:
        return self.code.binary("+", self, other)

    def __radd__(self, other: float) -> Value:
        return self.code.binary("+", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.code.binary("-", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.code.binary("-", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.code.binary("*", self, other)

    def __rmul__(self, other: float) -> Value:
        return self.code.binary("*", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.code.binary("/", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.code.binary("/", other, self)

    def __floordiv__(self, other: Value | int) -> Value:
        return self.code.binary("/", self, other)

    def __mod__(self, other: Value | int) -> Value:
        return self.code.binary("%", self, other)

    def __and__(self, other: Value) -> Value:
        return self.code.binary("&", self, other)

    def __or__(self, other: Value) -> Value:
        return self.code.binary("|", self, other)

    def __invert__(self) -> Value:
        true = "true" if self.kind == BOOL else self.code.lanes.all(BOOL, "true")
        return self.code.let(self.kind, f"xor {self.kind} {self.name}, {true}")

    def __lt__(self, other: Value | float) -> Value:
        return self.code.binary("<", self, other)

    def __le__(self, other: Value | float) -> Value:
        return self.code.binary("<=", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return self.code.binary(">", self, other)

    def __ge__(self, other: Value | float) -> Value:
        return self.code.binary(">=", self, other)

    def equals(self, other: Value | float) -> Value:
        """Whether two numbers are the same (`==` stays Python's own)."""
        return self.code.binary("==", self, other)

    def real(self) -> Value:
        """An integer as a real number."""
        return self.code.let(REAL, f"sitofp i64 {self.name} to double")


@dataclass(frozen=True)
class Array:
    """A run of numbers in memory, single or wide."""

    code: Code
    pointer: str
    kind: str = REAL

    def at(self, offset: Value | int) -> Array:
        """The run that starts `offset` elements further on."""
        index = self.code.value(offset, INT)
        place = self.code.let(POINTER, f"getelementptr {self.kind}, ptr {self.pointer}, i64 {index}")
        return Array(self.code, place.name, self.kind)

    @property
    def width(self) -> int:
        """Doubles of one element."""
        return self.code.lanes.count if self.kind == self.code.lanes.real else 1

    @property
    def _aligned(self) -> str:
        return self.code.lanes.aligned if self.kind == self.code.lanes.real else ""

    def __getitem__(self, index: Value | int) -> Value:
        return self.code.let(self.kind, f"load {self.kind}, ptr {self.at(index).pointer}{self._aligned}")

    def __setitem__(self, index: Value | int, value: Value | float) -> None:
        text = self.code.value(value, self.kind)
        self.code.say(f"store {self.kind} {text}, ptr {self.at(index).pointer}{self._aligned}")


@dataclass(frozen=True)
class Variable:
    """A mutable variable."""

    code: Code
    pointer: str
    kind: str

    def get(self) -> Value:
        """Its value now."""
        return self.code.let(self.kind, f"load {self.kind}, ptr {self.pointer}")

    def set(self, value: Value | float | bool) -> None:
        """Give it a new value."""
        self.code.say(f"store {self.kind} {self.code.value(value, self.kind)}, ptr {self.pointer}")


class Code:
    """The body of one native function while it is being written."""

    def __init__(self, lanes: Lanes = ONE) -> None:
        self.lanes = lanes
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._exits: list[str] = []
        self.fuses = True  # sums may take in products, as LLVM likes

    def fresh(self, stem: str = "") -> str:
        """A name nobody has."""
        self._count += 1
        return f"{stem}.{self._count}"

    def say(self, line: str) -> None:
        """Append one line."""
        self._lines.append(line)

    def let(self, kind: str, text: str) -> Value:
        """Append one instruction and give its value."""
        name = "%" + self.fresh("t")
        self.say(f"{name} = {text}")
        return Value(self, name, kind)

    def value(self, value: Value | float | bool, kind: str) -> str:
        """The spelling of a value, or of a Python number as a value of that kind."""
        if isinstance(value, Value):
            return value.name if value.kind == kind else self._spread(value).name
        if kind == REAL:
            return constant(float(value))
        if kind == self.lanes.real:
            return self.lanes.constant(float(value))
        if kind == self.lanes.truth:
            return self.lanes.all(BOOL, str(int(value)))
        return str(int(value))

    def _spread(self, value: Value) -> Value:
        """A single number on all lanes."""
        name = "%" + self.fresh("s")
        for line in self.lanes.spread(name, value.name):
            self.say(line)
        return Value(self, name, self.lanes.real)

    def _common(self, *values: Value | float) -> str:
        """The kind of an operation on these values."""
        kinds = [value.kind for value in values if isinstance(value, Value)] or [REAL]
        return self.lanes.real if self.lanes.real in kinds else kinds[0]

    def binary(self, operator: str, left: Value | float, right: Value | float) -> Value:
        """The value of an operator on two values, one of which may be a Python number."""
        kind = self._common(left, right)
        single = {self.lanes.real: REAL, self.lanes.truth: BOOL}.get(kind, kind)
        name = _OPERATORS[operator, single] if self.fuses else _OPERATORS[operator, single].removesuffix(" contract")
        text = f"{name} {kind} {self.value(left, kind)}, {self.value(right, kind)}"
        truth = self.lanes.truth if kind == self.lanes.real else BOOL
        return self.let(truth if operator in _COMPARISONS else kind, text)

    def select(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """One of two values of the same kind."""
        kind = self._common(yes, no)
        text = f"{kind} {self.value(yes, kind)}, {kind} {self.value(no, kind)}"
        return self.let(kind, f"select {condition.kind} {condition.name}, {text}")

    def math(self, name: str, *arguments: Value | float) -> Value:
        """A function that `functions` knows, of LLVM's own: sqrt, fabs, pow, minnum, maxnum."""
        kind = self._common(*arguments)
        text = ", ".join(f"{kind} {self.value(a, kind)}" for a in arguments)
        suffix = "f64" if kind == REAL else self.lanes.suffix
        return self.let(kind, f"call contract {kind} @llvm.{name}.{suffix}({text})")

    def variable(self, kind: str, initial: Value | float | bool) -> Variable:
        """A new variable."""
        name = "%" + self.fresh("cell")
        self._entry.append(f"{name} = alloca {kind}")
        cell = Variable(self, name, kind)
        cell.set(initial)
        return cell

    def call(self, name: str, pointers: Sequence[Array]) -> None:
        """Call a native routine."""
        self.say(f"call void @{name}({', '.join(f'ptr {p.pointer}' for p in pointers)})")

    def copy(self, target: Array, source: Array, count: int) -> None:
        """Copy `count` elements of the source; the two do not overlap."""
        if count:
            arguments = f"ptr {target.pointer}, ptr {source.pointer}, i64 {8 * source.width * count}, i1 false"
            self.say(f"call void @llvm.memcpy.p0.p0.i64({arguments})")

    def _label(self, name: str) -> None:
        """Start a block that the previous one falls into."""
        self.say(f"br label %{name}")
        self.say(f"{name}:")

    def _branch(self, condition: Value, yes: str, no: str) -> None:
        """End a block."""
        self.say(f"br i1 {condition.name}, label %{yes}, label %{no}")

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """What happens only if the condition holds."""
        inside, after = self.fresh("when"), self.fresh("after")
        self._branch(condition, inside, after)
        self.say(f"{inside}:")
        yield
        self._label(after)

    @contextmanager
    def forever(self) -> Iterator[None]:
        """Repeat until `leave`."""
        again, exit_ = self.fresh("again"), self.fresh("exit")
        self._label(again)
        self._exits.append(exit_)
        yield
        self._exits.pop()
        self.say(f"br label %{again}")
        self.say(f"{exit_}:")

    def leave(self, condition: Value) -> None:
        """Leave the innermost `forever` if the condition holds."""
        stay = self.fresh("stay")
        self._branch(condition, self._exits[-1], stay)
        self.say(f"{stay}:")

    @contextmanager
    def loop(self, count: Value | int) -> Iterator[Value]:
        """For i in 0 .. count - 1."""
        i = self.variable(INT, 0)
        with self.forever():
            now = i.get()
            self.leave(now >= count)
            yield now
            i.set(now + 1)

    def define(self, head: str, result: Value | None = None) -> str:
        """The finished function; `head` is all that stands between `define` and its body."""
        end = f"ret {result.kind} {result.name}" if result else "ret void"
        return "\n".join([f"define {head} {{", *self._entry, *self._lines, end, "}", ""])


def room(code: Code, count: int) -> Array:
    """Memory for `count` numbers, as wide as the lanes, that lasts as long as the function."""
    name = "%" + code.fresh("room")
    code._entry.append(f"{name} = alloca [{count} x {code.lanes.real}], align 64")
    return Array(code, name, code.lanes.real)


def plus_product(total: Value, factor: Value, other: Value) -> Value:
    """total + factor * other, as one where the processor can: what LLVM makes of a product and a sum depends on the
    code around them, and bits must not.
    """
    code = total.code
    kind = code._common(total, factor, other)
    text = ", ".join(f"{kind} {code.value(value, kind)}" for value in (factor, other, total))
    suffix = "f64" if kind == REAL else code.lanes.suffix
    return code.let(kind, f"call {kind} @llvm.fmuladd.{suffix}({text})")


def always(code: Code) -> Value:
    """What always holds."""
    return Value(code, "true", BOOL)


def spread(code: Code, number: float) -> Value:
    """A number as a value on all lanes."""
    return Value(code, code.lanes.constant(number), code.lanes.real)


def anywhere(condition: Value) -> Value:
    """Whether a condition holds on any lane."""
    if condition.kind == BOOL:
        return condition
    reduction = f"llvm.vector.reduce.or.v{condition.code.lanes.count}i1"
    return condition.code.let(BOOL, f"call i1 @{reduction}({condition.kind} {condition.name})")


def flush_tiny(code: Code) -> Callable[[], None]:
    """From here on, take numbers too small to be normal for zero; gives the statement that ends this.

    What a projection keeps at zero shrinks by 1e-20 a step until it is such a number, which x86 handles slowly.
    """
    if not host.slow_near_zero():
        return lambda: None
    before, now = code.variable("i32", 0), code.variable("i32", 0)
    code.say(f"call void @llvm.x86.sse.stmxcsr(ptr {before.pointer})")
    now.set(code.let("i32", f"or i32 {before.get().name}, {0x8040}"))
    code.say(f"call void @llvm.x86.sse.ldmxcsr(ptr {now.pointer})")
    return lambda: code.say(f"call void @llvm.x86.sse.ldmxcsr(ptr {before.pointer})")
