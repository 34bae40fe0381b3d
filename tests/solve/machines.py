"""Small machines the tests share: a pendulum, an oscillator with a known solution, a four-bar that swings."""

from __future__ import annotations

from math import sqrt
from typing import Any

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, RotationalSpringDamper, solids


class Pendulum(Subsystem):
    """A rod on a pin; angle zero hangs down."""

    def __init__(self, *, mass: Any = 1.0, length: float = 1.0, **start: float) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.rod = Body(solids.rod(mass=mass, length=length, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, length / 2), axis="y", **start)


class Oscillator(Subsystem):
    """A mass on a spring along x: displacement(t) = displacement cos(w t) with w^2 = k / mass."""

    def __init__(self, *, mass: Any = 1.0, k: Any = 4.0, c: Any = 0.0, displacement: float = 1.0) -> None:
        self.ground = Ground()
        self.block = Body(mass=mass, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.block, axis="x", displacement=displacement)
        self.spring = RotationalSpringDamper(self.slide, k=k, c=c)


class Pushed(Subsystem):
    """A mass of 1 kg on a rail along x that a force pushes: x(t) is its double integral."""

    def __init__(self, force: Any) -> None:
        self.ground = Ground()
        self.block = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.block, axis="x")
        if callable(force):
            force = force(self)
        self.push = JointEffort(self.slide, force)


class Swing(Subsystem):
    """A board on two ropes of different attachment: a planar four-bar in the plane xz, one loop, it swings under gravity."""

    def __init__(self, *, rope: float = 1.0, board: float = 1.0, lean: float = 0.5) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.left, self.right = (Body(solids.rod(mass=0.5, length=rope, radius=0.02)) for _ in range(2))
        self.board = Body(solids.rod(mass=2.0, length=board, radius=0.02, axis="x"))
        half = rope / 2
        self.left_hook = Revolute(self.ground, self.left.at(0, 0, half), axis="y", angle=lean)
        self.right_hook = Revolute(self.ground.at(board, 0, 0), self.right.at(0, 0, half), axis="y", angle=lean)
        self.left_knot = Revolute(self.left.at(0, 0, -half), self.board.at(-board / 2, 0, 0), axis="y", angle=-lean)
        self.right_knot = Revolute(self.right.at(0, 0, -half), self.board.at(board / 2, 0, 0), axis="y")


def frequency(mass: float, k: float) -> float:
    """Angular frequency [rad/s] of a mass on a spring."""
    return sqrt(k / mass)
