"""Gradients that come back along a run: the same as those that run along, to rounding, through loops and events."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from analyses.test_sensitivities import Bouncer, FourBar

from kompono import (
    Body,
    Event,
    Ground,
    Mode,
    Output,
    Parameter,
    RunError,
    Simulation,
    State,
    Subsystem,
    minimize,
    sensitivities,
)
from kompono.analyses import stored
from kompono.library import Gravity, RotationalSpringDamper, Spherical, solids

pytestmark = pytest.mark.filterwarnings("ignore:assembly moved")


class Relay(FourBar):
    """The four-bar with a spring that becomes harder when the crank passes an angle, and a cost that adds up."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = Parameter(0.5)
        self.hard = Mode(1.0)
        self.more = RotationalSpringDamper(self.pivot, k=5.0 * self.hard, c=0.0)
        self.cost = State(0.0)
        self.cost.rate = self.bearing.angle**2 + 0.1 * self.pivot.angle_rate**2
        self.passed = Event(self.limit - self.bearing.angle, {self.hard: 4.0, self.cost: 2.0 * self.cost})


class Ball(Subsystem):
    """A ball joint: coordinates that are a quaternion, whose length is a condition."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.mass = Ground(), Gravity(), Parameter(1.0)
        self.body = Body(solids.box(mass=self.mass, size=(0.1, 0.2, 0.3)))
        self.arm = Parameter(0.5)
        self.hang = Spherical(self.ground, self.body.at(0.1, 0.2, self.arm), wx=1.0, wy=-2.0)


@cache
def simulation(make: type[Subsystem]) -> Simulation:
    return Simulation(make())


CASES: dict[str, tuple[Any, ...]] = {
    "loop": (FourBar, ["mass", "length", "k", "c", "bearing.angle"], {"coupler.position.y": 2.0, "bearing.angle": 1.0}),
    "loop and event": (Relay, ["mass", "length", "k", "c", "limit", "bearing.angle"], {"cost": 1.0}),
    "bounces": (Bouncer, ["g", "e", "x", "v"], {"x": 1.0}),
    "quaternion": (Ball, ["mass", "arm", "hang.wx"], {"body.position.x": 1.0}),
}


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
@pytest.mark.parametrize("case", CASES)
def test_the_way_back_is_the_way_there_transposed(case: str, method: str) -> None:
    make, names, cost = CASES[case]
    run: dict[str, Any] = {"until": 1.3 if case == "bounces" else 0.4, "step": 5e-3, "method": method, "rtol": 1e-12}
    found = [minimize(simulation(make), cost, names, most=0, gradient=kind, **run) for kind in ("forward", "adjoint")]
    one, two = (np.array(list(fit.gradient.values())) for fit in found)
    assert found[0].cost == pytest.approx(found[1].cost, abs=1e-12)
    assert np.abs(one).max() > 1e-3
    assert np.abs(one - two).max() < 1e-8 * np.abs(one).max()
    if "event" in case:
        assert len(found[1].result.statistics["events"]) == 1


def test_they_are_differences_of_runs() -> None:
    from analyses.test_sensitivities import differences

    """As near as the steps are to the motion: differences see how an event moves within its step."""
    fit = minimize(simulation(Relay), "cost", ["k", "limit"], until=0.4, step=2e-3, most=0, gradient="adjoint")
    for name, h in (("k", 1e-1), ("limit", 1e-3)):
        expected = differences(simulation(Relay), name, ["cost"], h, settings=("rk4", 0.4, 2e-3))[-1, 0]
        assert fit.gradient[name] == pytest.approx(expected, abs=1e-8 * max(1.0, abs(expected)))


def test_long_runs_keep_some_states_and_make_the_steps_between_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ask: dict[str, Any] = {"until": 0.4, "step": 5e-3, "most": 0, "gradient": "adjoint"}
    whole = minimize(simulation(Relay), "cost", ["k", "limit"], **ask)
    monkeypatch.setattr(stored, "MOST", 100)
    pieces = minimize(simulation(Relay), "cost", ["k", "limit"], **ask)
    for name, value in whole.gradient.items():
        assert pieces.gradient[name] == pytest.approx(value, rel=1e-9)


class Drop(Subsystem):
    """A fall from 1 m that ends at the floor, with sqrt(2 g), after sqrt(2 / g)."""

    def __init__(self) -> None:
        from kompono import time

        self.g, self.x, self.v = Parameter(10.0), State(1.0), State(0.0)
        self.x.rate, self.v.rate = self.v, -self.g
        self.since, self.later = State(0.0), Output(time * self.g)
        self.since.rate = 1.0
        self.hit = Event(-self.x, stop=True)


@pytest.mark.parametrize("kind", ["forward", "adjoint"])
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_an_event_that_ends_the_run_moves_its_end(kind: str, method: str) -> None:
    for cost, wanted in (("v", -0.5 * np.sqrt(0.2)), ("since", -0.5 * np.sqrt(2e-3))):
        fit = minimize(simulation(Drop), cost, ["g"], until=1.0, step=1e-2, most=0, gradient=kind, method=method)
        assert fit.gradient["g"] == pytest.approx(wanted, abs=1e-9)
    with pytest.raises(RunError, match="State of the model"):
        minimize(simulation(Drop), "later", ["g"], until=1.0, step=1e-2, most=0, gradient=kind, method=method)


class Profile(Subsystem):
    """Forty pushes, one after the other, that shall bring a mass to 1 in a second and to rest, with little effort."""

    count = 40

    def __init__(self) -> None:
        from kompono import time

        self.push = [Parameter(0.1) for _ in range(self.count)]
        self.x, self.v, self.effort = State(0.0), State(0.0), State(0.0)
        width = 1.0 / self.count
        hats = [(1.0 - ((time - (k + 0.5) * width) / width) ** 2 / 4.0) / self.count for k in range(self.count)]
        force: Any = sum(p * hat for p, hat in zip(self.push, hats, strict=True))
        self.x.rate, self.v.rate = self.v, force
        self.effort.rate = 1e-3 * force**2 + 0.0 * self.x
        self.off = State(0.0)
        self.off.rate = 2.0 * (self.x - 1.0) * self.v + 2.0 * self.v * force


def test_many_parameters_are_led_to_a_minimum() -> None:
    found = minimize(
        simulation(Profile), {"effort": 1.0, "off": 1.0}, [f"push.{k}" for k in range(40)], until=1.0, step=1e-2
    )
    assert found.converged
    assert max(map(abs, found.gradient.values())) < 1e-4
    assert found.cost < -0.9  # of (x - 1)^2 + v^2, which begins with 1, hardly anything is left


class Sampled(Subsystem):
    """x' = -k held, and held becomes x every 0.1 s: x(n / 10) = (1 - k / 10)^n."""

    def __init__(self) -> None:
        self.k, self.x, self.held = Parameter(1.0), State(1.0), Mode(0.0, every=0.1)
        self.x.rate = -self.k * self.held
        self.held.next = self.x


def test_derivatives_pass_through_samples_forward_and_not_back() -> None:
    for step in (1e-2, 0.03):  # the step need not divide the period
        run = sensitivities(simulation(Sampled), ["k", "x"], until=0.9, step=step)
        assert run["x/k"][-1] == pytest.approx(-0.9 * 0.9**8, abs=1e-12)
        assert run["x/x"][-1] == pytest.approx(0.9**9, abs=1e-12)
    with pytest.raises(RunError, match="samples"):
        minimize(simulation(Sampled), "x", ["k"], until=0.9, gradient="adjoint")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gradient": "adjoint", "method": "adams"}, "steps of rk4 or dopri5, not of adams"),
        ({"gradient": "backwards"}, "'backwards'.*is none"),
    ],
)
def test_what_cannot_go_back_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RunError, match=words):
        minimize(simulation(Bouncer), "x", ["g"], until=0.1, **options)
