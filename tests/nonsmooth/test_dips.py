"""A gap that closes and opens again within one step is seen: a stop a little below the top of a throw."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, simulate
from kompono.library import EndStops, Gravity, Prismatic

G, TOP = 9.81, 0.0234567  # [s] after the throw


class Throw(Subsystem):
    def __init__(self, over: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(mass=1.0, inertia=(0.1,) * 3)
        self.way = Prismatic(self.ground, self.ball, axis="z", displacement_rate=G * TOP)
        self.stop = EndStops(self.way, -5.0, G * TOP**2 / 2 - over, restitution=0.5)


@pytest.mark.parametrize(("method", "step"), [("rk4", 1e-3), ("rk4", 1e-2), ("adams", 1e-3), ("dopri5", 1e-2)])
@pytest.mark.parametrize("over", [1e-6, 1e-8])
def test_a_brief_touch_is_seen(method: str, step: float, over: float) -> None:
    result = simulate(Throw(over), until=0.05, step=step, method=method)
    ((when, name),) = result.statistics["events"]
    assert name == "stop.upper.strikes"
    assert abs(when - TOP + np.sqrt(2 * over / G)) < 1e-11


def test_what_just_misses_is_none() -> None:
    assert not simulate(Throw(-1e-9), until=0.05, step=1e-2).statistics["events"]
