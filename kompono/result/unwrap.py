"""Angles measured modulo a turn, made continuous over time.

Between two rows an angle is taken to end less than half a turn away from where its own rate would carry it, so a fast
shaft is followed even if rows are few, as long as its rate is recorded with it. Without one, the rate counts as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kompono.translate.program import Channel

TURN = 2 * np.pi
_QUATERNION = ("e0", "e1", "e2", "e3")


def unwrap(times: np.ndarray, values: np.ndarray, channels: Sequence[Channel]) -> np.ndarray:
    """A copy of `values` (n, k) at `times` (n,) [s] with the columns marked `angle` [rad] continuous.

    Only whole turns are added; values that need none keep every bit. Rows that are not finite are left alone.
    """
    result = np.array(values, dtype=float)
    columns = {channel.name: i for i, channel in enumerate(channels)}
    for i, channel in enumerate(channels):
        if channel.angle:
            rate = columns.get(f"{channel.name}.rate")
            speed = np.zeros(len(times)) if rate is None else result[:, rate]
            good = np.isfinite(result[:, i]) & np.isfinite(speed)
            angle = result[good, i]
            result[good, i] = angle + TURN * _turns(times[good], angle, speed[good])
    return result


def _turns(times: np.ndarray, angle: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Whole turns to add to each `angle` (n,) so that it follows its `speed` (n,) [rad/s]."""
    carried = np.diff(times) * (speed[1:] + speed[:-1]) / 2
    missing = np.rint((carried - np.diff(angle)) / TURN)
    return np.concatenate([np.zeros(min(1, len(angle))), np.cumsum(missing)])


def continuous_quaternions(values: np.ndarray, channels: Sequence[Channel]) -> np.ndarray:
    """A copy of `values` (n, k) in which orientation quaternions do not jump between e and -e from row to row."""
    result = np.array(values, dtype=float)
    for i, channel in enumerate(channels):
        if channel.name.endswith(".orientation.e0"):
            e = result[:, i : i + 4]
            flips = np.where(np.einsum("ij,ij->i", e[1:], e[:-1]) < 0, -1.0, 1.0)
            e *= np.concatenate([np.ones(min(1, len(e))), np.cumprod(flips)])[:, None]
    return result


def with_companions(channels: Sequence[Channel], columns: Sequence[int]) -> list[int]:
    """These columns, with the rates that angles are followed by and whole quaternions, in the order of the channels."""
    chosen = {i: channels[i] for i in columns}
    place: dict[str, int] = {}
    if not hasattr(channels, "matching") and any(channel.angle for channel in chosen.values()):
        place = {channel.name: i for i, channel in enumerate(channels)}
    needed = set(chosen)
    for i, channel in chosen.items():
        name = channel.name
        if channel.angle and f"{name}.rate" in place:
            needed.add(place[f"{name}.rate"])
        stem, dot, last = name.rpartition(".")
        if dot and stem.endswith(".orientation") and last in _QUATERNION:  # its components are neighbours
            first = i - _QUATERNION.index(last)
            needed.update(range(first, first + 4))
    return sorted(needed)
