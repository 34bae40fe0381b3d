"""Angles measured modulo a turn, made continuous over time.

Between two rows an angle is taken to end less than half a turn away from where its own rate would carry it, so a fast
shaft is followed even if rows are few, as long as its rate is recorded with it. Without one, the rate counts as zero.
Quaternions are measured up to their sign; they are made continuous, and what is differentiated from them with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kompono.translate.program import Channel

TURN = 2 * np.pi
_QUATERNION = ("e0", "e1", "e2", "e3")
_LEVELS = ("", ".rate", ".acceleration")


def unwrap(times: np.ndarray, values: np.ndarray, channels: Sequence[Channel], copy: bool = True) -> np.ndarray:
    """A copy of `values` (n, k) at `times` (n,) [s], or these, with the columns marked `angle` [rad] continuous.

    Or of `values` (runs, n, k) of several runs. Only whole turns are added; values that need none keep every bit. Rows
    that are not finite are left alone.
    """
    result = np.array(values, dtype=float) if copy else values
    columns = {channel.name: i for i, channel in enumerate(channels)}
    for i, channel in enumerate(channels):
        if channel.angle:
            rate = columns.get(f"{channel.name}.rate")
            angle = result[..., i]
            speed = np.zeros_like(angle) if rate is None else result[..., rate]
            good = np.isfinite(angle) & np.isfinite(speed)
            if good.all():
                angle += TURN * _turns(times, angle, speed)
                continue
            for run in np.ndindex(angle.shape[:-1]):
                kept = good[run]
                angle[run][kept] += TURN * _turns(times[kept], angle[run][kept], speed[run][kept])
    return result


def _turns(times: np.ndarray, angle: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Whole turns to add to each `angle` (..., n) so that it follows its `speed` (..., n) [rad/s]."""
    carried = np.diff(times) * (speed[..., 1:] + speed[..., :-1]) / 2
    missing = np.rint((carried - np.diff(angle)) / TURN)
    return np.concatenate([np.zeros_like(angle[..., :1]), np.cumsum(missing, axis=-1)], axis=-1)


def continuous_quaternions(values: np.ndarray, channels: Sequence[Channel], copy: bool = True) -> np.ndarray:
    """A copy of `values` (..., n, k), or these, in which quaternions do not jump between e and -e from row to row.

    Those of bodies, and of joints: there rates and accelerations change sign with them.
    """
    result = np.array(values, dtype=float) if copy else values
    columns = {channel.name: i for i, channel in enumerate(channels)}
    for name, i in columns.items():
        stem = name.removesuffix(".e0")
        if stem == name or not (stem.endswith(".orientation") or f"{name}.rate" in columns):
            continue
        if [channel.name for channel in channels[i : i + 4]] != [f"{stem}.{e}" for e in _QUATERNION]:
            continue
        e = result[..., i : i + 4]
        flips = np.where(np.einsum("...ij,...ij->...i", e[..., 1:, :], e[..., :-1, :]) < 0, -1.0, 1.0)
        signs = np.concatenate([np.ones_like(e[..., :1, 0]), np.cumprod(flips, axis=-1)], axis=-1)
        changing = [columns.get(f"{stem}.{one}{level}") for one in _QUATERNION for level in _LEVELS]
        for k in (k for k in changing if k is not None):
            result[..., k] *= signs
    return result


def with_companions(channels: Sequence[Channel], columns: Sequence[int]) -> list[int]:
    """These columns, with the rates that angles are followed by and whole quaternions, in the order of the channels."""
    chosen = {i: channels[i] for i in columns}
    stems = {i: _quaternion_of(channel.name) for i, channel in chosen.items()}
    place: dict[str, int] = {}
    if not hasattr(channels, "matching") and (any(stems.values()) or any(c.angle for c in chosen.values())):
        place = {channel.name: i for i, channel in enumerate(channels)}
    needed = set(chosen)
    for i, channel in chosen.items():
        if channel.angle and f"{channel.name}.rate" in place:
            needed.add(place[f"{channel.name}.rate"])
        stem = stems[i]
        if stem.endswith(".orientation"):  # its components are neighbours
            first = i - _QUATERNION.index(channel.name.rpartition(".")[2])
            needed.update(range(first, first + 4))
        elif stem and f"{stem}.e0.rate" in place:  # of a joint: with a rate, that nothing else has
            needed.update(place[f"{stem}.{e}"] for e in (*_QUATERNION, "e0.rate"))
    return sorted(needed)


def _quaternion_of(name: str) -> str:
    """The name of a quaternion a channel is a component of, or the rate or acceleration of one; empty: none."""
    for level in _LEVELS:
        stem, dot, last = name.removesuffix(level).rpartition(".")
        if dot and last in _QUATERNION and name.endswith(level):
            return stem
    return ""
