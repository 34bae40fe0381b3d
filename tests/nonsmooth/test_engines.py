"""Laws in joint coordinates and in those of all bodies are the same laws: motion, reactions, events and their times."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from nonsmooth.law_machines import (
    Ball,
    DenHartog,
    DryGuide,
    DryPin,
    Flywheel,
    FourBar,
    FourLegs,
    Tripod,
    TwoBearings,
    Wedge,
)

from kompono import Result, Subsystem, simulate

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
EXACT = 1e-9
TIGHT = {"method": "dopri5", "rtol": 1e-12, "atol": 1e-14, "step": 1e-2}
RUNS: dict[str, tuple[type[Subsystem], dict[str, Any], int]] = {  # model, options, least number of events
    "ball": (Ball, {"until": 4.5}, 55),
    "den hartog": (DenHartog, {"until": 5.0}, 10),
    "dry pin": (DryPin, {"until": 12.5, "every": 20}, 15),
    "dry guide": (DryGuide, {"until": 2.6, "step": 2.5e-4, "every": 10}, 11),
    "tripod": (Tripod, {"until": 0.5, **TIGHT}, 3),
    "four legs": (FourLegs, {"until": 0.5, **TIGHT}, 4),
    "two bearings": (TwoBearings, {"until": 1.0}, 2),
    "wedge": (Wedge, {"until": 2.0}, 3),
    "four-bar": (FourBar, {"until": 1.2, "step": 2e-4, "every": 10}, 5),
}

PROJECTIONS = [("standard", "mass"), ("successive", "identity"), ("distributed", "mass")]
if os.environ.get("KOMPONO_LAWS"):
    PROJECTIONS += [("standard", "identity"), ("successive", "mass"), ("distributed", "identity")]


def run(model: Subsystem, **options: Any) -> Result:
    return simulate(model, **{"step": 1e-3, "progress": False, **options}).check()


def events(result: Result) -> tuple[list[str], np.ndarray]:
    """Names and times, in order of time and, where that is the same, of names."""
    found = sorted((round(time, 7), name, time) for time, name in result.statistics["events"])
    return [name for _, name, _ in found], np.array([time for *_, time in found])


def apart(one: Result, other: Result) -> dict[str, float]:
    """Largest difference of channels both have, relative to the largest value of the same kind, at least 1."""
    found = {}
    shown = one.time[np.isin(np.round(one.time, 9), np.round(other.time, 9))]
    events = [time for time, _ in one.statistics["events"]]
    shown = [t for t in shown if all(abs(t - event) > 1e-6 for event in events)]  # recorded on both sides there
    rows = [np.searchsorted(result.time, np.array(shown) - 1e-9) for result in (one, other)]
    for name in one:
        if name in other and "orientation" not in name and "direction" not in name and "drift" not in name:
            a, b = one[name][rows[0]], other[name][rows[1]]
            found[name] = float(np.abs(a - b).max() / max(1.0, np.abs(a).max()))
    return found


@pytest.mark.takes(20)
@pytest.mark.parametrize("name", RUNS)
def test_both_engines_move_alike(name: str) -> None:
    make, options, count = RUNS[name]
    relative, absolute = run(make(), **options), run(make(), engine="absolute", **options)
    names, times = events(relative)
    assert len(names) >= count
    assert events(absolute)[0] == names
    assert np.abs(events(absolute)[1] - times).max() < EXACT
    differences = apart(relative, absolute)
    assert {kind for kind in ("force", "velocity") if any(f".{kind}." in channel for channel in differences)}
    assert max(differences.values()) < EXACT, max(differences.items(), key=lambda item: item[1])


@pytest.mark.takes(20)
def test_the_guide_of_a_slider_crank() -> None:
    result = run(DryGuide(), engine="absolute", until=0.4, step=5e-4)
    turns = [time for time, name in result.statistics["events"] if name == "friction.slips"]
    assert np.abs(np.array(turns) - [0.09476615267339904, 0.23207769680688642, 0.38350880572058255]).max() < EXACT


@pytest.mark.takes(20)
@pytest.mark.parametrize(("projection", "metric"), PROJECTIONS)
def test_projections_hold_what_laws_hold(projection: str, metric: str) -> None:
    result = run(Tripod(), engine="absolute", projection=projection, metric=metric, until=0.4, **TIGHT)
    assert [name for _, name in result.statistics["events"]] == [f"legs.{k}.sticks" for k in range(3)]
    place = result.time > result.statistics["events"][-1][0] + 1e-6
    for channel, still in (("position", 1e-12), ("velocity", 1e-12)):
        for axis in "xyz":
            values = result[f"body.{channel}.{axis}"][place]
            assert np.ptp(values) < still
    assert np.abs(result["body.position.z"] - 0.1).max() < 1e-12


@pytest.mark.takes(20)
@pytest.mark.parametrize(("projection", "drift"), [("baumgarte", 1e-9), ("none", 1e-7)])
def test_without_projections_laws_hold_by_accelerations(projection: str, drift: float) -> None:
    options: dict[str, Any] = {"until": 2.0, "step": 1e-3}
    kept = run(Ball(0.0), engine="absolute", projection=projection, **options)
    assert [name for _, name in kept.statistics["events"]] == ["floor.strikes", "floor.closes"]
    assert np.abs(kept["ball.position.z"][kept.time > 0.5]).max() < drift
    stuck = run(DenHartog(), engine="absolute", projection=projection, **options)
    free = run(DenHartog(), **options)
    assert events(stuck)[0] == events(free)[0]
    assert np.abs(events(stuck)[1] - events(free)[1]).max() < 1e-7


def test_a_joint_that_closes_a_loop() -> None:
    absolute = run(FourBar(closing=True), engine="absolute", until=0.3, step=5e-4)
    differences = apart(run(FourBar(closing=True), until=0.3, step=5e-4, cut=["crank_pin"]), absolute)
    assert max(differences.values()) < EXACT, max(differences.items(), key=lambda item: item[1])


def test_angles_of_laws_count_turns() -> None:
    for engine in ("relative", "absolute"):
        result = run(Flywheel(), engine=engine, until=3.0)
        ((time, name),) = result.statistics["events"]
        assert name == "stop.strikes"
        assert abs(time - 2.0) < 1e-11
        assert abs(result["axle.angle"][-1] - 7.5) < 1e-9
