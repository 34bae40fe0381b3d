"""Machines whose components have everything inside that a component can have."""

from __future__ import annotations

import casadi as ca

from kompono import Body, Event, Ground, Input, Mode, Output, Parameter, Sensor, Subsystem, time
from kompono.library import (
    Cylindrical,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Spherical,
    SpringDamper,
    solids,
)


class Strut(Subsystem):
    """A telescope with a spring, a stop that a mode switches on, and a motor; its ends are frames."""

    def __init__(self, k: float = 400.0) -> None:
        self.stiffness = Parameter(k)
        self.pull = Input(4.0)
        self.tube = Body(solids.rod(mass=0.6, length=0.4, radius=0.05))
        self.rod = Body(solids.rod(mass=0.3, length=0.4, radius=0.04))
        self.slide = Cylindrical(self.tube.at(0, 0, 0.2), self.rod.at(0, 0, -0.1), axis="z", displacement=0.05)
        self.stop = Mode(0)
        self.spring = SpringDamper(
            self.tube.at(0, 0, -0.2), self.rod.at(0, 0, 0.2), k=self.stiffness, c=1.0 + 10.0 * self.stop, rest=0.78
        )
        self.motor = JointEffort(self.slide, self.pull * ca.sin(20 * time), coordinate="displacement")
        self.twist = RotationalSpringDamper(self.slide, k=0.5, c=0.01, coordinate="angle")
        self.reached = Event(self.slide.displacement - 0.06, {self.stop: 1})
        self.left = Event(0.055 - self.slide.displacement, {self.stop: 0})
        self.eye = Sensor(self.rod.at(0, 0, 0.2))
        self.travel = Output(1000 * self.slide.displacement, unit="mm")
        self.expose(foot=self.tube.at(0, 0, -0.2), head=self.rod.at(0, 0, 0.2))


class Platform(Subsystem):
    """A plate on a lever of its own, geared to a wheel; a loop inside that is redundant in space."""

    def __init__(self) -> None:
        self.plate = Body(mass=2.0, inertia=(0.05, 0.04, 0.08))
        self.levers = [Body(solids.rod(mass=0.2, length=0.3, radius=0.01)) for _ in range(2)]
        self.bar = Body(solids.rod(mass=0.3, length=0.4, radius=0.01, axis="x"))
        pins = [(-0.2, 0, 0), (0.2, 0, 0)]
        self.upper = [
            Revolute(self.plate.at(pin), lever.at(0, 0, 0.15), axis="y", angle=0.3)
            for pin, lever in zip(pins, self.levers, strict=True)
        ]
        self.lower = [
            Revolute(lever.at(0, 0, -0.15), self.bar.at(pin), axis="y", angle=-0.3)
            for pin, lever in zip(pins, self.levers, strict=True)
        ]
        self.wheel = Body(solids.cylinder(mass=0.5, radius=0.1, length=0.02, axis="y"))
        self.axle = Revolute(self.plate.at(0, 0.1, 0), self.wheel, axis="y")
        self.gear = Gear(self.upper[0], self.axle, ratio=3.0)
        self.weight = Gravity((0.0, 0.0, -1.0))
        self.expose(self.plate, self.bar)


class Rig(Subsystem):
    """A platform on a ball joint, held by two struts from a ground that moves, and by a pendulum of its own."""

    def __init__(self, closed: tuple[str, ...] = ()) -> None:
        self.ground = Ground((0.02 * ca.sin(4 * time), 0, 0))
        self.gravity = Gravity()
        self.platform = Platform()
        self.ball = Spherical(self.ground.at(0, 0, 1), self.platform.plate.at(0, 0, 0.02))
        self.struts = [Strut(), Strut(k=500.0)]
        self.hangers = [
            Spherical(self.platform.plate.at(x, y, 0.0), strut.foot)
            for (x, y), strut in zip([(0.25, 0.1), (-0.25, 0.1)], self.struts, strict=True)
        ]
        self.pendulum = Body(solids.rod(mass=0.4, length=0.3, radius=0.01))
        self.hinge = Revolute(self.struts[0].head, self.pendulum.at(0, 0, -0.15), axis="x", angle=0.4)
        self.line = SpringDamper(self.struts[1].head, self.ground.at(0, 0.5, 1.5), k=80.0, c=1.0, rest=0.4)
        self.height = Output(self.platform.bar.position[2], unit="m")
        for name in closed:
            self.find(name).closed = True


class Walker(Subsystem):
    """Parts on grounds of their own, closed against each other by their owner: a slider and a driven crank."""

    def __init__(self) -> None:
        self.gravity = Gravity()
        self.drive = Crank()
        self.guide = Guide()
        self.rod = Body(solids.rod(mass=0.4, length=1.0, radius=0.01))
        self.big_end = Revolute(self.drive.pin, self.rod.at(0, 0, -0.5), axis="y")
        self.small_end = Spherical(self.rod.at(0, 0, 0.5), self.guide.piston)


class Crank(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.disc = Body(solids.cylinder(mass=1.0, radius=0.3, length=0.05, axis="y"))
        self.bearing = Revolute(self.ground, self.disc, axis="y")
        self.speed = Drive(self.bearing, 0.3 + 2.0 * time)
        self.expose(pin=self.disc.at(0.25, 0.05, 0))


class Guide(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.piston = Body(mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
        self.slide = Prismatic(self.ground.at(0, 0.05, 1.0), self.piston, axis="z", displacement=0.2)
        self.spring = SpringDamper(self.ground.at(0, 0.05, 2.0), self.piston, k=50.0, c=1.0, rest=0.8)
        self.expose(self.piston)
