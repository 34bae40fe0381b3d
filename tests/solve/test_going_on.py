"""Runs in pieces: two halves are the whole, wherever it is cut, and a run over [begin, until] knows what time it is."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from solve.machines import Pendulum, Pushed, Swing

from kompono import (
    AssemblyError,
    Body,
    Event,
    Ground,
    Input,
    Mode,
    ModelWarning,
    Parameter,
    Result,
    RunError,
    State,
    Subsystem,
    evaluate,
    simulate,
    time,
)
from kompono.library import DryFriction, EndStops, Gravity, JointEffort, Prismatic, Revolute, solids


class Rig(Subsystem):
    """A pendulum driven by a table, a callable and the time itself; with a state, samples and an event of its own."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bob = Body(solids.sphere(mass=1.0, radius=0.05))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 0.4), axis="y", angle=0.3)
        self.push = Input(table=([0.0, 0.1, 0.5], [0.0, 1.0, -1.0]))
        self.asked = Input(lambda t: 0.1 * t, period=0.03)
        self.seen = Mode(0.0, every=0.02)
        self.seen.next = self.seen + self.pin.angle
        self.lag = State(0.0)
        self.lag.rate = self.pin.angle + self.push + self.asked + 0.2 * time - self.lag
        self.swung = Mode(0)
        self.through = Event(-self.pin.angle, {self.swung: self.swung + 1})
        self.motor = JointEffort(self.pin, self.lag + self.seen)


class Asking(Subsystem):
    """A mass on a rail whose force a callable tells, ten times a second."""

    def __init__(self, function: Any) -> None:
        self.ground, self.force = Ground(), Input(function, period=0.1)
        self.block = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.block, axis="x")
        self.push = JointEffort(self.slide, self.force)


class Rubbing(Subsystem):
    """A block on a rail with dry friction, pushed to and fro: it slips, and sticks again."""

    def __init__(self) -> None:
        self.ground, self.limit = Ground(), Parameter(2.0)
        self.block = Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.block, axis="x")
        self.force = Input(table=([0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 4.0, 0.0, -4.0, 0.0]))
        self.push = JointEffort(self.rail, self.force)
        self.friction = DryFriction(self.rail, mu=1.0, preload=self.limit)


def largest(first: Result, second: Result) -> float:
    """The largest difference of coordinates, modes and states where both have rows."""
    begin = int(np.searchsorted(first.time, second.time[0] - 1e-9))
    assert first.time[begin:] == pytest.approx(second.time, abs=1e-14)
    names = [name for name in second.end.values if name in first]
    assert names
    return max(float(np.abs(first[name][begin:] - second[name]).max()) for name in names)


@pytest.mark.parametrize(
    ("engine", "method", "bound"),
    [
        ("relative", "rk4", 1e-13), ("relative", "dopri5", 1e-7), ("relative", "adams", 1e-7),
        ("absolute", "rk4", 1e-12), ("discrete", None, 1e-9),
    ],
)  # fmt: skip
def test_two_pieces_are_the_whole(engine: str, method: str | None, bound: float) -> None:
    end, cut = (0.4, 0.17) if engine != "discrete" else (0.06, 0.025)
    how: dict[str, Any] = {"engine": engine, "method": method}
    whole, first = simulate(Rig(), until=end, **how), simulate(Rig(), until=cut, **how)
    second = simulate(Rig(), until=end, start=first, **how)
    assert second.time[0] == cut
    assert largest(whole, second) < bound
    assert dict(second.end.values) == pytest.approx(dict(whole.end.values), abs=bound)


@pytest.mark.parametrize(("cut", "bound"), [(0.05, 1e-12), (0.13, 1e-12), (0.1234, 1e-6)])
def test_friction_goes_on(cut: float, bound: float) -> None:
    """Cut while it sticks, while it slips, and between two steps (then others meet the corners of the force)."""
    whole, first = simulate(Rubbing(), until=0.4), simulate(Rubbing(), until=cut)
    second = simulate(Rubbing(), until=0.4, start=first)
    assert second["rail.displacement"][-1] == pytest.approx(whole["rail.displacement"][-1], abs=bound)
    events = [*first.statistics["events"], *second.statistics["events"]]
    assert [name for _, name in events] == [name for _, name in whole.statistics["events"]]
    assert [t for t, _ in events] == pytest.approx([t for t, _ in whole.statistics["events"]], abs=10 * bound)


def test_with_other_parameters_modes_are_chosen_anew() -> None:
    """What sticks with a limit of 2 N slips with one of 0.5 N, at once."""
    first = simulate(Rubbing(), until=0.04)
    second = simulate(Rubbing(), until=0.05, start=first, parameters={"limit": 0.5})
    assert first["rail.displacement"][-1] == 0.0
    assert second["rail.displacement"][-1] > 1e-5


