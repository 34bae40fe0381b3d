"""What is recorded: every n-th step, always start and end, on the grid of `step` for methods with free steps."""

from __future__ import annotations

from math import cos, nan
from typing import Any

import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum

from kompono import RunError, simulate
from kompono.result import UnknownChannel

FREE_STEPS = ("dopri5", "esdirk4", "RK45", "Radau")


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", *FREE_STEPS])
def test_start_and_end_are_recorded_also_when_the_end_is_no_multiple_of_the_step(method: str) -> None:
    result = simulate(Oscillator(), until=0.35, step=0.1, method=method, rtol=1e-8)
    assert np.allclose(result.time, [0, 0.1, 0.2, 0.3, 0.35], atol=1e-12)
    assert result.time[-1] == 0.35
    assert result.status.time == pytest.approx(0.35)
    assert result["slide.displacement"][-1] == pytest.approx(cos(0.7), abs=1e-2 if method == "rk2" else 1e-4)


@pytest.mark.parametrize("method", ["rk4", "adams", *FREE_STEPS])
def test_every_thins_out_the_rows_and_keeps_the_end(method: str) -> None:
    result = simulate(Oscillator(), until=1.0, step=0.05, every=6, method=method)
    assert np.allclose(result.time, [0, 0.3, 0.6, 0.9, 1.0], atol=1e-12)
    full = simulate(Oscillator(), until=1.0, step=0.05, method=method)
    assert np.abs(result["slide.displacement"][:4] - full["slide.displacement"][:19:6]).max() < 1e-7


@pytest.mark.parametrize("method", ["rk4", "adams", *FREE_STEPS])
def test_until_zero_gives_the_start_alone(method: str) -> None:
    result = simulate(Pendulum(angle=0.3), until=0.0, method=method)
    assert result.status.ok
    assert result.time.tolist() == [0.0]
    assert result["pin.angle"].tolist() == [0.3]
    assert result["pin.angle.acceleration"][0] < 0


@pytest.mark.parametrize("method", FREE_STEPS)
def test_dense_output_on_a_fine_grid_is_as_good_as_the_steps(method: str) -> None:
    result = simulate(Oscillator(), until=3.0, step=0.001, method=method, rtol=1e-8)
    assert len(result.time) == 3001
    assert np.abs(result["slide.displacement"] - np.cos(2 * result.time)).max() < 1e-6
    assert result.statistics["steps"] < 500


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_a_step_longer_than_the_run_is_refused_unless_it_is_the_usual_one(method: str) -> None:
    with pytest.raises(RunError, match=r"step = 1 s is longer than the run .*step=0\.0001"):
        simulate(Oscillator(), until=0.01, step=1.0, method=method)
    result = simulate(Oscillator(), until=5e-4, method=method)
    assert result.time.tolist() == [0.0, 5e-4]
    assert result["slide.displacement"][-1] == pytest.approx(cos(1e-3), abs=1e-9)


@pytest.mark.parametrize("options", [{"every": 2**64}, {"guard_checks": 0}, {"max_steps": 1.5}])
def test_counts_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RunError, match=next(iter(options))):
        simulate(Oscillator(), until=0.01, **options)


@pytest.mark.parametrize("count", [7, 10, 30, 1000])
def test_times_are_multiples_of_the_step_without_drift(count: int) -> None:
    step = 1.0 / count
    result = simulate(Oscillator(), until=1.0, step=step)
    assert len(result.time) == count + 1
    assert np.abs(result.time - np.arange(count + 1) * step).max() < 1e-13
    assert np.all(np.diff(result.time) > 0.5 * step)


def test_many_rows_do_not_overflow_any_buffer() -> None:
    result = simulate(Oscillator(), until=2.0, step=1e-4, channels="slide.displacement")
    assert len(result.time) == 20001
    assert np.abs(result["slide.displacement"] - np.cos(2 * result.time)).max() < 1e-9


def test_only_the_channels_asked_for_are_kept() -> None:
    result = simulate(Pendulum(), until=0.01, channels=["pin.angle*", "energy.total"])
    assert result.names == ("pin.angle", "pin.angle.rate", "pin.angle.acceleration", "energy.total")


def test_an_unknown_channel_offers_the_nearest_before_the_run() -> None:
    with pytest.raises(UnknownChannel, match=r"'pin\.angel'.*'pin\.angle'"):
        simulate(Pendulum(), until=1e9, channels="pin.angel")
    with pytest.raises(UnknownChannel, match=r"'pin\.angel'.*'pin\.angle'"):
        _ = simulate(Pendulum(), until=0.01)["pin.angel"]


@pytest.mark.parametrize(
    ("request_", "cause"),
    [
        ({"until": -1.0}, "until"),
        ({"until": nan}, "until"),
        ({"until": float("inf")}, "until"),
        ({"until": "soon"}, "until"),
        ({"until": None}, "until"),
        ({"until": 1.0, "step": 0.0}, "step"),
        ({"until": 1.0, "step": -1e-3}, "step"),
        ({"until": 1.0, "step": nan}, "step"),
        ({"until": 1.0, "every": 0}, "every"),
        ({"until": 1.0, "every": 1.5}, "every"),
        ({"until": 1.0, "rtol": -1e-3}, "tolerances"),
        ({"until": 1.0, "rtol": nan}, "tolerances"),
        ({"until": 1.0, "atol": -1.0}, "tolerances"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_in_words(request_: dict[str, object], cause: str) -> None:
    with pytest.raises(RunError, match=cause) as caught:
        simulate(Pendulum(), method="dopri5", **request_)  # type: ignore[arg-type]
    assert caught.value.fix


def test_units_follow_the_channels() -> None:
    units = simulate(Pendulum(), until=0.0).units
    assert units["pin.angle"] == "rad"
    assert units["pin.angle.rate"] == "rad/s"
    assert units["rod.position.x"] == "m"
    assert units["pin.force.x"] == "N"
    assert units["energy.total"] == "J"
