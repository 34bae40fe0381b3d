"""Which channels tell most about a run: coordinates that move, then bodies that do, constants last.

A coordinate is what has a rate beside it (`pin.angle` and `pin.angle.rate`). Of each unit, those that move by next to
nothing beside the one that moves most count as rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kompono.result.ensemble import Ensemble
    from kompono.result.result import Result

LITTLE = 1e-6  # of the largest range of its unit
TOLD = ("drift.", "energy.", "realtime.")  # channels about the run as a whole


def telling(result: Result | Ensemble) -> list[str]:
    """All channels that move, those that tell most first; coordinates, positions of bodies, what a model gives out,
    everything else, each in the order they are declared.
    """
    names = [name for name in result.names if not name.startswith(TOLD)] if len(result.time) else []
    ranges = {name: _range(np.asarray(result[name])) for name in names}
    largest: dict[str, float] = {}
    for name, size in ranges.items():
        unit = result.units[name]
        largest[unit] = max(largest.get(unit, 0.0), size)
    known = set(names)
    moving = [name for name in names if ranges[name] > LITTLE * largest[result.units[name]] and ranges[name] > 1e-14]
    return sorted(moving, key=lambda name: _rank(name, known))


def _range(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.ptp(finite)) if finite.size else 0.0


def _rank(name: str, known: set[str]) -> int:
    quantity = name.rpartition(".")[0].rpartition(".")[2]
    if f"{name}.rate" in known:
        return 0
    if quantity == "position":
        return 1
    return 2 if "." not in name else 3