class Leaning(Subsystem):
    """A mass that falls onto a stop."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.low = Ground(), Gravity(), Parameter(0.0)
        self.mass = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.mass, axis="z", displacement=0.05)
        self.stop = EndStops(self.slide, lower=self.low)


def test_what_leaned_on_a_stop_that_is_elsewhere_now_falls() -> None:
    """It was refused, for loops that were not closed: the closed gap was one of them."""
    first = simulate(Leaning(), until=0.2)
    second = simulate(Leaning(), until=0.4, start=first, parameters={"low": -0.1})
    (when, what), *_ = second.statistics["events"]
    assert what == "stop.lower.strikes"
    assert when == pytest.approx(0.2 + np.sqrt(0.2 / 9.81), abs=1e-9)
    with pytest.raises(AssemblyError, match=r"stop\.lower: the gap is -0\.1 at the start"):
        simulate(Leaning(), until=0.4, start=first, parameters={"low": 0.1})


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_a_run_over_an_interval_knows_the_time(method: str) -> None:
    """x'' = t from t = 2: x = (t - 2)^3 / 6 + (t - 2)^2; also where steps do not fit into the interval."""
    result = simulate(Pushed(time), begin=2.0, until=2.5055, step=1e-2, method=method)
    later = result.time - 2.0
    assert result.time[0] == 2.0
    assert result.time[-1] == 2.5055
    assert result["slide.displacement"] == pytest.approx(later**3 / 6 + later**2, abs=1e-8)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_callables_are_asked_at_the_beginning_and_at_multiples(method: str) -> None:
    asked: list[float] = []
    simulate(Asking(lambda t: asked.append(t) or 1.0), begin=0.25, until=0.5, method=method)
    assert asked[:3] == pytest.approx([0.25, 0.3, 0.4])


def test_an_earlier_state_at_another_time() -> None:
    first = simulate(Pendulum(angle=0.5), until=0.3)
    again = simulate(Pendulum(), start=first, begin=0.0, until=0.2)
    assert again.time[0] == 0.0
    assert again["pin.angle"][0] == first["pin.angle"][-1]


def test_from_files_and_other_processes(tmp_path: Path) -> None:
    first = simulate(Swing(), until=0.1)
    wanted = simulate(Swing(), until=0.2, start=first.end)["left_hook.angle"]
    for name in ("run.h5", "run.parquet"):
        getattr(first, "to_hdf5" if name.endswith("h5") else "to_parquet")(tmp_path / name)
        stored = Result.load(tmp_path / name)
        assert stored.end == first.end
        assert np.array_equal(simulate(Swing(), until=0.2, start=stored)["left_hook.angle"], wanted)
    assert pickle.loads(pickle.dumps(first)).end == first.end


def test_a_run_that_goes_on_can_be_written_and_resumed(tmp_path: Path) -> None:
    """The file of a later piece is that piece."""
    first = simulate(Pendulum(angle=0.5), until=0.3)
    second = simulate(Pendulum(angle=0.5), until=0.6, start=first, hdf5=tmp_path / "second.h5")
    stored = Result.load(tmp_path / "second.h5")
    assert np.array_equal(stored.time, second.time)
    assert stored.time[0] == 0.3


def test_an_analysis_where_a_run_ended() -> None:
    model = Pendulum(angle=0.5)
    result = simulate(model, until=0.3)
    found = evaluate(model, at=result.end)
    assert found["pin.angle"] == pytest.approx(result["pin.angle"][-1], abs=1e-15)
    assert found.time == 0.3


def test_what_cannot_go_on_says_why(tmp_path: Path) -> None:
    first = simulate(Pendulum(angle=0.5), until=0.1)
    first.to_csv(tmp_path / "run.csv")
    for options, said in (
        ({"until": 0.05, "start": first}, "before it begins"),
        ({"until": 0.2, "start": first, "initial": {"pin.angle": 1.0}}, "`initial` too"),
        ({"until": 0.2, "start": first, "engine": "absolute"}, "engine 'relative', not 'absolute'"),
        ({"until": 0.2, "start": 3.0}, "not where a run ended"),
        ({"until": 0.2, "start": Result.load(tmp_path / "run.csv")}, "does not say in which state"),
        ({"until": 0.2, "begin": float("nan")}, "begin"),
        ({"until": 0.2, "begin": 0.1, "realtime": True}, "real time begins at 0"),
    ):
        with pytest.raises(RunError, match=said):
            simulate(Pendulum(), **options)
    with pytest.raises(RunError, match="another model: it has no"):
        simulate(Swing(), until=0.2, start=first)
    with pytest.raises(RunError, match="not closed where the other run ended"):
        simulate(Swing(rope=1.2), until=0.2, start=simulate(Swing(lean=0.2, right_lean=0.4, width=1.3), until=0.1))


def test_what_was_given_before_and_is_not_given_again_is_told() -> None:
    """Parameters and inputs are those of each call; nobody loses one in silence."""
    first = simulate(Rubbing(), until=0.04, parameters={"limit": 3.0})
    with pytest.warns(ModelWarning, match=r"limit was 3\.0 in the run this one goes on from, and is 2\.0 now"):
        simulate(Rubbing(), until=0.05, start=first)
    with pytest.warns(ModelWarning, match="limit was"):
        evaluate(Rubbing(), at=first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(Rubbing(), until=0.05, start=first, parameters={"limit": 3.0})


def test_analyses_refuse_loops_that_are_open_there() -> None:
    ended = simulate(Swing(lean=0.2, right_lean=0.4, width=1.3), until=0.1)
    with pytest.raises(RunError, match="not closed where the other run ended"):
        evaluate(Swing(rope=1.2), at=ended)


def test_a_selection_goes_on_as_the_whole_does() -> None:
    first = simulate(Pendulum(angle=0.5), until=0.1)
    chosen = first.select("pin.*")
    assert chosen.end == first.end
    assert chosen.origin == first.origin
