"""One contact with friction of joints through an impact: velocities followed along the normal impulse.

As `stroke`, with more friction than that of the contact: while the normal impulse grows by one, forces of friction are
those of a contact that pushes with one and nothing else: what slips takes mu times the growth of its reaction against
its slip, what does not slip is held if it can be (`select`). So velocities are straight until a slip stops, and
where the impulse ends is a matter of the law of restitution.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from kompono.solve.laws.select import select
from kompono.solve.laws.units import Kind, LawProblem, Layout, SolvedUnit, UnitChoice, UnitMode

STILL = 1e-12  # of the largest velocity: a slip below this has stopped
PIECES = 60


class Strokes:
    """The impact of the only contact of a group."""

    def __init__(self, problem: LawProblem, units: list[SolvedUnit], plan: Layout, group: list[int]) -> None:
        self.problem, self.plan = problem, plan
        (self.contact,) = [u for u in group if plan.kinds[u] == Kind.ONE_SIDED]
        self.row = plan.rows[self.contact][0]
        self.frictions = [u for u in group if u != self.contact]
        self.units = [replace(unit, contact=None) for unit in units]
        self.growing = np.zeros(len(problem.b))
        self.growing[self.row] = 1.0
        self.size = float(np.abs(problem.b).max()) * STILL

    def impulses(self, e: float, law: str) -> np.ndarray:
        """Impulses (m) for a restitution."""
        z, w = np.zeros(len(self.problem.b)), self.problem.b.copy()
        squeezed = taken = given = 0.0
        closing = True
        for _ in range(PIECES):
            growth = self.growing + self._friction(w)
            slope = self.problem.A @ growth
            length = self._until_slip_stops(w, slope)
            if closing:
                end = -w[self.row] / slope[self.row] if slope[self.row] > 0.0 else np.inf
            else:
                end = self._end(law, e, squeezed, z[self.row], w[self.row], slope[self.row], taken, given)
            step = min(length, end)
            if not np.isfinite(step):
                return z
            work = step * (w[self.row] + slope[self.row] * step / 2)
            taken, given = (taken - work, given) if closing else (taken, given + work)
            z, w = z + step * growth, w + step * slope
            if end <= length:
                if not closing:
                    return z
                closing, squeezed = False, z[self.row]
        return z

    def _end(
        self, law: str, e: float, squeezed: float, p: float, speed: float, slope: float, taken: float, given: float
    ) -> float:
        """How much more impulse the law of restitution gives, if nothing changes before."""
        if law == "poisson":
            return max((1.0 + e) * squeezed - p, 0.0)
        if law == "newton":
            return max(-e * self.problem.b[self.row] - speed, 0.0) / slope if slope > 0.0 else np.inf
        missing = max(e**2 * taken - given, 0.0)
        root = sqrt(max(speed**2 + 2.0 * slope * missing, 0.0))
        return 2.0 * missing / (speed + root) if speed + root > 0.0 else 0.0

    def _slips(self, w: np.ndarray) -> dict[int, np.ndarray]:
        """Slip speeds of friction that slides, by unit."""
        found = {u: w[list(self.plan.rows[u])] for u in self.frictions}
        return {u: slip for u, slip in found.items() if float(np.linalg.norm(slip)) > self.size}

    def _friction(self, w: np.ndarray) -> np.ndarray:
        """Forces of friction (m) while the normal force is one."""
        slips, count = self._slips(w), self.plan.count
        modes, ways, free = np.zeros(count, dtype=int), np.zeros((count, 2)), np.zeros(count, dtype=bool)
        for u in self.frictions:
            modes[u], free[u] = (UnitMode.SLIDES, False) if u in slips else (UnitMode.HELD, True)
            if u in slips:
                ways[u, : len(slips[u])] = slips[u] / np.linalg.norm(slips[u])
        pushed = replace(
            self.problem, b=self.problem.A @ self.growing, n0=self.problem.n0 + self.problem.B @ self.growing
        )
        return select(pushed, self.units, UnitChoice(modes, ways, np.zeros(len(w))), free).z

    def _until_slip_stops(self, w: np.ndarray, slope: np.ndarray) -> float:
        """The impulse after which the first slip along a line stops; slip in a plane is followed in small pieces."""
        lengths = [np.inf]
        for u, slip in self._slips(w).items():
            rate = slope[list(self.plan.rows[u])]
            along = float(slip @ rate)
            if along < 0.0:
                lengths.append(float(slip @ slip) / -along)
        return min(lengths)
