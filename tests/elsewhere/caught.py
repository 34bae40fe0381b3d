"""A wagon that is caught by a hook of its owner's, and rubs where nobody of the owner's sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kompono import Body, Constraint, Event, Ground, Mode, Subsystem
from kompono.library import DryFriction, Prismatic
from kompono.spatial.pose import Pose


class Siding(Subsystem):
    """A wagon that sticks on rails of its own."""

    def __init__(self) -> None:
        self.ground, self.wagon = Ground(), Body(mass=2.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.wagon, axis="x")
        self.rubs = DryFriction(self.slide, preload=5.0)
        self.expose(self.wagon)


class Catch(Constraint):
    """Holds two bodies together along x when it is `shut`."""

    def __init__(self, first: Body, second: Body, shut: Mode) -> None:
        super().__init__(first, second)
        self.shut = shut

    def conditions(self, pose: Pose) -> list[Any]:
        return [self.shut * pose.position[0]]


class Caught(Subsystem):
    """Another wagon rubs along, hooks on, and both go on."""

    def __init__(self, kind: Callable[[], Any] = Siding) -> None:
        self.ground, self.part, self.shut = Ground(), kind(), Mode(0)
        self.wagon = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.wagon, axis="x", displacement=-0.5, displacement_rate=1.5)
        self.rubs = DryFriction(self.slide, preload=0.5)
        self.hook = Catch(self.wagon, self.part.wagon, self.shut)
        self.meet = Event(self.slide.displacement - self.part.wagon.position[0], {self.shut: 1})
