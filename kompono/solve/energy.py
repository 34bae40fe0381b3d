"""The energy of a run of a machine that neither gains nor loses any.

Whether a machine is such a one is not declared; its equations tell: along its motion the energy stays, to the first
order in time, at the very records between which it changed most. A run in which it changed nevertheless by a good part
of the kinetic energy is wrong: its step is too long, or it has passed a position that it cannot pass. This is asked of
runs of equal steps all of which are recorded; between records that are far apart a damper may have been at work.

Of any machine, whatever drives or brakes it, another thing is asked: where the energy changed in one step by a good
part of the kinetic energy, two steps of half the size must say the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CHANGED = 0.1  # of the greatest kinetic energy
CONSERVED = 1e-4  # of the power exchanged between kinetic and potential energy
LOOKS = 6  # jumps of the energy that are looked at
SMALL = 1e-3  # of the greatest kinetic energy: less is not compared with
SHIFTS = (1e-2, 1e-4, 1e-6)  # of a step: how far the motion is followed
ROUNDING = 1e-15
DIGITS = 1e-9  # of the energy: a change below this is none
DIFFERS = 0.5  # of what the energy changed by in a step: what half steps may make of it otherwise
POWER = 2.0  # times the power at its ends: what forces may have changed the energy by in a step
SAME = 0.1  # of the same: how well a step made again must agree with the run


def complaint(
    times: np.ndarray,
    kinetic: np.ndarray,
    total: np.ndarray,
    energies: Callable[[int, float], tuple[float, float]],
    settings: Any,
) -> tuple[int, str] | None:
    """The first row where the energy is far off and what to say about it, or None.

    `energies(row, shift)` gives kinetic and total energy [J] at a recorded state followed for a short time [s].
    """
    good = np.isfinite(total) & np.isfinite(kinetic)
    if len(total) < 3 or not good.all():
        return None
    change = np.abs(total - total[0])
    largest = np.maximum.accumulate(np.abs(kinetic))
    off = np.flatnonzero(change > CHANGED * np.maximum(largest, SMALL * np.abs(kinetic).max()))
    if not len(off) or not change.max() > CHANGED * np.abs(kinetic).max():
        return None
    jumps = np.argsort(-np.abs(np.diff(total)))[:LOOKS]
    if not _conserved(np.array(sorted({*jumps.tolist(), *(jumps + 1).tolist()})), total, settings.step, energies):
        return None
    worst = int(np.argmax(change))
    grew = total[worst] > total[0]
    scale = np.abs(kinetic[: off[0] + 1]).max()
    how = f"grew by {change[worst] / scale:.3g} times the kinetic energy" if scale > 0 else "grew from nothing"
    how = how if grew else f"fell by {change[worst] / max(scale, 1e-300):.2g} times the kinetic energy"
    return int(off[0]), (
        f"the energy {how} ({total[0]:.4g} J at the start, {total[worst]:.4g} J at {times[worst]:.4g} s), though "
        "nothing in the model adds or takes any; try a smaller step, and look whether the machine passed a position it "
        "cannot pass,"
    )


def jumped(
    kinetic: np.ndarray,
    total: np.ndarray,
    step: float,
    energies: Callable[[int, float], tuple[float, float]],
    again: Callable[[int, int], float],
) -> tuple[int, str] | None:
    """The first row (of those where it changed most) behind which the energy changed by the size of the step, and what
    to say about it, or None.

    `again(row, parts)` gives the total energy [J] a step [s] behind a row, if that step is made in parts. Where forces
    have the power to change it so, they are taken to be what did: they may be switched within a step.
    """
    if len(total) < 3 or not (np.isfinite(total).all() and np.isfinite(kinetic).all()):
        return None
    change, moving = np.abs(np.diff(total)), np.abs(kinetic)
    scale = np.maximum(np.maximum.accumulate(moving)[1:], CHANGED * moving.max())
    large = np.flatnonzero(change > np.maximum(CHANGED * scale, DIGITS * np.abs(total).max()))
    for row in sorted(large[np.argsort(-change[large])[:LOOKS]].tolist()):
        if change[row] <= POWER * step * max(_power(energies, row + k, SHIFTS[0] * step) for k in (0, 1)):
            continue
        once, halves = again(row, 1), again(row, 2)
        if abs(once - total[row + 1]) <= SAME * change[row] and abs(once - halves) > DIFFERS * change[row]:
            return row, (
                f"the energy jumped from {total[row]:.4g} to {total[row + 1]:.4g} J in one step, where two half steps "
                f"make {halves:.4g} J of it; try a smaller step, and look whether the machine passed a position it "
                "cannot pass,"
            )
    return None


def _power(energies: Callable[[int, float], tuple[float, float]], row: int, shift: float) -> float:
    """Of all forces at a record [W]."""
    (_, before), (_, after) = (energies(row, sign * shift) for sign in (-1, 1))
    return abs(after - before) / (2 * shift)


def _conserved(
    rows: np.ndarray, total: np.ndarray, step: float, energies: Callable[[int, float], tuple[float, float]]
) -> bool:
    """Whether the equations keep the energy at some records; not if that cannot be told for rounding."""
    for shift in SHIFTS:
        lost, exchanged, noise = 0.0, 0.0, 0.0
        for row in rows:
            (k0, e0), (k1, e1) = (energies(int(row), sign * shift * step) for sign in (-1, 1))
            lost, exchanged = lost + abs(e1 - e0), exchanged + abs(k1 - k0)
            noise += ROUNDING * abs(total[row])
        if (
            np.isfinite(lost)
            and 0 < exchanged < np.inf
            and lost <= CONSERVED * exchanged
            and noise <= CONSERVED * exchanged
        ):
            return True
    return False
