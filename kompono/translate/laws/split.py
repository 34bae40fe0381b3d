"""Cut the part that is linear in some symbols out of an affine expression: what it needs of everything else is worked
out once.

`respond(factor, z)` repeats only what depends on z. All it meets that does not, a number of the factored equations of
motion for the most part, is an entry of the column `factor`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.algorithm import algorithm, operand_counts
from kompono.translate.laws.naming import respond_name, told_name
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.texts import written

_ONCE = {  # operations that are linear, by which of their operands change
    (True,): (ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN),
    (True, True): (ca.OP_ADD, ca.OP_SUB),
    (True, False): (ca.OP_MUL, ca.OP_DIV),
    (False, True): (ca.OP_MUL, ca.OP_IF_ELSE_ZERO),
}


def split(outputs: Vector, z: Vector, feet: int = 0) -> tuple[Vector, ca.Function]:
    """The column of factors, and a function from one column (factor, z) to what outputs change with z, which stays a
    call; the number of `feet` is in its name.
    """
    x = _others(outputs, z)
    whole = ca.Function("whole", [x, z], [ca.densify(outputs)], {"cse": True})
    walk = _Walk(whole, x, z)
    given, asked = ca.vertcat(ca.SX(0, 1), *walk.symbols), ca.SX.sym("z", z.numel())
    made = ca.substitute(ca.vertcat(*walk.results), z, asked) if walk.results else ca.SX(0, 1)
    column = ca.vertcat(given, asked)
    plain = ca.Function("plain", [column], [ca.densify(made)])
    name = hashlib.sha256(written(plain).encode()).hexdigest()[:24]
    values = ca.vertcat(ca.SX(0, 1), *walk.values)
    factor = ca.Function("factor", [x], [values])(x) if walk.values else values
    name = respond_name(z.numel(), name, feet)
    return factor, ca.Function(name, [column], [ca.densify(made)], {"never_inline": True})


def told(outputs: Vector, z: Vector) -> tuple[Vector, ca.Function]:
    """The same with what outputs change with one unit of each z for a factor: of few z that is all there is to know."""
    size, count = outputs.numel(), z.numel()
    factor, asked = ca.SX.sym("f", size * count), ca.SX.sym("z", count)
    name, answer = told_name(count, size - count), ca.reshape(factor, size, count) @ asked
    respond = ca.Function(name, [ca.vertcat(factor, asked)], [ca.densify(answer)], {"never_inline": True})
    return ca.vec(ca.densify(coefficients(outputs, z))), respond


def coefficients(outputs: Vector, z: Vector) -> Matrix:
    """The matrix (outputs, z) of what is affine in z. Differentiating would ask closed functions for derivatives, which
    do not depend on z.
    """
    if not z.numel() or not outputs.numel():
        return ca.SX(outputs.numel(), z.numel())
    x = _others(outputs, z)
    walk = _Walk(ca.Function("whole", [x, z], [ca.densify(outputs)], {"cse": True}), x, z)
    given, values = (ca.vertcat(ca.SX(0, 1), *column) for column in (walk.symbols, walk.values))
    made = ca.Function("made", [given], [ca.jacobian(ca.vertcat(*walk.results), z)])
    return ca.Function("known", [x], [made(values)])(x)


def _others(outputs: Vector, z: Vector) -> Vector:
    """All symbols of an expression but these."""
    known = {symbol.element_hash() for symbol in (ca.vertsplit(z) if z.numel() else ())}
    return ca.vertcat(ca.SX(0, 1), *[s for s in ca.symvar(outputs) if s.element_hash() not in known])


class _Walk:
    """Goes through the instructions of a function once: `values` of its first argument that meet the second, and the
    `symbols` that stand for them in the `results`. What does not meet it is only counted.
    """

    def __init__(self, function: ca.Function, x: Vector, z: Vector) -> None:
        self.symbols: list[ca.SX] = []
        self.values: list[ca.SX] = []
        self.results: list[ca.SX] = [ca.SX(0)] * function.nnz_out(0)
        self._function, self._read = function, algorithm(function)
        self._moving: dict[int, ca.SX] = {}  # instruction -> expression of z and symbols
        self._told: dict[int, tuple[int, int]] = {}  # instruction -> the call it is a result of, and which
        self._known: dict[int, ca.SX] = {}  # instruction that does not change -> what stands for it
        self._same: dict[int, ca.SX] = {}  # the same by what it computes
        self._arguments = [ca.vertsplit(column) if column.numel() else [] for column in (x, z)]
        self._walk()

    @cached_property
    def _nodes(self) -> list[ca.SX]:
        nodes: Any = self._function.instructions_sx()
        return nodes

    def _walk(self) -> None:
        function, read, moving = self._function, self._read, self._moving
        counts = operand_counts(function, read.op)
        maker = [-1] * (function.sz_w() + 1)  # register -> the instruction that made what is in it
        result = function.n_instructions()  # results of calls are numbered behind all instructions
        for k, (op, made, first, second) in enumerate(zip(*(c.tolist() for c in read[:4]), strict=True)):
            if op == ca.OP_OUTPUT:
                self.results[second] = moving.get(maker[first], ca.SX(0))
                continue
            if op == ca.OP_CALL:
                if any(maker[register] in moving for register in function.instruction_input(k)):
                    raise TranslationError("internal: a law acts through a closed function")
                for number, register in enumerate(function.instruction_output(k)):
                    self._told[result], result = (k, number), result + 1
                    maker[register] = result - 1
                continue
            if op == ca.OP_INPUT:
                if first == 1:
                    moving[k] = self._arguments[1][second]
            elif op != ca.OP_CONST:
                given = (maker[first], maker[second]) if counts[op] == 2 else (maker[first],)
                if not moving.keys().isdisjoint(given):
                    moving[k] = self._linear(op, given)
            maker[made] = k

    def _linear(self, op: int, given: Sequence[int]) -> ca.SX:
        """What an operation changes with z: a sum loses what does not change."""
        moving = [k in self._moving for k in given]
        if op in (ca.OP_ADD, ca.OP_SUB) and not all(moving):
            value = self._moving[given[moving.index(True)]]
            return -value if op == ca.OP_SUB and moving[1] else value
        if op not in _ONCE.get(tuple(moving), ()):
            raise TranslationError(f"internal: operation {op} is not linear in the forces of laws")
        operands = [self._operand(k) for k in given]
        return ca.SX.unary(op, *operands) if len(given) == 1 else ca.SX.binary(op, *operands)

    def _operand(self, k: int) -> ca.SX:
        """The value of an instruction, or what stands for it."""
        if k in self._moving:
            return self._moving[k]
        if k not in self._known:
            self._known[k] = self._stand_in(self._still(k))
        return self._known[k]

    def _still(self, k: int) -> ca.SX:
        """The value of an instruction that does not change."""
        if k in self._told:
            call, number = self._told[k]
            return self._nodes[call].get_output(number)
        if self._read.op[k] == ca.OP_INPUT:
            return self._arguments[0][int(self._read.second[k])]
        return ca.SX(float(self._read.constants[k])) if self._read.op[k] == ca.OP_CONST else self._nodes[k]

    def _stand_in(self, value: ca.SX) -> ca.SX:
        if value.is_constant():
            return value
        key = value.element_hash()
        if key not in self._same:
            self._same[key] = ca.SX.sym("f")
            self.symbols.append(self._same[key])
            self.values.append(value)
        return self._same[key]
