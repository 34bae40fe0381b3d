"""Exact derivatives of the rate of a model, as routines: d rate / d state, and what a step of Newton's needs.

An implicit stage asks for the state y with y = b + g f(y), g a share of the step. Newton's method solves

    (1 - g J) d = r,    J = df/dy

for the change d of y. Coordinates q hardly depend on each other, q' = N(q) v, so they are eliminated here, as
expressions: with X = (1 - g J_qq)^-1, which is 1 but for quaternions,

    W = g J_zq X,    F = g X J_qz,    S = 1 - g J_zz - g W J_qz,
    S d_z = r_z + W r_q,    d_q = X r_q + F d_z

and only speeds and states of one's own, z, are left to be solved for: half the unknowns, an eighth of the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from kompono.translate.held import along
from kompono.translate.kernels import add_kernel
from kompono.translate.program import IMPLICIT, Call, Program, Routine
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import addressed

SPARSE_FROM, SPARSE = 20, 0.35  # unknowns, and share of S that may not be zero, from which on it is sparse


def symbolic(kernels: Mapping[str, ca.Function], routine: Routine, inputs: Vector) -> list[Vector]:
    """The outputs of a routine as expressions of the column of its inputs."""
    work: dict[int, ca.SX] = dict(enumerate(ca.vertsplit(inputs)))
    for call in routine.calls:
        given = ca.vertcat(*[work[slot] for slot in call.inputs]) if call.inputs else ca.SX(0, 1)
        made = kernels[call.kernel](given)
        work.update(zip(call.outputs, ca.vertsplit(made), strict=True))
    found = [[ca.SX(s) if isinstance(s, float) else work[s] for s in result] for result in routine.result]
    return [ca.vertcat(ca.SX(0, 1), *entries) for entries in found]


def jacobian(whole: Routine, kernels: dict[str, ca.Function]) -> Routine:
    """d rate / d state (column by column) from the inlined derivative; what is always zero is no work."""
    x, rate = _rate(whole, kernels)
    matrix = along(rate, x[1 : 1 + rate.numel()])[1]
    return routine_of("jacobian", whole.inputs, x, {"jacobian": matrix}, kernels)


def implicit(whole: Routine, kernels: dict[str, ca.Function], coordinates: int, moving: Sequence[int]) -> Routine:
    """rate, S (row by row), W (row by row), X and F (column by column) from the inlined derivative.

    The first `coordinates` numbers of the state are q, those at the places `moving` z; others (modes) stay. The last
    of its parameters, behind those of the model, is g [s]. X and F are sparse, and so are S and W where most of S is
    always zero.
    """
    x, rate = _rate(whole, kernels)
    g = ca.SX.sym("g")
    q, z = list(range(coordinates)), list(moving)
    matrix = ca.SX(rate.numel(), rate.numel())
    rate, matrix[:, [*q, *z]] = along(rate, ca.vertcat(x[1 : 1 + len(q)], x[[1 + place for place in z]]))
    turning = _inverse(ca.SX.eye(len(q)) - g * matrix[q, q])
    coupling = ca.mtimes(g * matrix[z, q], turning)
    following = ca.mtimes(turning, g * matrix[q, z])
    square = ca.SX.eye(len(z)) - g * matrix[z, z] - ca.mtimes(coupling, g * matrix[q, z])
    *most, (label, size) = whole.inputs
    sparse = len(z) >= SPARSE_FROM and square.nnz() < SPARSE * square.numel()
    outputs: dict[str, Matrix] = {"rate": rate, "square": square.T, "coupling": coupling.T}
    entries: list[tuple[int, ...]] = [(), (), ()]
    for k, name in enumerate(("square", "coupling") if sparse else ()):
        outputs[name], entries[k + 1] = _compact(outputs[name])
    for name, matrix_there in (("turning", turning), ("following", following)):
        outputs[name], places = _compact(matrix_there)
        entries.append(places)
    routine = routine_of(IMPLICIT, (*most, (label, size + 1)), ca.vertcat(x, g), outputs, kernels)
    return replace(routine, entries=tuple(entries))


def _compact(matrix: Matrix) -> tuple[Vector, tuple[int, ...]]:
    """What of a matrix is not always zero, column by column, and where it lies there."""
    rows, columns = matrix.sparsity().get_triplet()
    values: list[Any] = matrix.nonzeros()
    kept = [k for k, value in enumerate(values) if not value.is_zero()]
    places = tuple(columns[k] * matrix.shape[0] + rows[k] for k in kept)
    return ca.vertcat(ca.SX(0, 1), *[values[k] for k in kept]), places


def moving_places(program: Program) -> list[int]:
    """Where speeds and states of one's own are in the state."""
    first = len(program.coordinates)
    last = first + len(program.speeds) + len(program.modes)
    return [*range(first, first + len(program.speeds)), *range(last, last + len(program.states))]


def _rate(whole: Routine, kernels: Mapping[str, ca.Function]) -> tuple[Vector, Vector]:
    """The column of inputs of a derivative, and the rate as an expression of it."""
    x = ca.SX.sym("x", sum(size for _, size in whole.inputs))
    return x, symbolic(kernels, whole, x)[0]


def _inverse(matrix: Matrix) -> Matrix:
    """The inverse of a sparse matrix near 1, without a search for pivots; entries that are zero stay so."""
    size = matrix.shape[0]
    rows: list[dict[int, ca.SX]] = [{} for _ in range(size)]
    users: list[set[int]] = [set() for _ in range(size)]  # rows that have an entry in a column
    values: list[Any] = matrix.nonzeros()
    for i, j, value in zip(*matrix.sparsity().get_triplet(), values, strict=True):
        if not value.is_zero():
            rows[i][j] = value
            users[j].add(i)
    found = [{i: ca.SX(1)} for i in range(size)]
    for k in range(size):
        pivot = rows[k][k]
        for held in (rows, found):
            held[k] = {j: value / pivot for j, value in held[k].items()} if not pivot.is_one() else held[k]
        for i in sorted(users[k]):
            factor = rows[i].get(k) if i != k else None
            if factor is None:
                continue
            for j in rows[k]:
                users[j].add(i)
            for held in (rows, found):
                for j, value in held[k].items():
                    held[i][j] = held[i].get(j, 0) - factor * value
            del rows[i][k]
    result = ca.SX(size, size)
    for i, row in enumerate(found):
        for j, value in row.items():
            result[i, j] = value
    return result


def routine_of(
    name: str,
    inputs: tuple[tuple[str, int], ...],
    x: Vector,
    outputs: Mapping[str, Matrix],
    kernels: dict[str, ca.Function],
) -> Routine:
    """A routine of one call, whose constant results are known to be so."""
    first = x.numel()
    results, computed = addressed(outputs.values(), first)
    calls: tuple[Call, ...] = ()
    if computed:
        kernel = add_kernel(kernels, x, ca.cse(ca.vertcat(*computed)))
        calls = (Call(kernel, tuple(range(first)), tuple(range(first, first + len(computed))), name),)
    sizes = tuple((label, len(row)) for label, row in zip(outputs, results, strict=True))
    return Routine(name, inputs, sizes, calls, tuple(results), first + len(computed))
