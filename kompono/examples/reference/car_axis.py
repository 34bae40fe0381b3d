"""The car axis of the test set for initial value problems: two wheels on springs, one of them on a bumpy road.

kompono run kompono/examples/reference/car_axis.py --plot
"""

from __future__ import annotations

from typing import Any

from casadi import sin, sqrt

from kompono import Body, Coupling, Ground, Subsystem, time
from kompono.library import Distance, Gravity, JointEffort, Planar

MASS = 10 * 1e-2**2 / 2  # of each end of the axis
HEIGHT, FREE = 0.1, 0.5  # of the bumps, and length of the springs


class Upright(Coupling):
    """A point stays perpendicular to the chassis above its left end, the origin."""

    def __init__(self, point: Planar, chassis: tuple[Any, Any]) -> None:
        super().__init__(point)
        self.residual = chassis[0] * point.x + chassis[1] * point.y

    def conditions(self) -> list[Any]:
        return [self.residual]


class Spring(Subsystem):
    """Pulls a point towards a `foot` on the chassis."""

    def __init__(self, point: Planar, foot: tuple[Any, Any]) -> None:
        reach = point.x - foot[0], point.y - foot[1]
        length = sqrt(reach[0] ** 2 + reach[1] ** 2)
        pull = (FREE - length) / length
        self.across = JointEffort(point, pull * reach[0], coordinate="x")
        self.up = JointEffort(point, pull * reach[1], coordinate="y")


class CarAxis(Subsystem):
    """Both ends of the axis, in numbers without units as published."""

    run_defaults = {"until": 3.0, "step": 0.01, "method": "dopri5", "rtol": 1e-10}  # noqa: RUF012

    def __init__(self) -> None:
        bump = HEIGHT * sin(10 * time)
        chassis = sqrt(1 - bump**2), bump
        self.ground = Ground()
        self.gravity = Gravity((0, -1, 0))
        self.left, self.right = (Body(mass=MASS, inertia=(1e-6, 1e-6, 1e-6)) for _ in range(2))
        self.left_end, self.right_end = (
            Planar(self.ground, body, x=x, y=0.5, angle=0.0, x_rate=-0.5, y_rate=0.0, angle_rate=0.0)
            for body, x in ((self.left, 0.0), (self.right, 1.0))
        )
        self.left_spring = Spring(self.left_end, (0.0, 0.0))
        self.right_spring = Spring(self.right_end, chassis)
        self.upright = Upright(self.left_end, chassis)
        self.axis = Distance(self.left, self.right, length=1.0)
