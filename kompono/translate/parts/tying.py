"""All rows of laws of closed parts in the equations of their owner, while parts hand them on (see `laws/tied.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca

from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.handed import HandedShape
from kompono.translate.laws.tied import Tied
from kompono.translate.motion.loads import Loads
from kompono.translate.parts.condensing import Answer, PartedCondensation
from kompono.translate.symbolic import Matrix, Vector

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part
    from kompono.translate.parts.moment import Moment

TIED = (
    "condense", "resolve", "report", "law_guards", "violated_residual", "violated_speed", "corrected_residual",
    "corrected_speed",
)  # fmt: skip  # functions of a part that there are twice: with its laws solved, and with their forces told


def as_tied(now: Moment) -> Moment:
    """The same compartment, while parts hand on all rows of their laws."""
    return type(now)(now.compartment, now.tracer, now.values, now.base, now.fields, now.moves, now.said, True)


def asked_tied(
    part: Part, name: str, given: Vector | None, forces: Vector | None
) -> tuple[str, Vector | None, Vector | None]:
    """What a part is asked then: the name of a function, what is given at its ports, and forces of its rows."""
    if not part.laws.size or name not in TIED:
        return name, given, forces
    if given is not None:
        size = part.border.size
        given, forces = ca.vertcat(given[:size, :], ca.SX.zeros(part.handed.rows)), given[size:, :]
    return f"tied_{name}", given, forces


def answer_tied(column: Vector, part: Part, answer: Answer, measures: int | None = None) -> Answer:
    """What it answers then, with all of its rows; corrections have no `measures`."""
    if not part.laws.size:
        return answer
    measures, told = part.laws.measures if measures is None else measures, column[part.border.answer :, :]
    return replace(answer, handed=Tied.of(told, part.laws, part.border.size, measures))


class TiedRows:
    """Those of all parts of a compartment, one part after the other."""

    def __init__(self, condensation: PartedCondensation, loads: Loads | None) -> None:
        self.condensation, self.loads = condensation, loads
        answers = condensation.answers
        found = [(part, answers[part].handed) for part in condensation.compartment.parts]
        self.told: list[tuple[Part, Tied]] = [(part, tied) for part, tied in found if isinstance(tied, Tied)]
        rows = sum(tied.laws.size for _, tied in self.told)
        self.shape = HandedShape(((0, 0),) * rows, sum(tied.laws.measures for _, tied in self.told))

    def _divided(self, forces: Vector) -> Iterator[tuple[Part, Tied, Vector]]:
        first = 0
        for part, tied in self.told:
            yield part, tied, forces[first : first + tied.laws.size, :]
            first += tied.laws.size

    def push(self, bias: dict[Unknown, Vector], forces: Vector) -> None:
        """Add what forces of the rows do to the equations."""
        for part, tied, own in self._divided(forces):
            self.condensation.push(part, tied.push @ own, bias)

    def moved(self, solution: Solution, forces: Vector) -> Iterator[tuple[Vector, Vector]]:
        """Accelerations of the rows and measures, part by part."""
        for part, tied, own in self._divided(forces):
            moved = tied.moved(self.condensation.at_border(part, solution, self.loads), own)
            yield moved[: tied.laws.size, :], moved[tied.laws.size :, :]

    def tables(self, b: Vector, first: int, place: int) -> list[Vector]:
        """Eight numbers of each row, for accelerations b without forces; rows begin at `place`, measures at `first`."""
        found = []
        for _, tied, own in self._divided(b):
            found.append(tied.table(own, first, place))
            first, place = first + tied.laws.measures, place + tied.laws.size
        return found

    def numbers(self) -> list[Matrix]:
        """Four of each row."""
        return [tied.numbers for _, tied in self.told]

    def record(self, solution: Solution, forces: Vector) -> None:
        """Put the forces into a solution."""
        for part, tied, own in self._divided(forces):
            solution[Unknown.handed(part.part)] = own
            solution[Unknown.pushed(part.part)] = tied.push @ own
