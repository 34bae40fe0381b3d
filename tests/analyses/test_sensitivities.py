"""Derivatives of whole runs against closed forms and differences; what is fitted with them."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import (
    Body,
    Event,
    Ground,
    Mode,
    Parameter,
    RunError,
    Simulation,
    State,
    Subsystem,
    identify,
    minimize,
    sensitivities,
    simulate,
)
from kompono.library import Gravity, Revolute, RotationalSpringDamper, solids

AT = ([0.0, 0.1, 0.2], [1.0, 1.0, 1.0])
WEIGHTS = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))


class FourBar(Subsystem):
    """A crank-rocker that swings under gravity on a spring: one loop, redundant conditions."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.mass, self.length = Parameter(1.5, unit="kg"), Parameter(2.5, unit="m")
        self.k, self.c = Parameter(20.0), Parameter(1.0)
        self.crank = Body(solids.rod(mass=1.0, length=1.0, radius=0.05, axis="x"))
        self.coupler = Body(solids.rod(mass=self.mass, length=3.0, radius=0.05, axis="x"))
        half = self.length / 2
        self.rocker = Body(solids.rod(mass=1.0, length=self.length, radius=0.05, axis="x"))
        self.bearing = Revolute(self.ground, self.crank.at(-0.5, 0, 0), axis="z", angle=0.9)
        self.pivot = Revolute(self.ground.at(3.0, 0, 0), self.rocker.at(-half, 0, 0), axis="z", angle=1.2)
        self.crank_pin = Revolute(self.crank.at(0.5, 0, 0), self.coupler.at(-1.5, 0, 0), axis="z", angle=0.0)
        self.rocker_pin = Revolute(self.rocker.at(half, 0, 0), self.coupler.at(1.5, 0, 0), axis="z")
        self.spring = RotationalSpringDamper(self.bearing, k=self.k, c=self.c)


class Bouncer(Subsystem):
    """x'' = -g, thrown up; at the floor x' becomes -e x' (an event on own states), and a count goes up."""

    def __init__(self) -> None:
        self.g, self.e = Parameter(9.81), Parameter(0.8)
        self.x, self.v = State(1.0), State(0.0)
        self.count = Mode(0.0)
        self.x.rate, self.v.rate = self.v, -self.g
        self.bounce = Event(-self.x, {self.v: -self.e * self.v, self.count: self.count + 1})


@cache
def bars() -> Simulation:
    return Simulation(FourBar())


@cache
def bouncer() -> Simulation:
    return Simulation(Bouncer())


def differences(simulation: Simulation, name: str, channels: list[str], h: float, **run: Any) -> np.ndarray:
    """d channels / d name by sixth-order differences of runs at other values."""
    from kompono.solve.integrate import Settings

    declared = dict(zip(simulation.program.parameters, simulation.parameters(), strict=True))
    total: Any = 0.0
    for times, weight in WEIGHTS:
        for sign in (1.0, -1.0):
            given = {name: declared.get(name, run.get("at", 0.0)) + sign * times * h}
            kinds = {"initial": run.get("initial", {})} | {"parameters" if name in declared else "initial": given}
            result = simulation.run(Settings(*run["settings"]), channels=channels, progress=False, **kinds)
            total = total + sign * weight / h * np.column_stack([result[c] for c in channels])
    return total


