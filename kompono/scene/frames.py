"""What of a result a viewer shows: not more instants than one can see, and the channels worth a curve."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kompono.result.result import Result, matching

FRAMES = 3000  # of a motion
CURVES = 80  # channels offered for curves if none are asked for
FIRST = 3  # of them drawn at once
_VECTORS = (
    "position",
    "orientation",
    "velocity",
    "angular_velocity",
    "acceleration",
    "angular_acceleration",
    "force",
    "torque",
)


def frame_rows(result: Result, most: int = FRAMES) -> np.ndarray:
    """Rows of a result to show, at most so many, equally spaced, first and last among them."""
    count = len(result.time)
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).astype(int))


def curve_channels(result: Result, patterns: str | Iterable[str] | None = None) -> tuple[list[str], list[str]]:
    """Names of the channels to offer, and of those to draw first.

    With patterns: what matches them, all (up to 12) drawn. Without: declared outputs, joint coordinates, energy, drift,
    positions; drawn are a few of the first unit among them that change.
    """
    if patterns is not None:
        names = [result.names[i] for i in matching(patterns, result.names)]
        return names, names[:12]
    offered = sorted(result.names, key=lambda name: (_rank(name), name.count(".")))[:CURVES]
    lively = [name for name in offered if _rank(name) < 3 and np.ptp(result[name]) > 1e-9] or offered
    drawn = [name for name in lively if result.units[name] == result.units[lively[0]]][:FIRST] if lively else []
    return offered, drawn


def _rank(name: str) -> int:
    """Outputs, then coordinates, energy, drift and what forces tell, positions, everything else."""
    *path, last = name.split(".")
    if path[:1] in (["energy"], ["drift"]) or last in ("power", "length", "tension"):
        return 2
    if path and path[-1] in _VECTORS:
        return 3 if path[-1] == "position" else 5
    if last in ("rate", "acceleration"):
        return 4
    return 1 if last in ("angle", "displacement", "angle1", "angle2", "x", "y") else 0 if last[:1] != "e" else 5
