"""What became of a file: a table of what was merged, repaired, ignored or assumed, and of masses and their origin."""

from __future__ import annotations

from dataclasses import dataclass

from kompono.files.assembly import Noted

ORDER = ("assumed", "merged", "composed", "repaired", "assembled", "ignored")


@dataclass(frozen=True)
class Table:
    """Lines (fate, name, words) of what did not become a member as it was, and masses [kg] with where they come from.

    `named` are members by the names of the file, where these differ.
    """

    file: str
    lines: tuple[Noted, ...]
    masses: tuple[tuple[str, float, str], ...]
    named: tuple[tuple[str, str], ...] = ()

    def of(self, fate: str) -> tuple[Noted, ...]:
        """The lines of one fate: merged, composed, repaired, assembled, assumed or ignored."""
        return tuple(line for line in self.lines if line.fate == fate)

    def __str__(self) -> str:
        rank = {fate: place for place, fate in enumerate(ORDER)}
        rows = [(line.fate, line.name, line.told) for line in self.lines]
        rows.sort(key=lambda row: rank.get(row[0], len(rank)))
        rows += [("mass", name, f"{mass:.6g} kg, from {origin}") for name, mass, origin in self.masses]
        if self.masses:
            rows.append(("mass", "together", f"{sum(mass for _, mass, _ in self.masses):.6g} kg"))
        rows += [("renamed", old, new) for old, new in self.named]
        wide = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
        told = [f"{fate:<{wide[0]}}  {name:<{wide[1]}}  {words}" for fate, name, words in rows]
        return "\n".join([f"From {self.file}:", *told])
