"""Small machines that carry one element under test: two shafts, an arm, a block on a joint, a four-bar chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import acos, atan2, cos, hypot, sin
from typing import Any

from kompono import Body, Ground, Joint, Subsystem
from kompono.library import AppliedLoad, DryFriction, Gravity, JointEffort, Revolute, Weld, solids

Make = Callable[[Any], Any]


class Shafts(Subsystem):
    """Two shafts on the ground with inertias 1 and 2 kg m^2, speeds, torques, and what `make` puts between them."""

    def __init__(self, make: Make, rates: Sequence[float] = (0.0, 0.0), torques: Sequence[Any] = (0.0, 0.0)) -> None:
        self.ground = Ground()
        self.a, self.b = (Body(mass=1.0, inertia=(j, j, j)) for j in (1.0, 2.0))
        self.first = Revolute(self.ground, self.a, axis="z", angle_rate=rates[0])
        self.second = Revolute(self.ground, self.b, axis="z", angle_rate=rates[1])
        self.torques = [JointEffort(self.first, torques[0]), JointEffort(self.second, torques[1])]
        self.law = make(self)


class Arm(Subsystem):
    """A rod of 1 m that falls from 1 rad; options are those of its pin."""

    def __init__(self, **options: Any) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=1.0, **options)


class Block(Subsystem):
    """A box of 1 kg with moment of inertia 0.05 kg m^2 on a joint under gravity, and what rubs there."""

    def __init__(self, joint: Callable[[Ground, Body], Joint], rubs: Callable[[Any], Any], force: Any = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.body = Body(mass=1.0, inertia=(0.05, 0.05, 0.05))
        self.joint = joint(self.ground, self.body)
        self.load = AppliedLoad(self.body, force=(force, 0, 0))
        self.law = rubs(self.joint)


class FourBar(Subsystem):
    """A crank, a coupler of two halves and a rocker; the pins named rub with mu 0.1 on a radius of 0.05 m."""

    def __init__(self, rubbing: Sequence[str]) -> None:
        base, a, b, c, angle = 1.5, 0.6, 1.6, 1.2, 1.2
        x, y = a * cos(angle), a * sin(angle)
        far = hypot(base - x, y)
        coupler = atan2(-y, base - x) + acos((b * b + far * far - c * c) / (2 * b * far))
        rocker = atan2(-y - b * sin(coupler), base - x - b * cos(coupler))
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.crank, self.rocker = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(2))
        self.half, self.rest = (Body(mass=0.5, inertia=(0.05, 0.05, 0.05)) for _ in range(2))
        self.p0 = Revolute(self.ground, self.crank.at(-a / 2, 0, 0), angle=angle, angle_rate=5.0)
        self.p1 = Revolute(self.crank.at(a / 2, 0, 0), self.half.at(-b / 2, 0, 0), angle=coupler - angle)
        self.halves = Weld(self.half, self.rest)
        self.p2 = Revolute(self.rest.at(b / 2, 0, 0), self.rocker.at(-c / 2, 0, 0), angle=rocker - coupler)
        self.p3 = Revolute(self.ground.at(base, 0, 0), self.rocker.at(c / 2, 0, 0), angle=rocker)
        self.dry = {name: DryFriction(getattr(self, name), mu=0.1, radius=0.05) for name in rubbing}
