"""The third engine behind the same door: channels, start values, inputs, parameters, chunks, command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from realtime.support import FakeClock
from reference.support import example
from solve.machines import Oscillator, Pendulum

from kompono import Input, Parameter, Sensor, Simulation, inspect, simulate, simulate_many
from kompono.edges.cli import main
from kompono.library import JointEffort
from kompono.realtime import RealTime


class Driven(Pendulum):
    """A pendulum with a motor: torque from outside, mass tunable."""

    def __init__(self, torque: object = 0.0) -> None:
        self.mass = Parameter(1.0)
        super().__init__(mass=self.mass)
        self.torque = torque if isinstance(torque, Input) else Input(torque)
        self.motor = JointEffort(self.pin, self.torque)


@pytest.mark.parametrize("model", ["car", "engine"])
def test_channels_have_the_names_of_the_other_engines(model: str) -> None:
    machine = getattr(example(model), model.capitalize())
    names = [
        {channel.name for channel in Simulation(machine(), engine=engine).program.channels}
        for engine in ("absolute", "discrete")
    ]
    assert names[0] == names[1]


def test_angles_count_turns() -> None:
    options = {"until": 2.0, "step": 1e-3, "initial": {"pin.angle.rate": 12.0}}
    result, exact = simulate(Pendulum(), engine="discrete", **options), simulate(Pendulum(), **options)
    assert exact["pin.angle"][-1] > 4 * np.pi
    assert result["pin.angle"] == pytest.approx(exact["pin.angle"], abs=2e-2)


def test_inputs_and_parameters_act() -> None:
    table = Input(table=([0.0, 0.5, 1.0], [0.0, 2.0, -1.0]))
    options = {"until": 1.0, "parameters": {"mass": 2.0}}
    exact = simulate(Driven(table), step=1e-3, **options)
    table = Input(table=([0.0, 0.5, 1.0], [0.0, 2.0, -1.0]))
    result = simulate(Driven(table), step=1e-4, every=10, engine="discrete", **options)
    assert result["pin.angle"] == pytest.approx(exact["pin.angle"], abs=1e-5)
    assert result["torque"] == pytest.approx(exact["torque"], abs=1e-12)


def test_a_callable_controller_is_sampled() -> None:
    calls = []

    def controller(t: float, read) -> float:
        calls.append(t)
        return -5.0 * read("pin.angle")

    result = simulate(Driven(Input(controller, period=0.01)), until=0.1, step=1e-4, every=100, engine="discrete")
    assert result.status.ok
    assert len(calls) == pytest.approx(10, abs=1)


def test_chunks_change_nothing() -> None:
    simulation = Simulation(Pendulum(angle=1.0), engine="discrete")
    feed = simulation.feed()
    state = simulation.assemble(feed=feed).state
    parameters = simulation.completed(simulation.parameters(), state, feed, 1e-4)
    ends = []
    for size in (1000, 7):
        run = simulation.kernel.fixed("leapfrog", 0.0, state, step=1e-4, parameters=parameters, every=10**6)
        for _ in range(0, 1000, size):
            run.advance(min(size, 1000 - run.step))
        ends.append(run.state.copy())
    assert np.array_equal(*ends)


def test_moving_grounds_carry_along() -> None:
    bench = example("car").DamperBench
    exact = simulate(bench(), until=0.5, step=5e-4, method="dopri5")
    result = simulate(bench(), until=0.5, step=1e-5, every=50, engine="discrete")
    name = "damper.cylinder.position.z"
    assert result[name] == pytest.approx(exact[name], abs=1e-6)


def test_energy_of_an_oscillator_does_not_wander() -> None:
    result = simulate(Oscillator(), until=1000.0, step=1e-2, every=100, engine="discrete")
    assert np.ptp(result["energy.total"]) < 1e-4 * result["energy.total"][0]


def test_the_command_line_knows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "examples/car.py", "--engine", "discrete", "--until", "0.05", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_inspection_counts_conditions_and_freedoms() -> None:
    report = inspect(example("car").Car(), engine="discrete")
    assert (report.conditions, report.degrees_of_freedom) == (52, 6)


def test_ensembles_are_single_runs() -> None:
    given: dict[str, Any] = {"until": 0.01, "engine": "discrete"}
    many = simulate_many(Driven(), parameters={"mass": [1.0, 2.0]}, **given)
    alone = simulate(Driven(), parameters={"mass": 2.0}, **given)
    assert not many.failed
    for name in alone:
        size = np.abs(alone[name]).max() + 1.0
        np.testing.assert_allclose(many[name][1], alone[name], rtol=0, atol=1e-12 * size)


class Measured(Pendulum):
    """A pendulum on a moving base with sensors off its centre, in the world and in its own axes."""

    def __init__(self) -> None:
        super().__init__()
        self.reach = np.array([0.1, 0.2, -0.3])
        self.tip = Sensor(self.rod.at(self.reach))
        self.felt = Sensor(self.rod.at(self.reach), axes=self.rod)


def test_sensors_show_the_motion_of_points() -> None:
    """Eqs 12 to 17: a_P = a + alpha x r + w x (w x r), and the same in the axes of the body."""
    result = simulate(Measured(), until=0.5, step=1e-4, every=50, engine="discrete", initial={"pin.angle.rate": 3.0})

    def column(name: str, axes: str = "xyz") -> np.ndarray:
        return np.column_stack([result[f"{name}.{k}"] for k in axes])

    e0, *e = (result[f"rod.orientation.e{k}"] for k in range(4))
    vector, reach = np.column_stack(e), np.array([0.1, 0.2, -0.3])
    r = reach + 2 * np.cross(vector, np.cross(vector, reach) + e0[:, None] * reach)
    w, alpha = column("rod.angular_velocity"), column("rod.angular_acceleration")
    assert np.allclose(column("tip.position"), column("rod.position") + r, atol=1e-12)
    assert np.allclose(column("tip.velocity"), column("rod.velocity") + np.cross(w, r), atol=1e-12)
    expected = column("rod.acceleration") + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
    assert np.allclose(column("tip.acceleration"), expected, atol=1e-9)
    sizes = [np.linalg.norm(column(f"{name}.acceleration"), axis=1) for name in ("tip", "felt")]
    assert np.allclose(*sizes, rtol=1e-12)
    assert np.abs(w).max() >= 3


def test_real_time_changes_nothing() -> None:
    """In step with a clock, frame by frame, with inputs written on the way: as if a controller had been sampled."""
    clock, seen = FakeClock(), []

    def push(frame: Any) -> None:
        seen.append(frame["pin.angle"])
        frame["torque"] = 1.0 if frame.time >= 0.05 - 1e-9 else 0.0

    options: dict[str, Any] = {"until": 0.1, "step": 1e-4, "every": 100, "engine": "discrete"}
    live = simulate(Driven(), realtime=RealTime(frame=0.01, on_frame=push, clock=clock), **options)
    told = simulate(Driven(Input(lambda t, read: float(t >= 0.05 - 1e-9), period=0.01)), **options)
    assert live.status.ok
    assert len(seen) == 11
    assert np.allclose(live["pin.angle"], told["pin.angle"], rtol=1e-12, atol=1e-16)
    assert live["pin.angle"][-1] > 1e-3
    assert np.allclose(clock.waits, 0.01)
