"""Rows that closed parts hand on, in the equations of their owner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import casadi as ca

from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.handed import Handed, HandedShape
from kompono.translate.motion.loads import Loads
from kompono.translate.parts.condensing import PartedCondensation
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part


class HandedRows:
    """Those of all parts of a compartment, one part after the other."""

    def __init__(self, condensation: PartedCondensation, loads: Loads | None) -> None:
        self.condensation, self.loads = condensation, loads
        self.told: list[tuple[Part, Handed]] = []
        self.shape = HandedShape()
        for part in condensation.compartment.parts:
            handed = condensation.answers[part].handed
            if isinstance(handed, Handed) and handed.shape.rows:
                self.told.append((part, handed))
                self.shape = handed.shape.behind(self.shape)

    def _divided(self, forces: Vector) -> Iterator[tuple[Part, Handed, Vector]]:
        first = 0
        for part, handed in self.told:
            yield part, handed, forces[first : first + handed.shape.rows, :]
            first += handed.shape.rows

    def push(self, bias: dict[Unknown, Vector], forces: Vector) -> None:
        """Add what forces of the rows do to the equations."""
        for part, handed, own in self._divided(forces):
            self.condensation.push(part, handed.push @ own, bias)

    def measures(self, solution: Solution, forces: Vector) -> Vector:
        """What limits them, in a solution."""
        found = [
            handed.measures(self.condensation.at_border(part, solution, self.loads), own)
            for part, handed, own in self._divided(forces)
        ]
        return ca.vertcat(ca.SX(0, 1), *found)

    def table(self, first: int) -> list[Vector]:
        """Seven numbers of each row, their measures from `first` on."""
        lines: list[Vector] = []
        for _, handed in self.told:
            lines += handed.table(first)
            first += handed.shape.measures
        return lines

    def numbers(self) -> list[Vector]:
        """Kind, mu and limit of each (3)."""
        return [handed.numbers[k, :].T for _, handed in self.told for k in range(handed.shape.rows)]

    def record(self, solution: Solution, forces: Vector) -> None:
        """Put the forces into a solution."""
        for part, handed, own in self._divided(forces):
            solution[Unknown.handed(part.part)] = own
            solution[Unknown.pushed(part.part)] = handed.push @ own
