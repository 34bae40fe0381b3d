"""Gradients that come back through contact and friction by events: those that run along, closed forms, differences."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from analyses.test_law_jumps import Ball, Belt, Coupled, Puck, difference, height
from analyses.test_sensitivities import FourBar
from nonsmooth.law_machines import Dry, Stop

from kompono import Event, Mode, Parameter, Simulation, Subsystem, minimize
from kompono.library import RotationalSpringDamper
from kompono.solve.integrate import Settings

pytestmark = pytest.mark.filterwarnings("ignore:assembly moved", "ignore:start values")


class Knocking(FourBar):
    """The four-bar with friction by the force of a pin, a crank that strikes a stop, and a harder spring."""

    def __init__(self) -> None:
        super().__init__()
        self.mu, self.e, self.least = Parameter(0.05), Parameter(0.6), Parameter(0.6)
        self.rubs = Dry(self.pivot, mu=self.mu, reaction=self.pivot)
        self.knock = Stop(self.bearing, self.least, self.e)
        self.hard = Mode(1.0)
        self.more = RotationalSpringDamper(self.pivot, k=5.0 * self.hard, c=0.0)
        self.passed = Event(0.66 - self.bearing.angle, {self.hard: 3.0})


@cache
def simulation(make: type[Subsystem]) -> Simulation:
    return Simulation(make())


CASES: dict[type[Subsystem], tuple[Any, ...]] = {
    Ball: (["e", "g", "slide.displacement"], {"slide.displacement": 1.0}, 2.0, 3),
    Belt: (["k", "speed", "grip"], {"slide.displacement": 1.0, "roll.displacement": 0.3}, 1.0, 3),
    Coupled: (["grip", "load", "shaft.angle.rate"], {"axle.angle": 1.0}, 1.6, 2),
    Puck: (["mu"], {"body.position.x": 1.0, "body.position.y": -2.0}, 0.2, 0),
    Knocking: (["mass", "length", "k", "mu", "e", "least"], {"coupler.position.y": 1.0}, 0.3, 8),
}


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
@pytest.mark.parametrize("make", CASES)
def test_the_way_back_is_the_way_there_transposed(make: type[Subsystem], method: str) -> None:
    names, cost, until, events = CASES[make]
    run: dict[str, Any] = {"until": until, "step": until / 200, "method": method, "rtol": 1e-12}
    found = [minimize(simulation(make), cost, names, most=0, gradient=kind, **run) for kind in ("forward", "adjoint")]
    one, two = (np.array(list(fit.gradient.values())) for fit in found)
    assert len(found[1].result.statistics.get("events", [])) >= events
    assert np.abs(one).max() > 1e-3
    assert np.abs(one - two).max() < 1e-8 * np.abs(one).max()


def test_a_bouncing_ball_has_its_closed_form() -> None:
    names, cost, until, _ = CASES[Ball]
    run: dict[str, Any] = {"until": until, "step": 0.01, "method": "dopri5", "rtol": 1e-10, "most": 0}
    fit = minimize(simulation(Ball), cost, names, gradient="adjoint", **run)
    for k, name in enumerate(names):
        wanted = difference(lambda *p: height(until, *p), [0.8, 9.81, 1.0], k)
        assert fit.gradient[name] == pytest.approx(wanted, abs=1e-8)


def test_a_loop_that_knocks_has_its_differences() -> None:
    names, _, until, _ = CASES[Knocking]
    machine, settings = simulation(Knocking), Settings("dopri5", until, until / 40, 1, 1e-12, 1e-13)
    run: dict[str, Any] = {"until": until, "step": until / 40, "method": "dopri5", "rtol": 1e-12, "most": 0}
    fit = minimize(machine, "coupler.position.y", names, gradient="adjoint", **run)
    known = dict(zip(machine.program.parameters, machine.parameters(), strict=True))
    for name in names:

        def end(value: float, name: str = name) -> float:
            return machine.run(settings, progress=False, parameters={name: value})["coupler.position.y"][-1]

        wanted = difference(end, [known[name]], 0, 1e-3 * known[name])
        assert fit.gradient[name] == pytest.approx(wanted, abs=1e-8 * max(1.0, abs(wanted)))
