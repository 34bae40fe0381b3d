"""The geared servo: it hunts with play, rests with more friction or without play, and is the same open and closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Result, simulate


@pytest.fixture(scope="module")
def servo() -> Any:
    return example("servo")


@pytest.fixture(scope="module")
def closed(servo: Any) -> Result:
    result = simulate(servo.Servo(), **servo.Servo.run_defaults)
    assert result.status.ok
    return result


def test_open_and_closed_are_the_same(servo: Any, closed: Result) -> None:
    opened = simulate(servo.Servo(closed=False), **servo.Servo.run_defaults)
    times, names = zip(*closed.statistics["events"], strict=True)
    others, same = zip(*opened.statistics["events"], strict=True)
    assert names == same
    assert np.abs(np.subtract(times, others)).max() < 1e-9
    at = np.linspace(0, 4, 401)
    for name in ("servo.output.angle", "servo.motor.angle", "servo.torque"):
        assert np.abs(np.interp(at, closed.time, closed[name]) - np.interp(at, opened.time, opened[name])).max() < 1e-9


def test_with_play_it_hunts(servo: Any, closed: Result) -> None:
    rows = (closed.time > 1.0) & (closed.time < 2.5)
    assert np.ptp(closed[servo.ANGLE][rows]) == pytest.approx(0.0234, abs=5e-4)
    through = np.flatnonzero(np.diff(np.sign(closed[servo.ANGLE][rows] - 1.0)) > 0)
    assert np.diff(closed.time[rows][through]) == pytest.approx(0.516, abs=5e-3)
    for flank in ("drive", "coast"):
        assert closed[f"servo.teeth.{flank}.gap"].min() > -1e-9
        assert closed[f"servo.teeth.{flank}.normal"].min() > -1e-9


def test_a_finer_method_hunts_alike(servo: Any, closed: Result) -> None:
    fine = simulate(servo.Servo(closed=False), until=2.0, step=1e-2, method="dopri5", rtol=1e-11)
    at = fine.time[:200]
    assert np.abs(np.interp(at, closed.time, closed[servo.ANGLE]) - fine[servo.ANGLE][:200]).max() < 1e-5


@pytest.mark.parametrize("given", [{"friction": 1.6e-3}, {"backlash": 0.0}], ids=["more friction", "no play"])
def test_without_play_or_with_more_friction_it_rests(servo: Any, given: dict[str, float]) -> None:
    result = simulate(servo.Servo(**given), **servo.Servo.run_defaults, channels=[servo.ANGLE, "servo.torque"])
    rest = (result.time > 2.0) & (result.time < 2.5)
    assert np.ptp(result[servo.ANGLE][rest]) < 1e-9
    assert abs(result["servo.torque"][rest][-1]) <= given.get("friction", 2e-4) * (1 + 1e-9)
    assert abs(result[servo.ANGLE][-1]) < 0.01  # and slips again, back to where it was


def test_what_came_to_rest_at_its_limit_slips_later(servo: Any) -> None:
    """Slow to settle, the motor comes to rest where the torque is all that friction holds, to rounding."""

    class Slow(servo.Servo):
        def __init__(self) -> None:
            super().__init__(closed=False)
            self.servo.drive.value = 4.0 * (self.servo.target - self.servo.output.angle)
            self.servo.drive.value -= 0.1 * self.servo.motor.angle_rate / servo.RATIO
            self.servo.bearing.preload = (2e-3, 2e-3)

    result = simulate(Slow(), until=4.0, channels=[servo.ANGLE, "servo.bearing.*"])
    assert result["servo.bearing.mode"][np.searchsorted(result.time, 2.4)] == 1
    assert np.abs(result["servo.bearing.friction"]).max() <= 2e-3 * (1 + 1e-6)  # the torque falls by 4 N m in 1 ms
    assert abs(result[servo.ANGLE][-1]) < 1e-3
