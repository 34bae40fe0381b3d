"""Parts that sample, have states of their own, or nothing that moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kompono import Body, Ground, Input, JointLaw, Mode, Output, State, Subsystem, Unit, time
from kompono.library import DryFriction, Gravity, JointEffort, Prismatic, Revolute


class Controlled(Subsystem):
    """A pendulum in a box whose controller samples, and has a state."""

    def __init__(self) -> None:
        self.box, self.bob = Body(mass=1.0, inertia=(0.1,) * 3), Body(mass=0.5, inertia=(0.01,) * 3)
        self.pin = Revolute(self.box, self.bob.at(0, 0, 0.3), axis="y", angle=0.4)
        self.slow = State(0.1)
        self.slow.rate = self.pin.angle - 2 * self.slow
        self.torque = Mode(0.0, every=0.01)
        self.torque.next = self.slow - 3 * self.pin.angle - 0.5 * self.pin.angle_rate
        self.push = JointEffort(self.pin, self.torque)
        self.expose(self.box)


class Swinging(Subsystem):
    """It hangs on a pin with a controller that samples less often."""

    def __init__(self, kind: Callable[[], Any] = Controlled) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), kind()
        self.top = Revolute(self.ground, self.part.box.at(0, 0, 0.5), axis="y", angle=0.3)
        self.torque = Mode(0.0, every=0.02, offset=0.005)
        self.torque.next = -self.top.angle
        self.push = JointEffort(self.top, self.torque)


class Braked(Swinging):
    """Its pin rubs."""

    def __init__(self, kind: Callable[[], Any] = Controlled) -> None:
        super().__init__(kind)
        self.rubs = DryFriction(self.top, preload=0.3)


class Weight(Subsystem):
    """A body, and nothing that moves in it."""

    def __init__(self) -> None:
        self.box = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        self.expose(self.box)


class Rubs(JointLaw):
    """Friction on a belt, which has a speed."""

    def __init__(self, slide: Prismatic, belt: Any, limit: Any) -> None:
        super().__init__(slide)
        self.belt, self.limit = belt, limit

    def units(self) -> Unit:
        return Unit(slip=self.joints[0].displacement_rate - self.belt, limit=self.limit)


class Ends(JointLaw):
    """A stop at a place."""

    def __init__(self, slide: Prismatic, place: Any) -> None:
        super().__init__(slide)
        self.place = place

    def units(self) -> Unit:
        return Unit(gap=self.place - self.joints[0].displacement)


class Conveyor(Subsystem):
    """A mass on a belt in a box; the speed of the belt, what holds on it, a push and a stop are inputs."""

    def __init__(self) -> None:
        self.box, self.mass = Body(mass=1.0, inertia=(0.1,) * 3), Body(mass=1.0, inertia=(0.1,) * 3)
        self.belt, self.limit, self.push, self.place = Input(0.0), Input(2.0), Input(0.0), Input(1.0)
        self.slide = Prismatic(self.box, self.mass, axis="x")
        self.rubs, self.ends = Rubs(self.slide, self.belt, self.limit), Ends(self.slide, self.place)
        self.force = JointEffort(self.slide, self.push)
        self.expose(self.box)


class Conveying(Subsystem):
    """It stands on rails; one of its inputs may be connected."""

    def __init__(self, kind: Callable[[], Any] = Conveyor, wired: str = "") -> None:
        self.ground, self.part = Ground(), kind()
        self.rail = Prismatic(self.ground, self.part.box, axis="x")
        if wired:
            self.told = Output(2.0 + time)
            self.connect(self.told, getattr(self.part, wired))
