"""Sliding friction by mu times a reaction, handed by a part to its owner as rows without a name.

Such a force depends on others, so it would make the answer of a part unsymmetric, and where it follows the size of a
joint's force not even linear. Therefore it stays an unknown x of the border. With the unknowns y that ports have, all
else inside eliminated,

    left = H y + p + V x,     N = n0 + B y + C x,     x = -(mu |N| + limit)     (mu and limit with the sign of slip)

H is symmetric, and the compartment that has no border solves for all x with its own laws at once. No geometry, mass or
mode is in these numbers; a row that does not slide is off, and its x is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kompono.translate.laws.naming import SLIDES
from kompono.translate.symbolic import Matrix, Scalar, Vector

NUMBERS = 3  # of a row: kind, mu, limit


@dataclass(frozen=True)
class HandedShape:
    """How many rows there are, and which measures limit each: first, and count (-1: a force that only pushes)."""

    spans: tuple[tuple[int, int], ...] = ()
    measures: int = 0

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.spans)

    def length(self, border: int) -> int:
        """Numbers that are told with a border of so many unknowns."""
        return (border + NUMBERS) * self.rows + (1 + border + self.rows) * self.measures

    def behind(self, other: HandedShape) -> HandedShape:
        """These rows behind others."""
        moved = tuple((first + other.measures, count) for first, count in self.spans)
        return HandedShape((*other.spans, *moved), other.measures + self.measures)


@dataclass(frozen=True)
class Handed:
    """What is told of the rows: V (border, rows), kinds, mu and limit (rows, 3), n0, B and C."""

    shape: HandedShape
    push: Matrix
    numbers: Matrix
    free: Vector
    seen: Matrix
    mixed: Matrix

    def packed(self) -> Vector:
        """One column."""
        entries = (self.push, self.numbers, self.free, self.seen, self.mixed)
        return ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.densify(ca.SX(entry))) for entry in entries])

    @staticmethod
    def of(column: Vector, shape: HandedShape, border: int) -> Handed:
        """From a column."""
        place, found = 0, []
        sizes = (border, shape.rows), (shape.rows, NUMBERS), (shape.measures, 1), (shape.measures, border)
        for rows, columns in (*sizes, (shape.measures, shape.rows)):
            found.append(ca.reshape(column[place : place + rows * columns, :], rows, columns))
            place += rows * columns
        return Handed(shape, *found)

    def table(self, first: int) -> list[Vector]:
        """Eight numbers of each row for the native solver; their measures begin at `first`."""
        lines = []
        for k, (start, count) in enumerate(self.shape.spans):
            kind, mu, limit = (self.numbers[k, j] for j in range(NUMBERS))
            lines.append(ca.vertcat(kind, 1, 0, mu, limit, first + start, count, 0))
        return lines

    def measures(self, border: Vector, forces: Vector) -> Vector:
        """N of all rows."""
        return self.free + self.seen @ border + self.mixed @ forces


def handed_numbers(slides: Scalar, direction: Scalar, mu: Scalar, limit: Scalar) -> Vector:
    """Kind, mu and limit of a row, as they are handed on (3)."""
    return ca.vertcat(slides * SLIDES, direction * mu, direction * limit)