@pytest.mark.filterwarnings("ignore:assembly moved")
@pytest.mark.parametrize("name", ["mass", "length", "k", "bearing.angle"])
def test_a_loop_moves_with_its_parameters(name: str) -> None:
    """Equal steps: the derivative is that of the very steps, so only differencing errs."""
    names, channels = ["mass", "length", "k", "bearing.angle"], ["bearing.angle", "coupler.position.y"]
    result = sensitivities(bars(), names, until=0.6, step=5e-3, channels=channels,
                           initial={"bearing.angle": 0.9})  # fmt: skip
    run = {"settings": ("rk4", 0.6, 5e-3), "at": 0.9, "initial": {"bearing.angle": 0.9}}
    expected = differences(bars(), name, channels, 1e-3, **run)
    found = np.column_stack([result[f"{channel}/{name}"] for channel in channels])
    assert np.abs(expected).max() > 1e-3
    assert np.abs(found - expected).max() < 1e-8 * max(1.0, np.abs(expected).max())


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_columns_on_lanes_are_those_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five columns on four lanes, parameters and a start among them, with a loop that is projected."""
    from kompono.analyses import lanes

    names, channels = ["mass", "length", "k", "c", "bearing.angle"], ["bearing.angle", "coupler.position.y"]
    ask = {"until": 0.3, "step": 5e-3, "channels": channels}
    one = sensitivities(bars(), names, **ask)
    monkeypatch.setattr(lanes, "MANY", 10)
    made: list[Any] = []
    run = lanes.LaneColumns.run
    monkeypatch.setattr(lanes.LaneColumns, "run", lambda *given: made.append(1) or run(*given))
    other = sensitivities(bars(), names, **ask)
    assert made
    assert other.names == one.names
    for name in one.names:
        assert other[name] == pytest.approx(one[name], rel=1e-9, abs=1e-10)
    sensitivities(bouncer(), ["g", "e", "x", "v"], until=0.3, step=1e-3)  # events are for one lane
    assert len(made) == 1


def test_a_ball_that_bounces_has_the_derivatives_of_its_closed_form() -> None:
    """After one bounce x(t) = e w s - g s^2 / 2 with s = t - sqrt(2 h / g), w = sqrt(2 g h)."""
    g, e, h, t = (ca.SX.sym(n) for n in ("g", "e", "h", "t"))
    late = t - ca.sqrt(2 * h / g)
    x = e * ca.sqrt(2 * g * h) * late - g * late**2 / 2
    closed = ca.Function("x", [g, e, h, t], [ca.vertcat(x, ca.jacobian(x, ca.vertcat(g, e, h)).T)])
    for method, settings in (("rk4", {"step": 0.01}), ("dopri5", {"step": 0.05, "rtol": 1e-11})):
        result = sensitivities(bouncer(), ["g", "e", "x"], until=1.0, method=method, **settings)
        expected = np.asarray(closed(9.81, 0.8, 1.0, 1.0).full()).ravel()
        found = [result["x"][-1], *(result[f"x/{name}"][-1] for name in ("g", "e", "x"))]
        assert found == pytest.approx(expected, abs=1e-8)
        assert result["count"][-1] == 1
        before = result.time < 0.4
        assert result["x/e"][before] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.filterwarnings("ignore:Upright did not run as planned")
def test_derivatives_that_grow_without_bound_are_no_result() -> None:
    """A pendulum stands upright for ever; where it is later changes by e^(rate t) with where it begins."""

    class Upright(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.rod = Body(mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
            self.pin = Revolute(self.ground, self.rod.at(0, 0, -0.1), axis="y")

    rate = np.sqrt(0.1 * 9.81 / (0.01 + 1e-3))
    result = sensitivities(Upright(), ["pin.angle"], until=8.0, step=2e-3, channels="pin.angle")
    assert result.status.kind == "grown"
    assert "pin.angle/pin.angle" in result.status.message
    assert result.status.time == pytest.approx(np.log(2e30) / rate, abs=0.01)
    short = sensitivities(Upright(), ["pin.angle"], until=2.0, step=2e-3, channels="pin.angle")
    assert short.check()["pin.angle/pin.angle"][-1] == pytest.approx(np.cosh(2.0 * rate), rel=1e-6)


def test_a_cost_is_led_to_its_minimum() -> None:
    """A throw whose height after one second shall be 3: (x - 3)^2 as a channel."""

    class Throw(Subsystem):
        def __init__(self) -> None:
            self.lift, self.x, self.cost = Parameter(1.0), State(0.0), State(0.0)
            self.x.rate = self.lift - self.x
            self.cost.rate = (self.x - 3.0) ** 2

    found = minimize(Throw(), "cost", ["lift"], until=1.0, step=1e-2)
    share = 1 - np.exp(-np.linspace(0, 1, 100001))
    best = 3 * np.trapezoid(share, dx=1e-5) / np.trapezoid(share**2, dx=1e-5)
    assert found.converged
    assert found.parameters["lift"] == pytest.approx(best, rel=1e-6)
    assert abs(found.gradient["lift"]) < 1e-5
    held = minimize(Throw(), "cost", {"lift": (0.5, 2.0)}, until=1.0, step=1e-2)
    assert held.parameters["lift"] == pytest.approx(2.0)
    assert "converged" in str(found)


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_parameters_of_a_noisy_four_bar_are_recovered() -> None:
    true = {"mass": 1.8, "k": 26.0, "c": 1.4}
    run = simulate(FourBar(), until=1.0, step=5e-3, parameters=true, channels=["bearing.angle", "pivot.angle"])
    random, spread = np.random.default_rng(3), 1e-3
    picked = slice(0, None, 4)
    measured = {
        name: (run.time[picked], run[name][picked] + spread * random.standard_normal(len(run.time[picked])))
        for name in ("bearing.angle", "pivot.angle")
    }
    found = identify(bars(), measured, list(true), step=5e-3, noise=dict.fromkeys(measured, spread))
    assert found.converged
    for name, value in true.items():
        assert abs(found.parameters[name] - value) < 5 * found.errors[name]
        assert found.errors[name] < 0.05 * value
    assert 2 * found.cost / (2 * 51 - 3) == pytest.approx(1.0, abs=0.4)  # what is left is the noise
    exact = {name: run[name][picked] for name in measured}
    sure = identify(bars(), exact, list(true), times=run.time[picked], step=5e-3)
    assert [sure.parameters[name] for name in true] == pytest.approx(list(true.values()), rel=1e-6)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: sensitivities(bouncer(), ["f"], until=0.1), "no parameter or start value 'f'"),
        (lambda: sensitivities(bouncer(), ["g"], until=0.1, method="esdirk4"), "does not step derivatives"),
        (lambda: identify(bouncer(), {"x": [1.0, 2.0]}, ["g"]), "times="),
        (lambda: identify(bouncer(), {}, ["g"]), "nothing was measured"),
        (lambda: minimize(bouncer(), "x", {"g": (2.0, 1.0)}, until=0.1), "bounds"),
        (lambda: minimize(bouncer(), "x", {"g": 3.0}, until=0.1), "bounds 3.0"),
        (lambda: minimize(bouncer(), "xx", ["g"], until=0.1), "^no channel matches 'xx'.*test_sensitivities"),
        (lambda: sensitivities(bouncer(), [], until=0.1), "nothing is varied"),
        (lambda: identify(bouncer(), {"x": AT}, ["g"], noise={"y": 1.0}), "noise of 'y'"),
        (lambda: identify(bouncer(), {"x": AT}, ["g"], noise={"x": 0.0}), "not positive"),
        (lambda: identify(bouncer(), {"x": AT}, ["g"], noise=0.1), "noise = 0.1 is no mapping"),
        (lambda: identify(bouncer(), [1.0], ["g"]), r"measured = \[1.0\] is no mapping"),
        (lambda: sensitivities(bouncer(), None, until=0.1), "named, None is not a list"),
        (lambda: minimize(bouncer(), "x", [["g"]], until=0.1), "named, .* is not a text"),
        (lambda: identify(bouncer(), {"x": (["a"], [1.0])}, ["g"]), "no curve over time"),
    ],
)
def test_what_cannot_be_is_said(ask: Any, words: str) -> None:
    with pytest.raises(RunError, match=words):
        ask()


def test_names_may_come_twice_and_what_is_not_told_by_measurements_has_no_error() -> None:
    class Decay(Subsystem):
        def __init__(self) -> None:
            self.rate, self.idle, self.x = Parameter(1.0), Parameter(2.0), State(1.0)
            self.half, self.y = Parameter(1.0), State(1.0)
            self.x.rate = -self.rate * self.x
            self.y.rate = self.half * self.rate * self.y  # the product alone

    seconds = np.linspace(0.0, 1.0, 11)
    measured = {"x": (seconds, np.exp(-seconds) + 1e-3 * np.cos(20 * seconds))}
    alone = identify(Decay(), measured, ["rate"], step=1e-2)
    found = identify(Decay(), measured, ["rate", "idle"], step=1e-2)
    assert found.errors["idle"] == np.inf
    assert found.errors["rate"] * np.sqrt(9 / 10) == pytest.approx(alone.errors["rate"], rel=1e-6)
    together = identify(Decay(), {"y": (seconds, np.exp(seconds))}, ["rate", "half"], step=1e-2)
    assert set(together.errors.values()) == {np.inf}
    run = sensitivities(Decay(), ["rate", "rate"], until=0.1, step=1e-2, channels="x")
    assert run.names == ("x", "x/rate")
