"""Rows of laws that a part hands on without names while some of them and rows of others hold the same thing.

Where a part holds a body from within that its owner holds as well, rows on both sides of the border imply each other.
Then the answer of a part with its own rows held says how the body moves, and nothing about who bears it: forces there
would be rounding. So meanwhile a part answers without its laws, and all of their forces z stay unknowns of the border:

    left = H y + p + V z,     w = b + C y + A z,     N = n0 + B y + D z

with the unknowns y that ports have. Whoever has no border solves for all of them at once, by the rules of one machine
(`compile/law_solver.py`), so that they share, slip and give way as in the open model. No geometry and no mass is in
these numbers: they are what a part tells at events anyway (`parts/law_events.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from kompono.translate.elimination.unknowns import Solution
from kompono.translate.laws.answer import linear_part, solved
from kompono.translate.laws.bordered import LawSwept
from kompono.translate.laws.handed import HandedShape
from kompono.translate.laws.naming import FIELDS, OWN
from kompono.translate.laws.split import coefficients
from kompono.translate.laws.stacked import Stacked
from kompono.translate.symbolic import Matrix, Vector

TOLD = tuple(FIELDS.index(name) for name in ("kind", "direction", "mu", "limit"))  # of each row


@dataclass(frozen=True)
class Tied:
    """What a part tells of its rows: V (border, rows), four numbers of each, and what they and their measures do: of
    themselves, by the border, by forces.
    """

    laws: Stacked
    push: Matrix
    numbers: Matrix
    free: Vector
    seen: Matrix
    mixed: Matrix

    @property
    def shape(self) -> HandedShape:
        """How many rows there are."""
        return HandedShape(((0, 0),) * self.laws.size, self.laws.measures)

    def packed(self) -> Vector:
        """One column."""
        entries = (self.push, self.numbers, self.free, self.seen, self.mixed)
        return ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.densify(ca.SX(entry))) for entry in entries])

    @staticmethod
    def of(column: Vector, laws: Stacked, border: int, measures: int) -> Tied:
        """From the beginning of a column; corrections of coordinates and speeds have no measures."""
        place, found, high = 0, [], laws.size + measures
        sizes = (border, laws.size), (laws.size, len(TOLD)), (high, 1), (high, border), (high, laws.size)
        for rows, columns in sizes:
            found.append(ca.reshape(column[place : place + rows * columns, :], rows, columns))
            place += rows * columns
        return Tied(laws, *found)

    def moved(self, border: Vector, forces: Vector) -> Vector:
        """Accelerations of the rows, then their measures."""
        return self.free + self.seen @ border + self.mixed @ forces

    def table(self, b: Vector, first: int, place: int) -> Vector:
        """Eight numbers of each row for the native solver; rows begin at `place` there, their measures at `first`."""
        spans, lines = _spans(self.laws), []
        for k, (start, count, unit) in enumerate(spans):
            kind, direction, mu, limit = (self.numbers[k, j] for j in range(len(TOLD)))
            lines.append(ca.vertcat(kind, direction, b[k], mu, limit, first + start, count, place + unit))
        return ca.vertcat(ca.SX(0, 1), *lines)


def _spans(laws: Stacked) -> list[tuple[int, int, int]]:
    """Of each row its first measure, how many there are, and the first row of its contact."""
    found = [(0, 0, 0)] * laws.size
    for unit in laws.units:
        own = unit.row if unit.contact < 0 else laws.units[unit.contact].row
        count = OWN if unit.count == 1 else unit.count
        for row in range(unit.row, unit.row + (2 if unit.kind == 2 else 1)):
            found[row] = unit.first, count, own
    return found


@dataclass(frozen=True)
class TiedSwept(LawSwept):
    """Swept equations whose parts have handed on all their rows. Forces z are those of own rows, then theirs."""

    parts: Any = None  # `TiedRows` of `parts/tying.py`

    def answer(self) -> tuple[Matrix, Vector]:
        return self.swept.answer()

    def handed(self) -> Tied | None:  # type: ignore[override]
        """All rows, for who owns this."""
        size, count = self._border, self._size
        y, z = ca.SX.sym("y", size), ca.SX.sym("z", count)
        seen = self._seen(z, y)
        on_y, on_z = coefficients(seen, y), coefficients(seen, z)
        free = ca.substitute(seen, ca.vertcat(y, z), ca.SX.zeros(size + count))
        push = coefficients(self._pushed(z, alone=True).answer()[1], z)
        return Tied(Stacked(), push, ca.vertcat(self._own_numbers(), *self.parts.numbers()), free, on_y, on_z)

    def resolve(self, given: Vector) -> Solution:
        """All unknowns, from those of the border: of its ports, then forces of all rows, if an owner found these."""
        border = given[: self._border, :]
        z = given[self._border :, :] if given.numel() == self._border + self._size else self._all_forces()
        return self._recorded(self._pushed(z).resolve(border), z)

    def _seen(self, z: Vector, y: Vector) -> Vector:
        """Accelerations of all rows, then all measures."""
        solution = self._recorded(self._pushed(z).resolve(y), z)
        rows, measures = [self._rows_at(solution)], []
        if self.laws.reaction is not None:
            measures.append(self._measured(solution, z[: self.rows.size, :], y))
        for moved, measured in self.parts.moved(solution, z[self.rows.size :, :]):
            rows.append(moved)
            measures.append(measured)
        return ca.densify(ca.vertcat(*rows, *measures))

    def _own_numbers(self) -> Matrix:
        table = ca.reshape(ca.densify(self.laws.table(ca.SX.zeros(self.rows.size), 1.0, False)), 8, self.rows.size)
        return table[list(TOLD), :].T

    def _all_forces(self) -> Vector:
        none, still = ca.SX(0, 1), ca.SX.zeros(self._size)
        at_rest = self._seen(still, none)
        b, n0 = at_rest[: self._size, :], at_rest[self._size :, :]
        table = [self.laws.table(b[: self.rows.size, :], 1.0, False)]
        table += self.parts.tables(b[self.rows.size :, :], self.rows.measures, self.rows.size)
        response = linear_part(self._size, lambda z: self._seen(z, none))
        return solved(self._size, n0.numel(), response, ca.vertcat(*table), n0, self.laws.purpose)
