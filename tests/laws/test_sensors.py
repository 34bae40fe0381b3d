"""Sensors obey the kinematics of rigid bodies, in the world and as seen by a moving observer, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from laws.mechanisms import SHELF, Case, build, difference, loops, quaternion_of, state_of, trees
from laws.test_accelerations import examples
from reference.support import example
from scipy.spatial.transform import Rotation
from solve.machines import Pendulum

from kompono import Body, Ground, ModelError, Output, Sensor, Simulation, Subsystem, TranslationError, simulate
from kompono.compile import compile_program
from kompono.library import AppliedLoad, Gravity, Revolute, solids
from kompono.solve.integrate import Settings
from kompono.translate import translate
from kompono.translate.engines.large.engine import NestedEngine

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
POINT, BASE = np.array([0.3, -0.2, 0.5]), np.array([-0.1, 0.4, 0.2])
TURN = Rotation.from_rotvec([0.4, -0.7, 0.3]).as_matrix()
ENGINES = ("relative", "absolute")


def sensed(case: Case, engine: str, sensors: Any) -> dict[str, float]:
    """All channels at the mechanism's state, with `sensors(bodies)` added to it."""
    built = build(case.m)
    bodies = [built.carriers[k] for k in case.m.bodies]
    for name, sensor in sensors(bodies).items():
        built.model.add(name, sensor)
    translation = translate(built.model, engine=engine, shelf=SHELF)
    kernel = compile_program(translation.program, native=False, cache=False)
    (values,) = kernel.evaluate("outputs", case.m.time, state_of(translation, built, case.m), (), ())
    return {channel.name: float(x) for channel, x in zip(translation.program.channels, values, strict=True)}


def vector(values: dict[str, float], path: str, kind: str) -> np.ndarray:
    return np.array([values[f"{path}.{kind}.{k}"] for k in "xyz"])


def point_motion(case: Case, k: int, point: np.ndarray) -> tuple[np.ndarray, ...]:
    """World position, rotation, velocity, angular velocity, acceleration and angular acceleration of a body's point."""
    m, body = case.m, case.m.bodies[k]
    r, w = m.A[body] @ point, m.w[body]
    a, alpha = case.solution.acceleration[body][:3], case.solution.acceleration[body][3:]
    turning = np.cross(w, np.cross(w, r))
    return m.x[body] + r, m.A[body], m.v[body] + np.cross(w, r), w, a + np.cross(alpha, r) + turning, alpha


