"""Equations with a border: unknowns that no step inside eliminates, and what is left on them.

Whatever is traced apart from what is around it, a closed part or a cell of a large model, is swept in the same way:
condensing leaves a symmetric block and a vector on the unknowns of its border, which is its answer; given their
values, resolving gives all others. A base, where it has one, moves as it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from kompono.spatial.pose import Pose
from kompono.translate.elimination.blocks import Elimination, RightSide
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.motion.kinematics import Step
from kompono.translate.symbolic import Matrix, Vector


@dataclass(frozen=True)
class Swept:
    """Factored equations after their forward sweep; `keys` are the unknowns of the border, of six entries each."""

    elimination: Elimination
    right: RightSide
    keys: Sequence[Unknown]
    left: dict[Unknown, Vector]
    eliminated: dict[Unknown, Vector]

    def answer(self) -> tuple[Matrix, Vector]:
        """Block and vector at the border."""
        vectors = [ca.densify(self.left.get(key, ca.SX(6, 1))) for key in self.keys]
        return self.elimination.left(self.keys), ca.vertcat(ca.SX(0, 1), *vectors)

    def resolve(self, given: Vector) -> Solution:
        """All unknowns, from those of the border."""
        known = {key: given[6 * k : 6 * k + 6, :] for k, key in enumerate(self.keys)}
        return self.elimination.back(self.right, self.eliminated, known)

    def again(self, right: RightSide) -> Swept:
        """The same equations with another right side."""
        return type(self)(self.elimination, right, self.keys, *self.elimination.forward(right))


def sweep(elimination: Elimination, right: RightSide, keys: Sequence[Unknown]) -> Swept:
    """Condense to the unknowns of the border."""
    return Swept(elimination, right, keys, *elimination.forward(right))


def base_step(position: Vector, rotation: Vector, twist: Vector) -> Step:
    """A base, hung on the world: it moves as it is told; `rotation` (9) by columns."""
    pose = Pose(position, ca.reshape(rotation, 3, 3))
    return Step(pose, ca.SX(6, 0), twist, ca.SX(6, 1), ca.SX(0, 1))


def pack_answer(block: Matrix, vector: Vector) -> Vector:
    """The upper triangle row by row, then the vector."""
    size = vector.shape[0]
    upper = [block[i, j] for i in range(size) for j in range(i, size)]
    return ca.densify(ca.vertcat(*upper, vector)) if size else ca.SX(0, 1)


def unpack_answer(answer: Vector, size: int) -> tuple[Matrix, Vector]:
    """Block (size, size) and vector (size)."""
    block, place = ca.SX(size, size), 0
    for i in range(size):
        for j in range(i, size):
            block[i, j] = block[j, i] = answer[place]
            place += 1
    return block, answer[place : place + size]
