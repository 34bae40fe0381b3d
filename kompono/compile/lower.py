"""Lower a CasADi SX function to LLVM instructions.

An SX function is already a list of scalar instructions, so lowering is one line of text per instruction: virtual
registers become single assignments. Text beats llvmlite's IR builder by an order of magnitude in time, which matters
because models have 10^4 to 10^5 instructions. Where the inputs come from and where the outputs go is the caller's
business (`read`, `write`), so the same body serves a routine that works on its own arguments and a shared kernel that
works on slots. Arithmetic carries `contract` (fused multiply-add allowed) and no other fast-math flag.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

import casadi as ca

from kompono.errors import CompileError

_ARITHMETIC = {
    ca.OP_ADD: "fadd contract double {0}, {1}",
    ca.OP_SUB: "fsub contract double {0}, {1}",
    ca.OP_MUL: "fmul contract double {0}, {1}",
    ca.OP_DIV: "fdiv contract double {0}, {1}",
    ca.OP_NEG: "fneg contract double {0}",
    ca.OP_SQ: "fmul contract double {0}, {0}",
    ca.OP_TWICE: "fadd contract double {0}, {0}",
    ca.OP_INV: "fdiv contract double 1.0, {0}",
}
_CALLS = {
    ca.OP_SIN: "llvm.sin.f64",
    ca.OP_COS: "llvm.cos.f64",
    ca.OP_EXP: "llvm.exp.f64",
    ca.OP_LOG: "llvm.log.f64",
    ca.OP_SQRT: "llvm.sqrt.f64",
    ca.OP_FABS: "llvm.fabs.f64",
    ca.OP_FLOOR: "llvm.floor.f64",
    ca.OP_CEIL: "llvm.ceil.f64",
    ca.OP_POW: "llvm.pow.f64",
    ca.OP_CONSTPOW: "llvm.pow.f64",
    ca.OP_COPYSIGN: "llvm.copysign.f64",
    ca.OP_FMIN: "llvm.minnum.f64",
    ca.OP_FMAX: "llvm.maxnum.f64",
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
_BINARY = {
    ca.OP_POW, ca.OP_CONSTPOW, ca.OP_COPYSIGN, ca.OP_FMIN, ca.OP_FMAX, ca.OP_ATAN2, ca.OP_HYPOT, ca.OP_FMOD,
    ca.OP_REMAINDER,
}  # fmt: skip
_NAMES = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}


def declarations() -> str:
    """Declarations of every function a lowered body may call."""
    lines = []
    for op, name in _CALLS.items():
        arguments = "double, double" if op in _BINARY else "double"
        # memory(none) lets LLVM merge equal calls and drop unused ones; errno is nobody's concern
        lines.append(f"declare double @{name}({arguments}) nounwind willreturn memory(none)")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def constant(value: float) -> str:
    """The exact LLVM spelling of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def check_shape(name: str, function: ca.Function) -> None:
    """A kernel has one dense column in, one dense column out, and is made of scalars."""
    if function.class_name() != "SXFunction":
        raise CompileError(f"kernel {name} is a {function.class_name()}, only SX functions can be lowered.")
    if function.n_in() != 1 or function.n_out() != 1:
        raise CompileError(f"kernel {name} has {function.n_in()} inputs and {function.n_out()} outputs, not 1 and 1.")
    if not (function.sparsity_in(0).is_dense() and function.sparsity_out(0).is_dense()):
        raise CompileError(f"kernel {name} has structural zeros in its input or output.", fix="Use ca.densify.")


class _Body:
    """The instructions of one function: register -> value, and the truth value behind a comparison's 0 or 1."""

    def __init__(self, lines: list[str], prefix: str) -> None:
        self.lines = lines
        self.prefix = prefix
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
        return self.truths.get(value) or self.let(f"fcmp une double {value}, 0.0")

    def number(self, truth: str) -> str:
        """A truth value as 1.0 or 0.0."""
        value = self.let(f"uitofp i1 {truth} to double")
        self.truths[value] = truth
        return value

    def operate(self, op: int, values: Sequence[str]) -> str:
        """The value of one SX operation."""
        if op in _CALLS:
            arguments = ", ".join(f"double {v}" for v in (values if op in _BINARY else values[:1]))
            return self.let(f"call contract double @{_CALLS[op]}({arguments})")
        if op in _COMPARISONS:
            return self.number(self.let(f"fcmp {_COMPARISONS[op]} double {values[0]}, {values[1]}"))
        if op in _LOGIC:
            return self.number(self.let(f"{_LOGIC[op]} i1 {self.truth(values[0])}, {self.truth(values[1])}"))
        if op == ca.OP_NOT:
            return self.number(self.let(f"xor i1 {self.truth(values[0])}, true"))
        if op == ca.OP_IF_ELSE_ZERO:
            return self.let(f"select i1 {self.truth(values[0])}, double {values[1]}, double 0.0")
        if op == ca.OP_SIGN:
            return self.sign(values[0])
        if op in (ca.OP_ASSIGN, ca.OP_LIFT):
            return values[0]
        raise CompileError(f"operation {_NAMES.get(op, op)} cannot be lowered to native code.")

    def sign(self, x: str) -> str:
        """-1, 1, or x itself when it is zero or NaN."""
        positive = self.let(f"fcmp ogt double {x}, 0.0")
        negative = self.let(f"fcmp olt double {x}, 0.0")
        upper = self.let(f"select i1 {positive}, double 1.0, double {x}")
        return self.let(f"select i1 {negative}, double -1.0, double {upper}")


def lower(
    function: ca.Function,
    lines: list[str],
    read: Callable[[int], str],
    write: Callable[[int, str], Iterable[str]],
    prefix: str = "v",
) -> None:
    """Append the instructions of `function` to `lines`.

    `read(i)` appends what it needs and names the value of input i; `write(j, value)` gives the lines that keep
    output j. `prefix` keeps the names of several bodies in one function apart.
    """
    body = _Body(lines, prefix)
    registers: list[str] = [""] * (function.sz_w() + 1)
    inputs: dict[int, str] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op == ca.OP_OUTPUT:
            lines.extend(write(function.instruction_output(k)[1], registers[function.instruction_input(k)[0]]))
            continue
        target = function.instruction_output(k)[0]
        if op == ca.OP_CONST:
            registers[target] = constant(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            index = function.instruction_input(k)[1]
            if index not in inputs:
                inputs[index] = read(index)
            registers[target] = inputs[index]
        else:
            values = [registers[i] for i in function.instruction_input(k)]
            template = _ARITHMETIC.get(op)
            registers[target] = body.let(template.format(*values)) if template else body.operate(op, values)
