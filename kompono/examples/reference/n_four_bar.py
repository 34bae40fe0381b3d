"""A02 of the IFToMM/LIM benchmark: N square windows in a row, through positions where every bar lies in one line.

    kompono run examples/reference/n_four_bar.py --set windows=40 --plot

In space every revolute that closes a window has three conditions too many, and where the bars lie in line the
mobility jumps from 1 to N + 1; the mechanism must pass without noticing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute


class NFourBar(Subsystem):
    """Uprights pinned to the ground at (0, 0), (1, 0), ...; couplers join their tips; all bars 1 m, 1 kg.

    `turn` (a rotation vector [rad]) turns the whole mechanism in space while the axes of the bodies stay parallel to
    the world's: the same motion, but no vector has a zero component any more.
    """

    run_defaults = {"until": 10.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, windows: int = 2, *, speed: float = 1.0, turn: Sequence[float] = (0, 0, 0)) -> None:
        x, y, axis = Rotation.from_rotvec(turn).as_matrix().T
        self.ground = Ground()
        self.gravity = Gravity(-9.81 * y)
        self.uprights = [bar(y) for _ in range(windows + 1)]
        self.couplers = [bar(x) for _ in range(windows)]
        self.feet = [
            Revolute(self.ground.at(k * x), upright.at(-y / 2), axis=axis, angle=0.0, angle_rate=-speed)
            for k, upright in enumerate(self.uprights)
        ]
        self.left_pins = [
            Revolute(upright.at(y / 2), coupler.at(-x / 2), axis=axis, angle=0.0, angle_rate=speed)
            for upright, coupler in zip(self.uprights, self.couplers, strict=False)
        ]
        self.right_pins = [
            Revolute(upright.at(y / 2), coupler.at(x / 2), axis=axis)
            for upright, coupler in zip(self.uprights[1:], self.couplers, strict=True)
        ]


def bar(direction: np.ndarray) -> Body:
    """A bar of 1 m and 1 kg along a unit vector. Its 5e-5 kg m^2 about its axis are not in the benchmark: motion in a
    plane does not see them, but absolute coordinates need some.
    """
    along = np.outer(direction, direction)
    return Body(mass=1.0, inertia=(np.eye(3) - along) / 12 + 5e-5 * along)
