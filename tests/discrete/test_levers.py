"""Joints that slide far: their links get softer as levers grow, so that steps stay stable, the motion stays that of the
other engines with the square of the step, and no energy comes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem, evaluate, simulate
from kompono.library import Cylindrical, Planar, Prismatic, Revolute, RotationalSpringDamper, solids
from kompono.solve.stability import fastest
from kompono.solve.stiffness import GAMMA, KAPPA
from kompono.translate import translate

TRAVELS = (0.0, -0.2, 1.0, -3.0, 100.0)  # [m]
STEP = 1e-5


class Carried(Subsystem):
    """A block that slides out on a light base, which turns about a pin, and comes back on a spring."""

    def __init__(self, base: float = 0.1, rate: float = 4.0, k: float = 0.0, out: float = 0.0) -> None:
        self.ground = Ground()
        self.base = Body(solids.box(mass=base, size=(0.1, 0.1, 0.1)))
        self.block = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        self.pin = Revolute(self.ground, self.base, axis="z", angle_rate=1.0)
        self.rail = Prismatic(self.base, self.block, axis="x", displacement=out, displacement_rate=rate)
        if k:
            self.spring = RotationalSpringDamper(self.rail, k=k)


class Grounded(Subsystem):
    def __init__(self) -> None:
        self.ground, self.block = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.block, axis="x")


class Row(Subsystem):
    """Three bodies, one heavy and one light, on joints that slide, with frames off their centres."""

    def __init__(self, kind: Any, seed: int, grounded: bool) -> None:
        rng = np.random.default_rng(seed)
        masses, sizes = 10 ** rng.uniform(-2, 1, 3), rng.uniform(0.05, 0.5, (3, 3))
        self.links = [Body(solids.box(mass=m, size=tuple(s))) for m, s in zip(masses, sizes, strict=True)]
        if grounded:
            self.ground = Ground()
            self.foot = Revolute(self.ground, self.links[0].at(*rng.uniform(-0.2, 0.2, 3)), axis="z")
        given = [{} if kind is Planar else {"axis": axis} for axis in rng.choice(["x", "y", "z"], 2)]
        pairs = zip(self.links, self.links[1:], given, strict=False)
        self.slides = [
            kind(a.at(*rng.uniform(-0.3, 0.3, 3)), b.at(*rng.uniform(-0.3, 0.3, 3)), **more) for a, b, more in pairs
        ]


@pytest.mark.parametrize(
    ("kind", "seed", "grounded"), [(Prismatic, 1, True), (Cylindrical, 2, False), (Planar, 3, True)]
)
def test_what_is_chosen_at_the_start_is_stable_at_any_travel(kind: Any, seed: int, grounded: bool) -> None:
    simulation = Simulation(Row(kind, seed, grounded), engine="discrete")
    feed, parameters = simulation.feed(), simulation.parameters()
    slides = ["x", "y"] if kind is Planar else ["displacement"]
    states = [
        simulation.assemble({f"slides.{k}.{name}": travel for k in range(2) for name in slides}).state
        for travel in TRAVELS
    ]
    chosen = simulation.completed(parameters, states[0], feed, STEP)
    found = fastest(simulation.kernel, 0.0, np.array(states), feed.at(0.0), np.tile(chosen, (len(states), 1)), STEP)
    assert max(mode.size for mode in found) < KAPPA + 4 * GAMMA
    assert min(mode.size for mode in found) > 0.5 * KAPPA  # and no softer than that takes


@pytest.mark.parametrize("base", [1.0, 0.01])
def test_a_block_slides_far_on_a_light_base(base: float) -> None:
    """Two metres, where the base feels thousands of times its own mobility; errors fall with the square of the step."""
    exact = simulate(Carried(base), until=0.5, method="dopri5", rtol=1e-12)
    errors = []
    for step in (1e-4, 1e-5):
        result = simulate(Carried(base), until=0.5, step=step, every=round(1e-3 / step), engine="discrete").check()
        assert result["rail.displacement"][-1] > 1.9
        errors.append(np.abs(result["rail.displacement"] - exact["rail.displacement"]).max())
    assert errors[0] < 2e-5
    assert errors[1] < 0.02 * errors[0]


def test_no_energy_comes_of_links_that_change() -> None:
    """Out and back ten times: kinetic energy and that of the spring stay, as with the other engines."""
    options = {"until": 6.0, "step": 1e-4, "every": 10, "engine": "discrete"}
    result = simulate(Carried(0.1, 2.0, k=100.0), **options).check()
    travel, energy = result["rail.displacement"], result["energy.total"]
    assert np.count_nonzero(np.diff(np.sign(np.diff(travel)))) > 10
    assert np.ptp(energy) < 2e-4 * energy[0]
    later = energy[len(energy) // 2 :]
    assert abs(later.mean() - energy[: len(energy) // 2].mean()) < 2e-5 * energy[0]


def test_reactions_are_those_of_the_links_far_out() -> None:
    one, other = (evaluate(Carried(out=2.0), engine=engine) for engine in ("discrete", "relative"))
    for name in ("rail.force.y", "pin.force.x", "pin.force.y"):
        assert one[name] == pytest.approx(other[name], rel=1e-6, abs=1e-6)


def test_given_strengths_stay_and_slides_on_the_ground_cost_nothing() -> None:
    carried, grounded = (translate(model, engine="discrete").engine for model in (Carried(), Grounded()))
    assert carried.levers == 4
    assert grounded.levers == 0
    simulation = Simulation(Carried(), engine="discrete", stiffness={"rail": 1e6})
    feed, parameters = simulation.feed(), simulation.parameters()
    states = [simulation.assemble({"rail.displacement": x}).state for x in (0.0, 2.0)]
    whole = simulation.completed(parameters, states[0], feed, STEP)
    assert simulation.links is not None
    for state in states:
        (stiffness,), _ = simulation.links._strengths(0.0, state[None], feed.at(0.0), whole[None])
        assert stiffness[-5:] == pytest.approx(1e6)
