"""Several contacts at once through an impact, in two phases (Pfeiffer and Glocker).

In compression no contact goes on closing; in expansion each gives back at least e times its impulse. Friction opposes
the slip at the end of each phase. Newton's law has one phase, with velocities reversed. Stronge's scales all
expansions by one number, so that together they give back e^2 of the work each took in compression.

With friction there may be several answers: a wheel that rolls against a kerb climbs it, or, with much friction, is
wedged between kerb and floor. What rested and parts when the others alone are struck takes no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from kompono.solve.laws.select import select
from kompono.solve.laws.units import Kind, LawProblem, Layout, NoForcesFit, SolvedUnit, UnitChoice, UnitMode

MOST = 8.0  # times restitution: more is not tried to give back work
PARTS = 1e-9  # of the greatest speed of the contacts: slower rests


class Phases:
    """Compression and expansion of several contacts that move one another."""

    def __init__(self, problem: LawProblem, units: Sequence[SolvedUnit], plan: Layout, group: list[int]) -> None:
        self.problem, self.units, self.plan = problem, tuple(units), plan
        self.free = np.zeros(plan.count, dtype=bool)
        self.free[group] = True
        ones = [u for u in group if plan.kinds[u] == Kind.ONE_SIDED]
        self.normals, self.contacts = [plan.rows[u][0] for u in ones], ones
        self.kept = tuple(replace(unit, contact=None) if self.free[k] else unit for k, unit in enumerate(self.units))

    def _solved(
        self, b: np.ndarray, n0: np.ndarray, units: Sequence[SolvedUnit], modes: np.ndarray | None = None,
        free: np.ndarray | None = None,
    ) -> UnitChoice:  # fmt: skip
        """Impulses that leave velocities (m) complementary."""
        count, free = self.plan.count, self.free if free is None else free
        modes = np.where(free, int(UnitMode.HELD), int(UnitMode.OFF)) if modes is None else modes
        start = UnitChoice(modes, np.zeros((count, 2)), np.zeros(len(b)))
        return select(replace(self.problem, b=b, n0=n0), units, start, free)

    def _least(self, b: np.ndarray) -> np.ndarray:
        """Impulses (m) that leave velocities complementary, without contacts that rested and part by themselves."""
        z = self._solved(b, self.problem.n0, self.units).z
        slow = PARTS * float(np.abs(b[self.normals]).max())
        resting = {u: row for u, row in zip(self.contacts, self.normals, strict=True) if b[row] >= -slow}
        if not self.problem.mu.any() or not any(z[row] > 0.0 for row in resting.values()):
            return z
        while resting:
            free = self.free.copy()
            free[[each for unit in resting for each in (unit, *self.plan.frictions[unit])]] = False
            try:
                others = self._solved(b, self.problem.n0, self.units, free=free).z
            except NoForcesFit:
                return z
            after = b + self.problem.A @ others
            pressed = [unit for unit, row in resting.items() if after[row] <= slow]
            if not pressed:
                return others
            for unit in pressed:
                del resting[unit]
        return z

    def squeezed(self) -> np.ndarray:
        """Impulses (m) of compression: no contact goes on closing."""
        return self._least(self.problem.b)

    def reversed(self, e: np.ndarray) -> np.ndarray:
        """Impulses (m) of Newton's law: contacts that closed part with e times their velocity."""
        b = self.problem.b.copy()
        b[self.normals] += e[self.contacts] * np.minimum(b[self.normals], 0.0)
        return self._least(b)

    def expanded(self, squeezed: np.ndarray, e: np.ndarray) -> np.ndarray:
        """Impulses (m) of both phases by Poisson's law: each contact gives back at least e of its impulse."""
        problem, back = self.problem, np.zeros(len(squeezed))
        back[self.normals] = e[self.contacts] * squeezed[self.normals]
        b = problem.b + problem.A @ (squeezed + back)
        modes = np.where(self.free, int(UnitMode.HELD), int(UnitMode.OFF))
        modes[self.contacts] = int(UnitMode.OFF)
        return squeezed + back + self._solved(b, problem.B @ back, self.kept, modes).z

    def energetic(self, squeezed: np.ndarray, e: np.ndarray) -> float:
        """Stronge's law: what to multiply restitution by so that e^2 of the work of compression comes back."""
        problem, at = self.problem, self.normals
        middle = problem.b + problem.A @ squeezed
        taken = -0.5 * (problem.b + middle)[at] * squeezed[at]
        wanted = float((e[self.contacts] ** 2) @ np.maximum(taken, 0.0))

        def missing(share: float) -> float:
            impulses = self.expanded(squeezed, share * e)
            after = problem.b + problem.A @ impulses
            return float(0.5 * (middle + after)[at] @ (impulses - squeezed)[at]) - wanted

        high = 1.0
        while missing(high) < 0.0:
            high *= 2
            if high > MOST:
                return high
        if missing(0.0) >= 0.0:
            return 0.0
        from scipy.optimize import brentq  # half a second that only such impacts need

        return cast(float, brentq(missing, 0.0, high, xtol=1e-14))
