"""What is wrong with modes: which rows pull or sink in, which friction exceeds its limit or pushes along with slip.

Tolerances are relative: rounding in a row is measured by the terms that make it up, and a little by the largest row of
the problem, both scaled by the row's own mobility, so that forces and torques, light and heavy bodies compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from kompono.solve.laws.forces import HELD, OFF, SLIDES, System, UnitStates
from kompono.solve.laws.units import Kind

ROUNDING = 1e-9  # of the terms of a row
ELSEWHERE = 1e-13  # of the largest row of the problem
UNHELD = 1e-6  # of the terms of a row: a held row that moves more is not held
ONE_SIDED = int(Kind.ONE_SIDED)


@dataclass(frozen=True)
class Freedom:
    """Which units may change (units), by truth value; modes that are not to be chosen."""

    free: Sequence[bool]
    excluded: Mapping[int, int]

    def allows(self, unit: int, mode: int) -> bool:
        """Whether a unit may have this mode."""
        return self.excluded.get(unit) != mode


@dataclass(frozen=True)
class Flaw:
    """A unit that does not fit, by how much (1: all of it), and what it should be; mode None: no remedy."""

    size: float
    unit: int
    mode: int | None
    way: tuple[float, float] = (0.0, 0.0)


def flaws(system: System, state: UnitStates, z: np.ndarray, freedom: Freedom) -> list[Flaw]:
    """All that is wrong with these modes and multipliers (m)."""
    look = _looked(system, state, z, freedom)
    found = []
    for unit, kind in enumerate(system.layout.kinds):
        flaw = look.one_sided(unit) if kind == ONE_SIDED else look.friction(unit)
        if flaw is not None:
            found.append(flaw)
    return found


def limited(
    system: System, state: UnitStates, z: np.ndarray, freedom: Freedom, share: float
) -> dict[int, tuple[float, float]]:
    """Units whose friction sticks with the most there is, but for a `share` of it, or must not stick any more, and the
    way against it.
    """
    look, found = _looked(system, state, z, freedom), {}
    for unit, rows in enumerate(system.layout.rows):
        if system.layout.kinds[unit] != ONE_SIDED and state.modes[unit] == HELD and freedom.free[unit]:
            force, limit = hypot(*(look.z[row] for row in rows)), look.static_limit(unit)
            if force > 0.0 and (abs(force - limit) <= share * limit or not freedom.allows(unit, HELD)):
                found[unit] = (-look.z[rows[0]] / force, -look.z[rows[1]] / force if len(rows) == 2 else 0.0)
    return found


def _looked(system: System, state: UnitStates, z: np.ndarray, freedom: Freedom) -> _Look:
    z_abs = np.abs(z)
    w = system.b + system.A @ z
    reach = np.abs(system.b) + np.abs(system.A) @ z_abs
    overall = float((reach * system.scale).max(initial=0.0)) + float((z_abs * system.root).max(initial=0.0))
    most = overall + float((_limits(system) * system.root).max(initial=0.0))
    return _Look(system, state, freedom, z.tolist(), w.tolist(), reach.tolist(), overall, most)


def _limits(system: System) -> np.ndarray:
    """Forces (rows) that friction could bear."""
    found, measured = np.zeros(len(system.b)), float(np.abs(system.n0).max(initial=0.0))
    for unit, rows in enumerate(system.layout.rows):
        if system.layout.kinds[unit] != ONE_SIDED:
            found[list(rows)] = system.limit_static[unit] + system.mu_static[unit] * measured
    return found


@dataclass
class _Look:
    """Multipliers, motion and the sizes of its terms, per row, as lists; `overall` is the largest term, `most` what it
    could be with all friction at its limit.
    """

    system: System
    state: UnitStates
    freedom: Freedom
    z: list[float]
    w: list[float]
    reach: list[float]
    overall: float
    most: float

    def unheld(self, row: int, size: float, tolerance: float) -> bool:
        """Whether a row that shall be held moves: by more than rounding, also of what friction could do where there is
        next to nothing to hold.
        """
        return abs(self.w[row]) > tolerance + UNHELD * size + ELSEWHERE * float(self.system.root[row]) * self.most

    def sizes(self, row: int) -> tuple[float, float, float]:
        """The size of a row's motion, the tolerance for it, and its mobility."""
        root = float(self.system.root[row])
        return self.reach[row], ROUNDING * self.reach[row] + ELSEWHERE * root * self.overall, root * root

    def one_sided(self, unit: int) -> Flaw | None:
        """Closed ones must push, open ones must not sink in."""
        row = self.system.layout.rows[unit][0]
        size, tolerance, mobility = self.sizes(row)
        if self.state.modes[unit] == HELD:
            if self.unheld(row, size, tolerance) and not self.state.torn:
                return Flaw(1.0, unit, None)
            wrong, other = -self.z[row] * mobility, OFF
        else:
            wrong, other = -self.w[row], HELD
        if wrong <= tolerance or not self.freedom.free[unit]:
            return None
        return Flaw(wrong / (size + tolerance), unit, other if self.freedom.allows(unit, other) else None)

    def friction(self, unit: int) -> Flaw | None:
        """Sticking friction keeps to its static limit, sliding friction at rest must be overcome."""
        mode, contact = self.state.modes[unit], self.system.layout.contacts[unit]
        if mode == OFF or not self.freedom.free[unit]:
            return None
        pulled = contact is not None and self.z[self.system.layout.rows[contact][0]] < 0.0
        if mode == HELD:
            return None if pulled and self.state.torn else self._sticking(unit)
        return None if pulled else self._sliding(unit)

    def _sticking(self, unit: int) -> Flaw | None:
        rows = self.system.layout.rows[unit]
        size, tolerance, mobility = self.sizes(rows[0])
        if len(rows) == 2:
            other = self.sizes(rows[1])
            size, tolerance, mobility = max(size, other[0]), max(tolerance, other[1]), max(mobility, other[2])
        if not self.state.torn and any(self.unheld(row, size, tolerance) for row in rows):
            return Flaw(1.0, unit, None)
        force = hypot(*(self.z[row] for row in rows))
        limit = self.static_limit(unit)
        wrong = (force - limit) * mobility
        if not force or wrong <= tolerance + ROUNDING * limit * mobility:  # a limit below zero is the contact's flaw
            return None
        way = (-self.z[rows[0]] / force, -self.z[rows[1]] / force if len(rows) == 2 else 0.0)
        allowed = self.freedom.allows(unit, SLIDES)
        return Flaw(wrong / (size + tolerance), unit, SLIDES if allowed else None, way)

    def _sliding(self, unit: int) -> Flaw | None:
        rows, way = self.system.layout.rows[unit], self.state.ways[unit]
        along = sum(part * self.w[row] for part, row in zip(way, rows, strict=False))
        size, tolerance, _ = self.sizes(rows[0])
        if len(rows) == 2:
            other = self.sizes(rows[1])
            size, tolerance = max(size, other[0]), max(tolerance, other[1])
        if -along <= tolerance:
            return None
        if self.freedom.allows(unit, HELD):
            return Flaw(-along / (size + tolerance), unit, HELD)
        back = (-way[0], -way[1])
        return Flaw(-along / (size + tolerance), unit, SLIDES, back)

    def static_limit(self, unit: int) -> float:
        """The limit that sticking friction must not exceed."""
        system = self.system
        first, last = system.layout.measures[unit]
        limit, mu = system.limit_static[unit], system.mu_static[unit]
        if last == first or not mu:
            return limit
        forces = [
            float(system.n0[k]) + sum(a * b for a, b in zip(system.B[k].tolist(), self.z, strict=True))
            for k in range(first, last)
        ]
        return limit + mu * (forces[0] if system.layout.linear[unit] else hypot(*forces))
