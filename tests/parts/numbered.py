"""A machine with closed parts, all of whose numbers are arguments: inside parts, inside parts of these, and outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kompono import Body, Ground, Output, State, Subsystem
from kompono.library import (
    PID,
    Contact,
    DryFriction,
    EndStops,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
)

TENSOR = np.array([[0.021, 0.003, -0.002], [0.003, 0.033, 0.0013], [-0.002, 0.0013, 0.041]])


class Bob(Subsystem):
    """A weight on a spring-loaded hinge, by which it hangs."""

    def __init__(self, mass: float, arm: float, k: float) -> None:
        self.eye, self.weight = Body(mass=0.17, inertia=0.1 * TENSOR), Body(mass=mass, inertia=TENSOR)
        self.hinge = Revolute(self.eye, self.weight.at(0, 0, arm), axis="x", angle=0.13)
        self.spring = SpringDamper(self.eye.at(0, 0.11, 0), self.weight.at(0, 0.07, 0), k=k, c=0.31, rest=0.23)
        self.expose(self.eye)


class Leg(Subsystem):
    """A telescope with friction, stops and a servo inside, and a closed part of its own."""

    def __init__(
        self, *, closed: bool, mass: float, shin: float, k: float, c: float, rest: float, preload: float, upper: float,
        gain: float, wanted: float, settling: float, start: float, tilt: float, bob: float, arm: float, bob_k: float,
    ) -> None:  # fmt: skip
        self.closed = closed
        self.thigh, self.shank = Body(mass=mass, inertia=TENSOR), Body(mass=0.83 * mass, inertia=0.7 * TENSOR)
        axis = (np.sin(tilt), 0.0, np.cos(tilt))
        self.slide = Prismatic(self.thigh.at(0, 0, -0.21), self.shank.at(0, 0, shin), axis=axis, displacement=start)
        self.rubs = DryFriction(self.slide, preload=preload)
        self.stops = EndStops(self.slide, -0.37, upper, restitution=0.43)
        self.spring = SpringDamper(self.thigh, self.shank.at(0, 0, -0.03), k=k, c=c, rest=rest)
        self.servo = PID(wanted - self.slide.displacement, kp=gain, ki=0.7 * gain, kd=0.13 * gain, filter=0.031)
        self.seen = State(0.0)
        self.seen.rate = (self.slide.displacement - self.seen) / settling
        self.motor = JointEffort(self.slide, self.servo.command, coordinate="displacement")
        self.length = Output(self.seen * 1e3, unit="mm")
        self.bob = Bob(bob, arm, bob_k)
        self.bob.closed = closed
        self.hook = Revolute(self.shank.at(0.04, 0, 0), self.bob.eye, axis="y")
        self.expose(self.thigh, foot=self.shank.at(0, 0, -0.27))


def _foot(leg: Any) -> Any:
    """Where a leg stands, whether it is open, closed or a file."""
    return leg.exposed_frames.get("foot") or leg.foot


class Stand(Subsystem):
    """A table on two legs, a loop through their ports, and a ball that may fall on it."""

    def __init__(
        self, *, closed: bool = True, other: float = 1.0, gravity: float = 9.81, table: float = 3.1, span: float = 0.63,
        depth: float = 0.07, lift: float = 1.3, rail: float = 2.3, mu: float = 0.29, height: float = 2.7,
        mass: float = 1.1, shin: float = 0.33, k: float = 310.0, c: float = 4.3, rest: float = 0.52,
        preload: float = 1.7, upper: float = 0.41, gain: float = 23.0, wanted: float = 0.09, settling: float = 0.07,
        start: float = 0.06, tilt: float = 0.17, bob: float = 0.37, arm: float = 0.19, bob_k: float = 37.0,
        leg: Callable[..., Any] = Leg,
    ) -> None:  # fmt: skip
        inside: dict[str, Any] = {
            "mass": mass, "shin": shin, "k": k, "c": c, "rest": rest, "preload": preload, "upper": upper, "gain": gain,
            "wanted": wanted, "settling": settling, "start": start, "tilt": tilt, "bob": bob, "arm": arm,
            "bob_k": bob_k,
        }  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity((0, 0, -gravity))
        self.table, self.ball = Body(mass=table, inertia=3 * TENSOR), Body(mass=0.13, inertia=0.01 * TENSOR)
        self.rest_on = Prismatic(self.ground.at(0.02, 0, lift), self.table.at(0, 0.03, 0.02), axis="z")
        self.left, self.right = leg(closed=closed, **inside), leg(closed=closed, **{**inside, "mass": mass * other})
        for name, leg, x in (("left", self.left, -span), ("right", self.right, span)):
            setattr(self, f"{name}_hip", Revolute(self.table.at(x, 0, -depth), leg.thigh.at(0, 0, 0.23), axis="x"))
        self.bar = Body(mass=0.9, inertia=TENSOR)
        self.ankle = Revolute(_foot(self.left), self.bar.at(-span, 0, 0.05), axis="x")
        self.ball_joint = Spherical(_foot(self.right), self.bar.at(span, 0, 0.05))
        self.tied = SpringDamper(self.bar, self.ground.at(0, 0.1, -0.3), k=rail, c=0.13, rest=0.17)
        self.free = Prismatic(self.ground.at(0, 0, height), self.ball, axis="z")
        self.floor = Contact(self.table.plane(), self.ball.sphere(0.07), mu=mu, restitution=0.31)
