"""Components to be sealed, and owners that take one of them, open or sealed."""

from __future__ import annotations

from math import asin, cos, hypot, sin
from typing import Any

import casadi as ca

from kompono import Body, Event, Ground, Input, Mode, Output, Parameter, Subsystem, rotation, time
from kompono.library import (
    Distance,
    Gear,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    Weld,
    solids,
)


class Actuator(Subsystem):
    """A cart on a housing, pushed by a command until it has gone far enough."""

    def __init__(self, *, gain: Any = 3.3, command: Any = None) -> None:
        self.housing = Body(solids.box(mass=2.7, size=(0.1, 0.1, 0.1)))
        self.cart = Body(solids.box(mass=1.9, size=(0.1, 0.1, 0.1)))
        self.rail = Prismatic(self.housing, self.cart, axis="x", displacement=0.37)
        self.gain, self.command = Parameter(gain, unit="N"), Input(1.0, unit="1") if command is None else command
        self.on, self.count = Mode(1.0), Mode(0.0)
        self.motor = JointEffort(self.rail, self.on * self.gain * self.command)
        self.limit = Event(self.rail.displacement - 0.45, {self.on: -1.0, self.count: self.count + 1})
        self.back = Event(0.4 - self.rail.displacement, {self.on: 1.0})
        self.stroke = Output(self.rail.displacement, unit="m")
        self.expose(self.housing, self.cart)


CRANK = 0.7  # [rad]
ROD = -asin(0.2 * sin(CRANK) / 0.5)


class Linkage(Subsystem):
    """A crank, a rod and a slider in a frame: a planar loop, closed redundantly, and a wheel geared to the crank."""

    def __init__(self) -> None:
        self.frame = Body(solids.box(mass=5.0, size=(0.5, 0.1, 0.1)))
        self.crank = Body(solids.rod(mass=1.0, length=0.2, radius=0.01, axis="x"))
        self.rod, self.half = Body(solids.rod(mass=1.5, length=0.5, radius=0.01, axis="x")), Parameter(0.25, unit="m")
        self.slider = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
        self.wheel = Body(solids.cylinder(mass=1.2, length=0.05, radius=0.1))
        self.main = Revolute(self.frame, self.crank.at(-0.1, 0, 0), axis="z", angle=CRANK, angle_rate=2.0)
        self.big_end = Revolute(self.crank.at(0.1, 0, 0), self.rod.at(-self.half, 0, 0), axis="z", angle=ROD - CRANK)
        self.pin = Revolute(self.rod.at(self.half, 0, 0), self.slider, axis="z")
        self.rail = Prismatic(self.frame, self.slider, axis="x", displacement=0.2 * cos(CRANK) + 0.5 * cos(ROD))
        self.axle = Revolute(self.frame.at(0, 0, 0.2), self.wheel, axis="z", angle=-2 * CRANK)
        self.gear = Gear(self.main, self.axle, ratio=-2.0)
        self.expose(self.frame, self.slider)
        self.expose(tip=self.crank.at(0.1, 0, 0.05, orientation=rotation("x", 0.4)))


class Ball(Subsystem):
    """A body on a ball and socket: a quaternion inside, a frame of the hidden body as a port."""

    def __init__(self) -> None:
        self.holder = Body(solids.sphere(mass=1.0, radius=0.1))
        self.bob = Body(mass=2.0, inertia=(0.02, 0.03, 0.04))
        self.joint = Spherical(self.holder.at(0.1, 0, 0), self.bob.at(0, 0.1, 0.3), wx=0.5, wy=1.0)
        self.expose(self.holder)
        self.expose(eye=self.bob.at(0, 0, -0.2), side=self.bob.at(0.1, 0.1, 0, orientation=rotation("y", 1.0)))


class Swing(Subsystem):
    """A pendulum inside a box that shows nothing but the box."""

    def __init__(self) -> None:
        self.box = Body(solids.box(mass=3.0, size=(0.3, 0.3, 0.3)))
        self.bob = Body(solids.sphere(mass=1.0, radius=0.03))
        self.pin = Revolute(self.box, self.bob.at(0, 0, 0.12), axis="y", angle=0.8)
        self.expose(self.box)


