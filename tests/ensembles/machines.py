"""Machines with tunable parameters that the tests of ensembles share."""

from __future__ import annotations

from typing import Any

import casadi as ca
from nonsmooth.law_machines import Stop

from kompono import Body, Ground, Input, Parameter, Subsystem
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, RotationalSpringDamper, SpringDamper, solids


class Tunable(Subsystem):
    """Two rods on pins about x and y, a spring between tip and ground, a torque from outside."""

    def __init__(self, torque: Any = 0.3) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.stiffness, self.mass = Parameter(20.0, unit="N/m"), Parameter(1.0, unit="kg")
        self.torque = Input(torque, unit="N m")
        self.upper = Body(mass=self.mass, inertia=(0.02, 0.02, 0.001))
        self.lower = Body(solids.rod(mass=0.5, length=0.4, radius=0.02))
        self.shoulder = Revolute(self.ground, self.upper.at(0, 0, 0.25), axis="x", angle=0.4)
        self.elbow = Revolute(self.upper.at(0, 0, -0.25), self.lower.at(0, 0, 0.2), axis="y", angle=-0.2)
        self.spring = SpringDamper(
            self.ground.at(0.3, 0, -0.8), self.lower.at(0, 0, -0.2), k=self.stiffness, c=0.1, rest=0.3
        )
        self.motor = JointEffort(self.elbow, self.torque)


class Fragile(Subsystem):
    """A pushed mass whose force is not a number beyond `limit` [m]; x = t^2 / 2 until then."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.limit = Parameter(100.0, unit="m")
        self.block = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.block, axis="x")
        self.push = JointEffort(self.slide, 1.0 + 1e-9 * ca.sqrt(self.limit - self.slide.displacement))


class Spinning(Subsystem):
    """A rotor whose torque is the sine of its own angle, which may be large."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.rotor = Body(mass=1.0, inertia=(1, 1, 1))
        self.axle = Revolute(self.ground, self.rotor, axis="z", angle=0.0, angle_rate=1.0)
        self.wind = JointEffort(self.axle, ca.sin(self.axle.angle))


class Sliding(Subsystem):
    """A four-bar whose coupler's length is tunable, so that assembly must look at the parameter."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.length = Parameter(1.0, unit="m")
        self.left, self.right, self.board = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(3))
        self.a = Revolute(self.ground, self.left.at(0, 0, 0.5), axis="y", angle=0.3)
        self.b = Revolute(self.left.at(0, 0, -0.5), self.board.at(-0.5 * self.length, 0, 0), axis="y")
        self.c = Revolute(self.ground.at(1.2, 0, 0), self.right.at(0, 0, 0.5), axis="y", angle=0.1)
        self.d = Revolute(self.right.at(0, 0, -0.5), self.board.at(0.5 * self.length, 0, 0), axis="y")
        self.friction = RotationalSpringDamper(self.a, k=0.0, c=0.1)


class Bouncing(Subsystem):
    """A ball between a floor and a ceiling, with restitution that may differ."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball, self.back = Body(mass=1.0, inertia=(0.01,) * 3), Parameter(0.5)
        self.rail = Prismatic(self.ground, self.ball, axis="z", displacement=1.0)
        self.floor, self.ceiling = Stop(self.rail, 0.0), Stop(self.rail, 1.2, 0.5, -1.0)
        self.floor.restitution = self.back
