"""Klein's two sliders on parallel rails: friction of one follows the force of the bar between them, and from a critical
friction on there are no forces while it is pulled, two sets of them while it is pushed.

With equal masses, both moving to the right with friction mu on the left one and a bar at 45 degrees, the force T of the
bar obeys 2 T - mu |T| = sqrt(2) P for a pull P on the right one.
"""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import Distance, DryFriction, JointEffort, Prismatic

pytestmark = pytest.mark.filterwarnings("ignore::kompono.RunWarning")
SIDE = np.sqrt(0.5)


class Klein(Subsystem):
    """Pushed until 0.1 s, then pulled."""

    def __init__(self, mu: float) -> None:
        self.ground = Ground()
        self.left, self.right = Body(mass=1.0, inertia=(0.01,) * 3), Body(mass=1.0, inertia=(0.01,) * 3)
        self.lower = Prismatic(self.ground, self.left, axis="x", displacement_rate=1.0)
        self.upper = Prismatic(self.ground.at(SIDE, SIDE, 0), self.right, axis="x", displacement_rate=1.0)
        self.bar = Distance(self.left, self.right, length=1.0)
        self.pull = JointEffort(self.upper, time - 0.1)
        self.friction = DryFriction(self.lower, mu=mu)


def speed(mu: float, end: float) -> float:
    """Of both, until `end` [s]: the speed that pushing and pulling have made."""
    push, pull = 0.1**2 / 2, max(end - 0.1, 0.0) ** 2 / 2
    return 1.0 - push * (1 + mu) / (2 + mu) + pull * (1 - mu) / (2 - mu)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_there_are_forces_below_the_critical_friction(engine: str, method: str) -> None:
    result = simulate(Klein(1.9), until=0.3, engine=engine, method=method)
    assert result.status.ok
    assert abs(result["lower.displacement.rate"][-1] - speed(1.9, 0.3)) < 1e-12


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_there_are_none_above_it(engine: str, method: str) -> None:
    result = simulate(Klein(2.1), until=0.3, engine=engine, method=method)
    assert result.status.kind == "no forces fit"
    assert "friction (friction and the force that causes it feed each other)" in result.status.message
    assert abs(result.time[-1] - 0.1) < 1e-9
    assert abs(result["lower.displacement.rate"][-1] - speed(2.1, 0.1)) < 1e-12
