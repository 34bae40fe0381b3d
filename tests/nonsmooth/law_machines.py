"""Machines with laws that their authors wrote themselves, in a dozen lines each, for comparisons of engines."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono import Body, Ground, Subsystem, time
from kompono.library import Gravity, JointEffort, PointInPlane, Prismatic, Revolute, SpringDamper, solids
from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw, Unit
from kompono.spatial.pose import Motion

G = 9.81


class Dry(JointLaw):
    """Friction along the speed of a joint."""

    def __init__(self, joint: Joint, **given: Any) -> None:
        super().__init__(joint)
        self.given = given

    def units(self) -> Unit:
        return Unit(slip=self.joints[0].v[0], **self.given)


class Stop(JointLaw):
    """A coordinate never falls below `least`, or, with a negative sign, never exceeds it."""

    def __init__(self, joint: Joint, least: float, restitution: float = 0.0, sign: float = 1.0) -> None:
        super().__init__(joint)
        self.least, self.restitution, self.sign = least, restitution, sign

    def units(self) -> Unit:
        return Unit(gap=self.sign * (self.joints[0].q[0] - self.least), restitution=self.restitution)


class Leg(PairLaw):
    """A point of the second body above the plane z = 0 of the first, with friction in the plane."""

    def __init__(self, first: Frame, second: Frame, mu: float, restitution: float = 0.0) -> None:
        super().__init__(first, second)
        self.mu, self.restitution = mu, restitution

    def units(self, motion: Motion) -> Unit:
        slip = ca.SX(motion.velocity)[:2]
        return Unit(gap=motion.position[2], slip=slip, mu=self.mu, restitution=self.restitution)


class Ball(Subsystem):
    """n01: a ball bounces and comes to rest."""

    def __init__(self, restitution: float = 0.8) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.ball, axis="z", displacement=1.0)
        self.floor = Stop(self.slide, 0.0, restitution)


class Flywheel(Subsystem):
    """A wheel that runs into a stop after more than a turn, and back at half its speed."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.wheel = Body(mass=1.0, inertia=(0.1, 0.1, 0.2))
        self.axle = Revolute(self.ground, self.wheel, axis="z", angle_rate=5.0)
        self.stop = Stop(self.axle, 10.0, 0.5, -1.0)


class DenHartog(Subsystem):
    """n06: an oscillator that sticks and slips."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.mass, axis="x")
        self.drive = JointEffort(self.slide, -100 * self.slide.displacement + 5 * ca.cos(4 * time))
        self.friction = Dry(self.slide, limit=1.962)


class DryPin(Subsystem):
    """n22: a pendulum whose pin has friction mu r times its whole reaction."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bob = Body(mass=2.0, inertia=(0.1,) * 3)
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 0.5), axis="y", angle=1.2)
        self.friction = Dry(self.pin, mu=0.8 * 0.02, reaction=self.pin)


class DryGuide(Subsystem):
    """n23: a slider-crank whose guide has friction mu times its normal force."""

    def __init__(self, r: float = 0.1, l: float = 0.3, angle: float = 1.0) -> None:  # noqa: E741
        self.ground, self.gravity = Ground(), Gravity((0, -G, 0))
        self.crank = Body(mass=1.0, inertia=(0.01,) * 3)
        self.rod = Body(mass=0.5, inertia=(0.5 * l**2 / 12,) * 3)
        self.slider = Body(mass=1.0, inertia=(0.01,) * 3)
        lean = -np.arcsin(r * np.sin(angle) / l)
        place = r * np.cos(angle) + l * np.cos(lean)
        self.bearing = Revolute(self.ground, self.crank, axis="z", angle=angle, angle_rate=20.0)
        self.crank_pin = Revolute(self.crank.at(r, 0, 0), self.rod.at(-l / 2, 0, 0), axis="z", angle=lean - angle)
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=place)
        self.piston_pin = Revolute(self.slider, self.rod.at(l / 2, 0, 0), axis="z")
        self.friction = Dry(self.slide, mu=0.2, reaction=self.slide)


