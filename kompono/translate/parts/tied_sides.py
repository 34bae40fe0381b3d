"""On which side of which border each unit of a law is, and whether all parts can hand on their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kompono.translate.parts.compartment import Compartment
from kompono.translate.parts.sealed import SealedPart
from kompono.translate.program import LawUnit

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part
    from kompono.translate.parts.sealed import SealedInside


def told_sides(units: Sequence[LawUnit], compartment: Compartment) -> tuple[LawUnit, ...]:
    """Units with the number of the innermost closed part around them; of those of the whole it is 0."""
    paths = sorted(_paths(compartment, ""))

    def side(unit: LawUnit) -> int:
        return max((k + 1 for k, path in enumerate(paths) if unit.path.startswith(f"{path}.")), default=0)

    return tuple(replace(unit, side=side(unit)) for unit in units)


def _paths(compartment: Compartment | SealedInside, before: str) -> list[str]:
    """Of all closed parts; what is around another one comes first when they are sorted."""
    found = []
    for part in compartment.parts:
        path = f"{before}{part.path}"
        found += [path, *_paths(part.inside, f"{path}.")]
    return found


def all_tie(compartment: Compartment | SealedInside) -> bool:
    """Whether all parts with laws can hand on all rows: older files cannot."""
    return all(_ties(part) and all_tie(part.inside) for part in compartment.parts)


def _ties(part: Part) -> bool:
    return not part.laws.size or not isinstance(part, SealedPart) or "tied_condense" in part.variant.functions
