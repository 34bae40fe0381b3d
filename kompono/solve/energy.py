"""The energy of a run of a machine that neither gains nor loses any.

Whether a machine is such a one is not declared; its equations tell: along its motion the energy stays, to the first
order in time, at the very records between which it changed most. A run in which it changed nevertheless by a good part
of the kinetic energy is wrong: its step is too long, or it has passed a position that it cannot pass. This is asked of
runs of equal steps all of which are recorded; between records that are far apart a damper may have been at work.
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
