"""Differentiate expressions in which solvers of networks stand (`declared/network_newton.py`): their results are held.

Behind each of them one step of Newton's is an expression, whose derivative is that of the solution; what the solver
itself would add is zero. Anything else is differentiated as ever.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from kompono.translate.declared.network_newton import solver_of
from kompono.translate.symbolic import Matrix, Vector

_UNARY = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV}


def derived(expression: Vector, derive: Callable[[Vector], Matrix]) -> Matrix:
    """What `derive` makes of an expression, with results of solvers held."""
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(expression))
    whole = ca.Function("whole", [symbols], [ca.densify(expression)])
    if not any(solver_of(inner.name()) for inner in whole.find_functions()):
        return derive(expression)
    written, solved = _rewritten(whole, symbols)
    found = ca.SX(derive(written))
    for stand_in, value in reversed(solved):
        found = ca.substitute(found, stand_in, value)
    return found


def _rewritten(function: ca.Function, symbols: Vector) -> tuple[Vector, list[tuple[Vector, Vector]]]:
    """The same with symbols in the place of what solvers give, and these with what they stand for."""
    nodes, given = function.instructions_sx(), ca.vertsplit(symbols)
    registers: dict[int, ca.SX] = {}
    results: list[ca.SX] = [ca.SX(0)] * function.nnz_out(0)
    solved: list[tuple[Vector, Vector]] = []
    for k in range(function.n_instructions()):
        op, taken, made = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[made[1]] = registers[taken[0]]
        elif op == ca.OP_INPUT:
            registers[made[0]] = given[taken[1]]
        elif op == ca.OP_CONST:
            registers[made[0]] = ca.SX(function.instruction_constant(k))
        elif op == ca.OP_CALL:
            called = nodes[k].which_function()
            values = called.call([ca.vertcat(*[registers[i] for i in taken])], False, True)[0]
            if solver_of(called.name()):
                solved.append((ca.SX.sym("solved", values.numel()), values))
                values = solved[-1][0]
            for number, register in enumerate(made):
                if register >= 0:
                    registers[register] = values[number]
        elif len(taken) == 1 or op in _UNARY:
            registers[made[0]] = ca.SX.unary(op, registers[taken[0]])
        else:
            registers[made[0]] = ca.SX.binary(op, *[registers[i] for i in taken])
    return ca.vertcat(*results), solved
