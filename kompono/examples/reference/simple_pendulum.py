"""A01 of the IFToMM/LIM benchmark: a point mass on a massless bar, let go from the horizontal.

kompono run examples/reference/simple_pendulum.py --plot
"""

from __future__ import annotations

from math import pi

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute, solids


class SimplePendulum(Subsystem):
    """1 kg on 1 m; the angle is zero when the bar hangs down, the start is the horizontal at -x."""

    run_defaults = {"until": 10.0, "step": 1e-2, "method": "dopri5", "rtol": 1e-10}  # noqa: RUF012

    def __init__(self, *, length: float = 1.0, mass: float = 1.0, angle: float = -pi / 2) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, -9.81, 0))
        self.bob = Body(solids.point(mass=mass))
        self.pin = Revolute(self.ground, self.bob.at(0, length, 0), axis="z", angle=angle)
