"""The drivetrain: launch, shift and stop as they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Result, simulate


@pytest.fixture(scope="module")
def box() -> Any:
    return example("drivetrain")


@pytest.fixture(scope="module")
def driven(box: Any) -> Result:
    result = simulate(box.Drivetrain(), **box.Drivetrain.run_defaults)
    assert result.status.ok
    return result


def test_what_happens_in_this_order(driven: Result) -> None:
    names = [name for time, name in driven.statistics["events"] if time > 1.0]
    assert names[:8] == [
        "clutch.sticks", "gearbox.freewheel.opens", "clutch.slips", "gearbox.clutch.sticks", "clutch.sticks",
        "clutch.slips", "gearbox.clutch.slips", "gearbox.freewheel.closes",
    ]  # fmt: skip
    assert names[-1] == "vehicle.brake.sticks"


def test_energy_is_accounted_for(box: Any, driven: Result) -> None:
    work = box.spent(driven)
    gone = sum(values for name, values in work.items() if name != "engine")
    assert np.abs(gone - work["engine"]).max() < 2e-5 * work["engine"].max()  # trapezoids of 2 ms


def test_it_stands_at_the_end_and_the_engine_idles(box: Any, driven: Result) -> None:
    assert abs(driven["vehicle.speed"][-1]) < 1e-12
    assert driven["vehicle.way.displacement"][-1] == driven["vehicle.way.displacement"][-500]
    assert driven["engine.crank.angle.rate"][-1] == pytest.approx(box.IDLE, abs=1e-6)


def test_what_holds_turns_together(box: Any, driven: Result) -> None:
    held = driven["clutch.mode"] == 1
    assert np.abs((driven["engine.crank.angle.rate"] - driven["gearbox.input.angle.rate"])[held]).max() < 1e-9
    ahead = driven["gearbox.output.angle.rate"] - driven["gearbox.low.angle.rate"]
    assert ahead.min() > -1e-9
    assert np.all(driven["gearbox.freewheel.normal"][ahead > 1e-6] < 1e-9)


def test_a_launch_with_constant_torques_ends_when_it_must(box: Any) -> None:
    torque, limit, drag, engine = 120.0, 0.35 * 0.09 * 3000.0, 20.0, 0.25
    inputs = {"engine.throttle": torque, "pressure": 3000.0, "gearbox.pressure": 0.0, "vehicle.pedal": 0.0}
    result = simulate(box.Drivetrain(), until=4.0, step=5e-3, inputs=inputs, channels=["vehicle.speed"])
    road = (box.FIRST * box.FINAL) ** 2 * (2.4 + 1200 * box.RADIUS**2)
    car = 0.02 + box.FIRST**2 * (0.01 + 0.03) + box.SECOND**2 * 0.01 + road
    time = box.IDLE / (limit / car - (torque - drag - limit) / engine)
    held = [when for when, name in result.statistics["events"] if name == "clutch.sticks"]
    assert held == pytest.approx([time], abs=1e-10)
    speed = limit / car * time + (torque - drag) / (car + engine) * (4.0 - time)
    assert result["vehicle.speed"][-1] == pytest.approx(3.6 * speed * box.FIRST * box.FINAL * box.RADIUS, rel=1e-12)
