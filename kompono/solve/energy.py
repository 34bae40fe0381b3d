"""The energy of a run of a machine that neither gains nor loses any.

Whether a machine is such a one is not declared; its equations tell: along its motion the energy stays, at several
recorded states, to the first order in time. A run in which it changed nevertheless by a good part of the kinetic energy
is wrong: its step is too long, its tolerance too loose, or it has passed a position that it cannot pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CHANGED = 0.1  # of the greatest kinetic energy
CONSERVED = 1e-4  # of the power exchanged between kinetic and potential energy
LOOKS = 6
SHIFT = 1e-4  # of a step: how far the motion is followed


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
    off = np.flatnonzero(change > CHANGED * np.maximum(largest, np.abs(kinetic).max() * 1e-12))
    if not len(off) or not change.max() > CHANGED * np.abs(kinetic).max():
        return None
    last = max(int(off[0]), 2)  # rows up to there are still sane
    rows = np.unique(np.linspace(0, last, LOOKS).astype(int))
    shift = SHIFT * min(settings.step, float(times[1] - times[0]) or settings.step)
    lost, exchanged = 0.0, 0.0
    for row in rows:
        (k0, e0), (k1, e1) = energies(int(row), -shift), energies(int(row), shift)
        lost += abs(e1 - e0)
        exchanged += abs(k1 - k0)
    rounding = 1e-13 * len(rows) * float(np.abs(total[rows]).max())
    if not np.isfinite(lost) or lost > CONSERVED * exchanged + rounding:
        return None
    worst = int(np.argmax(change))
    grew = total[worst] > total[0]
    scale = np.abs(kinetic[: last + 1]).max()
    how = f"grew by {change[worst] / scale:.3g} times the kinetic energy" if scale > 0 else "grew from nothing"
    how = how if grew else f"fell by {change[worst] / max(scale, 1e-300):.2g} times the kinetic energy"
    cure = "a smaller step" if settings.method in ("rk2", "rk4", "adams", "leapfrog") else "a smaller rtol"
    return int(off[0]), (
        f"the energy {how} ({total[0]:.4g} J at the start, {total[worst]:.4g} J at {times[worst]:.4g} s), though nothing "
        f"in the model adds or takes any; try {cure}, and look whether the machine passed a position it cannot pass,"
    )
