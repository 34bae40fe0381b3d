"""The units of a program's laws as columns of numbers, so that looking at all of them takes no loop: most contacts of a
heap are open most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kompono.solve.laws.units import Kind
from kompono.translate.program import LawUnit


class UnitTable:
    """Of each unit: its row, its contact (-1: none; its own number if it is one), whether it is a gap, or one on
    speeds, or a gap that events shift, whether measures limit it, and the place of its first mode; all places of modes
    with the units they have. Numbers of the planar ones, and the places (.., 2) of their directions. Whether time moves
    what they hold: `driven`.
    """

    def __init__(self, units: Sequence[LawUnit]) -> None:
        numbers = np.arange(len(units))
        self.row = np.array([unit.row for unit in units], dtype=int)
        self.gap = np.array([unit.kind == Kind.ONE_SIDED for unit in units], dtype=bool)
        self.contact = np.array([unit.contact for unit in units], dtype=int)
        self.own = np.where(self.gap, numbers, self.contact)
        self.by_speed = np.array([unit.level == "speed" for unit in units], dtype=bool)
        self.shifts = np.array([unit.shifts > 0 and unit.level == "position" for unit in units], dtype=bool)
        self.measured = np.array([unit.count > 0 for unit in units], dtype=bool)
        self.driven = any(unit.driven for unit in units)
        self.first_mode = np.array([unit.modes[0] for unit in units], dtype=int)
        self.places = np.array([place for unit in units for place in unit.modes], dtype=int)
        self.planar = np.array([k for k, unit in enumerate(units) if unit.kind == Kind.PLANAR], dtype=int)
        self.direction = np.array([units[k].modes[1:] for k in self.planar.tolist()], dtype=int).reshape(-1, 2)
        self.owner = np.repeat(numbers, [len(unit.modes) for unit in units])

    def of_contact(self, gaps: np.ndarray, without: bool) -> np.ndarray:
        """What holds (units) of each unit's contact; `without` where it has none."""
        return np.append(gaps, without)[self.own]
