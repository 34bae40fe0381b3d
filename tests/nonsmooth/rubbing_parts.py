"""Machines with components inside which friction follows a force: of a contact, or of a joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from kompono import Body, Ground, Subsystem, time
from kompono.library import (
    Contact,
    DryFriction,
    EndStops,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    SpringDamper,
    solids,
)


class Skid(Subsystem):
    """A block that rubs on a table by the force of its guide."""

    def __init__(self) -> None:
        self.table, self.block = (Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1))) for _ in range(2))
        self.slide = Prismatic(self.table, self.block, axis="x")
        self.rubs = DryFriction(self.slide, mu=0.3, mu_static=0.35)
        self.pull = SpringDamper(self.table, self.block.at(0.3, 0, 0), k=50, rest=0.3)
        self.expose(self.table, self.block)


class Wrapped(Subsystem):
    """A component inside another one that shows the same two bodies."""

    def __init__(self, kind: type = Skid) -> None:
        self.core = kind()
        self.expose(*self.core.exposed)

    @property
    def table(self) -> Body:
        return self.core.table

    @property
    def block(self) -> Body:
        return self.core.block


class Rocked(Subsystem):
    """A skid on a table that is rocked, with a pendulum on the block."""

    def __init__(self, kind: Callable[[], Any] = Skid) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.part = kind()
        self.base = Revolute(self.ground, self.part.table, axis="y")
        self.spring = JointEffort(self.base, -40 * self.base.angle - 1.0 * self.base.angle_rate + 15 * ca.sin(6 * time))
        self.arm = Body(solids.rod(mass=0.5, length=0.5, radius=0.02))
        self.pin = Revolute(self.part.block, self.arm.at(0, 0, 0.25), axis="y", angle=0.5)


class Floor(Subsystem):
    """A box on the rough floor of its own component."""

    def __init__(self) -> None:
        self.floor = Ground()
        self.box = Body(solids.box(mass=2.0, size=(0.4, 0.3, 0.2)), start_position=(0, 0, 0.1))
        self.feet = Contact(self.floor.plane(), self.box.at(0, 0, -0.1).corners((0.4, 0.3, 0)), mu=0.4, restitution=0.0)
        self.expose(self.box)


class Dragged(Subsystem):
    """A spring whose end moves drags the box along."""

    def __init__(self) -> None:
        self.gravity, self.part = Gravity(), Floor()
        self.ground = Ground()
        self.hand = Body(solids.sphere(mass=1.0, radius=0.05), start_position=(0.5, 0, 0.0))
        self.rail = Prismatic(self.ground, self.hand, axis="x", displacement=0.5)
        self.spring = SpringDamper(self.part.box.at(0.2, 0, -0.1), self.hand, k=100, c=1.0, rest=0.3)
        self.drive = JointEffort(self.rail, 25 * ca.sin(4 * time))


class Tray(Subsystem):
    """A tray with a loose ball on it."""

    def __init__(self) -> None:
        self.tray = Body(solids.box(mass=3.0, size=(2.0, 1.0, 0.1)))
        self.ball = Body(solids.sphere(mass=0.5, radius=0.1), start_position=(0.1, 0.05, 0.15))
        self.touch = Contact(self.tray.at(0, 0, 0.05).plane(), self.ball.sphere(0.1), mu=0.15, restitution=0.3)
        self.expose(self.tray)


class Carried(Subsystem):
    """A tray that is shaken and tilted."""

    def __init__(self, kind: Callable[[], Any] = Tray) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), kind()
        self.slider = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        self.rail = Prismatic(self.ground, self.slider, axis="x")
        self.tilt = Revolute(self.slider, self.part.tray, axis="y")
        self.shake = JointEffort(self.rail, 60 * ca.sin(9 * time))
        self.hold = JointEffort(self.tilt, 100 * ca.sin(20 * time) - 300 * self.tilt.angle - 5 * self.tilt.angle_rate)


class Double(Subsystem):
    """Two rods in a row."""

    def __init__(self) -> None:
        self.upper, self.lower = (Body(solids.rod(mass=0.7, length=0.4, radius=0.02)) for _ in range(2))
        self.knee = Revolute(self.upper.at(0, 0, -0.2), self.lower.at(0, 0, 0.2), axis="y", angle=0.3)
        self.expose(self.upper)


class Heavy(Subsystem):
    """A part without friction, on a guide that rubs by its weight and load; a wall stops it."""

    def __init__(self, kind: Callable[[], Any] = Double) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.cart = Body(solids.box(mass=1.0, size=(0.2, 0.2, 0.2)))
        self.rail = Prismatic(self.ground, self.cart, axis="x")
        self.rubs = DryFriction(self.rail, mu=0.2)
        self.stops = EndStops(self.rail, -0.1, 0.05, restitution=0.5)
        self.part = kind()
        self.pin = Revolute(self.cart, self.part.upper.at(0, 0, 0.2), axis="y", angle=1.5)


class Rough(Subsystem):
    """A ball on the rough floor of its own component, with an axle through it."""

    def __init__(self) -> None:
        self.floor = Ground()
        self.ball = Body(solids.sphere(mass=2.0, radius=0.2), start_position=(0, 0, 0.2), start_velocity=(0.5, 0.2, 0))
        self.touch = Contact(self.floor.plane(), self.ball.sphere(0.2), mu=0.3)
        self.expose(self.ball)


class Swung(Subsystem):
    """A pendulum hangs on a ball that rolls and slips."""

    def __init__(self, kind: Callable[[], Any] = Rough) -> None:
        self.gravity, self.part = Gravity(), kind()
        self.arm = Body(solids.rod(mass=1.5, length=0.6, radius=0.02))
        self.pin = Revolute(self.part.ball, self.arm.at(0, 0, 0.3), axis=(0.6, 0.8, 0), angle=1.4)
