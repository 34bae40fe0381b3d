"""Equations with a border whose conditions are solved for twice, where bodies are placed one by one.

What conditions need of a light body on a lever is found as a small difference of large mobilities, so the digits of a
first answer are lost in proportion to the square of how different these are. Open models solve once more for what the
first answer leaves of G v_dot + u (`mobility_form.Mobility.refined`). A closed part has to answer before it is told the
motion at its border, so that is done for every motion there: with X y + x what the first answer makes of the unknowns
y of the border, what is left of the conditions is affine in y, and what the second pass makes of it at the border is
added to block and vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kompono.spatial.vectors import symmetric
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import Swept
from kompono.translate.elimination.ported import PortedElimination
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.split import coefficients
from kompono.translate.symbolic import Matrix, Vector


@dataclass(frozen=True)
class RefinedSwept(Swept):
    """Answers, at the border and inside, that meet the conditions as far as these can be evaluated."""

    elimination: PortedElimination

    def answer(self) -> tuple[Matrix, Vector]:
        block, vector = super().answer()
        if not self.keys:
            return block, vector
        y = ca.SX.sym("y", vector.numel())
        change = self._second(super().resolve(y)).answer()[1]
        along = coefficients(change, y)
        return symmetric(block + along), vector + ca.substitute(change, y, ca.SX.zeros(y.numel()))

    def resolve(self, given: Vector) -> Solution:
        first = super().resolve(given)
        more = self._second(first).resolve(ca.SX.zeros(given.numel()))
        call = self.elimination.tracer.call
        return Solution({key: call(lambda a, b: a + b, value, more[key]) for key, value in first.items()})

    def _second(self, solution: Solution) -> Swept:
        """The same equations, plainly, with what a solution leaves of the conditions and nothing else."""
        call, left = self.elimination.tracer.call, dict[Unknown, Vector]()
        for key, columns in self.elimination.conditions.items():
            rest = self.right.bias.get(key, ca.SX(self.elimination.sizes[key], 1))
            for column, block in columns.items():
                rest = call(lambda r, g, a: r + g @ a, rest, block, solution[column])
            left[key] = rest
        right = RightSide(left)
        return Swept(self.elimination, right, self.keys, *self.elimination.forward(right))
