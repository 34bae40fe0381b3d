"""A light body at a port that bears a heavy load, and the other way round: digits are lost in proportion to the ratio
of masses, not faster; and where too few are left a run ends and names the port.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem, heavy, simulate
from kompono.library import Distance, Gravity, Revolute

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning", "ignore::kompono.RunWarning")


class Eye(Subsystem):
    """An eye on an arm."""

    def __init__(self, mass: float) -> None:
        self.arm, self.eye = (Body(mass=m, inertia=(0.02 * m, 0.03 * m, 0.04 * m)) for m in (1.0, mass))
        self.pin = Revolute(self.arm.at(0, 0, -0.1), self.eye.at(0, 0, 0.1), axis="x", angle=0.4)
        self.expose(self.arm, self.eye)


class Hanging(Subsystem):
    """A load on the eye, maybe held by a rod as well: a loop through the port."""

    def __init__(self, eye: float, load: float, rod: bool = False) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), Eye(eye)
        self.load = Body(mass=load, inertia=(0.02 * load, 0.03 * load, 0.05 * load))
        self.top = Revolute(self.ground, self.part.arm.at(0, 0, 0.2), axis=(0.6, 0.8, 0), angle=0.3)
        self.hook = Revolute(self.part.eye.at(0, 0, -0.1), self.load.at(0, 0, 0.2), axis="y", angle=0.2)
        if rod:
            self.rod = Distance(self.ground.at(0.5, 0.4, -0.6), self.load.at(0, 0.1, -0.1), length=0.5)


def rate(model: Subsystem, closed: list[str], engine: str) -> np.ndarray:
    simulation = Simulation(model, closed=closed, engine=engine, native=False)
    return simulation.kernel.evaluate("derivative", 0.0, simulation.assemble().state)[0]


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize(
    ("eye", "load", "rod"),
    [(1e-8, 1.0, False), (1e-4, 1.0, True), (1.0, 1e4, False), (1.0, 1e8, False), (1e8, 1.0, False), (1.0, 1e-8, True)],
)
def test_digits_are_lost_in_proportion(eye: float, load: float, rod: bool, engine: str) -> None:
    whole, parts = (rate(Hanging(eye, load, rod), closed, engine) for closed in ([], ["part"]))
    worst = max(load / eye, eye / load)
    assert np.abs(whole - parts).max() < 1e-15 * worst * (1 + np.abs(whole).max())


def accelerations(model: Subsystem, engine: str) -> np.ndarray:
    simulation = Simulation(model, engine=engine, native=False)
    values = simulation.kernel.evaluate("outputs", 0.0, simulation.assemble().state)[0]
    names = [channel.name for channel in simulation.program.channels]
    return np.array([x for name, x in zip(names, values, strict=True) if "acceleration" in name and "load" in name])


def test_a_light_body_between_heavy_ones_in_a_loop_is_no_redundant_joint() -> None:
    """Rows of the hook are 1e8 times smaller once the pin of the eye is gone; they were dropped on `absolute`."""
    found = [accelerations(Hanging(1e-8, 1.0, rod=True), engine) for engine in ("relative", "absolute")]
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("engine", "eye"), [("absolute", 1e-12), ("relative", 1e-9)])
def test_a_run_says_how_many_digits_are_left(engine: str, eye: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy, "EXACT", 1e-9)
    simulation = Simulation(Hanging(eye, 1.0), closed=["part"], engine=engine, native=False)
    state = simulation.assemble().state
    said = heavy.lost_digits(simulation, 0.0, state, np.zeros(0), simulation.parameters())
    assert re.match(rf"part\.eye: .* is 1e\+{round(-np.log10(eye)):02d} times heavier .* exact to \de-0\d of", said)
    light = Simulation(Hanging(1e-4, 1.0), closed=["part"], engine=engine, native=False)
    assert "opened" not in light.program.routines


def test_a_run_ends_where_too_few_digits_are_left() -> None:
    result = simulate(Hanging(1e-10, 1.0), until=1e-3, closed=["part"])
    assert not result.status.ok
    assert "part.eye" in result.status.message
    assert "too heavy" in result.status.message
    assert simulate(Hanging(1e-10, 1.0), until=1e-3).status.ok
