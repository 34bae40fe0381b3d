"""The stiff flyball governor of the multibody benchmark library: springs of 8e5 N/m in the place of two couplers.

kompono run kompono/examples/reference/flyball_governor.py --plot
"""

from __future__ import annotations

from math import pi

from kompono import Body, Frame, Ground, Subsystem
from kompono.library import Gravity, Prismatic, Revolute, SpringDamper, Weld, solids

STEEP = 30 * pi / 180  # [rad] of the rods below the horizontal
STIFFNESS, DAMPING = 8e5, 4e4  # [N/m], [N s/m]


class Arm(Subsystem):
    """A `rod` with a ball at its far end; `side` (-1, 1) is where it points."""

    def __init__(self, *, side: int) -> None:
        self.rod = Body(solids.box(mass=0.3, size=(1.0, 0.01, 0.01)))
        self.ball = Body(mass=5.0, inertia=(0, 0, 0))
        self.weld = Weld(self.rod.at(side * 0.5, 0, 0), self.ball)
        self.expose(self.rod)


class FlyballGovernor(Subsystem):
    """A turning shaft with two arms and a slider that hangs on them by springs, whose stiffness and damping are
    `factor` times those of the benchmark.
    """

    run_defaults = {"until": 10.0, "step": 0.1, "method": "esdirk4", "rtol": 1e-8}  # noqa: RUF012

    def __init__(self, *, factor: float = 1.0) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.shaft = Body(solids.box(mass=0.3, size=(0.01, 0.01, 1.0)))
        self.bearing = Revolute(self.ground, self.shaft.at(0, 0, -0.5), axis="z", angle_rate=2 * pi)
        self.slider = Body(solids.box(mass=3.0, size=(0.1, 0.1, 0.1)))
        self.guide = Prismatic(self.shaft.at(0, 0, -0.5), self.slider, axis="z", displacement=0.5)
        self.left, self.right = Arm(side=-1), Arm(side=1)
        head, left, right = self.shaft.at, self.left.rod, self.right.rod
        self.left_hinge = Revolute(head(-0.05, 0, 0.5), left.at(0.5, 0, 0), axis=(0, -1, 0), angle=STEEP)
        self.right_hinge = Revolute(head(0.05, 0, 0.5), right.at(-0.5, 0, 0), axis=(0, 1, 0), angle=STEEP)

        def spring(middle: Frame, across: float) -> SpringDamper:
            k, c = factor * STIFFNESS, factor * DAMPING
            return SpringDamper(middle, self.slider.at(across, 0, 0), k=k, c=c, rest=0.5)

        self.left_spring = spring(left, -0.05)
        self.right_spring = spring(right, 0.05)
