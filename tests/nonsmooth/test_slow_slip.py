"""Slip in a plane that is slow and turns, where it begins, passes and ends: equal steps keep their order there.

Answers are those of dopri5 with a tight tolerance, which takes steps as short as it needs; the coin on a turntable,
which has tight answers of its own, is one of `exact_trials`. When a coin on a slope stops is known in closed form.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from ensembles.test_events import same
from nonsmooth.law_machines import G, Tripod
from nonsmooth.test_exact_machines import Whole

from kompono import (
    Body,
    Ground,
    JointLaw,
    Parameter,
    Result,
    Simulation,
    Subsystem,
    Unit,
    linearize,
    minimize,
    simulate,
    time,
)
from kompono.compile.slow_slip import finest
from kompono.library import Gravity, JointEffort, Planar, SpringDamper
from kompono.solve.settling import settler_of

LONG = bool(os.environ.get("KOMPONO_LAWS"))
SHAKEN = 20.0  # [rad/s]


class Felt(JointLaw):
    """Friction in the plane, of which the joint bears the weight."""

    limit: Any = 0.3 * 0.2 * G

    def units(self) -> Unit:
        joint = self.joints[0]
        return Unit(slip=ca.vertcat(joint.x_rate, joint.y_rate), limit=self.limit)


class Coin(Subsystem):
    """A coin of 0.2 kg on a table that moves along an ellipse, or is shaken not at all and pulled by a slope."""

    def __init__(self, *shaken: float, slope: float = 0.0, start: tuple[float, float] = (0.0, 0.0)) -> None:
        x, y = shaken or (0.0, 0.0)
        self.gravity = Gravity((slope, 0, -G))
        self.table = Ground((x * ca.sin(SHAKEN * time), y * ca.cos(SHAKEN * time), 0))
        self.coin = Body(mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
        self.plane = Planar(self.table, self.coin, x_rate=start[0], y_rate=start[1])
        self.felt = Felt(self.plane)


def shaken() -> Subsystem:
    """It sticks and slides, and turns as it begins and ends to slide."""
    return Coin(0.01, 0.004)


def carried() -> Subsystem:
    """It slides from the start on, with a jump of its acceleration, and never sticks."""
    return Coin(0.01, 0.009)


def stopping() -> Subsystem:
    """It slides across a slope that cannot keep it sliding."""
    return Coin(slope=0.2 * G, start=(0.3, 0.5))


class Stalled(Coin):
    """Slip turns aside a little, and just before it rests a pull grows, within a microsecond, that keeps it as slow."""

    def __init__(self) -> None:
        super().__init__(start=(0.003, 0.0))
        late = (time - (0.003 / (0.3 * G) - 7e-6)) / 1e-6
        grown = 0.3 * 0.2 * G / (1 + ca.exp(-late))
        self.push = JointEffort(self.plane, grown, coordinate="x")
        self.side = JointEffort(self.plane, 0.03 * grown * ca.exp(-((late / 10) ** 2)), coordinate="y")


def pulled() -> Subsystem:
    """A spring pulls a tripod: a foot passes close by rest and turns, another one stops, nearly in balance."""
    return Tripod(pull=100.0)


class Swinging(Subsystem):
    """A spring, much stronger than friction, drives a coin on a belt close by rest again and again."""

    def __init__(self) -> None:
        self.base, self.gravity, self.belt = Ground(), Gravity(), Ground((0.1 * time, 0, 0))
        self.coin = Body(mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
        self.plane = Planar(self.belt, self.coin)
        self.felt = Felt(self.plane)
        self.spring = SpringDamper(self.base.at(-0.5, 0.1, 0), self.coin, k=500.0, rest=0.4)


PLANE, BODY = ["plane.x", "plane.y"], ["body.position.x", "body.position.y", "body.orientation.e3"]
# channels, until [s], error at 1 ms, of times of events
CASES: dict[Callable[[], Subsystem], tuple[list[str], float, float, float]] = {
    shaken: (PLANE, 0.5, 1e-9, 5e-9),
    carried: (PLANE, 0.5, 1e-9, 0.0),
    stopping: (PLANE, 0.6, 1e-11, 2e-11),
    Swinging: (PLANE, 0.3, 1e-7, 0.0),
    Tripod: (BODY, 0.4, 1e-10, 1e-11),
    pulled: (BODY, 0.8, 2e-9, 5e-10),
}


def run(make: Callable[[], Subsystem], step: float, **options: Any) -> Result:
    return simulate(make(), until=CASES[make][1], step=step, progress=False, **options).check()


def end(make: Callable[[], Subsystem], result: Result) -> np.ndarray:
    return np.array([result[name][-1] for name in CASES[make][0]])


@cache
def tight(make: Callable[[], Subsystem]) -> Result:
    return run(make, 1e-3, method="dopri5", rtol=1e-12, atol=1e-13)


def error(make: Callable[[], Subsystem], result: Result) -> float:
    return float(np.abs(end(make, result) - end(make, tight(make))).max())


WAYS = [(make, "relative") for make in CASES]
WAYS += [(make, "absolute") for make in (CASES if LONG else [shaken, Tripod])]


@pytest.mark.parametrize(("make", "engine"), WAYS)
def test_equal_steps_are_of_fourth_order(make: Callable[[], Subsystem], engine: str) -> None:
    _, _, bound, late = CASES[make]
    coarse, fine = (run(make, step, method="rk4", engine=engine) for step in (2e-3, 1e-3))
    assert error(make, fine) < bound
    assert error(make, coarse) > 10 * error(make, fine)  # 16 and more, less what the reference is off
    events, wanted = fine.statistics["events"], tight(make).statistics["events"]
    assert [name for _, name in events] == [name for _, name in wanted]
    assert all(abs(one - other) <= late for (one, _), (other, _) in zip(events, wanted, strict=True))


FIRST = [(0.1, -0.3, 0.5), (0.15, 0.3, 0.5), (0.15, -0.5, 0.02), (0.25, -0.3, 0.5)]  # slope over G, start


@pytest.mark.parametrize(("slope", "x", "y"), FIRST)
@pytest.mark.parametrize(("method", "late"), [("rk4", 1e-9), ("dopri5", 1e-10)])
def test_slip_that_turns_ends_on_time(slope: float, x: float, y: float, method: str, late: float) -> None:
    """With pull a, friction f, speed s at an angle A to the pull, s (f + a cos A) falls by f^2 - a^2 each second."""
    stops = (0.3 * np.hypot(x, y) + slope * x) / ((0.3**2 - slope**2) * G)
    options: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-14} if method == "dopri5" else {}
    coin = Coin(slope=slope * G, start=(x, y))
    result = simulate(coin, until=stops + 0.01, step=1e-3, method=method, progress=False, **options).check()
    [(at, what)] = result.statistics["events"]
    assert what == "felt.sticks"
    assert abs(at - stops) < late


def test_who_comes_close_to_rest_and_stays_there_goes_back() -> None:
    """Pieces are as short as for slip that ends for a while, and then as for slip that is slow."""
    until, step = 0.05, 1e-3
    result = simulate(Stalled(), until=until, step=step, method="rk4", progress=False).check()
    exact = simulate(Stalled(), until=until, method="dopri5", rtol=1e-11, atol=1e-13, progress=False).check()
    assert abs(result["plane.x"][-1] - exact["plane.x"][-1]) < 2e-8
    assert 2000 < result.statistics["steps"] < 2500 + until / finest(step) / 8


@pytest.mark.parametrize("make", [shaken, Tripod] if LONG else [Tripod])
def test_a_closed_part_divides_steps_as_an_open_one(make: Callable[[], Subsystem]) -> None:
    own = run(make, 1e-3, method="rk4")
    options: dict[str, Any] = {"until": CASES[make][1], "step": 1e-3, "method": "rk4", "progress": False}
    within = simulate(Whole(make()), closed=["part"], **options).check()
    ends = [within[f"part.{name}"][-1] for name in CASES[make][0]]
    assert np.abs(ends - end(make, own)).max() < 1e-12
    assert within.statistics["steps"] == own.statistics["steps"]


def test_adams_and_rk2_divide_their_steps_too() -> None:
    assert error(shaken, run(shaken, 1e-3, method="adams")) < 2e-9
    one, two = (error(shaken, run(shaken, step, method="rk2")) for step in (1e-3, 5e-4))
    assert two < 1e-6
    assert one > 3.5 * two


def test_steps_are_divided_while_slip_is_slow_only() -> None:
    """Each piece is counted; records are where they were."""
    straight = simulate(Coin(start=(0.0, 0.5)), until=0.15, step=1e-3, method="rk4", progress=False).check()
    assert straight.statistics["steps"] == 150
    result = run(shaken, 1e-3, method="rk4")
    assert result.statistics["steps"] > 1000
    off = result.time[np.abs(result.time / 1e-3 - np.round(result.time / 1e-3)) > 1e-6]
    assert len(result.time) - len(off) == 501
    assert np.array_equal(off[::2], off[1::2])  # before an event and behind it


class Pressed(Coin):
    """A coin that a slope pulls a little more than friction holds it, and a push to the side [m/s^2]."""

    def __init__(self, push: Any = 0.0) -> None:
        super().__init__(slope=0.3 * G + PULL)
        self.push = JointEffort(self.plane, 0.2 * push, coordinate="y")


PULL = 1e-3 * G  # [m/s^2] what is left of the slope


@pytest.mark.parametrize("method", ["rk4", "rk2", "adams"])
def test_straight_slip_is_not_divided(method: str) -> None:
    """Friction is 300 times what is left of the pull, so that directions follow slip in t / 300."""
    result = simulate(Pressed(), until=0.5, step=1e-3, method=method, progress=False).check()
    assert abs(result["plane.x"][-1] - PULL * 0.5**2 / 2) < 1e-13
    assert np.abs(result["plane.y"]).max() < 1e-15
    assert result.statistics["steps"] == 501  # the first one in two pieces: a short one shows it


@pytest.mark.parametrize("closed", [[], ["part"]])
def test_straight_slip_in_a_component_is_not_divided(closed: list[str]) -> None:
    options: dict[str, Any] = {"until": 0.1, "step": 1e-3, "method": "rk4", "progress": False}
    result = simulate(Whole(Pressed()), closed=closed, **options).check()
    assert abs(result["part.plane.x"][-1] - PULL * 0.1**2 / 2) < 1e-15
    assert result.statistics["steps"] == 101


def test_fast_slip_that_is_straight_is_not_divided_as_it_ends() -> None:
    """It is marked long before, when it has next to nothing to the side."""
    result = simulate(Whole(Coin(start=(0.3, 0.5))), until=0.3, step=1e-3, method="rk4", progress=False).check()
    [(at, what)] = result.statistics["events"]
    assert what == "part.felt.sticks"
    assert abs(at - np.hypot(0.3, 0.5) / (0.3 * G)) < 1e-12
    assert result.statistics["steps"] == 301


@pytest.mark.parametrize("size", [1e-3, 1e-9])
def test_straight_slip_that_turns_later_turns_at_once(size: float) -> None:
    """A push to the side grows from 0.1 s on; with next to none of it slip goes on turning for next to nothing."""
    late = ca.fmax(time - 0.1, 0.0)
    options: dict[str, Any] = {"until": 0.3, "progress": False}
    result = simulate(Pressed(size * late**2), step=1e-3, method="rk4", **options).check()
    exact = simulate(Pressed(size * late**2), method="dopri5", rtol=1e-12, atol=1e-16, **options).check()
    for name in PLANE:
        assert abs(result[name][-1] - exact[name][-1]) < max(1e-12 * size / 1e-3, 1e-15), name
    assert 300 < result.statistics["steps"] < 4000


@pytest.mark.parametrize(("method", "damps"), [("rk4", 2.7), ("rk2", 1.8)])
def test_straight_slip_that_nobody_has_marked_is_divided_as_stability_asks(method: str, damps: float) -> None:
    """So it is for derivatives. T is t / 300; pieces are `damps` T, until that is a step."""
    machine, step, steps = Simulation(Pressed()), 1e-3, 500
    settler = settler_of(machine.kernel)
    assert settler is not None
    begun = settler.start(0.0, machine.assemble().state, np.zeros(0), machine.parameters(), step)
    run = machine.kernel.fixed(method, 0.0, begun, step=step, parameters=machine.parameters(), every=steps)
    run.settle = None  # who would mark it
    run.advance(steps)
    x = run.state[machine.program.coordinates.index("plane.x")]
    assert abs(x - PULL * (steps * step) ** 2 / 2) < 1e-13
    wanted = 300 / damps * np.log(step / (2 * damps * finest(step)))
    assert 0.9 * wanted < run.accepted - steps < 1.3 * wanted


def test_who_linearizes_where_straight_slip_ended_sees_the_friction_there_is() -> None:
    result = simulate(Pressed(), until=0.5, step=1e-3, method="rk4", progress=False).check()
    linear = linearize(Pressed(), at=result)
    place = [name.endswith("y.rate") or name.endswith("y_rate") for name in linear.states].index(True)
    assert linear.A[place, place] == pytest.approx(-0.3 * G / (PULL * 0.5), rel=1e-6)


class Rough(Coin):
    """The friction of a coin that is shaken may be set."""

    def __init__(self) -> None:
        super().__init__(0.01, 0.009)
        self.mu = Parameter(0.3)
        self.felt.limit = self.mu * 0.2 * G


def test_ensembles_make_the_same_pieces() -> None:
    """Those with 0.4 and more begin to slip late, or never."""
    given: dict[str, Any] = {"parameters": {"mu": [0.28, 0.3, 0.32, 0.38, 0.4, 0.5]}, "until": 0.2, "step": 1e-3}
    many = same(Rough(), given, method="rk4", progress=False)
    assert 0 < many.statistics["steps_alone"] < many.statistics["steps"]
    assert many.statistics["steps"] > 6 * 200


class Loose(Coin):
    """The friction of a coin that a slope pulls straight may be set, and how fast it begins."""

    def __init__(self) -> None:
        super().__init__(slope=0.3 * G)
        self.mu = Parameter(0.3)
        self.felt.limit = self.mu * 0.2 * G


def test_ensembles_mark_straight_slip_as_single_runs_do() -> None:
    """From rest, or fast at first; with 0.4 the second kind stops, and the first holds."""
    mu, speed = np.meshgrid([0.28, 0.299, 0.4], [0.0, 0.05])
    given: dict[str, Any] = {"parameters": {"part.mu": mu.ravel()}, "initial": {"part.plane.x.rate": speed.ravel()}}
    many = same(Whole(Loose()), {**given, "until": 0.2, "step": 1e-3}, method="rk4", progress=False)
    assert 6 * 200 < many.statistics["steps"] < 6 * 202


def test_gradients_go_back_along_the_pieces() -> None:
    machine = Simulation(Rough())
    run: dict[str, Any] = {"until": 0.1, "step": 1e-3, "method": "rk4", "most": 0}
    fits = [minimize(machine, {"plane.x": 1.0}, ["mu"], gradient=kind, **run) for kind in ("forward", "adjoint")]
    one, two = (fit.gradient["mu"] for fit in fits)
    assert one == pytest.approx(two, rel=1e-12)
    assert fits[1].result.statistics["steps"] > 105
    np.testing.assert_allclose(fits[0].result.time, fits[1].result.time, rtol=0, atol=1e-15)  # the same pieces


class Slope(Coin):
    """The friction of a coin that stops on a slope it crosses may be set."""

    def __init__(self) -> None:
        super().__init__(slope=0.2 * G, start=(-0.3, 0.5))
        self.mu = Parameter(0.3)
        self.felt.limit = self.mu * 0.2 * G


def test_gradients_pass_the_end_of_slip() -> None:
    machine, other = Simulation(Slope()), 1e-5
    run: dict[str, Any] = {"until": 0.3, "step": 1e-3, "method": "rk4"}
    runs = [simulate(Slope(), parameters={"mu": mu}, progress=False, **run) for mu in (0.3 + other, 0.3 - other)]
    ends = [result.check()["plane.x"][-1] for result in runs]
    for kind in ("forward", "adjoint"):
        found = minimize(machine, {"plane.x": 1.0}, ["mu"], gradient=kind, most=0, **run).gradient["mu"]
        assert found == pytest.approx((ends[0] - ends[1]) / (2 * other), rel=1e-6)
