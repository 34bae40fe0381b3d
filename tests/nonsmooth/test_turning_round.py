"""Slip in a plane that turns round is an event, as it is on a line."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from casadi import sin
from scipy.optimize import brentq

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import Contact, Gravity

AMPLITUDE, OMEGA, MU, G = 0.05, 12.0, 0.3, 9.81


class Shaken(Subsystem):
    """A crumb on a table that shakes along a line askew; it begins with the table's speed."""

    def __init__(self) -> None:
        way = AMPLITUDE * np.array([0.6, 0.8, 0.0])
        self.gravity = Gravity()
        self.table = Ground(tuple(float(x) * sin(OMEGA * time) for x in way))
        self.crumb = Body(mass=1.0, inertia=(1.0, 1.0, 1.0), start_velocity=tuple(OMEGA * way))
        self.touch = Contact(self.table.plane(), self.crumb.point(), mu=MU)


def turns(until: float) -> list[float]:
    """When it begins to slip, and turns round: between, its acceleration is mu g."""
    rate = AMPLITUDE * OMEGA
    found = [float(np.arcsin(MU * G / (rate * OMEGA)) / OMEGA)]
    own, way = rate * np.cos(OMEGA * found[0]), -1.0
    while True:
        slip = partial(_slip, own, way, found[-1])
        looks = np.linspace(found[-1] + 1e-3, until, 2000)
        crossed = [pair for pair in pairwise(looks) if slip(pair[0]) <= 0 < slip(pair[1])]
        if not crossed:
            return found
        end = brentq(slip, *crossed[0], xtol=1e-15)
        own, way = own + way * MU * G * (end - found[-1]), -way
        found.append(end)


def _slip(own: float, way: float, since: float, when: float) -> float:
    """How fast it slips along `way`, of a crumb that had its own speed at an earlier instant."""
    return way * (own + way * MU * G * (when - since) - AMPLITUDE * OMEGA * np.cos(OMEGA * when))


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}, {"method": "dopri5", "rtol": 1e-11}])
def test_each_turn_of_a_shaken_crumb_is_an_event(options: dict[str, Any]) -> None:
    want = turns(1.5)
    events = simulate(Shaken(), until=1.5, **options).check().statistics["events"]
    assert [name for _, name in events] == ["touch.slips"] * len(want)
    assert len(want) == 6
    np.testing.assert_allclose([when for when, _ in events], want, atol=1e-10)
