"""Runs with events and laws, side by side: each is the single run, with its events, its samples and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest
from ensembles.machines import Bouncing, Tunable
from nonsmooth.law_machines import FourBar
from nonsmooth.rubbing_machines import Rattle, Stacked
from solve.machines import Oscillator

from kompono import Ensemble, Event, Mode, Parameter, Subsystem, simulate, simulate_many, time

pytestmark = pytest.mark.filterwarnings("ignore")
RUNS = 11


class Switching(Oscillator):
    """A spring that changes with the side the mass is on, a sampled brake, a count, and what ends a run: a place that
    is reached, a guard that is no number, a guard that chatters.
    """

    def __init__(self) -> None:
        self.end, self.chatter, self.limit = (Parameter(999.0) for _ in range(3))
        self.side, self.count, self.drag = Mode(0), Mode(0), Mode(0.0, every=0.0173, offset=0.004)
        super().__init__(k=400.0 * (1.0 + 0.5 * self.side))
        self.spring.c = self.drag
        x, v = self.slide.displacement, self.slide.displacement_rate
        self.drag.next = 0.1 + 0.3 * ca.fabs(v)
        self.right = Event(x - 0.1, {self.side: 1, self.count: self.count + 1})
        self.left = Event(-0.1 - x, {self.side: 0, self.count: self.count + 1})
        self.reached = Event(self.count - self.end + 1e-3 * ca.sqrt(self.limit - self.count), stop=True)
        odd = self.count - 2 * ca.floor(self.count / 2)
        self.again = Event(ca.if_else(self.count > self.chatter, 1 - odd - 0.5, -1), {self.count: self.count + 1})
        self.back = Event(ca.if_else(self.count > self.chatter, odd - 0.5, -1), {self.count: self.count + 1})


def same(
    model: Subsystem, given: Mapping[str, Any], within: float = 1e-11, lanes: int = 4, **settings: Any
) -> Ensemble:
    """The ensemble, whose runs are those made one by one."""
    many = simulate_many(model, **given, **settings, lanes=lanes)
    single = simulate_many(model, **given, **settings, lanes=1)
    for i in range(many.runs):
        found, expected = (each.statistics["events"][i] for each in (many, single))
        assert [name for _, name in found] == [name for _, name in expected], i
        np.testing.assert_allclose([t for t, _ in found], [t for t, _ in expected], rtol=0, atol=10 * within)
        assert many.status[i].kind == single.status[i].kind
        assert many.status[i].time == pytest.approx(single.status[i].time, abs=10 * within)
        assert many.status[i].message.split(" at t")[0] == single.status[i].message.split(" at t")[0]
    scale = 1 + np.nanmax(np.abs(single.table), axis=(0, 1))
    np.testing.assert_allclose(many.table / scale, single.table / scale, rtol=0, atol=within)
    counts = many.statistics
    assert counts["steps"] == single.statistics["steps"]
    assert counts["steps_on_lanes"] + counts["steps_alone"] == counts["steps"]
    assert single.statistics["steps_on_lanes"] == 0
    return many


def starts(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 1.0, RUNS)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams"])
def test_events_samples_and_ends_of_each_run(method: str) -> None:
    """Three runs of eleven end early, each for another reason."""
    ends = {name: np.full(RUNS, 999.0) for name in ("end", "chatter", "limit")}
    ends["end"][2], ends["chatter"][5], ends["limit"][8] = 3.0, 2.5, 1.5
    given = {"initial": {"slide.displacement": starts(1)}, "parameters": ends}
    many = same(Switching(), given, until=1.0035, step=2e-3, method=method)
    assert [many.status[i].kind for i in (2, 5, 8, 0)] == ["ended", "too many events", "guard not finite", "done"]
    assert many.statistics["steps_on_lanes"] > 0.8 * many.statistics["steps"]
    alone = simulate(
        Switching(), until=1.0035, step=2e-3, method=method, initial={"slide.displacement": starts(1)[4]},
        parameters={"end": 999.0, "chatter": 999.0, "limit": 999.0},
    )  # fmt: skip
    assert many["slide.displacement"][4, -1] == pytest.approx(alone["slide.displacement"][-1], abs=1e-11)
    one = many.run(4 - RUNS)  # as a result of its own, with its own events
    assert one.statistics["events"] == many.statistics["events"][4]
    assert "x left" in one.summary()


@pytest.mark.parametrize(("lanes", "every"), [(2, 1), (8, 7), (16, 1)])
def test_other_widths_and_records(lanes: int, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kompono.compile.run_lanes.ROOM_ALONE", 0)  # records of events fill it at once
    given = {"initial": {"slide.displacement": starts(2)}}
    same(Switching(), given, lanes=lanes, every=every, until=0.5, step=2e-3, threads=3)


def test_looks_between_the_ends_of_a_step() -> None:
    """Most runs pass the guard twice in one step, one not at all."""

    class Glance(Oscillator):
        def __init__(self) -> None:
            super().__init__()
            self.when, self.count = Parameter(0.5), Mode(0)
            self.passed = Event(0.002 - (time - self.when) ** 2, {self.count: self.count + 1})

    given = {"parameters": {"when": np.append(np.linspace(0.2, 0.8, RUNS - 1), 3.0)}}
    many = same(Glance(), given, until=1.0, step=0.2, guard_checks=10)
    assert many["count"][:, -1].tolist() == [1.0] * (RUNS - 1) + [0.0]
    assert same(Glance(), given, until=1.0, step=0.2)["count"][:, -1].sum() < RUNS - 1


@pytest.mark.parametrize(("every", "room"), [(1, 1 << 15), (1, 0), (2, 0)])
def test_an_event_at_the_end_of_a_step(every: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records there show what is behind the event if all steps are recorded, as those of a single run."""
    monkeypatch.setattr("kompono.compile.run_lanes.ROOM_ALONE", room)

    class Clock(Oscillator):
        def __init__(self) -> None:
            super().__init__()
            self.when, self.count = Parameter(0.5), Mode(0)
            self.passed = Event(ca.if_else(self.count < 1, time - self.when, -1), {self.count: 1})

    when = np.array([0.25, 0.375, 0.5, 0.3, 0.75])  # steps of 1/8 s end there, but for one
    many = same(Clock(), {"parameters": {"when": when}}, until=1.0, step=0.125, every=every)
    assert [t for events in many.statistics["events"] for t, _ in events] == pytest.approx(when, abs=2e-12)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams"])