class Arm(Subsystem):
    """An arm on a ground of its own that moves."""

    def __init__(self) -> None:
        self.ground = Ground((0.2 + 0.05 * ca.sin(9 * time), 0, 0), orientation=rotation("y", 0.1 * time))
        self.arm = Body(solids.rod(mass=2.3, length=1.1, radius=0.02))
        self.pin = Revolute(self.ground, self.arm.at(0, 0, 0.55), axis="y", angle=0.4)
        self.expose(self.arm)


class Pushed(Subsystem):
    """An actuator whose housing hangs on a spring."""

    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.guide = Prismatic(self.ground, part.housing, axis="x")
        self.spring = SpringDamper(self.ground.at(-1, 0, 0), part.housing, k=100, c=1, rest=1.0)


class Driven(Subsystem):
    """A linkage on a swinging frame; its slider carries a bob, its tip pulls a spring, and a loop runs through both."""

    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity((0, -9.81, 0)), part
        self.bob, self.bar = (
            Body(solids.sphere(mass=1.0, radius=0.05)),
            Body(solids.box(mass=1.0, size=(0.4, 0.1, 0.1))),
        )
        self.hinge = Revolute(self.ground, part.frame.at(-0.25, 0, 0), axis="z", angle=0.3)
        self.hook = Revolute(part.slider.at(0, 0, 0.1), self.bob.at(0, 0.3, 0), axis="z", angle=0.2)
        self.pull = SpringDamper(self.ground.at(0.3, 0.5, 0), part.tip, k=200, c=3, rest=0.3)
        self.low = Revolute(self.ground.at(0.7, -0.3, 0), self.bar.at(-0.25, 0, 0), axis="z", angle=1.2)
        self.high = Revolute(self.bar.at(0.25, 0, 0), part.slider.at(0, -0.1, 0), axis="z")


class Hung(Subsystem):
    """A ball joint on a swing; a load and a spring at its two frames."""

    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.load = Body(solids.sphere(mass=1.0, radius=0.05))
        self.top = Revolute(self.ground, part.holder, axis="y", angle=0.2)
        self.hook = Revolute(part.eye, self.load.at(0, 0, 0.2), axis="x", angle=0.5)
        self.spring = SpringDamper(self.ground.at(0.5, 0, -0.3), part.side, k=50, c=0.5, rest=0.2)


class Boxed(Subsystem):
    """A box that falls freely, and turns."""

    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.top = Revolute(self.ground, part.box.at(0, 0, 0.5), axis="x", angle=0.3)


class Loaded(Subsystem):
    """A load at the end of an arm, held by a loop to the ground."""

    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.load = Body(solids.sphere(mass=1.0, radius=0.05))
        self.tip = Weld(part.arm.at(0, 0, -0.55), self.load)
        self.brace = SpringDamper(self.ground, self.load, k=30, c=1, rest=1.0)


class Knuckle(Subsystem):
    """A knuckle that two rods hold to a carrier: no joints lead from one to the other."""

    def __init__(self) -> None:
        self.carrier = Body(solids.box(mass=2.3, size=(0.3, 0.3, 0.1)))
        self.knuckle = Body(solids.box(mass=0.9, size=(0.1, 0.3, 0.1)), start_position=(0.05, 0.1, -0.5))
        self.long = Distance(self.carrier.at(-0.2, 0.1, 0), self.knuckle.at(-0.1, 0.1, 0), length=hypot(0.15, 0.1, 0.5))
        self.short = Distance(self.carrier.at(0.2, 0.1, 0), self.knuckle.at(0.1, 0, 0.2), length=hypot(0.05, 0, 0.3))
        self.expose(self.carrier, self.knuckle)


class Carried(Subsystem):
    """The carrier swings, and a wheel turns on the knuckle."""

    def __init__(self, part: Subsystem) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.arm = Revolute(self.ground.at(0, 0.2, 0), part.carrier.at(0, 0.2, 0), axis=(0.6, 0.8, 0))
        self.wheel = Body(solids.cylinder(mass=1.0, radius=0.2, length=0.05))
        self.axle = Revolute(part.knuckle.at(0, 0, -0.2), self.wheel.at(0.05, 0, 0.1), axis="x", angle=0.3)


PAIRS = {"actuator": (Actuator, Pushed), "linkage": (Linkage, Driven), "ball": (Ball, Hung), "swing": (Swing, Boxed),
         "arm": (Arm, Loaded), "knuckle": (Knuckle, Carried)}  # fmt: skip
