"""Small machines the tests share: a pendulum, an oscillator with a known solution, a four-bar that swings."""

from __future__ import annotations

from math import asin
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
        self.expose(self.slide)


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
    """A board on two ropes: a planar four-bar in the plane xz, one loop, it swings under gravity and stays level."""

    def __init__(
        self,
        *,
        rope: float = 1.0,
        board: float = 1.0,
        width: float | None = None,
        lean: float = 0.5,
        right_lean: float | None = None,
        left_hook_rate: float = 0.0,
    ) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.left, self.right = (Body(solids.rod(mass=0.5, length=rope, radius=0.02)) for _ in range(2))
        self.board = Body(solids.rod(mass=2.0, length=board, radius=0.02, axis="x"))
        half = rope / 2
        right = self.ground.at(board if width is None else width, 0, 0)
        self.left_hook = Revolute(
            self.ground, self.left.at(0, 0, half), axis="y", angle=lean, angle_rate=left_hook_rate
        )
        self.right_hook = Revolute(
            right, self.right.at(0, 0, half), axis="y", angle=lean if right_lean is None else right_lean
        )
        self.left_knot = Revolute(self.left.at(0, 0, -half), self.board.at(-board / 2, 0, 0), axis="y", angle=-lean)
        self.right_knot = Revolute(self.right.at(0, 0, -half), self.board.at(board / 2, 0, 0), axis="y")


class Trapeze(Swing):
    """A swing whose ropes lean inwards by 0.3 m and that starts from the middle with a push: nothing is symmetric."""

    def __init__(self) -> None:
        super().__init__(board=0.8, width=1.4, lean=-asin(0.3), right_lean=asin(0.3), left_hook_rate=2.0)