class Tripod(Subsystem):
    """A body on three legs slides, turns about itself and comes to rest; a spring pulls it back, in jerks."""

    def __init__(self, legs: int = 3, mu: float = 0.3, pull: float = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.body = Body(
            mass=2.0, inertia=(0.02, 0.03, 0.04), start_position=(0, 0, 0.1), start_velocity=(0.8, 0.3, 0),
            start_angular_velocity=(0, 0, 3.0),
        )  # fmt: skip
        angles = 2 * np.pi * np.arange(legs) / legs + 0.2
        feet = [(0.3 * np.cos(a), 0.3 * np.sin(a), -0.1) for a in angles]
        self.legs = [Leg(self.ground, self.body.at(foot), mu) for foot in feet]
        if pull:
            self.spring = SpringDamper(self.ground.at(0.2, -0.1, 0.1), self.body.at(0.1, 0.1, 0), k=pull, rest=0.0)


class FourLegs(Tripod):
    """One leg more than it needs."""

    def __init__(self) -> None:
        super().__init__(legs=4)


class TwoBearings(Subsystem):
    """A shaft out of balance, in one bearing more than it needs, with friction in both."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.shaft = Body(mass=3.0, inertia=(0.05, 0.05, 0.01))
        self.left = Revolute(self.ground, self.shaft.at(0.02, 0, -0.1), axis="z", angle_rate=30.0)
        self.right = Revolute(self.ground.at(0, 0, 0.4), self.shaft.at(0.02, 0, 0.3), axis="z")
        self.frictions = [Dry(self.left, mu=0.01, reaction=bearing) for bearing in (self.left, self.right)]


class Wedge(Subsystem):
    """A cart that lifts a ram by an inclined plane: its guide carries part of that force, and rubs."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.cart, self.ram = (Body(mass=m, inertia=(0.01,) * 3) for m in (1.0, 2.0))
        self.slide = Prismatic(self.ground, self.cart, axis="x")
        self.guide = Prismatic(self.ground, self.ram, axis="z")
        self.wedge = PointInPlane(self.cart, self.ram, axis=(0.6, 0, 0.8))
        self.motor = JointEffort(self.slide, -40 * self.slide.displacement + 25 * ca.sin(3 * time))
        self.friction = Dry(self.slide, mu=0.2, reaction=self.slide)


class FourBar(Subsystem):
    """A loop with a motor: friction of its bearing by the reaction in a pin that closes the loop, friction of
    its pivot by its own, and a stop for the rocker.
    """

    def __init__(self, closing: bool = False) -> None:
        a, b, c, d = 0.2, 0.6, 0.5, 0.6
        self.ground, self.gravity = Ground(), Gravity((0, -G, 0))
        self.crank, self.coupler, self.rocker = (
            Body(solids.rod(mass=2 * n, length=n, radius=0.02, axis="x")) for n in (a, b, c)
        )
        self.bearing = Revolute(self.ground, self.crank.at(-a / 2, 0, 0), axis="z", angle=0.9)
        self.pivot = Revolute(self.ground.at(d, 0, 0), self.rocker.at(-c / 2, 0, 0), axis="z", angle=1.2)
        self.crank_pin = Revolute(self.crank.at(a / 2, 0, 0), self.coupler.at(-b / 2, 0, 0), axis="z", angle=0.0)
        self.rocker_pin = Revolute(self.rocker.at(c / 2, 0, 0), self.coupler.at(b / 2, 0, 0), axis="z")
        self.motor = JointEffort(self.bearing, 3 * ca.cos(5 * time))
        self.rubs = Dry(self.bearing, mu=0.02, reaction=self.rocker_pin, limit=0.05)
        self.grips = Dry(self.pivot, mu=0.01, reaction=self.pivot, limit=0.02, limit_static=0.03)
        self.stop = Stop(self.pivot, 2.3, 0.5, -1.0)
        if closing:
            self.pin_rubs = Dry(self.rocker_pin, mu=0.01, reaction=self.rocker_pin)
