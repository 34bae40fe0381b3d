"""Machines with parts inside which something strikes, and whose blows others feel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from nonsmooth.grazing import Chamber, Nested
from nonsmooth.rubbing_parts import Skid

from kompono import Body, Ground, Output, Subsystem, time
from kompono.library import Contact, EndStops, Gravity, JointEffort, Planar, Prismatic, Revolute, solids

Make = Callable[[], Any]


class Twice(Subsystem):
    """A chamber in a component in a component."""

    def __init__(self) -> None:
        self.inner = Nested()
        self.expose(self.inner.housing)

    @property
    def housing(self) -> Body:
        return self.inner.housing


class Handing(Subsystem):
    """The housing rests on a wall, a cart on the housing: both bear what the shuttle inside strikes, and are lifted."""

    def __init__(self, kind: Make = Chamber) -> None:
        self.ground, self.part = Ground(), kind()
        self.rail = Prismatic(self.ground, self.part.housing, axis="x")
        self.wall = EndStops(self.rail, 0.0, 0.3, restitution=0.2)
        self.push = JointEffort(self.rail, -3.0)
        self.cart = Body(mass=1.0, inertia=(0.1,) * 3)
        self.coupling = Prismatic(self.part.housing, self.cart, axis="x")
        self.buffer = EndStops(self.coupling, 0.0, 0.2, restitution=0.4)
        self.hold = JointEffort(self.coupling, -1.0)


class Meeting(Subsystem):
    """Two chambers that run against each other: what strikes is the owner's, and inside both."""

    def __init__(self, kind: Make = Chamber) -> None:
        self.ground, self.part, self.other = Ground(), kind(), kind()
        self.rail = Prismatic(self.ground, self.part.housing, axis="x", displacement_rate=0.7)
        self.second = Prismatic(self.ground, self.other.housing, axis="x", displacement=0.03, displacement_rate=-0.6)
        self.touch = Contact(self.part.housing.sphere(0.01), self.other.housing.sphere(0.01), restitution=0.6)


class Coupler(Subsystem):
    """The chamber is the coupler of a four-bar linkage with a stop: a loop through its border."""

    def __init__(self, kind: Make = Chamber) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), kind()
        self.left, self.right = (Body(solids.rod(mass=0.5, length=0.4, radius=0.01)) for _ in range(2))
        self.crank = Revolute(self.ground, self.left.at(0, 0, 0.2), axis="y", angle=0.3)
        self.near = Revolute(self.left.at(0, 0, -0.2), self.part.housing.at(-0.25, 0, 0), axis="y", angle=-0.3)
        self.far = Revolute(self.part.housing.at(0.25, 0, 0), self.right.at(0, 0, -0.2), axis="y", angle=0.3)
        self.rocker = Revolute(self.ground.at(0.5, 0, 0), self.right.at(0, 0, 0.2), axis="y", angle=0.3)
        self.stops = EndStops(self.crank, -0.1, 0.4, restitution=0.5)


class Hung(Subsystem):
    """A chamber hangs on the block of a skid, which is moved inside that part; with a rod to the ground in a loop."""

    def __init__(self, kind: Make = Skid, hung: Make = Chamber, *, loop: bool = False) -> None:
        self.ground, self.gravity, self.part, self.other = Ground(), Gravity(), kind(), hung()
        self.base = Revolute(self.ground, self.part.table, axis="y")
        self.spring = JointEffort(self.base, -80 * self.base.angle - 2.0 * self.base.angle_rate + 15 * ca.sin(6 * time))
        self.pin = Revolute(self.part.block, self.other.housing.at(0, 0, 0.3), axis="y", angle=0.2)
        if loop:
            self.rod = Body(solids.rod(mass=0.5, length=1.0, radius=0.01))
            self.low = Revolute(self.other.housing.at(0, 0, -0.3), self.rod.at(0, 0, -0.5), axis="y", angle=0.6)
            self.high = Revolute(self.ground.at(0.6, 0, 0.2), self.rod.at(0, 0, 0.5), axis="y", angle=0.5)


class Speaking(Chamber):
    """It says how fast its shuttle is."""

    def __init__(self) -> None:
        super().__init__()
        self.speed = Output(self.slide.displacement_rate)


class Listening(Chamber):
    """Its shuttle is pushed by what it is told."""

    def __init__(self, told: Any) -> None:
        super().__init__()
        self.more = JointEffort(self.slide, 20 * told)


class Talking(Subsystem):
    """Two chambers on hinges of their own; one follows what the other says."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), Speaking()
        self.other = Listening(self.part.speed)
        self.first = Revolute(self.ground, self.part.housing.at(0, 0, 0.3), axis="y")
        self.second = Revolute(self.ground, self.other.housing.at(0, 0, 0.3), axis="y")


class TalkingLoop(Coupler):
    """A chamber on a hinge follows what the one in a four-bar linkage says."""

    def __init__(self) -> None:
        super().__init__(Speaking)
        self.other = Listening(self.part.speed)
        self.second = Revolute(self.ground, self.other.housing.at(0, 0, 0.3), axis="y")


class Chalk(Subsystem):
    """A rod that slides on its tip, so steep that it jams."""

    def __init__(self) -> None:
        steep = np.arctan(2.0)
        self.board = Ground()
        self.chalk = Body(mass=1.0, inertia=(1.0, 1.0, 1 / 3))
        self.plane = Planar(self.board, self.chalk, x=np.cos(steep), y=np.sin(steep), angle=steep, x_rate=-2.0)
        self.tip = Contact(self.board.plane("y"), self.chalk.at(-1, 0, 0).point(), mu=1.5)
        self.expose(self.chalk)


class Held(Subsystem):
    """A small body swings on the chalk."""

    def __init__(self) -> None:
        self.gravity, self.part = Gravity((0, -9.81, 0)), Chalk()
        self.weight = Body(mass=1e-3, inertia=(1e-6,) * 3)
        self.pin = Revolute(self.part.chalk, self.weight.at(0.01, 0, 0), axis="z")
