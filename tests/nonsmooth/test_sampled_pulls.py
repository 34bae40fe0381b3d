"""Sampled modes that pull at what friction holds, from the first instant on."""

from __future__ import annotations

from typing import Any

import pytest
from nonsmooth.known import names, times

from kompono import Body, Ground, Mode, Subsystem, simulate, simulate_many
from kompono.library import DryFriction, JointEffort, Prismatic


class Pulled(Subsystem):
    """A mass that 2 N hold, and a controller that pulls with 5 N as soon as it is asked."""

    def __init__(self, offset: float = 0.0) -> None:
        self.ground, self.mass = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.mass, axis="x")
        self.force = Mode(0.0, every=0.01, offset=offset)
        self.force.next = 5.0
        self.pull, self.rub = JointEffort(self.rail, self.force), DryFriction(self.rail, preload=2.0)


@pytest.mark.parametrize("offset", [0.0, 0.005])
@pytest.mark.parametrize(
    "options", [{}, {"method": "dopri5"}, {"engine": "absolute"}], ids=["rk4", "dopri5", "absolute"]
)
def test_the_first_sample_tears_it_loose(offset: float, options: dict[str, Any]) -> None:
    result = simulate(Pulled(offset), until=0.05, step=1e-3, **options)
    assert (names(result), times(result)) == (["rub.slips"], [offset])
    assert abs(result["rail.displacement"][-1] - 1.5 * (0.05 - offset) ** 2) < 1e-14


def test_runs_side_by_side_are_torn_loose_too() -> None:
    many = simulate_many(Pulled(), until=0.05, step=1e-3, runs=3)
    assert abs(many["rail.displacement"][:, -1] - 1.5 * 0.05**2).max() < 1e-14
