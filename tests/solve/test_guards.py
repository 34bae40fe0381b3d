"""Guards of events: what is said of one that is positive at the start, passed twice in a step, no number, or chatters;
and models that have modes but no freedom.
"""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum

from kompono import Body, Event, Ground, Input, Mode, Output, Subsystem, simulate, simulate_many, time
from kompono.errors import ModelWarning, RunError, RunWarning
from kompono.library import Weld

METHODS = ("rk2", "rk4", "adams", "dopri5")


class Watched(Oscillator):
    """x = cos(2 t), counted whenever a guard fires."""

    def __init__(self, guard: Any, change: Any = None) -> None:
        super().__init__()
        self.count = Mode(0)
        self.passed = Event(guard(self), {self.count: self.count + 1 if change is None else change(self)})


def test_a_guard_above_zero_at_the_start_is_told_and_waits() -> None:
    with pytest.warns(ModelWarning, match=r"^passed: the guard is above zero at the start"):
        result = simulate(Watched(lambda m: m.slide.displacement), until=np.pi, step=0.01)
    assert [time for time, _ in result.statistics["events"]] == pytest.approx([3 * np.pi / 4], abs=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(Watched(lambda m: -m.slide.displacement), until=0.1, step=0.01)
        simulate(Watched(lambda m: m.slide.displacement - 1.0), until=0.1, step=0.01)  # exactly zero is armed


def test_a_guard_that_depends_on_a_callable_is_judged_by_what_it_says() -> None:
    class Switched(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.signal, self.count = Input(lambda t: -1.0 if t < 0.05 else 1.0, period=0.01), Mode(0)
            self.passed = Event(self.signal + 0.5, {self.count: self.count + 1})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = simulate(Switched(), until=0.1, step=0.01)
    assert result["count"][-1] == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_guard_passed_twice_within_a_step_is_seen_if_asked_for(method: str) -> None:
    def guard(model: Any) -> Any:
        return 0.004 - (time - 0.505) ** 2  # above zero from 0.4418 to 0.5682 s

    options: dict[str, Any] = {"until": 1.0, "step": 0.2, "method": method, "rtol": 1e-3}
    missed = simulate(Watched(guard), **options)
    seen = simulate(Watched(guard), guard_checks=8, **options)
    assert missed["count"][-1] == 0 or method == "dopri5"
    assert seen["count"][-1] == 1
    assert seen.statistics["events"][0][0] == pytest.approx(0.505 - np.sqrt(0.004), abs=1e-9)
    grid = seen.time[np.isin(np.round(seen.time, 9), np.round(0.2 * np.arange(6), 9))]
    assert len(grid) == 6


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_fine_look_at_the_motion_itself(method: str) -> None:
    """x = cos 2t dips below -0.996 from 1.526 to 1.616 s; steps of 0.25 s pass over it."""
    model = Watched(lambda m: -0.996 - m.slide.displacement)
    if method == "rk4":
        assert simulate(model, until=3.0, step=0.25)["count"][-1] == 0
    seen = simulate(model, until=3.0, step=0.25, method=method, guard_checks=16, rtol=1e-8)
    assert seen["count"][-1] == 1
    first = np.arccos(-0.996) / 2
    assert seen.statistics["events"][0][0] == pytest.approx(first, abs=0.01 if method == "rk4" else 1e-6)


def test_looks_change_nothing_where_nothing_is_missed() -> None:
    model = Watched(lambda m: -m.slide.displacement)
    once, often = (simulate(model, until=3.0, step=0.01, guard_checks=n) for n in (1, 5))
    assert np.abs(once.table - often.table).max() < 1e-9


def test_the_discrete_engine_has_steps_so_small_that_it_looks_once() -> None:
    with pytest.raises(RunError, match="guard_checks"):
        simulate(Watched(lambda m: time - 0.5), until=0.01, engine="discrete", guard_checks=2)


@pytest.mark.parametrize("method", METHODS)
def test_a_guard_that_is_no_number_ends_the_run_by_name(method: str) -> None:
    with pytest.warns(RunWarning, match=r"passed: the guard is not a number at t = 0\.[45]"):
        result = simulate(Watched(lambda m: ca.sqrt(0.5 - time) - 2), until=1.0, step=0.1, method=method)
    assert result.time[-1] <= 0.5
    with pytest.raises(RunError, match=r"^passed: the guard is not a number at the start"):
        simulate(Watched(lambda m: ca.log(-1 - time)), until=1.0, step=0.1, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_a_guard_that_chatters_is_named(method: str) -> None:
    class Chatter(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.on = Mode(0)
            self.harmless = Event(time - 0.01, {self.on: self.on})
            self.up = Event((0.5 - self.on) * (time > 0.05), {self.on: 1})
            self.down = Event((self.on - 0.5) * (time > 0.05), {self.on: 0})

    with pytest.warns(RunWarning, match=r"(up and down|down and up): .*one instant.*chatters"):
        result = simulate(Chatter(), until=1.0, step=0.01, method=method)
    assert result.status.time == pytest.approx(0.05, abs=0.011)


def test_a_step_with_too_many_events_blames_the_step() -> None:
    class Busy(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.count = Mode(0)
            self.tick = Event(ca.sin(3000 * time), {self.count: self.count + 1})

    with pytest.warns(RunWarning, match=r"tick: more than a hundred events in one step of 0\.5 s.*step is too long"):
        simulate(Busy(), until=1.0, step=0.5, guard_checks=1000)


class Still(Subsystem):
    """A body that cannot move, and modes."""

    def __init__(self, event: bool) -> None:
        self.ground, self.block = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
        self.weld = Weld(self.ground, self.block)
        self.stage = Mode(1.0)
        if event:
            self.late = Event(time - 0.55, {self.stage: 2})
        self.clock = Output(time * self.stage)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("method", [*METHODS, "RK45", "Radau", "BDF", "LSODA"])
def test_a_model_without_freedom_runs(method: str, engine: str) -> None:
    result = simulate(Still(event=False), until=1.0, step=0.1, method=method, engine=engine)
    assert result.check()["clock"] == pytest.approx(0.1 * np.arange(11))
    if method in METHODS:
        result = simulate(Still(event=True), until=1.0, step=0.1, method=method, engine=engine)
        assert result.check()["clock"][-1] == pytest.approx(2.0)


def test_three_hundred_levels_of_nesting_run() -> None:
    class Nest(Subsystem):
        def __init__(self, levels: int) -> None:
            if levels:
                self.inner = Nest(levels - 1)
            else:
                self.pendulum = Pendulum(angle=0.3)

    nested = simulate(Nest(300), until=0.1, step=0.01)
    plain = simulate(Pendulum(angle=0.3), until=0.1, step=0.01)
    assert np.array_equal(nested["inner." * 300 + "pendulum.pin.angle"], plain["pin.angle"])
    assert nested.scene is not None


def test_an_ensemble_tells_of_guards_above_zero_too() -> None:
    with pytest.warns(ModelWarning, match=r"^passed: the guard is above zero at the start"):
        simulate_many(Watched(lambda m: m.slide.displacement), runs=2, until=0.1, step=0.01)
