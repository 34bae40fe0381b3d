"""The walking toy: the exact map of a wheel without rim, coming to rest, and rocking."""

from __future__ import annotations

from math import cos, sqrt
from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Result, simulate

SLOPE, INERTIA = 0.12, 2e-4


@pytest.fixture(scope="module")
def toy() -> Any:
    return example("walker")


@pytest.fixture(scope="module")
def walked(toy: Any) -> Result:
    result = simulate(toy.Walker(), **toy.Walker.run_defaults)
    assert result.status.ok
    return result


def test_speeds_follow_the_exact_map(toy: Any, walked: Result) -> None:
    after = toy.speeds_after(walked)
    ratio, gained = toy.strike_ratio(INERTIA), toy.gained(SLOPE, INERTIA)
    must = [3.5]
    for _ in after[1:]:
        must.append(ratio * sqrt(must[-1] ** 2 + gained))
    assert len(after) > 18
    assert np.abs(after - must).max() < 1e-8
    assert after[-1] == pytest.approx(toy.steady(SLOPE, INERTIA), abs=1e-4)


def test_with_all_mass_in_the_hub_it_keeps_the_cosine(toy: Any) -> None:
    result = simulate(toy.Walker(inertia=1e-9), until=0.4, channels=["turning"])
    when = toy.strikes(result)[0]
    before, after = result["turning"][np.flatnonzero(result.time == when)]
    assert after / before == pytest.approx(cos(toy.APART), abs=1e-6)


def test_feet_neither_sink_in_nor_slip_and_it_goes_straight(walked: Result) -> None:
    for number in range(16):
        assert walked[f"feet.{number}.gap"].min() > -1e-9
    assert np.abs(walked["wheel.position.y"] - 0.05).max() < 1e-9
    assert not [name for _, name in walked.statistics["events"] if name.endswith("slips")]


def test_too_slow_it_comes_to_rest(toy: Any) -> None:
    result = simulate(toy.Walker(rate=2.2), until=1.5, channels=["turning", "energy.total"])
    assert np.abs(result["turning"][-500:]).max() < 1e-12
    assert np.diff(result["energy.total"]).max() < 1e-9


def test_set_down_on_one_crown_it_rocks_and_walks_on(toy: Any) -> None:
    result = simulate(toy.Walker(lean=0.4), until=2.0, channels=["turning", "energy.total", "*.mode"])
    assert result.status.ok
    assert np.diff(result["energy.total"]).max() < 1e-9
    assert result["feet.8.mode"][0] == 0
    assert sum(result[f"feet.{number}.mode"][-1] for number in range(16)) == 2
    assert result["turning"][-1] > 2.0
