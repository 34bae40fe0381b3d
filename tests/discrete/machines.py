"""Machines the tests of the discrete engine share: one with every kind of link, and some that suddenly change."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono import Body, Constraint, Event, Ground, Input, Mode, Output, Parameter, Pose, Subsystem, time
from kompono.library import (
    AppliedLoad,
    Bushing,
    Cylindrical,
    Distance,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    ParallelAxes,
    Planar,
    PlaneToPlane,
    PointInPlane,
    PointOnLine,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Screw,
    Spherical,
    SpringDamper,
    Universal,
    Weld,
    solids,
)  # fmt: skip

JOINTS = (Revolute, Prismatic, Cylindrical, Spherical, Planar, Universal, Weld, Screw)
CONSTRAINTS = (PointOnLine, PointInPlane, PlaneToPlane, ParallelAxes)


class Zoo(Subsystem):
    """Bodies with skew inertia in a ring, a link of every kind of the library between neighbours, and all loads.

    Its numbers are random; it is not meant to be assembled but to be evaluated at any state.
    """

    def __init__(self, *, grounded: bool = True, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        kinds: list[Any] = [*JOINTS, *JOINTS, *CONSTRAINTS]
        count = len(kinds)
        self.force = Input(0.7)
        self.mass = Parameter(1.3)
        bodies = []
        for k in range(count):
            frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
            moments = np.diag(rng.uniform(0.4, 0.5, 3)) if k % 2 else np.diag([0.4, 0.5, 0.45])
            mass = self.mass if k == 0 else rng.uniform(1, 2)
            bodies.append(Body(mass=mass, inertia=frame @ moments @ frame.T if k % 2 else moments))

        self.bodies = bodies

        def at(k: int) -> Any:
            turn = rng.standard_normal(4) if k % 3 else (1, 0, 0, 0)
            return bodies[k % count].at(rng.standard_normal(3), orientation=turn / np.linalg.norm(turn))

        self.joints = [make(kind, at(k), at(k + 1)) for k, kind in enumerate(kinds) if kind in JOINTS]
        self.constraints = [kind(at(k), at(k + 1)) for k, kind in enumerate(kinds) if kind in CONSTRAINTS]
        self.rod = Distance(at(0), at(5), length=0.7)
        self.spring = SpringDamper(at(1), at(6), k=30.0, c=2.0, rest=0.5)
        self.mount = Bushing(at(2), at(7), k=np.arange(1.0, 7.0), c=np.ones(6))
        turning = [joint for joint in self.joints if isinstance(joint, Revolute)]
        self.gear = Gear(turning[0], turning[1], ratio=-2.0)
        self.torsion = RotationalSpringDamper(turning[1], k=3.0, c=0.5)
        self.push = JointEffort(turning[0], self.force * turning[1].angle)
        if grounded:
            self.gravity = Gravity()
            self.ground = Ground((0, 0, 0.1 * ca.sin(time)))
            self.foot = Weld(self.ground, at(3))
            self.drive = Drive(turning[0], 0.3 * time)
            self.load = AppliedLoad(at(4), force=(1, 2, self.force), torque=(0.1, 0, 0), axes="body")


def make(kind: type, first: Any, second: Any) -> Any:
    """A joint with its own options."""
    return kind(first, second, **({"pitch": 0.05} if kind is Screw else {}))


class Hanging(Subsystem):
    """A weight on two springs; one breaks when it is pulled with more than `strength` [N]."""

    def __init__(self, *, strength: float = 30.0) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.weight = Body(solids.sphere(mass=1.0, radius=0.1))
        self.guide = Prismatic(self.ground, self.weight, axis="z", displacement=-0.5, displacement_rate=-8.0)
        self.whole = Mode(1)
        self.good = SpringDamper(self.ground, self.weight, k=100.0, c=1.0, rest=0.5)
        self.weak = SpringDamper(self.ground, self.weight, k=100.0 * self.whole, c=0.0, rest=0.5)
        pull = 100.0 * (-self.weight.position[2] - 0.5)
        self.breaks = Event(pull - strength, {self.whole: 0})


class Cut(Constraint):
    """The second origin is held at the first as long as `holds` is 1."""

    def __init__(self, first: Any, second: Any, *, holds: Any) -> None:
        super().__init__(first, second)
        self.holds = holds

    def conditions(self, pose: Pose) -> list[Any]:
        return [self.holds * pose.position]


class Dropped(Subsystem):
    """A double pendulum whose lower rod is let go after `when` seconds."""

    def __init__(self, *, when: float = 0.3) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.upper, self.lower = (Body(solids.rod(mass=1.0, length=1.0, radius=0.02)) for _ in range(2))
        self.pin = Revolute(self.ground, self.upper.at(0, 0, 0.5), axis="y", angle=0.5)
        self.holds = Mode(1)
        self.lower.start_position = np.array([-np.sin(0.5), 0.0, -np.cos(0.5) - 0.5])
        self.elbow = Cut(self.upper.at(0, 0, -0.5), self.lower.at(0, 0, 0.5), holds=self.holds)
        self.release = Event(time - when, {self.holds: 0})


class Motor(Subsystem):
    """A flywheel driven by a motor through a shaft; the motor is blocked for good when it reaches `limit` [rad/s]."""

    def __init__(self, *, limit: float = 20.0, brake: float = 5.0) -> None:
        self.ground = Ground()
        self.wheel = Body(solids.cylinder(mass=2.0, radius=0.2, length=0.05))
        self.bearing = Revolute(self.ground, self.wheel, axis="z", angle=0.0)
        self.stalled = Mode(0)
        self.stall = Event(self.bearing.angle_rate - limit, {self.stalled: 1})
        self.drive = JointEffort(
            self.bearing, ca.if_else(self.stalled > 0, -brake * ca.sign(self.bearing.angle_rate), 4.0)
        )
        self.torque = Output(ca.if_else(self.stalled > 0, 0.0, 4.0), unit="N m")


class Bouncing(Subsystem):
    """A ball that falls on a floor of stiffness `k` [N/m] which only pushes."""

    def __init__(self, *, k: float = 1e6, height: float = 0.5) -> None:
        self.gravity = Gravity()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 0.1 + height))
        depth = 0.1 - self.ball.position[2]
        self.floor = AppliedLoad(self.ball, force=(0, 0, ca.if_else(depth > 0, k * depth, 0)))
