"""A part in which a stop is touched for less than a step, and a machine around it."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono import Body, Ground, Subsystem, time
from kompono.library import EndStops, Gravity, JointEffort, Prismatic, Revolute


class Chamber(Subsystem):
    """A shuttle on a spring in a housing grazes a stop again and again: it comes back within a few milliseconds."""

    def __init__(self) -> None:
        self.housing = Body(mass=2.0, inertia=(0.2,) * 3)
        self.shuttle = Body(mass=0.5, inertia=(0.01,) * 3)
        self.slide = Prismatic(self.housing, self.shuttle, axis="x", displacement_rate=1.0)
        self.pull = JointEffort(self.slide, -0.5 * 60.0**2 * self.slide.displacement)
        self.stop = EndStops(self.slide, -1.0, 0.0141, restitution=0.9)
        self.expose(self.housing)


class Nested(Subsystem):
    def __init__(self) -> None:
        self.core = Chamber()
        self.expose(self.core.housing)

    @property
    def housing(self) -> Body:
        return self.core.housing


class Rig(Subsystem):
    """The chamber on a hinge of its owner, which is driven."""

    def __init__(self, kind: Any = Chamber) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), kind()
        self.hinge = Revolute(self.ground, self.part.housing.at(0, 0, 0.3), axis="y")
        self.drive = JointEffort(self.hinge, 2 * ca.sin(9 * time))
