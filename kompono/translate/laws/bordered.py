"""Laws of a compartment with closed parts in it, or of the inside of one: their forces follow from its border.

With the unknowns y of the border, rows and what is left there are affine in y and in the forces z of the laws,

    w = b + C y + A z,      left = H y + p + C^T z,

and for rows that are held, or slide with a given limit, z = K y + k. So the answer of a part keeps its form, H + C^T K
and p + C^T k, and stays symmetric. Sliding friction by mu times a reaction is handed on (`handed.py`), by parts in
parts as well, until a compartment without a border solves for all of it with its own laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca

from kompono.model.joint import Joint
from kompono.spatial.vectors import symmetric
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import Swept
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.acting import measured, pushes, row_accelerations
from kompono.translate.laws.answer import linear_part, solved
from kompono.translate.laws.by_joints import LawClosures
from kompono.translate.laws.handed import Handed, HandedShape
from kompono.translate.laws.rows import LawRows
from kompono.translate.laws.split import coefficients
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.symbolic import Matrix, Vector


class HandedByParts(Protocol):
    """Rows that parts inside hand on."""

    @property
    def shape(self) -> HandedShape: ...

    def push(self, bias: dict[Unknown, Vector], forces: Vector) -> None:
        """Add what forces of the rows do to the equations."""
        ...

    def measures(self, solution: Solution, forces: Vector) -> Vector:
        """What limits them, in a solution."""
        ...

    def table(self, first: int) -> list[Vector]:
        """Seven numbers of each row, their measures from `first` on."""
        ...

    def numbers(self) -> list[Vector]:
        """What they are told to be: kind, mu, limit of each (3)."""
        ...

    def record(self, solution: Solution, forces: Vector) -> None:
        """Put the forces into a solution."""
        ...


@dataclass(frozen=True)
class LawAt:
    """Rows at a state: `bias` is what accelerations do not give of them, `base` (rows, 6) what that of a base gives.

    `table` gives seven numbers of each row for its b, with limits times a factor, and maybe without the rows that are
    handed on, which `numbers` are for.
    """

    kinematics: Kinematics
    rows: LawRows
    closures: LawClosures
    table: Callable[[Vector, float, bool], Vector]
    bias: Vector
    base: Matrix | None
    numbers: tuple[Vector, ...]
    reaction: Callable[[Solution, Joint, Vector], Vector] | None  # of a joint, for a border; none in corrections
    purpose: str = "laws"  # of the forces, see `naming.Sizes`


@dataclass(frozen=True)
class LawSwept:
    """Swept equations with laws acting. Forces z are those of own rows, then those that parts hand on."""

    swept: Swept
    laws: LawAt
    parts: HandedByParts | None = None

    @property
    def rows(self) -> LawRows:
        """Own rows."""
        return self.laws.rows

    @property
    def own(self) -> list[int]:
        """Own rows that may be handed on."""
        return [row for row, _ in self.rows.followers] if self.laws.numbers else []

    @property
    def _inner(self) -> HandedShape:
        return self.parts.shape if self.parts is not None else HandedShape()

    @property
    def _border(self) -> int:
        return 6 * len(self.swept.keys)

    @property
    def _size(self) -> int:
        return self.rows.size + self._inner.rows

    # -- condense

    def answer(self) -> tuple[Matrix, Vector]:
        """Block and vector at the border."""
        block, vector, _ = self._answered
        return block, vector

    def handed(self) -> Handed | None:
        """Rows that are left to the owner."""
        return self._answered[2]

    @cached_property
    def _answered(self) -> tuple[Matrix, Vector, Handed | None]:
        block, vector = self.swept.answer()
        size = vector.numel()
        if not size:
            return block, vector, None
        y, x, z = ca.SX.sym("y", size), ca.SX.sym("x", self._left), ca.SX.sym("z", self._size)
        given, own = ca.vertcat(y, x), slice(0, self.rows.size)
        rows = self._rows_at(self._pushed(self._placed(x)).resolve(y))
        across, still = coefficients(rows, given), ca.SX.zeros(given.numel())
        fixed = self._own_forces(ca.substitute(rows, given, still), 1.0)
        follow = [self._own_forces(across[:, k], 0.0) for k in range(given.numel())]
        along, beside = ca.horzcat(*follow[:size]), ca.horzcat(ca.SX(self.rows.size, 0), *follow[size:])
        push = coefficients(self._pushed(z, alone=True).answer()[1], z)
        block = symmetric(ca.densify(block + push[:, own] @ along))
        vector = vector + push[:, own] @ fixed
        if not self._left:
            return block, vector, None
        place = coefficients(self._placed(x), x)
        solution = self._recorded(self._pushed(z).resolve(y), z)
        seen = self.measures(solution, z, y)
        on_y, on_z = coefficients(seen, y), coefficients(seen, z)
        free = ca.substitute(seen, ca.vertcat(y, z), ca.SX.zeros(size + self._size)) + on_z[:, own] @ fixed
        shape = self._inner.behind(self.rows.handed_shape) if self.own else self._inner
        numbers = ca.horzcat(*self.laws.numbers, *(self.parts.numbers() if self.parts is not None else ())).T
        return block, vector, Handed(
            shape, push @ place + push[:, own] @ beside, numbers, free,
            on_y + on_z[:, own] @ along, on_z @ place + on_z[:, own] @ beside,
        )  # fmt: skip

    @property
    def _left(self) -> int:
        """How many rows are handed on."""
        return len(self.own) + self._inner.rows

    def _placed(self, handed: Vector) -> Vector:
        """All forces, from those of rows that are handed on."""
        z = ca.SX.zeros(self._size)
        for k, row in enumerate([*self.own, *range(self.rows.size, self._size)]):
            z[row] = handed[k]
        return z

    # -- resolve

    def resolve(self, given: Vector) -> Solution:
        """All unknowns, from those of the border: of its ports, then of rows that were handed on."""
        border = given[: self._border, :]
        if self._border or self.laws.reaction is None:
            z = self._placed(given[self._border : self._border + self._left, :])
            z = z + self._filled(self._shared_forces(z, border))
        else:
            z = self._all_forces()
        return self._recorded(self._pushed(z).resolve(border), z)

    def forces(self, solution: Solution) -> Vector:
        """Forces of own rows in a solution."""
        return ca.vertcat(ca.SX(0, 1), *[-ca.SX(solution[Unknown.rows(law._rows)]) for law in self.rows.laws])

    def measures(self, solution: Solution, z: Vector, border: Vector) -> Vector:
        """What limits friction, of own rows and of those of parts, in a solution with forces z."""

        found = self._measured(solution, z, border)
        return found if self.parts is None else ca.vertcat(found, self.parts.measures(solution, z[self.rows.size :, :]))

    def own_measures(self, solution: Solution, given: Vector) -> Vector:
        """What limits friction of own rows, in a solution for values of the border."""
        return self._measured(solution, self.forces(solution), given[: self._border, :])

    def _measured(self, solution: Solution, z: Vector, border: Vector) -> Vector:
        reaction = self.laws.reaction
        assert reaction is not None
        return measured(self.rows, self.laws.kinematics, solution, z, lambda s, joint: reaction(s, joint, border))

    def _recorded(self, solution: Solution, z: Vector) -> Solution:
        for law, span in self.rows.spans.items():
            solution[Unknown.rows(law._rows)] = -z[span, :]
        if self.parts is not None:
            self.parts.record(solution, z[self.rows.size :, :])
        return solution

    def _rows_at(self, solution: Solution) -> Vector:
        return ca.densify(self._moved(solution) + self.laws.bias)

    def _moved(self, solution: Solution) -> Vector:
        """Accelerations of own rows but for their bias."""
        found = row_accelerations(self.rows, self.laws.closures, solution, bias=False)
        if self.laws.base is None:
            return found
        return found + self.laws.base @ solution[self.swept.keys[0]]

    def _pushed(self, z: Vector, alone: bool = False) -> Swept:
        """The same equations with forces on the rows; `alone`: with nothing else."""
        bias = {} if alone else dict(self.swept.right.bias)
        own = {Unknown.joint(j): push for j, push in pushes(self.rows, self.laws.closures, z).items()}
        if self.laws.base is not None:
            own[self.swept.keys[0]] = self.laws.base.T @ z[: self.rows.size, :]
        for key, push in own.items():
            bias[key] = bias[key] - push if key in bias else -push
        if self.parts is not None:
            self.parts.push(bias, z[self.rows.size :, :])
        right = RightSide(bias, {} if alone else self.swept.right.offsets)
        return self.swept.again(right)

    # -- native code

    def _own_forces(self, b: Vector, limited: float) -> Vector:
        """Forces of own rows that are not handed on; of the least norm, so that they are linear in b."""
        if not self.rows.size or not (ca.SX(b).nnz() or limited):
            return ca.SX.zeros(self.rows.size)
        table = self.laws.table(b, limited, True)
        return solved(self.rows.size, 0, self._own_response, table, ca.SX(0, 1), "least")

    def _shared_forces(self, handed: Vector, border: Vector) -> Vector:
        """The same where all else is known: redundant rows share by what they can bear, as in open models."""
        solution = self._recorded(self._pushed(handed).resolve(border), handed)
        b = self._rows_at(solution)
        if not self.rows.size or self.laws.reaction is None:
            return self._own_forces(b, 1.0)
        known = ca.densify(self._measured(solution, handed[: self.rows.size, :], border))

        def seen(z: Vector) -> Vector:
            forces, still = self._filled(z), ca.SX.zeros(self._border)
            moved = self._recorded(self._pushed(forces).resolve(still), forces)
            return ca.vertcat(self._moved(moved), self._measured(moved, z, still))

        table = self.laws.table(b, 1.0, True)
        return solved(self.rows.size, known.numel(), linear_part(self.rows.size, seen), table, known, self.laws.purpose)

    @cached_property
    def _own_response(self) -> tuple[Vector, ca.Function]:
        border = ca.SX.zeros(self._border)
        return linear_part(self.rows.size, lambda z: self._moved(self._pushed(self._filled(z)).resolve(border)))

    def _filled(self, own: Vector) -> Vector:
        return ca.vertcat(own, ca.SX.zeros(self._inner.rows))

    def _all_forces(self) -> Vector:
        """Forces of all rows, where nothing is handed on."""
        none = ca.SX(0, 1)

        def seen(z: Vector) -> Vector:
            solution = self._recorded(self._pushed(z).resolve(none), z)
            moved = ca.vertcat(self._moved(solution), ca.SX.zeros(self._inner.rows))
            return ca.vertcat(moved, self.measures(solution, z, none))

        still = ca.SX.zeros(self._size)
        solution = self._recorded(self._pushed(still).resolve(none), still)
        n0 = ca.densify(self.measures(solution, still, none))
        count = n0.numel()
        table = [self.laws.table(self._rows_at(solution), 1.0, False)]
        table += self.parts.table(self.rows.measures) if self.parts is not None else []
        return solved(self._size, count, linear_part(self._size, seen), ca.vertcat(*table), n0, self.laws.purpose)
