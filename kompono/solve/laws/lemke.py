"""Lemke's method for linear complementarity, and laws in its form with polygonal friction (Stewart and Trinkle).

Unknown are the normal forces of one-sided units, shares of friction along the sides of a polygon (two for a dry row,
eight for a planar pair), and the slip of each friction unit. On velocities an answer always exists and is found; on
accelerations of sliding contacts it may not exist.
"""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from kompono.solve.laws.check import ONE_SIDED, Freedom
from kompono.solve.laws.forces import HELD, OFF, SLIDES, System, UnitStates, reduce
from kompono.solve.laws.shares import first_weights

SIDES = 8  # of the polygon of a planar unit
TINY = 1e-11


def complementary(M: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """x (n) with x >= 0, M x + q >= 0 and x . (M x + q) = 0; None if the method ends on a ray."""
    n = len(q)
    if not n or q.min() >= 0.0:
        return np.zeros(n)
    table = np.hstack([np.eye(n), -M, -np.ones((n, 1)), q[:, None]])
    basis, enter = list(range(n)), 2 * n
    leaving = _lexical(np.arange(n), table, np.ones(n), first=True)
    for _ in range(40 * n + 40):
        out = basis[leaving]
        _pivot(table, leaving, enter)
        basis[leaving] = enter
        if out == 2 * n:
            x = np.zeros(2 * n + 1)
            x[basis] = table[:, -1]
            return np.maximum(x[n : 2 * n], 0.0)
        enter = out + n if out < n else out - n
        column = table[:, enter]
        rows = np.flatnonzero(column > TINY * max(1.0, float(np.abs(column).max())))
        if not len(rows):
            return None
        leaving = _artificial_first(basis, rows, table, column, 2 * n)
    return None


def _pivot(table: np.ndarray, row: int, column: int) -> None:
    table[row] /= table[row, column]
    factor = table[:, column].copy()
    factor[row] = 0.0
    table -= np.outer(factor, table[row])


def _artificial_first(basis: list[int], rows: np.ndarray, table: np.ndarray, column: np.ndarray, last: int) -> int:
    """The row that leaves; the artificial unknown if it may."""
    ratios = table[rows, -1] / column[rows]
    least = ratios.min()
    near = rows[ratios <= least + TINY * max(1.0, abs(least))]
    for row in near:
        if basis[row] == last:
            return int(row)
    return _lexical(near, table, column)


def _lexical(rows: np.ndarray, table: np.ndarray, column: np.ndarray, first: bool = False) -> int:
    """Of several rows the one that is least, compared number by number, so that no basis comes twice."""
    n = len(table)
    for place in [-1, *range(n)]:
        ratios = table[rows, place] / column[rows]
        least = ratios.min()
        rows = rows[ratios <= least + TINY * max(1.0, abs(least))]
        if len(rows) == 1 or (first and place == -1 and least < 0.0 and len(rows) == 1):
            break
    return int(rows[0])


def polygonal(system: System, state: UnitStates, freedom: Freedom) -> UnitStates | None:
    """Modes and directions by Lemke's method, all free units at once; None if it ends on a ray."""
    layout = system.layout
    fixed = state.copy()
    for unit, kind in enumerate(layout.kinds):
        contact = layout.contacts[unit]
        if freedom.free[unit]:
            fixed.modes[unit] = OFF
        elif kind != ONE_SIDED and contact is not None and freedom.free[contact] and any(state.ways[unit]):
            fixed.modes[unit] = SLIDES
    guess = np.zeros(system.size) if state.z is None else state.z
    normals = {unit: _normal(system, unit, guess) for unit in range(layout.count)}
    sliding = [unit for unit, mode in enumerate(fixed.modes) if mode == SLIDES]
    reduced = reduce(system, fixed, sliding, normals, first_weights(system, fixed)[0])
    ones = [u for u, kind in enumerate(layout.kinds) if kind == ONE_SIDED and freedom.free[u]]
    rough = [u for u, kind in enumerate(layout.kinds) if kind != ONE_SIDED and _acts(layout, state, freedom, u)]
    sides = [(unit, side) for unit in rough for side in _sides(len(layout.rows[unit]))]
    x = _answer(system, reduced.offset(), reduced.spread, (ones, rough, sides), normals)
    return None if x is None else _modes(state, ones, rough, sides, x)


def _acts(layout, state: UnitStates, freedom: Freedom, unit: int) -> bool:
    """Whether friction is free, and its contact closed or free."""
    contact = layout.contacts[unit]
    return freedom.free[unit] and (contact is None or freedom.free[contact] or state.modes[contact] == HELD)


def _sides(rows: int) -> list[tuple[float, ...]]:
    if rows == 1:
        return [(1.0,), (-1.0,)]
    return [(cos(2 * pi * k / SIDES), sin(2 * pi * k / SIDES)) for k in range(SIDES)]


def _normal(system: System, unit: int, z: np.ndarray) -> np.ndarray:
    """The direction of the measured reaction; a contact's own normal force is positive."""
    first, last = system.layout.measures[unit]
    if system.layout.linear[unit]:
        return np.ones(1)
    force = system.n0[first:last] + system.B[first:last] @ z
    return force / max(float(np.linalg.norm(force)), 1e-300)


def _answer(system: System, offset: np.ndarray, spread, parts, normals) -> np.ndarray | None:
    """Unknowns: normal forces, shares along sides, slips, all scaled by the mobility of their rows."""
    ones, rough, sides = parts
    rows, count = system.layout.rows, len(ones) + len(sides)
    loads = np.zeros((system.size, count))
    for k, unit in enumerate(ones):
        loads[rows[unit][0], k] = system.scale[rows[unit][0]]
    for k, (unit, side) in enumerate(sides, start=len(ones)):
        for row, part in zip(rows[unit], side, strict=True):
            loads[row, k] = part * system.scale[rows[unit][0]]
    answer = spread(loads)
    n = count + len(rough)
    M, q = np.zeros((n, n)), np.zeros(n)
    M[:count, :count] = loads.T @ (system.A @ answer)
    q[:count] = loads.T @ (system.b + system.A @ offset)
    place = {unit: count + k for k, unit in enumerate(rough)}
    for k, (unit, _) in enumerate(sides, start=len(ones)):
        M[k, place[unit]], M[place[unit], k] = 1.0, -1.0
    for unit in rough:
        first, last = system.layout.measures[unit]
        root, at = system.root[rows[unit][0]], place[unit]
        normal = system.mu[unit] * normals[unit]
        M[at, :count] += root * (normal @ (system.B[first:last] @ answer))
        q[at] = root * (system.limit[unit] + normal @ (system.n0[first:last] + system.B[first:last] @ offset))
    size = float(np.abs(q).max(initial=0.0))
    return complementary(M, q / size) if size > 0.0 else np.zeros(n)


def _modes(state: UnitStates, ones: list[int], rough: list[int], sides: list, x: np.ndarray) -> UnitStates:
    found = state.copy()
    found.z = None
    for k, unit in enumerate(ones):
        found.modes[unit] = HELD if x[k] > TINY else OFF
    for k, unit in enumerate(rough):
        slip = x[len(ones) + len(sides) + k]
        push = np.zeros(2)
        for place, (other, side) in enumerate(sides, start=len(ones)):
            if other == unit:
                push[: len(side)] -= x[place] * np.array(side)
        size = float(np.linalg.norm(push))
        if slip > TINY and size > TINY:
            found.modes[unit], found.ways[unit] = SLIDES, (float(push[0] / size), float(push[1] / size))
        else:
            found.modes[unit] = HELD
    return found
