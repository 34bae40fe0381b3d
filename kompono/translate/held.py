"""Differentiate expressions in which native solvers stand: their results are held.

Behind each solver of a network (`declared/network_newton.py`) one step of Newton's is an expression, whose derivative
is that of the solution; what the solver itself would add is zero. Forces of laws (`laws/along.py`) change with what is
known, by a native solver again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import casadi as ca

from kompono.translate.laws.along import SolvedLaws, replayed
from kompono.translate.laws.naming import is_solver
from kompono.translate.repeated import solver_of
from kompono.translate.symbolic import Matrix, Vector

Held = list[tuple[Vector, Vector]]  # symbols, and what they stand for, in the order in which they are made


def derived(expression: Vector, derive: Callable[[Vector], Matrix]) -> Matrix:
    """What `derive` makes of an expression, with results of solvers held; forces of laws do not change there."""
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(expression))
    whole = ca.Function("whole", [symbols], [ca.densify(expression)])
    if not any(solver_of(inner.name()) for inner in whole.find_functions()):
        return derive(expression)
    written, solved, _ = _rewritten(whole, symbols)
    return _with(ca.SX(derive(written)), solved)


def along(
    expression: Vector, known: Vector, seeds: Matrix | None = None, shares: bool = False
) -> tuple[Vector, Matrix]:
    """An expression and its changes (its size, k) where `known` changes along seeds (its size, k); without them the
    Jacobian. Forces of laws change with what is known; `shares`: the forces themselves are of interest, which redundant
    rows share, and not only what they do.
    """
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(expression))
    whole = ca.Function("whole", [symbols], [ca.densify(expression)])
    if not any(is_solver(inner.name()) for inner in whole.find_functions()):
        if seeds is None:
            return expression, derived(expression, lambda found: ca.jacobian(found, known))
        return expression, derived(expression, lambda found: ca.jtimes(found, known, seeds))
    written, held, laws = _rewritten(whole, symbols)
    moves, changes = known, ca.SX.eye(known.numel()) if seeds is None else ca.SX(seeds)
    for solved in laws:
        moves, before = ca.vertcat(moves, solved.z), changes
        found, sizes = solved.changes(partial(_pushed_with, moves, before), shares)
        held += sizes
        changes = ca.vertcat(before, found)
    both = _with(ca.horzcat(written, _pushed_with(moves, changes, written)), held)
    return both[:, 0], both[:, 1:]


def pulled(expression: Vector, known: Vector, weights: Vector, shares: bool = False) -> Vector:
    """The transposed derivative of an expression by what is known, times weights (its size); `shares` as of `along`."""
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(expression))
    whole = ca.Function("whole", [symbols], [ca.densify(expression)])
    if not any(is_solver(inner.name()) for inner in whole.find_functions()):
        return derived(expression, lambda found: ca.jtimes(found, known, weights, True))
    written, held, laws = _rewritten(whole, symbols)
    before = [known, *[solved.z for solved in laws]]
    found = ca.densify(ca.jtimes(written, ca.vertcat(*before), weights, True))
    for number, solved in reversed(list(enumerate(laws))):
        earlier, first = ca.vertcat(*before[: number + 1]), found.numel() - solved.z.numel()
        more, sizes = solved.pulled(found[first:], partial(_pulled_with, earlier, solved.z), shares)
        held += sizes
        found = found[:first] + more
    return _with(found, held)


def _pulled_with(earlier: Vector, z: Vector, value: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """What weights of a value are for all that is known before, and for z."""
    found = ca.densify(ca.jtimes(value, ca.vertcat(earlier, z), weights, True))
    return found[: earlier.numel()], found[earlier.numel() :]


def _pushed_with(moves: Vector, changes: Matrix, value: Vector, more: Matrix | None = None) -> Matrix:
    """Changes of a value where `moves` change; the last of these as `more` says, or not at all."""
    missing = moves.numel() - changes.shape[0]
    rest = ca.SX(missing, changes.shape[1]) if more is None else more
    return ca.mtimes(ca.jacobian(value, moves), ca.vertcat(changes, rest))


def _with(found: Matrix, held: Held) -> Matrix:
    for stand_in, value in reversed(held):
        found = ca.substitute(found, stand_in, value)
    return found


def _rewritten(function: ca.Function, symbols: Vector) -> tuple[Vector, Held, list[SolvedLaws]]:
    """The same with symbols in the place of what solvers give, these with what they stand for, and calls of laws."""
    held: Held = []
    laws: list[SolvedLaws] = []

    def call(called: ca.Function, given: Vector) -> Vector:
        values = called.call([given], False, True)[0]
        if solver_of(called.name()) or is_solver(called.name()):
            held.append((ca.SX.sym("solved", values.numel()), values))
            if is_solver(called.name()):
                laws.append(SolvedLaws(called, given, held[-1][0]))
            return held[-1][0]
        return values

    return replayed(function, symbols, call), held, laws
