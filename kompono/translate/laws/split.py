"""Cut the part that is linear in some symbols out of an affine expression: what it needs of everything else is worked
out once.

`respond(factor, z)` repeats only what depends on z. All it meets that does not, a number of the factored equations of
motion for the most part, is an entry of the column `factor`.
"""

from __future__ import annotations

import hashlib

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.symbolic import Matrix, Vector

_ONCE = {  # operations that are linear, by which of their operands change
    (True,): (ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN),
    (True, True): (ca.OP_ADD, ca.OP_SUB),
    (True, False): (ca.OP_MUL, ca.OP_DIV),
    (False, True): (ca.OP_MUL, ca.OP_IF_ELSE_ZERO),
}


def split(outputs: Vector, z: Vector) -> tuple[Vector, ca.Function]:
    """The column of factors, and a function from one column (factor, z) to what outputs change with z, which stays a
    call.
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


def coefficients(outputs: Vector, z: Vector) -> Matrix:
    """The matrix (outputs, z) of what is affine in z. Differentiating would ask closed functions for derivatives, which
    do not depend on z.
    """
    if not z.numel() or not outputs.numel():
        return ca.SX(outputs.numel(), z.numel())
    x = ca.vertcat(ca.SX(0, 1), *[symbol for symbol in ca.symvar(outputs) if not _among(symbol, z)])
    walk = _Walk(ca.Function("whole", [x, z], [ca.densify(outputs)], {"cse": True}), x, z)
    given, values = (ca.vertcat(ca.SX(0, 1), *column) for column in (walk.symbols, walk.values))
    made = ca.Function("made", [given], [ca.jacobian(ca.vertcat(*walk.results), z)])
    return ca.Function("known", [x], [made(values)])(x)


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

    def _linear(self, op: int, given: list[int]) -> ca.SX:
        """What an operation changes with z: a sum loses what does not change."""
        moving = [register in self.moving for register in given]
        if op in (ca.OP_ADD, ca.OP_SUB) and not all(moving):
            value = self.moving[given[moving.index(True)]]
            return -value if op == ca.OP_SUB and moving[1] else value
        if op not in _ONCE.get(tuple(moving), ()):
            raise TranslationError(f"internal: operation {op} is not linear in the forces of laws")
        operands = [self._operand(register) for register in given]
        return ca.SX.unary(op, *operands) if len(given) == 1 else ca.SX.binary(op, *operands)

    def _called(self, call: ca.SX, given: list[int], made: list[int]) -> None:
        """Results of a closed function; what it is told does not depend on z."""
        if any(register in self.moving for register in given):
            raise TranslationError("internal: a law acts through a closed function")
        for number, register in enumerate(made):
            if register >= 0:
                self.moving.pop(register, None)
                self.still[register] = call.get_output(number)

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
