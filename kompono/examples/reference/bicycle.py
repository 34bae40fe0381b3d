"""The uncontrolled bicycle of Whipple: two knife-edge wheels that roll without slip, a frame with a rider, a fork.

kompono run kompono/examples/reference/bicycle.py --plot
"""

from __future__ import annotations

from math import cos, pi, sin

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute, Rolling

LEAN = pi / 10  # of the steering axis from the vertical
REAR, FRONT = 0.3, 0.35  # [m] radii of the wheels
BASE = 1.02  # [m] from one point of contact to the other
STEER = (0.82188470506, 0.85595086466)  # [m] a point of the steering axis: ahead of the rear contact, above the ground


class Bicycle(Subsystem):
    """The benchmark bicycle, upright, x ahead, rolling at a `speed` [m/s] with a `roll_rate` [rad/s]."""

    run_defaults = {"until": 5.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, speed: float = 5.0, roll_rate: float = 0.0) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.81))
        self.rear = Body(mass=2, inertia=(0.0603, 0.12, 0.0603))
        self.front = Body(mass=3, inertia=(0.1405, 0.28, 0.1405))
        self.frame = Body(mass=85, inertia=((9.2, 0, -2.4), (0, 11, 0), (-2.4, 0, 2.8)))
        self.fork = Body(mass=4, inertia=((0.05892, 0, 0.00756), (0, 0.06, 0), (0.00756, 0, 0.00708)))
        self.rear_contact = Rolling(self.ground, self.rear, radius=REAR, axis="y", wx=roll_rate, wy=speed / REAR)
        hub, steer, head = (0.0, REAR), STEER, (BASE, FRONT)
        frame, fork = (0.3, 0.9), (0.9, 0.7)  # centres of mass
        self.rear_hub = Revolute(self.rear, _at(self.frame, hub, frame), axis="y", angle=0.0)
        axis = (-sin(LEAN), 0.0, cos(LEAN))
        self.steering = Revolute(_at(self.frame, steer, frame), _at(self.fork, steer, fork), axis=axis, angle=0.0)
        self.front_hub = Revolute(_at(self.fork, head, fork), self.front, axis="y")
        self.front_contact = Rolling(self.ground, self.front, radius=FRONT, axis="y")


def _at(body: Body, point: tuple[float, float], centre: tuple[float, float]):
    """The frame of a body with its centre of mass at `centre` (ahead, above) that lies at `point`."""
    return body.at(point[0] - centre[0], 0, point[1] - centre[1])
