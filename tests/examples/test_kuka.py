"""The robot: structure, accelerations and motion of MODELS.md section 4, and its gear alone on a bench.

In absolute coordinates translating 43 bodies takes 20 s and compiling them 30 s, so one test checks all of it.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Ground, Result, Simulation, Subsystem, inspect, simulate, time
from kompono.library import Drive, Weld
from kompono.solve.integrate import Settings
from kompono.translate.declared.elaborate import elaborate
from kompono.translate.engines.relative import RelativeEngine

AXES = range(1, 7)
SECOND = (-0.00561451319575, -0.00548069577174, 8.66702411341, 3.96212050955, 3.43071586845, -4.38525265911)
HALF = (0.400576227326, -0.236481000893, 0.332307163010, 0.657875838541, -0.441997860840, 1.364556901837)


def test_it_is_made_of_43_bodies_and_95_connections() -> None:
    model = elaborate(example("kuka").Kuka())
    kinds = Counter(type(element).__name__ for element in (*model.joints, *model.constraints))
    assert kinds == {"PlaneToPlane": 51, "Revolute": 24, "Weld": 8, "Pins": 6, "Mesh": 6}
    assert len(model.bodies) == 43
    assert sum(body.solid.mass for body in model.bodies) == pytest.approx(237.0)


@pytest.mark.takes(60)
@pytest.mark.skipif(not os.environ.get("KOMPONO_LAWS"), reason="a minute: KOMPONO_LAWS=1")
def test_the_whole_robot() -> None:
    robot = Simulation(example("kuka").Kuka(), engine="absolute")
    start = robot.assemble()
    check_redundancy(robot, start)
    settings = Settings("dopri5", until=0.5, step=0.05, rtol=1e-9, atol=1e-12)
    names = ("axis*.output_bearing.angle*", "axis*.motor.bearing.angle", "drift.*")
    result = robot.run(settings, channels=names, progress=False)
    check_motion(result)
    check_rotors(result)
    check_steadiness(robot, start.state)


def test_in_joint_coordinates_nothing_is_left_to_solve() -> None:
    """Mates are welds, gears are ratios: 18 coordinates, 12 of them by substitution; the same motion."""
    robot = Simulation(example("kuka").Kuka())
    engine = robot.translation.engine
    assert isinstance(engine, RelativeEngine)
    welds = [pair for pair in robot.translation.topology.mated if not pair.joint.freedoms]
    assert (len(welds), len(robot.program.coordinates)) == (17, 18)
    assert sum(len(linear.dependent) for linear in engine.sets) == 12
    assert not engine.loops
    names = ("axis*.output_bearing.angle*", "axis*.motor.bearing.angle", "drift.*", "axis2.gear.*.force.*")
    result = robot.run(Settings("rk4", until=0.5, step=1e-3, every=50), channels=names, progress=False)
    check_motion(result)
    check_rotors(result)


def check_redundancy(robot: Simulation, start: Any) -> None:
    """351 conditions, 252 of them independent, all others recognized."""
    assert start.degrees_of_freedom == 6
    assert not start.moved
    g, g_dot, matrix, _ = robot.kernel.evaluate("conditions", 0.0, start.state)
    values = np.linalg.svd(matrix.reshape(-1, len(g)).T, compute_uv=False)
    assert len(g) == 351
    assert np.sum(values > 1e-6 * values[0]) == 252
    assert np.abs(g).max() < 1e-15
    assert not np.any(g_dot)


def check_motion(result: Result) -> None:
    """The axes start and move as those of the merged tree."""
    assert result.status.ok, result.status.message
    angles = [f"axis{i}.gear.output_bearing.angle" for i in AXES]
    assert np.abs([result[f"{name}.acceleration"][0] for name in angles] - np.array(SECOND)).max() < 1e-9
    assert np.abs([result[name][-1] for name in angles] - np.array(HALF)).max() < 1e-9
    assert result["drift.position"].max() < 1e-14
    assert result["drift.velocity"].max() < 1e-12


def check_rotors(result: Result) -> None:
    """Rotors turn the other way round, faster by the ratio of the gear; many turns, all counted."""
    for i, drive in zip(AXES, example("kuka").DRIVES, strict=True):
        expected = -drive.ratio * result[f"axis{i}.gear.output_bearing.angle"]
        assert np.abs(result[f"axis{i}.motor.bearing.angle"] - expected).max() < 1e-11


def check_steadiness(robot: Simulation, state: np.ndarray) -> None:
    """Inside a step the states of fast rotors are off their conditions, by the square of the step. So is the rate
    there; a redundant condition that came to life would not shrink with it.
    """
    long, half = (off_inside_a_step(robot, state, step) for step in (1e-3, 5e-4))
    assert long < 5e-3
    assert 3.6 < long / half < 4.4


def off_inside_a_step(robot: Simulation, state: np.ndarray, step: float) -> float:
    """How much the rate in the middle of the last step before 0.1 s changes if its state is put on its conditions."""

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        return robot.kernel.evaluate("derivative", t, x)[0]

    def project(t: float, x: np.ndarray) -> np.ndarray:
        return robot.kernel.evaluate("project", t, x)[0]

    change = 1.0
    for k in range(round(0.1 / step)):
        now, then = (k + 0.5) * step, (k + 1) * step
        stage = state + step / 2 * rate(k * step, state)
        middle, closed = rate(now, stage), rate(now, project(now, stage))
        change = float(np.abs(middle - closed).max() / np.abs(closed).max())
        state = project(then, state + step * middle)
    return change


# -- a gear alone


class Bench(Subsystem):
    """A gear whose input shaft is turned by a motor of constant speed."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.gear = example("kuka").CycloGear()
        self.clamp = Weld(self.ground.at(self.gear.housing.start_position), self.gear.housing)
        self.shaft = Drive(self.gear.input_bearing, 10 * time)


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")  # assembly finds the other speeds
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_gear_alone_divides_by_its_ratio(engine: str) -> None:
    start: dict[str, Any] = {"gear.input_bearing.angle.rate": 10.0}
    result = simulate(
        Bench(), engine=engine, until=0.3, step=0.1, method="DOP853", rtol=1e-9, initial=start, native=False,
        progress=False,
    )  # fmt: skip
    assert result.status.ok, result.status.message
    assert np.abs(result["gear.input_bearing.angle"] - 10 * result.time).max() < 1e-12
    assert np.abs(result["gear.output_bearing.angle"] + 10 * result.time / 119).max() < 1e-12
    orbit = np.hypot(result["gear.disc.position.x"], result["gear.disc.position.y"])
    assert np.abs(orbit - 0.0015).max() < 1e-12


def test_the_report_counts_the_same_redundancy_on_either_engine() -> None:
    """MODELS.md: 99 of the conditions are too many. In joint coordinates 51 of them are in mates that are welds."""
    report = inspect(example("kuka").Kuka())
    assert (report.bodies, report.degrees_of_freedom, report.redundant_count) == (43, 6, 99)


def test_one_axis_alone_has_its_own_redundancy() -> None:
    """Free in space (6), with its gear (1) and a motor housing that is not held (1); 3 too many in gear and mount."""
    report = inspect(example("kuka").Axis(), engine="absolute")
    assert (report.bodies, report.degrees_of_freedom) == (7, 8)
    assert (report.conditions, report.redundant_count) == (40, 6)
