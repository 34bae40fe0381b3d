"""The car that leaves the road: what the road pushes is what moves it, wheels in the air fly, slip obeys its cone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Result, simulate


@pytest.fixture(scope="module")
def car() -> Any:
    return example("kerb")


@pytest.fixture(scope="module")
def driven(car: Any) -> Result:
    result = simulate(car.Kerb(), **car.Kerb.run_defaults)
    assert result.status.ok
    assert result.statistics.get("fallback") is None  # a wheel that lands chooses a few times how it slips
    return result


def test_wheels_leave_the_road_and_land(driven: Result) -> None:
    for name, (leaves, lands) in {"front": (0.48141, 0.56663), "rear": (0.72402, 0.80489)}.items():
        tyre, events = f"{name}_left_tyre", driven.statistics["events"]
        assert [time for time, what in events if what == f"{tyre}.opens" and abs(time - leaves) < 1e-4]
        assert [time for time, what in events if what == f"{tyre}.strikes" and abs(time - lands) < 1e-4]
        flies = (driven.time > leaves + 1e-4) & (driven.time < lands - 1e-4)
        assert driven[f"{name}_left_tyre.gap"][flies].max() > 0.025
        assert np.all(driven[f"{name}_left_tyre.normal"][flies] == 0)


def test_what_the_road_pushes_is_what_moves_the_car(car: Any, driven: Result) -> None:
    masses = {"hull": car.HULL}
    masses |= {f"{name}.{part}": mass for name in car.SIDES for part, mass in (("carrier", 10.0), ("wheel", 15.0))}
    assert (car.CARRIER, car.WHEEL) == (10.0, 15.0)
    for axis, weight in (("x", 0.0), ("y", 0.0), ("z", 1000.0 * car.GRAVITY)):
        moved = sum(mass * driven[f"{name}.acceleration.{axis}"] for name, mass in masses.items())
        pushed = sum(driven[f"{name}_tyre.force.{axis}"] for name in car.SIDES)
        assert np.abs(moved + weight - pushed).max() < 1e-6


def test_front_wheels_lock_and_grip_again(car: Any, driven: Result) -> None:
    slips = (driven.time > 1.6) & (driven.time < 2.2)
    for side in ("left", "right"):
        x, y, push = (driven[f"front_{side}_tyre.{what}"][slips] for what in ("friction.x", "friction.y", "normal"))
        assert np.abs(np.hypot(x, y) - 0.8 * push).max() < 1e-6
        stands = (driven.time > 1.9) & (driven.time < 2.2)
        assert np.abs(driven[f"front_{side}.axle.angle.rate"][stands]).max() < 1e-9
        rolls = driven.time > 2.3
        assert np.abs(driven[f"front_{side}_tyre.slip.x"][rolls]).max() < 1e-6
        assert np.all(driven[f"rear_{side}_tyre.mode"][driven.time > 1.0] == 1)


def test_nothing_sinks_in_and_energy_only_goes(car: Any, driven: Result) -> None:
    assert min(driven[name].min() for name in driven.names if name.endswith("_tyre.gap")) > -1e-8
    sidewalls = sum(car.SIDEWALL[0] * driven[f"{name}.axle.displacement"] ** 2 / 2 for name in car.SIDES)
    assert np.diff(driven["energy.total"] + sidewalls).max() < 1e-6  # of 50 kJ


def test_slowly_it_stays_on_the_road(car: Any) -> None:
    result = simulate(car.Kerb(speed=3.0), until=2.5, channels=["*_tyre.mode"], inputs={"pedal": 0.0})
    assert all(result[f"{name}_tyre.mode"].min() > 0 for name in car.SIDES)
