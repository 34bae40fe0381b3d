"""Two pendulums in a row, of points on massless strings or of uniform rods, for their small oscillations.

kompono run examples/reference/double_pendulum.py --set rods=True --plot
"""

from __future__ import annotations

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute, solids


class DoublePendulum(Subsystem):
    """Each 1 kg and 1 m; angles are zero when both hang down."""

    run_defaults = {"until": 10.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, rods: bool = False, angle1: float = 0.0, angle2: float = 0.0) -> None:
        solid = solids.rod(mass=1.0, length=1.0, axis="z") if rods else solids.point(mass=1.0)
        top, bottom = (0.5, -0.5) if rods else (1.0, 0.0)  # of a pendulum, seen from its centre of mass
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.81))
        self.upper, self.lower = Body(solid), Body(solid)
        self.hook = Revolute(self.ground, self.upper.at(0, 0, top), axis="y", angle=angle1)
        self.pin = Revolute(self.upper.at(0, 0, bottom), self.lower.at(0, 0, top), axis="y", angle=angle2)
