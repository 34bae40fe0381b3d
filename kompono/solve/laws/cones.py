"""Newton's method on laws written as projections, for friction cones in space.

Each unit says z = project(z - r w) on what it may be: not negative, within a limit, within a disc, or nothing. The
equations have corners; their one-sided slopes serve Newton's method with a line search (Alart and Curnier), started by
a few sweeps of projections unit by unit.
"""

from __future__ import annotations

import numpy as np

from kompono.solve.laws.check import ONE_SIDED, Freedom
from kompono.solve.laws.forces import HELD, OFF, SLIDES, System, UnitStates

SWEEPS = 20
STEPS = 60
CLOSE = 1e-11  # of the largest multiplier


def projected(system: System, state: UnitStates, freedom: Freedom, z: np.ndarray | None = None) -> UnitStates | None:
    """Modes and directions of a solution of the projected equations; None if it was not reached."""
    task = _Task(system, state, freedom)
    z = np.zeros(system.size) if z is None else z.copy()
    for _ in range(SWEEPS):
        task.sweep(z)
    size = np.inf
    for _ in range(STEPS):
        wrong, slope = task.equations(z)
        size = float(np.linalg.norm(wrong * system.root))
        if size <= CLOSE * max(float(np.linalg.norm(z * system.root)), 1e-300):
            break
        step = _step(slope, wrong, system)
        share = 1.0
        while share > 1e-4:
            left = float(np.linalg.norm(task.equations(z - share * step)[0] * system.root))
            if left < (1.0 - 1e-4 * share) * size:
                break
            share /= 2
        if share <= 1e-4:
            return None
        z = z - share * step
    else:
        return None
    return task.modes(z)


def _step(slope: np.ndarray, wrong: np.ndarray, system: System) -> np.ndarray:
    """Newton's step, the least one where rows are redundant; in scaled multipliers."""
    scaled = system.root[:, None] * slope * system.scale
    step, *_ = np.linalg.lstsq(scaled, wrong * system.root, rcond=1e-12)
    return step * system.scale


class _Task:
    """The laws of one problem as projections; `r` (m) is what a row's motion counts as force."""

    def __init__(self, system: System, state: UnitStates, freedom: Freedom) -> None:
        self.system, self.state, self.freedom = system, state, freedom
        self.r = system.scale**2
        for rows in system.layout.rows:
            self.r[list(rows)] = self.r[list(rows)].min()

    def role(self, unit: int) -> int:
        """What a unit is kept to: its mode if it must keep it, -1 if it may change."""
        contact = self.system.layout.contacts[unit]
        if self.freedom.free[unit]:
            shut = contact is None or self.freedom.free[contact] or self.state.modes[contact] == HELD
            return -1 if shut else OFF
        if contact is not None and self.freedom.free[contact] and any(self.state.ways[unit]):
            return SLIDES
        return self.state.modes[unit]

    def limit(self, unit: int, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The sliding limit of a unit, not negative, and its slope (m)."""
        system = self.system
        first, last = system.layout.measures[unit]
        slope, value, mu = np.zeros(system.size), system.limit[unit], system.mu[unit]
        if last > first and mu:
            force = system.n0[first:last] + system.B[first:last] @ z
            size = float(np.linalg.norm(force))
            normal = np.ones(1) if system.layout.linear[unit] else force / max(size, 1e-300)
            value += mu * float(normal @ force)
            slope = mu * (normal @ system.B[first:last])
        return (value, slope) if value > 0.0 else (0.0, np.zeros(system.size))

    def project(self, unit: int, z: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where a unit's multipliers belong (k), the slopes by point (k, k) and by all multipliers (k, m)."""
        role, k, m = self.role(unit), len(point), self.system.size
        if role == HELD:
            return point, np.eye(k), np.zeros((k, m))
        if role == OFF:
            return np.zeros(k), np.zeros((k, k)), np.zeros((k, m))
        if role == SLIDES:
            way = np.array(self.state.ways[unit][:k])
            limit, slope = self.limit(unit, z)
            return -way * limit, np.zeros((k, k)), -np.outer(way, slope)
        if self.system.layout.kinds[unit] == ONE_SIDED:
            inside = point[0] > 0.0
            return (point, np.eye(1), np.zeros((1, m))) if inside else (np.zeros(1), np.zeros((1, 1)), np.zeros((1, m)))
        limit, slope = self.limit(unit, z)
        size = float(np.linalg.norm(point))
        if size <= limit:
            return point, np.eye(k), np.zeros((k, m))
        way = point / size
        return limit * way, limit / size * (np.eye(k) - np.outer(way, way)), np.outer(way, slope)

    def sweep(self, z: np.ndarray) -> None:
        """Project unit by unit, in place."""
        system = self.system
        for unit, rows in enumerate(system.layout.rows):
            at = list(rows)
            point = z[at] - self.r[at] * (system.b[at] + system.A[at] @ z)
            z[at] = self.project(unit, z, point)[0]

    def equations(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z - project(z - r w), and its slopes (m, m)."""
        system = self.system
        w = system.b + system.A @ z
        slope = np.eye(system.size)
        wrong = z.copy()
        for unit, rows in enumerate(system.layout.rows):
            at = list(rows)
            value, own, others = self.project(unit, z, z[at] - self.r[at] * w[at])
            wrong[at] -= value
            inner = -self.r[at][:, None] * system.A[at]
            inner[range(len(at)), at] += 1.0
            slope[at] -= own @ inner + others
        return wrong, slope

    def modes(self, z: np.ndarray) -> UnitStates:
        """Modes that a solution (m) shows."""
        found, system = self.state.copy(), self.system
        found.z = z
        w = system.b + system.A @ z
        for unit, rows in enumerate(system.layout.rows):
            at = list(rows)
            point = z[at] - self.r[at] * w[at]
            if self.role(unit) != -1:
                found.modes[unit] = self.role(unit)
            elif system.layout.kinds[unit] == ONE_SIDED:
                found.modes[unit] = HELD if point[0] > 0.0 else OFF
            else:
                size, limit = float(np.linalg.norm(point)), self.limit(unit, z)[0]
                found.modes[unit] = HELD if size <= limit else SLIDES
                if size > limit:
                    parts = (-point / size).tolist()
                    found.ways[unit] = (parts[0], parts[1] if len(parts) == 2 else 0.0)
        return found
