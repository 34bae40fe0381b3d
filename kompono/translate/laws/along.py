"""How forces of laws change along some directions, at fixed modes.

With forces z held, rows and measures are w = b + A z and N = n0 + B z, expressions like any other. A row that slides
has z = -d (mu |N| + limit): what d, mu and limit change is an expression as well, the part `own` of its change. The
rest dz follows from linear equations,

    held: w' + A dz = 0,    slides: dz + d mu n (N' + B dz) = 0,    n = N / |N|

with w' and N' the changes that directions and `own` make together. The native solver has asked the machine for A and B
anyway, and solves them for all directions at once (`compile/law_slope.py`). Transposed, a weight of each force becomes
weights of w' and N', which go back through the same expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from kompono.translate.laws.naming import FIELDS, SLIDES, Sizes, sizes
from kompono.translate.laws.stand_in import make_stand_in
from kompono.translate.symbolic import Matrix, Scalar, Vector

_UNARY = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV}
Push = Callable[[Vector, Matrix | None], Matrix]  # changes of an expression along directions, z changing as given
Pull = Callable[[Vector, Vector], tuple[Vector, Vector]]  # what weights of it are for all that is known before, for z


@dataclass(frozen=True)
class SolvedLaws:
    """A call of the native solver: its arguments, and symbols `z` (rows) for what it gives."""

    solver: ca.Function
    given: Vector
    z: Vector

    def changes(self, push: Push, shares: bool) -> tuple[Matrix, list[tuple[Vector, Vector]]]:
        """dz (rows, directions), and symbols in it with what they stand for; with `shares` NaN where rows share."""
        known, respond, seen, sliding, held = self._parts()
        given = self.given[: known.base, :]
        own = push(sliding, None)
        moved = push(seen, own)
        columns = [k for k in range(moved.shape[1]) if moved[:, k].nnz()]
        changes = ca.SX(known.rows, moved.shape[1])
        if columns:
            purpose = "share" if shares else "slope"
            solver = make_stand_in(respond, known.factor, known.rows, known.measures, purpose, len(columns))
            told = [ca.densify(moved[:, k]) for k in columns]
            found = solver(ca.densify(ca.vertcat(given, self.z, *told)))
            for number, k in enumerate(columns):
                changes[:, k] = found[number * known.rows : (number + 1) * known.rows]
        return own + changes, [held]

    def pulled(self, weights: Vector, pull: Pull, shares: bool) -> tuple[Vector, list[tuple[Vector, Vector]]]:
        """What weights of dz are for all that is known before: the transposed of `changes`."""
        known, respond, seen, sliding, held = self._parts()
        solver = make_stand_in(respond, known.factor, known.rows, known.measures, "bear" if shares else "pull")
        given = self.given[: known.base, :]
        before, on_z = pull(seen, solver(ca.densify(ca.vertcat(given, self.z, weights))))
        return before + pull(sliding, weights + on_z)[0], [held]

    def _parts(self) -> tuple[Sizes, ca.Function, Vector, Vector, tuple[Vector, Vector]]:
        """Sizes and respond; what rows and measures are with forces z, and forces of rows that slide on measures of
        known sizes: symbols with what they stand for.
        """
        known = sizes(self.solver.name())
        assert known is not None
        factor, table = self.given[: known.factor, :], self._table(known)
        respond = next(f for f in self.solver.find_functions() if f.name() == known.respond)
        answer = replayed(respond, ca.vertcat(factor, self.z))
        offsets = ca.vertcat(*[line["offset"] for line in table])
        n0 = self.given[known.base - known.measures : known.base, :]
        measures = n0 + answer[known.rows :, :]
        seen = ca.vertcat(offsets + answer[: known.rows, :], measures)
        sizes_of_n = ca.SX.sym("size", known.rows)
        sliding = ca.vertcat(*[_sliding(line, sizes_of_n[k]) for k, line in enumerate(table)])
        return known, respond, seen, sliding, (sizes_of_n, ca.vertcat(*[_size(line, measures) for line in table]))

    def _table(self, known: Sizes) -> list[dict[str, Scalar]]:
        return [{field: self.given[known.place(k, field)] for field in FIELDS} for k in range(known.rows)]


def _sliding(line: dict[str, Scalar], size: Scalar) -> Scalar:
    """The force of a row that slides on a measure of a size; other rows have none."""
    force = -line["direction"] * (line["mu"] * size + line["limit"])
    return ca.if_else(line["kind"] == SLIDES, force, 0)


def _size(line: dict[str, Scalar], measures: Vector) -> Scalar:
    """|N| of a row, or N itself where it pushes."""
    first, count = (int(float(line[field])) for field in ("first", "count"))
    if count < 0:
        return measures[first]
    return ca.norm_2(measures[first : first + count]) if count else ca.SX(0)


def replayed(
    function: ca.Function, given: Vector, call: Callable[[ca.Function, Vector], Vector] | None = None
) -> Vector:
    """What a function gives, instruction by instruction, as an expression; `call` says what functions give that it
    calls.
    """
    nodes, inputs = function.instructions_sx(), ca.vertsplit(given) if given.numel() else []
    registers: dict[int, ca.SX] = {}
    results: list[ca.SX] = [ca.SX(0)] * function.nnz_out(0)
    for k in range(function.n_instructions()):
        op, taken, made = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[made[1]] = registers[taken[0]]
        elif op == ca.OP_INPUT:
            registers[made[0]] = inputs[taken[1]]
        elif op == ca.OP_CONST:
            registers[made[0]] = ca.SX(function.instruction_constant(k))
        elif op == ca.OP_CALL and call is not None:
            values = call(nodes[k].which_function(), ca.vertcat(*[registers[i] for i in taken]))
            for number, register in enumerate(made):
                if register >= 0:
                    registers[register] = values[number]
        elif len(taken) == 1 or op in _UNARY:
            registers[made[0]] = ca.SX.unary(op, registers[taken[0]])
        else:
            registers[made[0]] = ca.SX.binary(op, *[registers[i] for i in taken])
    return ca.vertcat(ca.SX(0, 1), *results)
