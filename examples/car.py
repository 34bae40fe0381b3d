"""The car of the dissertation: a body on two suspensions with dampers, arms and tyres; two closed loops, six freedoms.

    kompono run examples/car.py --plot          1.5 s with rk4 at 1 ms, as in the dissertation
    kompono run examples/car.py:DamperBench     one damper alone on a test bench
    python examples/car.py                      all figures into results/car/
"""

from __future__ import annotations

from math import pi, sqrt
from pathlib import Path

from casadi import sin

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import Cylindrical, Gravity, Prismatic, Revolute, SpringDamper, solids


class Damper(Subsystem):
    """A piston that slides and turns in a cylinder, with a spring and a damper between the two."""

    def __init__(self, *, stiffness: float = 5e4, damping: float = 1e4, rest: float = 0.35, length: float = 0.25) -> None:
        self.piston = Body(solids.rod(mass=13.23, length=0.6, radius=0.01))
        self.cylinder = Body(solids.tube(mass=3.4, length=0.6, radius=0.03, wall=0.004))
        self.slide = Cylindrical(
            self.piston.at(0, 0, -0.3), self.cylinder.at(0, 0, -0.3), axis="z", displacement=length, angle=0.0
        )
        self.spring = SpringDamper(
            self.piston.at(0, 0, -0.3), self.cylinder.at(0, 0, -0.3), k=stiffness, c=damping, rest=rest
        )
        self.expose(self.piston, self.cylinder)


class Suspension(Subsystem):
    """A beam that carries the wheel, with a damper hinged on it; side is -1 (left) or +1 (right)."""

    def __init__(self, side: int = -1) -> None:
        self.beam = Body(mass=7.02, inertia=(0.06, 0.5855265, 0.5855265))
        self.damper = Damper(length=0.6 * (sqrt(2) - 1))
        self.hinge = Revolute(
            self.beam.at(0.2 * side, 0, 0), self.damper.piston.at(0, 0, -0.3), axis="y", angle=-side * pi / 4
        )
        self.expose(self.beam, self.damper.cylinder)


class Wheel(Subsystem):
    """A ring on a tyre spring that stands on a point of the ground."""

    def __init__(self, *, x: float = 0.0) -> None:
        self.ring = Body(solids.tube(mass=15, length=0.3, radius=0.3, wall=0.01, axis="x"))
        self.ground = Ground((x, 0, 0))
        self.tyre = SpringDamper(self.ground, self.ring, k=4e5, c=100, rest=0.35)
        self.expose(self.ring)


class Car(Subsystem):
    """The body slides and turns on a vertical guide and rests on two suspensions."""

    run_defaults = {"until": 1.5, "step": 1e-3, "method": "rk4"}  # noqa: RUF012

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.8))
        self.body = Body(mass=585, inertia=(12.675, 450.9375, 439.2375))
        self.left, self.right = Suspension(side=-1), Suspension(side=+1)
        self.left_wheel, self.right_wheel = Wheel(x=-1.0), Wheel(x=+1.0)
        self.guide = Cylindrical(self.ground, self.body.at(0, 0, -0.95), axis="z", displacement=0.0, angle=0.0)
        self.left_strut = Revolute(self.body.at(-0.1, 0, 0), self.left.damper.cylinder.at(0, 0, 0.3), axis="y")
        self.left_arm = Revolute(self.body.at(0, 0, -0.6), self.left.beam.at(0.5, 0, 0), axis="y", angle=0.0)
        self.left_axle = Revolute(self.left.beam.at(-0.5, 0, 0), self.left_wheel.ring, axis="x", angle=0.0)
        self.right_strut = Revolute(self.body.at(0.1, 0, 0), self.right.damper.cylinder.at(0, 0, 0.3), axis="y")
        self.right_arm = Revolute(self.body.at(0, 0, -0.6), self.right.beam.at(-0.5, 0, 0), axis="y", angle=0.0)
        self.right_axle = Revolute(self.right.beam.at(0.5, 0, 0), self.right_wheel.ring, axis="x", angle=0.0)


class DamperBench(Subsystem):
    """One damper hanging from a shaker that moves up and down by 10 mm at 2 Hz."""

    run_defaults = {"until": 2.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, stiffness: float = 5e4, damping: float = 1e4) -> None:
        self.shaker = Ground((0, 0, 0.01 * sin(2 * pi * 2 * time)))
        self.gravity = Gravity((0, 0, -9.8))
        self.damper = Damper(stiffness=stiffness, damping=damping, length=0.35)
        self.clamp = Prismatic(self.shaker, self.damper.piston, axis="z")
