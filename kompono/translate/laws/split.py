"""Cut the linear part of some symbols out of an expression: what it needs of everything else is worked out once.

`respond(factor, z)` repeats only what depends on z. All it meets that does not, a number of the factored equations of
motion for the most part, is an entry of the column `factor`. What does not depend on z is left out. Closed functions
may be among everything else: nothing is differentiated, which they could not be.
"""

from __future__ import annotations

import hashlib

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.symbolic import Vector

_SUMS = (ca.OP_ADD, ca.OP_SUB)
_SCALES = (ca.OP_ASSIGN, ca.OP_NEG, ca.OP_TWICE)
_PRODUCTS = ((ca.OP_DIV, [True, False]), (ca.OP_IF_ELSE_ZERO, [False, True]))


def split(outputs: Vector, z: Vector) -> tuple[Vector, ca.Function]:
    """The column of factors, and a function from one column (factor, z) to what the outputs, which are linear in z but
    for what does not depend on it, have of z; it stays a call.
    """
    others = [symbol for symbol in ca.symvar(outputs) if not _among(symbol, z)]
    x = ca.vertcat(ca.SX(0, 1), *others)
    whole = ca.Function("whole", [x, z], [ca.densify(outputs)], {"cse": True})
    walk = _Walk(whole, x, z)
    given, asked = ca.vertcat(ca.SX(0, 1), *walk.symbols), ca.SX.sym("z", z.numel())
    made = ca.substitute(ca.vertcat(*walk.results), z, asked) if walk.results else ca.SX(0, 1)
    column = ca.vertcat(given, asked)
    plain = ca.Function("plain", [column], [ca.densify(made)])
    name = hashlib.sha256(plain.serialize().encode()).hexdigest()[:24]
    values = ca.vertcat(ca.SX(0, 1), *walk.values)
    factor = ca.Function("factor", [x], [values])(x) if walk.values else values
    return factor, ca.Function(f"respond_{name}", [column], [ca.densify(made)], {"never_inline": True})


def _among(symbol: ca.SX, column: Vector) -> bool:
    return any(symbol.element_hash() == other.element_hash() for other in ca.vertsplit(column))


class _Walk:
    """Goes through the instructions of a function once: `values` of its first argument that meet the second, and the
    `symbols` that stand for them in the `results`.
    """

    def __init__(self, function: ca.Function, x: Vector, z: Vector) -> None:
        self.nodes = function.instructions_sx()
        self.moving: dict[int, ca.SX] = {}  # register -> expression of z and symbols
        self.still: dict[int, ca.SX] = {}  # register -> expression of x alone
        self.symbols: list[ca.SX] = []
        self.values: list[ca.SX] = []
        self.results: list[ca.SX] = [ca.SX(0)] * function.nnz_out(0)
        self._known: dict[int, ca.SX] = {}
        self._arguments = [ca.vertsplit(column) if column.numel() else [] for column in (x, z)]
        for k in range(function.n_instructions()):
            self._step(function, k)

    def _step(self, function: ca.Function, k: int) -> None:
        op, given, made = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_CALL:
            self._called(self.nodes[k], given, made)
            return
        if op == ca.OP_OUTPUT:
            self.results[made[1]] = self.moving.get(given[0], ca.SX(0))
            return
        moves = False
        if op == ca.OP_INPUT:
            value, moves = self._arguments[given[0]][given[1]], given[0] == 1
        elif op == ca.OP_CONST:
            value = ca.SX(function.instruction_constant(k))
        elif any(register in self.moving for register in given):
            value, moves = self._linear(op, given), True
        else:
            value = self.nodes[k]
        for registers in (self.moving, self.still):
            registers.pop(made[0], None)
        (self.moving if moves else self.still)[made[0]] = value

    def _called(self, call: ca.SX, given: list[int], made: list[int]) -> None:
        """Results of a closed function; what it is told does not depend on z."""
        if any(register in self.moving for register in given):
            raise TranslationError("internal: a law acts through a closed function")
        for number, register in enumerate(made):
            if register >= 0:
                self.moving.pop(register, None)
                self.still[register] = call.get_output(number)

    def _linear(self, op: int, given: list[int]) -> ca.SX:
        """What an instruction that meets z makes of it."""
        moving = [register in self.moving for register in given]
        if op in _SUMS:
            parts = [self.moving.get(register, ca.SX(0)) for register in given]
            return parts[0] + parts[1] if op == ca.OP_ADD else parts[0] - parts[1]
        if op in _SCALES:
            return ca.SX.unary(op, self.moving[given[0]])
        if (op == ca.OP_MUL and not all(moving)) or (op, moving) in _PRODUCTS:
            return ca.SX.binary(op, *[self._operand(register) for register in given])
        raise TranslationError("internal: what a law does is not linear in its forces")

    def _operand(self, register: int) -> ca.SX:
        if register in self.moving:
            return self.moving[register]
        value = self.still[register]
        if value.is_constant():
            return value
        key = value.element_hash()
        if key not in self._known:
            self._known[key] = ca.SX.sym("f")
            self.symbols.append(self._known[key])
            self.values.append(value)
        return self._known[key]
