"""The equations of a network, solved as expressions.

Unknowns with a constant factor in some equation are eliminated first, those in the shortest equations before others:
most of a network is sums and differences. What is left, with factors that modes or states change, is solved by
Householder's triangles, which need no exchange of rows. Of an equation that is not linear, one unknown with a constant
factor may be eliminated, after all others in it are known; what is not linear then is iterated (`network_newton.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.translate.declared.network_newton import Begun, newton
from kompono.translate.symbolic import Vector

Chosen = tuple[tuple[int, int], ...]  # what is eliminated, one after the other: equation and unknown
_CONSIDERED = 0.1  # a factor may be divided by if it is not smaller than this share of the largest in its equation


class Eliminated(NamedTuple):
    """What is left of a system: its equations, the places of their unknowns, and, one after the other, those that were
    eliminated with what they are.
    """

    system: Vector
    places: tuple[int, ...]
    known: tuple[tuple[int, ca.SX], ...]
    chosen: Chosen
    column: Vector  # the unknowns that are left

    @property
    def iterated(self) -> bool:
        """Whether that is not linear."""
        return bool(self.places) and ca.depends_on(ca.jacobian(self.system, self.column), self.column)


class Solved(NamedTuple):
    """Expressions (n) for the unknowns; where they are iterated, whether that ends (1 or 0)."""

    solution: Vector
    done: ca.SX | None


def eliminated(system: Vector, unknowns: Vector, chosen: Chosen | None = None) -> Eliminated:
    """Equations (n) for unknowns (n) without those that are eliminated. Which these are is found here, or was `chosen`
    for the same system with numbers in the place of symbols.
    """
    left, rows = list(range(unknowns.numel())), list(range(system.numel()))
    known: list[tuple[int, ca.SX]] = []
    taken: list[tuple[int, int]] = []
    while rows:
        found = _chosen(system, unknowns, rows, left, None if chosen is None else chosen[len(taken) :])
        if found is None:
            break
        row, place, factor = found
        taken.append((rows[row], left[place]))
        unknown = unknowns[left[place]]
        rest = ca.substitute(system[row], unknown, 0)
        known.append((left[place], -rest / factor))
        others = [k for k in range(len(rows)) if k != row]
        system = ca.substitute(ca.vertcat(ca.SX(0, 1), *[system[k] for k in others]), unknown, known[-1][1])
        rows = [rows[k] for k in others]
        del left[place]
    column = ca.vertcat(ca.SX(0, 1), *[unknowns[k] for k in left])
    return Eliminated(system, tuple(left), tuple(known), tuple(taken), column)


def solve(left: Eliminated, unknowns: Vector, begun: Begun) -> Solved:
    """What makes the whole system (n) zero; where it is iterated, that is `begun` so."""
    values_of: dict[int, ca.SX] = {}
    done: ca.SX | None = None
    if left.iterated:
        values, done = newton(left.system, left.column, begun)
        values_of = dict(zip(left.places, ca.vertsplit(values), strict=True))
    elif left.places:
        factors = ca.jacobian(left.system, left.column)
        values = _linear(factors, ca.substitute(left.system, left.column, 0))
        values_of = dict(zip(left.places, ca.vertsplit(values), strict=True))
    for place, value in reversed(left.known):
        old, new = ca.vertcat(*[unknowns[k] for k in values_of]), ca.vertcat(*values_of.values())
        values_of[place] = ca.substitute(value, old, new) if values_of else value
    return Solved(ca.vertcat(*[values_of[k] for k in range(unknowns.numel())]), done)


def _chosen(
    system: Vector, unknowns: Vector, rows: Sequence[int], left: Sequence[int], chosen: Chosen | None
) -> tuple[int, int, Any] | None:
    """Which of the equations and unknowns that are left is next, and the factor of the one in the other."""
    if chosen is None:
        return _pivot(ca.sparsify(ca.jacobian(system, ca.vertcat(*[unknowns[k] for k in left]))))
    if not chosen:
        return None
    row, place = rows.index(chosen[0][0]), left.index(chosen[0][1])
    return row, place, ca.jacobian(system[row], unknowns[left[place]])


def _linear(factors: ca.SX, constant: Vector) -> Vector:
    return ca.solve(ca.densify(factors), -ca.densify(constant))


def _pivot(factors: ca.SX) -> tuple[int, int, float] | None:
    """An entry to divide by: constant, not small in its row, in the shortest row, ones before others."""
    rows, columns = factors.sparsity().get_triplet()
    entries: Any = factors.nonzeros()
    lengths, crowds = np.bincount(rows, minlength=factors.shape[0]), np.bincount(columns, minlength=factors.shape[1])
    constants = [float(entry) if entry.is_constant() else 0.0 for entry in entries]
    largest = np.zeros(factors.shape[0])
    np.maximum.at(largest, rows, np.abs(constants))
    candidates = [
        ((lengths[row] - 1) * (crowds[column] - 1), abs(abs(value) - 1.0), k)
        for k, (row, column, value) in enumerate(zip(rows, columns, constants, strict=True))
        if value and abs(value) >= _CONSIDERED * largest[row]
    ]
    if not candidates:
        return None
    best = min(candidates)[2]
    return rows[best], columns[best], constants[best]


def dependent(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """If a matrix is singular: how much each column takes part in it, and each row; else None."""
    scaled = np.array(factors, dtype=float)
    rows, columns = np.ones(scaled.shape[0]), np.ones(scaled.shape[1])
    for _ in range(5):  # sizes of volts, pascals and microfarads apart
        for axis, sizes in ((1, rows), (0, columns)):
            largest = np.abs(scaled).max(axis=axis)
            largest = np.sqrt(np.where(largest > 0, largest, 1.0))
            sizes /= largest
            scaled = scaled / (largest[:, None] if axis == 1 else largest[None, :])
    left, values, right = np.linalg.svd(scaled)
    lost = values < 1e-12 * len(values) * max(values[0], 1e-300)
    if not lost.any():
        return None
    return np.abs(right[lost]).max(axis=0) * columns, np.abs(left[:, lost]).max(axis=1) * rows
