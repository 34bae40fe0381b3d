"""Energy that jumps within a step is told, whatever drives or brakes the machine; what pushes or brakes hard is not."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pytest

from kompono import Body, Ground, RunWarning, Subsystem, simulate, time
from kompono.library import JointEffort, Prismatic, Revolute, RotationalSpringDamper, solids


class Parallelogram(Subsystem):
    """Two cranks and a coupler that turn fast; one crank is `longer` by a little, so that it nearly could turn over."""

    def __init__(self, longer: float, c: float = 0.0) -> None:
        self.ground = Ground()
        self.left, self.right, self.coupler = (
            Body(solids.rod(mass=mass, length=length, radius=0.02, axis="x"))
            for mass, length in ((1, 0.5), (1, 0.5 + longer), (2, 1.0))
        )
        half = 0.25 + longer / 2
        self.pin = Revolute(self.ground, self.left.at(-0.25, 0, 0), axis="y", angle=0.3, angle_rate=-10.0)
        self.other = Revolute(self.ground.at(1, 0, 0), self.right.at(-half, 0, 0), axis="y", angle=0.3)
        self.near = Revolute(self.left.at(0.25, 0, 0), self.coupler.at(-0.5, 0, 0), axis="y", angle=-0.3)
        self.far = Revolute(self.coupler.at(0.5, 0, 0), self.right.at(half, 0, 0), axis="y", angle=0.3)
        if c:
            self.damper = RotationalSpringDamper(self.pin, c=c)


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
@pytest.mark.parametrize(("c", "step"), [(0.0, 5e-4), (0.0, 1e-4), (0.01, 1e-4)])
def test_a_change_point_passed_within_a_step_is_told(c: float, step: float) -> None:
    with pytest.warns(RunWarning, match="the energy jumped from .* where two half steps make"):
        result = simulate(Parallelogram(1e-6, c), until=2.0, step=step)
    assert result.status.kind.value == "energy"


class Pushed(Subsystem):
    """A block with a push, and a brake as strong as the step allows."""

    def __init__(self, push: Any, c: float = 0.0) -> None:
        self.ground, self.block = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.block, axis="x")
        self.push = JointEffort(self.rail, push)
        if c:
            self.brake = RotationalSpringDamper(self.rail, c=c)


@pytest.mark.filterwarnings("error::kompono.errors.RunWarning")
@pytest.mark.parametrize("method", ["rk2", "rk4"])
def test_what_pushes_or_brakes_hard_is_no_mistake(method: str) -> None:
    once = ca.if_else(ca.logic_and(time >= 0.0100001, time < 0.0110001), 1000.0, 0.0)
    assert simulate(Pushed(once), until=0.05, method=method).status.ok
    bump = 500 * ca.exp(-(((time - 0.02) / 1e-3) ** 2))
    assert simulate(Pushed(bump, c=600.0), until=0.05, method=method).status.ok
    assert simulate(Parallelogram(0.01), until=1.0, method=method).status.ok
