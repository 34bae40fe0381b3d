"""Machines in which a part and its owner hold the same block: jaws inside, the floor outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
from elsewhere.caught import Catch, Siding

from kompono import Body, Event, Ground, Mode, State, Subsystem, time
from kompono.library import (
    AppliedLoad,
    Brake,
    Clutch,
    Contact,
    Drive,
    DryFriction,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    Weld,
)

BEGIN, END = 0.01, 0.1
WAY = 0.2 * ca.fmax(time - BEGIN, 0) ** 3
FEET = ((0.05, 0.05, -0.05), (-0.05, 0.05, -0.05), (0, -0.05, -0.05))


class Jaws(Subsystem):
    """Jaws that hold a block; `back`: declared the other way round."""

    def __init__(self, squeeze: float = 50.0, back: bool = False) -> None:
        self.block = Body(mass=2.0, inertia=(0.01, 0.01, 0.01), start_position=(0, 0, 0.05))
        self.arm, self.jaw = (Body(mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(2))
        self.slide = Prismatic(self.arm, self.jaw, axis="x", displacement=0.05)
        self.squeeze = JointEffort(self.slide, -squeeze)
        made: dict[str, Callable[[], Any]] = {"left": self._left, "right": self._right}
        for name in sorted(made, reverse=back):
            setattr(self, name, made[name]())
        self.expose(self.arm, self.block)

    def _left(self) -> Contact:
        points = self.block.at(-0.05, 0, 0).points((0, 0.03, 0), (0, -0.03, 0))
        return Contact(self.arm.at(-0.05, 0, 0.05).plane("x"), points, mu=0.5)

    def _right(self) -> Contact:
        points = self.block.at(0.05, 0, 0).points((0, 0.03, 0), (0, -0.03, 0))
        return Contact(self.jaw.at(0, 0, 0.05).plane("-x"), points, mu=0.5)


class Hoist(Subsystem):
    """The owner drives them, and has the floor."""

    def __init__(self, jaws: Callable[[], Any] = Jaws, *, mu: float = 0.3, back: bool = False) -> None:
        self.ground, self.gravity, self.jaws = Ground(), Gravity(), jaws()
        made: dict[str, Callable[[], Any]] = {
            "up": lambda: Prismatic(self.ground, self.jaws.arm, axis="z"),
            "feet": lambda: Contact(self.ground.plane(), self.jaws.block.points(*FEET), mu=mu),
        }
        for name in sorted(made, reverse=back):
            setattr(self, name, made[name]())
        self.lift = Drive(self.up, WAY)


class Cell(Subsystem):
    """Jaws in a part that drives them, and shows their block."""

    def __init__(self, jaws: Callable[[], Any] = Jaws) -> None:
        self.frame, self.jaws = Body(mass=1.0, inertia=(1, 1, 1)), jaws()
        self.up = Prismatic(self.frame, self.jaws.arm, axis="z")
        self.lift = Drive(self.up, WAY)
        self.expose(self.frame, self.jaws.block)


class Works(Subsystem):
    """Its owner has the floor."""

    def __init__(self, jaws: Callable[[], Any] = Jaws) -> None:
        self.ground, self.gravity, self.cell = Ground(), Gravity(), Cell(jaws)
        self.hold = Weld(self.ground, self.cell.frame)
        self.feet = Contact(self.ground.plane(), self.cell.jaws.block.points(*FEET), mu=0.3)


class Station(Subsystem):
    """Jaws, their drive and the floor in one part."""

    def __init__(self, jaws: Callable[[], Any] = Jaws) -> None:
        self.base, self.jaws = Body(mass=1.0, inertia=(1, 1, 1)), jaws()
        self.up = Prismatic(self.base, self.jaws.arm, axis="z")
        self.lift = Drive(self.up, WAY)
        self.feet = Contact(self.base.plane(), self.jaws.block.points(*FEET), mu=0.3)
        self.expose(self.base)


class Hall(Subsystem):
    """It stands on a ground."""

    def __init__(self, jaws: Callable[[], Any] = Jaws) -> None:
        self.ground, self.gravity, self.station = Ground(), Gravity(), Station(jaws)
        self.hold = Weld(self.ground, self.station.base)


class Braked(Subsystem):
    """A wheel with a brake inside."""

    def __init__(self, limit: float = 1.0) -> None:
        self.frame, self.wheel = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(2))
        self.pin = Revolute(self.frame, self.wheel, axis="z")
        self.brake = Brake(self.pin, limit=limit)
        self.expose(self.frame, self.wheel)


class Bench(Subsystem):
    """Its owner has another one on it, and turns it harder and harder."""

    def __init__(self, wheel: Callable[[], Any] = Braked, limit: float = 2.0) -> None:
        self.ground, self.part = Ground(), wheel()
        self.hold = Weld(self.ground, self.part.frame)
        self.shaft = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        self.fixed = Weld(self.ground, self.shaft)
        self.clutch = Clutch(self.shaft, self.part.wheel, axis="z", limit=limit)
        self.turn = AppliedLoad(self.part.wheel, torque=(0, 0, 100 * time))


class Hooked(Subsystem):
    """Two wagons that stick, one of them inside; a hook between them shuts, by an event or when it is sampled, may open
    again, and the owner's wagon is pulled harder and harder.
    """

    def __init__(self, siding: Callable[[], Any] = Siding, *, sampled: bool = False, opens: float = 1.0) -> None:
        self.ground, self.part, self.clock = Ground(), siding(), State(0.0)
        self.shut = Mode(0.0, every=0.01, offset=0.005) if sampled else Mode(0.0)
        self.wagon = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.wagon, axis="x")
        self.rubs = DryFriction(self.slide, preload=0.5)
        self.hook = Catch(self.wagon, self.part.wagon, self.shut)
        self.pull, self.clock.rate = JointEffort(self.slide, 100 * ca.fmax(time - 0.013, 0)), 1.0
        if sampled:
            self.shut.next = 1.0
        else:
            self.shuts = Event(self.clock - 0.0123, {self.shut: 1})
            self.lets_go = Event(self.clock - opens, {self.shut: 0})
