"""A gap that closes and opens again within one step is seen: a stop a little below the top of a throw. In closed parts,
nested or not, it is seen as in the open model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nonsmooth.grazing import Chamber, Nested, Rig

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


RUN: dict[str, Any] = {"until": 0.3, "step": 1e-2, "progress": False, "channels": ["hinge.angle"]}


@pytest.fixture(scope="module")
def finely() -> list[tuple[float, str]]:
    """Events with a step in which no touch begins and ends."""
    return simulate(Rig(), **{**RUN, "step": 1e-3}).check().statistics["events"]


@pytest.mark.parametrize(("engine", "method"), [("relative", "rk4"), ("absolute", "rk4"), ("relative", "dopri5")])
def test_closed_parts_see_it_too(engine: str, method: str, finely: list[tuple[float, str]]) -> None:
    kind, closed = (Nested, ["part", "part.core"]) if engine == "relative" and method == "rk4" else (Chamber, ["part"])
    options = {**RUN, "engine": engine, "method": method}
    whole = simulate(Rig(kind), **options).check()
    parted = simulate(Rig(kind), closed=closed, **options).check()
    events, told = whole.statistics["events"], parted.statistics["events"]
    assert len(events) == len(finely) >= 4
    assert [name for _, name in events] == [name for _, name in told]
    apart = np.abs(np.subtract([when for when, _ in events], [when for when, _ in told]))
    exact = 1e-12 if engine == "relative" else 1e-10  # projection of such long steps leaves its square
    assert apart[0] < 1e-12
    assert apart.max() < exact
    assert np.abs(whole["hinge.angle"] - parted["hinge.angle"]).max() < exact
