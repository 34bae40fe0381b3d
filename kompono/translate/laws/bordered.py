"""Laws of a compartment with closed parts in it, or of the inside of one: their forces follow from its border.

With the unknowns y of the border, rows and what is left there are affine in y and in the forces z of the laws,

    w = b + C y + A z,      left = H y + p + V z,

and at fixed modes z = K y + k. So the answer of a part keeps its form: H + V K and p + V k. It stays symmetric as long
as no force depends on another one; friction by mu times a reaction does, and is for the outermost compartment alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from kompono.spatial.vectors import symmetric
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import Swept, sweep
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.acting import pushes, row_accelerations
from kompono.translate.laws.answer import linear_part, solved
from kompono.translate.laws.by_joints import LawClosures
from kompono.translate.laws.rows import LawRows
from kompono.translate.symbolic import Matrix, Vector


@dataclass(frozen=True)
class LawSwept:
    """Swept equations with laws acting; `table` gives the numbers of the rows for their b (and without limits), `bias`
    is b but for what accelerations give.
    """

    swept: Swept
    rows: LawRows
    closures: LawClosures
    table: Callable[..., Vector]
    bias: Vector

    def answer(self) -> tuple[Matrix, Vector]:
        """Block and vector at the border."""
        block, vector = self.swept.answer()
        size = vector.numel()
        if not size:
            return block, vector
        y, z = ca.SX.sym("y", size), ca.SX.sym("z", self.rows.size)
        seen = self._rows_at(self.swept.resolve(y))
        across = ca.jacobian(seen, y)
        b = ca.substitute(seen, y, ca.SX.zeros(size))
        given = ca.jacobian(self._pushed(z, alone=True).answer()[1], z)
        forces = [self._forces(across[:, k], 0.0) for k in range(size)]
        moved = given @ ca.horzcat(*forces)
        return symmetric(ca.densify(block + moved)), vector + given @ self._forces(b, 1.0)

    def resolve(self, given: Vector) -> Solution:
        """All unknowns, from those of the border."""
        z = self._forces(self._rows_at(self.swept.resolve(given)), 1.0)
        solution = self._pushed(z).resolve(given)
        for law, span in self.rows.spans.items():
            solution[Unknown.rows(law._rows)] = -z[span, :]
        return solution

    def forces(self, solution: Solution) -> Vector:
        """Forces of the rows in a solution."""
        return ca.vertcat(*[-ca.SX(solution[Unknown.rows(law._rows)]) for law in self.rows.laws])

    def _rows_at(self, solution: Solution) -> Vector:
        return ca.densify(row_accelerations(self.rows, self.closures, solution, bias=False) + self.bias)

    def _pushed(self, z: Vector, alone: bool = False) -> Swept:
        """The same equations with forces on the rows; `alone`: with nothing else."""
        bias = {} if alone else dict(self.swept.right.bias)
        for joint, push in pushes(self.rows, self.closures, z).items():
            key = Unknown.joint(joint)
            bias[key] = bias[key] - push if key in bias else -push
        right = RightSide(bias, {} if alone else self.swept.right.offsets)
        return sweep(self.swept.elimination, right, self.swept.keys)

    def _forces(self, b: Vector, limited: float) -> Vector:
        count = self.rows.measures
        return solved(self.rows.size, count, self._response, self.table(b, limited), ca.SX.zeros(count))

    @cached_property
    def _response(self) -> tuple[Vector, ca.Function]:
        def seen(z: Vector) -> Vector:
            border = ca.SX.zeros(6 * len(self.swept.keys))
            moved = row_accelerations(self.rows, self.closures, self._pushed(z).resolve(border), bias=False)
            measured = [z[entry] for entry in self.rows.measured if isinstance(entry, int)]
            return ca.vertcat(moved, *measured)

        return linear_part(self.rows.size, seen)
