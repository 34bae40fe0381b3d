"""Load, late frames and jitter, exactly, on a clock that goes only when told to."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain, repeat

import numpy as np
import pytest
from realtime.support import Cart, FakeClock

from kompono import Result, RunError, simulate
from kompono.realtime import LiveFrame, RealTime
from kompono.realtime.pace import BLOCK, Pace


def run(clock: FakeClock, work: Callable[[int], float], until: float = 0.1, **options: object) -> Result:
    """Ten frames (if not told otherwise) whose computing takes `work(number)` [s] after each meeting."""
    options = {"frame": 0.01, "on_frame": lambda frame: clock.work(work(frame.number)), **options}
    return simulate(Cart(), until=until, channels="rail.*", realtime=RealTime(clock=clock, **options))  # type: ignore[arg-type]


def test_an_easy_run_waits_for_the_clock_and_ends_with_it() -> None:
    clock = FakeClock()
    result = run(clock, lambda number: 0.002 if number else 0.0)
    account = result.statistics["realtime"]
    assert clock.time == pytest.approx(1.1 + 0.002)  # the last observer works after the end
    assert (account["frames"], account["late"], account["slipped"]) == (10, 0, 0.0)
    assert account["load_mean"] == pytest.approx(0.9 * 0.2)  # the first frame had no work
    assert account["load_max"] == pytest.approx(0.2)
    assert account["jitter_max"] == pytest.approx(0.0, abs=1e-12)
    assert clock.waits == pytest.approx([0.01] + [0.008] * 9)


def test_the_observer_before_the_run_is_not_on_the_clock() -> None:
    clock = FakeClock()
    account = run(clock, lambda number: 5.0 if number == 0 else 0.0).statistics["realtime"]
    assert account["late"] == 0
    assert clock.time == pytest.approx(6.1)


def test_overshoot_of_the_clock_is_jitter() -> None:
    clock = FakeClock(chain([0.001, 0.003], repeat(0.0)))
    account = run(clock, lambda _: 0.0).statistics["realtime"]
    assert account["late"] == 0
    assert account["jitter_max"] == pytest.approx(0.003)
    assert account["jitter_mean"] == pytest.approx(0.0004)
    assert account["jitter_99"] == pytest.approx(np.quantile([0.001, 0.003, *[0.0] * 8], 0.99))
    assert clock.time == pytest.approx(1.1)  # it does not add up


def test_who_is_late_catches_up_without_skipping_time() -> None:
    clock = FakeClock()
    met: list[float] = []

    def observe(frame: LiveFrame) -> None:
        met.append(frame.time)
        clock.work(0.035 if frame.number == 2 else 0.001 if frame.number else 0.0)

    result = run(clock, lambda _: 0.0, on_frame=observe)
    account = result.statistics["realtime"]
    assert met == pytest.approx(np.arange(11) * 0.01)  # every frame, none left out
    assert account["late"] == 3  # due at 0.03, 0.04, 0.05; done at 0.055, 0.056, 0.057
    assert account["jitter_max"] == pytest.approx(0.025)
    assert account["load_max"] == pytest.approx(3.5)
    assert clock.time == pytest.approx(1.1 + 0.001)
    delays = [result.at(t)["realtime.delay"] for t in (0.015, 0.025, 0.035, 0.045, 0.055, 0.065)]
    assert delays == pytest.approx([0, 0.025, 0.016, 0.007, 0, 0], abs=1e-9)
    assert result.at(0.025)["realtime.load"] == pytest.approx(3.5)


def test_who_slips_stays_behind_and_keeps_the_distance() -> None:
    clock = FakeClock()
    account = run(clock, lambda number: 0.035 if number == 2 else 0.0, behind="slip").statistics["realtime"]
    assert account["late"] == 1
    assert account["slipped"] == pytest.approx(0.025)
    assert clock.time == pytest.approx(1.1 + 0.025)


def test_a_machine_too_slow_for_real_time_says_so_and_computes_everything() -> None:
    clock = FakeClock()
    result = run(clock, lambda _: 0.02)
    account = result.statistics["realtime"]
    assert result.status.ok
    assert (account["late"], account["frames"]) == (9, 10)  # the first frame had no work before it
    assert account["load_max"] == pytest.approx(2.0)
    assert result.time[-1] == pytest.approx(0.1)
    assert account["late_steps"] == 90
    assert "9 of 10 frames of 0.01 s late (90 steps)" in result.summary()


@pytest.mark.parametrize("speed", [0.5, 4.0])
def test_speed_stretches_the_clock(speed: float) -> None:
    clock = FakeClock()
    account = run(clock, lambda number: 0.001 if number else 0.0, speed=speed).statistics["realtime"]
    assert clock.time == pytest.approx(1 + 0.1 / speed + 0.001)
    assert account["load_max"] == pytest.approx(0.1 * speed)


def test_infinite_speed_never_waits() -> None:
    clock = FakeClock()
    account = run(clock, lambda number: 0.001, speed=math.inf).statistics["realtime"]
    assert not clock.waits
    assert account["late"] == 0
    assert account["load_max"] == pytest.approx(0.1)


def test_a_frame_that_is_no_multiple_of_the_step_keeps_its_rate() -> None:
    clock, met = FakeClock(), []
    run(clock, lambda _: 0.0, frame=0.0125, on_frame=lambda frame: met.append((frame.time, clock.time - 1)))
    assert len(met) == 9
    assert [t for t, _ in met] == pytest.approx([clock for _, clock in met])
    assert np.abs(np.array(met)[:, 0] - 0.0125 * np.arange(9)).max() < 1e-3


def test_the_account_of_an_endless_run_stays_small() -> None:
    pace = Pace(FakeClock(), speed=math.inf, behind="slip", keep=1.0)
    for k in range(20 * BLOCK):
        pace.arrive(0.001 * (k + 1))
    assert len(pace._blocks) <= 3
    assert pace.frames == 20 * BLOCK
    assert len(pace.account()) == pytest.approx(1000, abs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frame": 0.0}, "frame = 0.0 is not positive"),
        ({"frame": math.inf}, "frame = inf"),
        ({"frame": "fast"}, "frame = 'fast'"),
        ({"speed": -1.0}, r"speed = -1.0 is not positive. Use e.g. speed=1.0"),
        ({"keep": math.nan}, "keep = nan"),
        ({"spin": -1.0}, "spin"),
        ({"behind": "skip"}, r"no policy 'skip'. Use 'catch up' or 'slip'"),
        ({"on_frame": [3]}, "on_frame 3 cannot be called"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    with pytest.raises(RunError, match=message):
        RealTime(**options)


def test_what_realtime_may_be() -> None:
    with pytest.raises(RunError, match=r"realtime = 0\.01 is not understood"):
        simulate(Cart(), until=1.0, realtime=0.01)  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"Radau does not run in real time.*rk4"):
        simulate(Cart(), until=1.0, realtime=True, method="Radau")