def test_impacts_and_rest(method: str) -> None:
    """Balls fly on lanes, strike alone, and come to rest, where nothing is computed."""
    given = {
        "initial": {"rail.displacement": starts(3), "rail.displacement.rate": np.linspace(-1, 4, RUNS)},
        "parameters": {"back": np.linspace(0, 0.5, RUNS)},
    }
    many = same(Bouncing(), given, until=2.5, step=5e-3, every=10, method=method)
    assert many["rail.displacement"][:, -1] == pytest.approx(0.0, abs=1e-9)
    assert all(many.statistics["events"])


LAWS = {
    "loop": (FourBar, "bearing.angle.rate", np.linspace(-1, 1, RUNS), 0.5),
    "stack": (lambda: Stacked(2.0, 1.0, 0.2, 0.3, 30.0), "lower.displacement.rate", np.linspace(0, 1, RUNS), 0.6),
    "walls": (lambda: Rattle(2.0, 1.0, 0.1, 0.6), "inside.displacement.rate", np.linspace(0.2, 3, RUNS), 0.5),
}


@pytest.mark.parametrize("name", LAWS)
def test_machines_with_laws(name: str) -> None:
    model, varied, values, until = LAWS[name]
    many = same(model(), {"initial": {varied: values}}, within=1e-9, until=until, every=5)
    assert sum(map(len, many.statistics["events"])) >= 10


def test_soft_laws_are_as_stiff_as_the_step_allows() -> None:
    """As those of a single run, whatever its step."""
    heights = np.linspace(0.05, 0.2, 5)
    settings = {"until": 0.4, "step": 2e-4, "contact": "soft", "every": 50}
    many = simulate_many(Bouncing(), initial={"rail.displacement": heights}, **settings)
    single = simulate(Bouncing(), initial={"rail.displacement": heights[3]}, **settings)
    assert many.statistics["steps_on_lanes"] == many.statistics["steps"]
    np.testing.assert_allclose(many["rail.displacement"][3], single["rail.displacement"], rtol=0, atol=1e-12)


def test_the_discrete_engine_runs_on_lanes() -> None:
    """Links are as strong as the step and each start allow."""
    given = {"parameters": {"stiffness": np.array([5.0, 60.0])}, "initial": {"shoulder.angle": np.array([-1.0, 0.7])}}
    settings = {"engine": "discrete", "until": 0.01, "channels": "*.angle"}
    many = simulate_many(Tunable(), **given, **settings)
    alone = {kind: {name: float(values[1]) for name, values in by.items()} for kind, by in given.items()}
    single = simulate(Tunable(), **alone, **settings)
    assert many.statistics["steps_on_lanes"] == many.statistics["steps"] == 2000
    np.testing.assert_allclose(many.table[1], single.table, rtol=0, atol=1e-12)
