"""Units of the laws of a compartment and of all parts in it, part behind part.

Each part numbers its rows, measures and units by itself, whatever is around it, so that a part whose inside nobody sees
can tell them as well. An owner puts them behind its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kompono.model.event import Mode
from kompono.translate.laws.rows import ONE_SIDED, PLANAR, LawRows
from kompono.translate.program import LawUnit


@dataclass(frozen=True)
class Stacked:
    """Units with the modes they have, and how many rows and measures they are on."""

    units: tuple[LawUnit, ...] = ()
    modes: tuple[tuple[Mode, ...], ...] = ()
    size: int = 0
    measures: int = 0
    of_joints: bool = False  # whether forces of joints that can be seen limit friction

    @staticmethod
    def of(rows: LawRows) -> Stacked:
        """Those of one set of rows."""
        known = rows.model.modes
        modes = tuple(tuple(known[place] for place in unit.modes) for unit in rows.units)
        return Stacked(rows.units, modes, rows.size, rows.measures)

    def then(self, other: Stacked, path: str) -> Stacked:
        """These, and behind them those of a part at a path."""
        count = len(self.units)
        moved = tuple(
            replace(
                unit, row=unit.row + self.size, contact=unit.contact + count if unit.contact >= 0 else -1,
                first=unit.first + self.measures, path=f"{path}.{unit.path}",
            )
            for unit in other.units
        )  # fmt: skip
        size, measures = self.size + other.size, self.measures + other.measures
        return Stacked((*self.units, *moved), (*self.modes, *other.modes), size, measures)

    def order(self, rows: LawRows) -> list[int]:
        """Numbers of the units in the order an open model has them; those nobody else knows come last."""
        known = {(unit.path, unit.kind): k for k, unit in enumerate(rows.units)}
        return sorted(
            range(len(self.units)), key=lambda k: known.get((self.units[k].path, self.units[k].kind), len(known))
        )

    def within(self, order: Sequence[int], modes: Iterable[Mode], events: int) -> Stacked:
        """The units in an order, in a program that has these modes, and guards of other events before those of laws."""
        places, new = {mode: place for place, mode in enumerate(modes)}, {k: n for n, k in enumerate(order)}
        units = tuple(
            replace(
                self.units[k], modes=tuple(places[mode] for mode in self.modes[k]), guard=events + n,
                contact=new.get(self.units[k].contact, -1),
            )
            for n, k in enumerate(order)
        )  # fmt: skip
        return replace(self, units=units, modes=tuple(self.modes[k] for k in order))

    @property
    def waits(self) -> bool:
        """Whether nothing acts while all gaps are open."""
        return bool(self.units) and all(unit.kind == ONE_SIDED or unit.contact >= 0 for unit in self.units)

    @property
    def has_gaps(self) -> bool:
        """Whether some units are gaps."""
        return any(unit.level == "position" for unit in self.units)

    @property
    def has_slopes(self) -> bool:
        """Whether some guards have slopes to tell: those of gaps, and of slip in a plane."""
        return self.has_gaps or any(unit.kind == PLANAR for unit in self.units)