def seen_from(base: tuple[np.ndarray, ...], point: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The same, as an observer on `base` sees it, in the base's axes: with Coriolis and centrifugal terms by hand."""
    back, w, alpha = base[1].T, base[3], base[5]
    r = point[0] - base[0]
    v = point[2] - base[2] - np.cross(w, r)
    a = point[4] - base[4] - np.cross(alpha, r) - np.cross(w, np.cross(w, r)) - 2 * np.cross(w, v)
    spin = point[3] - w
    return back @ r, back @ point[1], back @ v, back @ spin, back @ a, back @ (point[5] - alpha - np.cross(w, spin))


def check(values: dict[str, float], path: str, expected: tuple[np.ndarray, ...]) -> None:
    kinds = ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
    numbers = [expected[i] for i in (0, 2, 3, 4, 5)]
    for kind, wanted in zip(kinds, numbers, strict=True):
        assert difference(vector(values, path, kind), wanted) < 1e-10, kind
    e = np.array([values[f"{path}.orientation.e{i}"] for i in range(4)])
    assert abs(abs(e @ quaternion_of(expected[1])) - 1) < 1e-12


def check_case(case: Case, engine: str) -> None:
    last = len(case.m.bodies) - 1

    def sensors(bodies: list[Any]) -> dict[str, Sensor]:
        point, base = bodies[0].at(*POINT), bodies[last].at(*BASE, orientation=TURN)
        return {
            "world_probe": Sensor(point),
            "felt": Sensor(point, axes=bodies[0]),
            "seen": Sensor(point, base=base),
            "both": Sensor(point, base=base, axes=point),
        }

    values = sensed(case, engine, sensors)
    point, base = point_motion(case, 0, POINT), point_motion(case, last, BASE)
    base = (base[0], base[1] @ TURN, *base[2:])
    check(values, "world_probe", point)
    check(values, "felt", tuple(point[1].T @ part for part in point))
    seen = seen_from(base, point)
    check(values, "seen", seen)
    check(values, "both", tuple(seen[1].T @ part for part in seen))


@pytest.mark.parametrize("engine", ENGINES)
@examples(6)
@given(trees())
def test_sensors_on_trees(engine: str, case: Case) -> None:
    check_case(case, engine)


@pytest.mark.parametrize("engine", ENGINES)
@examples(4)
@given(loops())
def test_sensors_in_loops(engine: str, case: Case) -> None:
    check_case(case, engine)


# -- in motion


def instrumented_car() -> Subsystem:
    """The car with an accelerometer fixed on the rim of a wheel, and a sensor that sees the hub from the body."""
    car = example("car").Car()
    car.add("rim", Sensor(car.left_wheel.ring.at(0, 0, 0.3), axes=car.left_wheel.ring))
    car.add("hub", Sensor(car.left_wheel.ring, base=car.body))
    return car


@pytest.mark.parametrize("engine", ENGINES)
def test_the_car_wheel_feels_its_own_acceleration(engine: str) -> None:
    names = ["left_wheel.ring.*", "body.position.*", "body.orientation.*", "rim.*", "hub.*"]
    start = {"left_axle.angle.rate": 20.0}
    r = simulate(instrumented_car(), until=0.3, step=5e-4, engine=engine, channels=names, initial=start)
    ring = "left_wheel.ring"
    turned = Rotation.from_quat(np.column_stack([r[f"{ring}.orientation.e{i}"] for i in (1, 2, 3, 0)]))
    w, alpha, a = (over_time(r, ring, kind) for kind in ("angular_velocity", "angular_acceleration", "acceleration"))
    arm = turned.apply([0, 0, 0.3])
    expected = a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
    assert np.abs(turned.apply(over_time(r, "rim", "acceleration")) - expected).max() < 1e-9 * np.abs(expected).max()
    for kind, rate in (("position", "velocity"), ("velocity", "acceleration")):
        slope = np.gradient(over_time(r, "hub", kind), r.time, axis=0)[2:-2]
        exact = over_time(r, "hub", rate)[2:-2]
        assert np.abs(slope - exact).max() < 2e-3 * np.abs(exact).max()


def test_both_engines_measure_the_same() -> None:
    runs = [simulate(instrumented_car(), until=0.2, engine=engine, channels=["rim.*", "hub.*"]) for engine in ENGINES]
    for name in runs[0]:
        scale = max(1.0, np.abs(runs[0][name]).max())
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-7 * scale, name


def over_time(result: Any, path: str, kind: str) -> np.ndarray:
    return np.column_stack([result[f"{path}.{kind}.{k}"] for k in "xyz"])


# -- in expressions


def pendulum(law: Any) -> Subsystem:
    model = Pendulum(angle=1.0)
    model.add("probe", Sensor(model.rod))
    model.add("drag", AppliedLoad(model.rod, force=law(model.probe, model.rod)))
    return model


@pytest.mark.parametrize("engine", ENGINES)
def test_a_force_may_use_position_and_velocity_of_a_sensor(engine: str) -> None:
    one = simulate(pendulum(lambda probe, _: -0.2 * probe.velocity - probe.position), until=1.0, engine=engine)
    two = simulate(pendulum(lambda _, body: -0.2 * body.velocity - body.position), until=1.0, engine=engine)
    assert np.abs(one["probe.position.x"] - two["probe.position.x"]).max() < 1e-12
    assert np.ptp(one["probe.position.x"]) > 0.1


def test_a_force_may_not_use_an_acceleration() -> None:
    with pytest.raises(TranslationError, match=r"^drag: .*acceleration of probe.*Output"):
        simulate(pendulum(lambda probe, _: probe.acceleration), until=0.1)


def test_an_output_may() -> None:
    model = pendulum(lambda *_: (0, 0, 0))
    model.add("felt", Output(model.probe.acceleration[2] + 9.81, unit="m/s^2"))
    result = simulate(model, until=0.1)
    assert np.abs(result["felt"] - result["probe.acceleration.z"] - 9.81).max() < 1e-12
    assert result.units["probe.angular_velocity.x"] == "rad/s"


# -- declarations, large models


def test_a_sensor_needs_frames() -> None:
    with pytest.raises(ModelError, match="sits on a frame"):
        Sensor((0, 0, 1))  # type: ignore[arg-type]


def test_a_sensor_sees_what_is_exposed() -> None:
    car = example("car").Car()
    car.add("probe", Sensor(car.left.damper.piston))
    with pytest.raises(ModelError, match=r"probe: left\.damper\.piston is not exposed by left.*expose"):
        simulate(car, until=0.1)


class Finger(Subsystem):
    """Two links; one looks at its tip, from the world and from its root, and is damped by what it sees."""

    def __init__(self, *, watched: bool) -> None:
        rod = solids.rod(mass=1.0, length=0.4, radius=0.02)
        self.root, self.end = Body(rod), Body(rod)
        self.pin = Revolute(self.root.at(0, 0, -0.2), self.end.at(0, 0, 0.2), axis="x", angle=0.4)
        if watched:
            self.tip = Sensor(self.end.at(0.1, 0, -0.2))
            self.seen = Sensor(self.end.at(0.1, 0, -0.2), base=self.root.at(0, 0.1, 0), axes=self.end)
            self.drag = AppliedLoad(self.end, force=-0.3 * self.tip.velocity)
        self.expose(self.root, self.end)


class Hand(Subsystem):
    """Fingers in a row, one hanging on the other; every second one has sensors."""

    def __init__(self, *, across: bool = False) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.fingers = [Finger(watched=k % 2 == 0) for k in range(6)]
        ends = [self.ground, *(finger.end.at(0, 0, -0.2) for finger in self.fingers)]
        self.knuckles = [
            Revolute(end, finger.root.at(0, 0, 0.2), axis="y", angle=0.3)
            for end, finger in zip(ends, self.fingers, strict=False)
        ]
        if across:
            self.far = Sensor(self.fingers[0].end, base=self.fingers[5].end)


def test_sensors_of_a_large_model_are_translated_by_type() -> None:
    wanted = ["fingers.*.tip.*", "fingers.*.seen.*"]
    nested, flat = Simulation(Hand(), nested_from=1), Simulation(Hand())
    assert isinstance(nested.translation.engine, NestedEngine)
    runs = [s.run(Settings("rk4", until=0.2, step=1e-3), channels=wanted) for s in (nested, flat)]
    assert sorted(runs[0].names) == sorted(runs[1].names)
    assert len(runs[0].names) == 3 * 2 * 19
    for name in runs[1]:
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-9 * max(1.0, np.abs(runs[1][name]).max()), name
    everything = nested.run(Settings("rk4", until=0.01, step=1e-3))
    assert "fingers.4.seen.acceleration.z" in everything


def test_a_sensor_across_a_large_model_makes_it_one_piece() -> None:
    found = translate(Hand(across=True), nested_from=1)
    assert not isinstance(found.engine, NestedEngine)
    assert "far.acceleration.z" in {channel.name for channel in found.program.channels}
