"""Whether the stiffness that was given to soft laws can be followed by equal steps.

What a law chooses by itself always can be. What is given is judged at the start: h^2 k a, with the mobility a of bodies
that are free, must not exceed one; above four no step is stable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.solve.methods import METHODS, Family
from kompono.solve.settings import Settings

MOST = 1.0


def check_softness(
    simulation: Any, settings: Settings, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray
) -> None:
    """Raise for a law too stiff for the step, with one that is short enough."""
    soft = simulation.translation.model.soft
    if METHODS[settings.method].family is not Family.FIXED or not any(
        unit.stiffness is not None for one in soft for unit in one.law._shapes()
    ):
        return
    (shares,) = simulation.kernel.evaluate("soft_shares", settings.begin, state, inputs, parameters)
    worst = int(np.argmax(shares))
    if shares[worst] > MOST:
        better = settings.step / np.sqrt(shares[worst])
        raise RunError(
            f"its stiffness is too high for a step of {settings.step:g} s.",
            path=simulation.translation.model.path(soft[worst].law),
            fix=f"Use step={0.9 * better:.2g}, method='dopri5', or leave the stiffness to the step.",
        )
