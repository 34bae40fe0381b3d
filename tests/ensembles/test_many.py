"""An ensemble gives what single runs give: every method, model and number of lanes and threads."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensembles.machines import Fragile, Sliding, Spinning, Tunable
from solve.machines import Trapeze

from kompono import Ensemble, ModelWarning, Result, RunError, RunWarning, Subsystem, simulate, simulate_many
from kompono.errors import AssemblyError, ModelError
from kompono.many.start import parameters_of
from kompono.simulation import Simulation

ROOT = Path(__file__).parents[2]


def one(model: Subsystem, ensemble: Ensemble, run: int, given: Mapping[str, Mapping[str, Any]], **settings) -> Result:
    """The single run that a run of the ensemble must equal."""
    values = {
        kind: {name: float(np.broadcast_to(v, ensemble.runs)[run]) for name, v in by.items()}
        for kind, by in given.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return simulate(model, **values, **settings)  # type: ignore[arg-type]


def assert_same(
    model: Subsystem, given: Mapping[str, Mapping[str, Any]], runs=(0, 3, -1), within=1e-12, **settings
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        many = simulate_many(model, **given, **settings)  # type: ignore[arg-type]
    assert not many.failed
    settings = {name: value for name, value in settings.items() if name not in ("lanes", "threads")}
    for run in runs:
        single = one(model, many, run % many.runs, given, **settings)
        np.testing.assert_allclose(many.time, single.time, rtol=0, atol=1e-12)
        scale = 1 + np.abs(single.table).max(axis=0)
        worst = np.abs(many.table[run] - single.table) / scale
        assert worst.max() < within, single.names[int(worst.max(axis=0).argmax())]


SPREAD = {
    "parameters": {"stiffness": np.linspace(5, 50, 11), "mass": 1.5},
    "initial": {"shoulder.angle": np.linspace(-1, 1, 11), "elbow.angle.rate": 0.5},
}


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5", "DOP853"])
def test_every_method(method: str) -> None:
    assert_same(Tunable(), SPREAD, until=0.2, step=2e-3, method=method)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_width(lanes: int, threads: int) -> None:
    assert_same(Tunable(), SPREAD, runs=range(11), until=0.1, lanes=lanes, threads=threads, channels="*angle*")


@pytest.mark.parametrize("until", [0.1, 0.1005], ids=["whole steps", "a last short step"])
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("method", ["rk4", "adams", "dopri5"])
def test_every_way_to_record(until: float, every: int, method: str) -> None:
    assert_same(Tunable(), SPREAD, until=until, every=every, method=method, channels=["*angle*", "upper.position.*"])


def test_loops_are_kept_closed_on_lanes() -> None:
    rates = np.linspace(1, 3, 9)
    assert_same(Trapeze(), {"initial": {"left_hook.angle.rate": rates}}, until=1.0, every=10)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_assembly_sees_parameters_that_change_the_geometry(engine: str) -> None:
    given = {"parameters": {"length": np.linspace(0.9, 1.2, 5)}}
    assert_same(Sliding(), given, runs=range(5), until=0.2, engine=engine, within=1e-11)
    simulation = Simulation(Sliding(), engine="relative")
    assert parameters_of(simulation.program, simulation.program.routines["conditions"]) == {0}


def test_assembly_does_not_see_parameters_of_forces() -> None:
    simulation = Simulation(Tunable())
    assert parameters_of(simulation.program, simulation.program.routines["derivative"]) == {0, 1}
    assert parameters_of(simulation.program, simulation.program.routines["conditions"]) == set()


def test_the_car() -> None:
    from kompono.examples.car import Car

    given = {"initial": {"guide.angle.rate": np.linspace(-0.1, 0.1, 10)}}
    assert_same(Car(), given, until=0.2, every=10, channels=["*.position.*", "*angle*", "energy.*"])


def test_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    from chains import Chain

    assert_same(Chain(6), {"initial": {"pins.0.angle": np.linspace(-1, 1, 9)}}, until=0.2, every=10)


def test_an_engine_with_events_on_the_common_grid() -> None:
    from kompono.examples.engine import Engine

    settings = {"until": 0.5, "step": 2e-3, "method": "rk2", "channels": ["speed", "main.angle", "starter.*"]}
    model = Engine()
    many = simulate_many(model, initial={"main.angle.rate": [0.0, 0.0]}, **settings, lanes=1)
    single = simulate(model, **settings)
    assert many.statistics["events"][1] == single.statistics["events"] != []
    last = dict(zip(single.time.tolist(), single.table.tolist(), strict=True))
    assert len(single.time) > len(many.time) == 251
    np.testing.assert_array_equal(many.table[1], [last[time] for time in many.time.tolist()])


# -- inputs


def test_tables_feed_all_lanes() -> None:
    table = ([0.0, 0.05, 0.2], [0.0, 2.0, -1.0])
    many = simulate_many(Tunable(), **SPREAD, inputs={"torque": table}, until=0.2, channels="*angle*")
    single = one(Tunable(), many, 4, SPREAD, inputs={"torque": table}, until=0.2, channels="*angle*")
    assert many.statistics["lanes"] > 1
    np.testing.assert_allclose(many.table[4], single.table, rtol=1e-12, atol=1e-12)


def test_callables_see_their_own_run() -> None:
    def brake(time: float, read: Any) -> float:
        return -2 * read("elbow.angle.rate")

    inputs = {"torque": (brake, 0.01)}
    many = simulate_many(Tunable(), **SPREAD, inputs=inputs, until=0.1, channels="*angle*")
    assert many.statistics["lanes"] == 1
    for run in (0, 7):
        single = one(Tunable(), many, run, SPREAD, inputs=inputs, until=0.1, channels="*angle*")
        np.testing.assert_array_equal(many.table[run], single.table)


# -- failures

LIMITS = np.array([100, 0.5, 100, 0.1, 100, 100, 100, 100, 100, 100, 0.3])


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_a_run_that_fails_leaves_the_others_alone(lanes: int) -> None:
    many = simulate_many(Fragile(), until=2.0, step=0.01, parameters={"limit": LIMITS}, lanes=lanes)
    assert many.failed == [1, 3, 10]
    whole = simulate(Fragile(), until=2.0, step=0.01)
    for run in range(11):
        single = simulate(Fragile(), until=2.0, step=0.01, parameters={"limit": LIMITS[run]})
        result = many.run(run)
        assert result.status == single.status
        assert result.time[-1] == pytest.approx(single.time[-1])
        np.testing.assert_allclose(result.table, single.table[: len(result.time)], rtol=1e-13, atol=1e-13)
    assert np.isnan(many["slide.displacement"][1, many.time > many.status[1].time + 1e-9]).all()
    np.testing.assert_allclose(many["slide.displacement"][0], whole["slide.displacement"], rtol=1e-13)


def test_all_may_fail() -> None:
    many = simulate_many(Fragile(), until=2.0, step=0.01, parameters={"limit": np.linspace(0.1, 0.5, 9)})
    assert many.failed == list(range(9))
    assert "push" in many.status[0].message
    assert "9 failed" in many.summary()


def test_an_angle_beyond_the_limit_of_lanes_is_no_failure() -> None:
    angles = np.array([0.0, 1e3, 2e9, 1e12, 1.0])
    assert_same(Spinning(), {"initial": {"axle.angle": angles}}, runs=range(5), until=0.2, channels="axle.*")


def test_a_run_that_cannot_be_assembled_is_a_failed_one() -> None:
    with pytest.warns(ModelWarning):
        many = simulate_many(Sliding(), until=0.05, parameters={"length": [1.0, 9.0, 1.1]})
    assert many.failed == [1]
    assert many.status[1].time == 0.0
    assert np.isnan(many.table[1]).all()
    assert len(many.run(1).time) == 0
    with pytest.raises(AssemblyError):
        simulate_many(Sliding(), until=0.05, parameters={"length": [8.0, 9.0]})


def test_an_error_of_a_callable_in_a_thread_is_the_status_of_its_run() -> None:
    def broken(time: float) -> float:
        raise ValueError("broken on purpose")

    with pytest.warns(RunWarning, match="on purpose"):
        many = simulate_many(Tunable(), **SPREAD, inputs={"torque": (broken, 0.01)}, until=0.1)
    assert len(many.failed) == many.runs
    assert all(isinstance(status.cause, ValueError) for status in many.status)


# -- what was asked for

WRONG = {
    "lengths": ({"parameters": {"stiffness": [1, 2]}, "initial": {"elbow.angle": [1, 2, 3]}}, "2 values do not fit 3"),
    "runs": ({"parameters": {"stiffness": [1, 2]}, "runs": 3}, "2 values do not fit 3 runs"),
    "path": ({"parameters": {"stifness": [1, 2]}}, "no tunable parameter 'stifness'. Did you mean 'stiffness'"),
    "start": ({"initial": {"elbow.angel": [1, 2]}}, "elbow.angle"),
    "shape": ({"parameters": {"stiffness": [[1, 2], [3, 4]]}}, "meshgrid"),
    "finite": ({"parameters": {"stiffness": [1, np.nan]}}, "in run 1 is not finite"),
    "numbers": ({"parameters": {"stiffness": ["soft", "hard"]}}, "not 2 numbers"),
    "mapping": ({"parameters": [1, 2]}, "values by path"),
    "empty": ({"parameters": {"stiffness": []}}, "no values"),
    "nothing": ({}, "nothing differs"),
    "no runs": ({"runs": 0}, "not a number of runs"),
    "lanes": ({"runs": 2, "lanes": 3}, "1, 2, 4, 8, 16"),
    "threads": ({"runs": 2, "threads": 0}, "threads"),
    "method": ({"runs": 2, "method": "rk5"}, "rk4"),
    "a method of another engine": ({"runs": 2, "method": "leapfrog"}, "does not go with engine 'relative'"),
    "an engine of another method": ({"runs": 2, "engine": "discrete", "method": "rk4"}, "steps with leapfrog"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_run_is_said(arguments: dict, message: str) -> None:
    with pytest.raises(RunError, match=message.replace("(", r"\(")):
        simulate_many(Tunable(), until=0.1, **arguments)


def test_a_body_without_mass_is_named_with_its_run() -> None:
    with pytest.raises(ModelError, match="run 2"):
        simulate_many(Tunable(), until=0.1, parameters={"mass": [1.0, 2.0, -1.0]})


def test_runs_may_be_equal() -> None:
    many = simulate_many(Tunable(), until=0.1, runs=3)
    assert np.array_equal(many.table[0], many.table[2])
    assert not many.varied
    assert simulate_many(Tunable(), until=0.1, runs=1).statistics["lanes"] == 1


def test_from_another_thread() -> None:
    found: list[Ensemble] = []
    thread = threading.Thread(target=lambda: found.append(simulate_many(Tunable(), until=0.1, runs=3)))
    thread.start()
    thread.join()
    assert not found[0].failed
