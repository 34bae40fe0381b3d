"""The car and the manipulator against the values and expected errors of MODELS, and the car against `dense_car`."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
from reference import dense_car
from reference.problems import Outcome, largest, outcome, problem, vectors
from reference.support import DATA, document, example, run

from kompono import Result, Simulation

# -- the car

CAR = ("body.position.z", "left_wheel.ring.position.z")
CAR_TABLE = {  # t: z and acceleration of the body, z and acceleration of the left wheel
    0.0: (0.95, -0.1400911494021573, 0.35, -120.6042995697972),
    0.1: (0.9392840638424, -0.294150831484, 0.3421377078926, -0.386963349492),
    0.5: (0.9029537498756, 0.270446131510, 0.3416797686167, -0.001401395951),
    1.0: (0.9072683706622, -0.037739069575, 0.3419150800941, -0.000349782393),
    1.5: (0.9070362884285, 0.004493178359, 0.3418828421508, 0.000106763405),
}
BODIES = (
    "body", "left.beam", "right.beam", "left.damper.piston", "right.damper.piston",
    "left.damper.cylinder", "right.damper.cylinder", "left_wheel.ring", "right_wheel.ring",
)  # fmt: skip
STARTS = {  # name: yaw rate, wheel spins [rad/s], vertical speed [m/s]
    "yaw 1": {"yaw": 1.0},
    "spins 30, -20": {"left": 30.0, "right": -20.0},
    "yaw 3, spins 100": {"yaw": 3.0, "left": 100.0, "right": 100.0},
    "yaw -5, spins 200, -50": {"yaw": -5.0, "left": 200.0, "right": -50.0, "heave": 0.5},
}
CHANNELS = {
    "yaw": "guide.angle.rate",
    "left": "left_axle.angle.rate",
    "right": "right_axle.angle.rate",
    "heave": "guide.displacement.rate",
}


@cache
def car() -> Simulation:
    return Simulation(example("car").Car())


@cache
def car_curve() -> Result:
    """A tight run, every half millisecond."""
    return run(car(), "dopri5", 1.5, 5e-4, rtol=1e-13)


def from_table(result: Result) -> tuple[float, float]:
    """Largest difference of positions and of accelerations to the table of MODELS."""
    rows = [int(np.argmin(np.abs(result.time - t))) for t in CAR_TABLE if t <= result.time[-1] + 1e-9]
    expected = np.array(list(CAR_TABLE.values()))[: len(rows)]
    found = [
        result[f"{path}.{kind}.z"][rows]
        for path in ("body", "left_wheel.ring")
        for kind in ("position", "acceleration")
    ]
    far = np.abs(np.column_stack(found) - expected)
    return float(far[:, [0, 2]].max()), float(far[:, [1, 3]].max())


def car_fixed(method: str, step: float, until: float, body: float, wheel: float) -> Outcome:
    result, curve = run(car(), method, until, step), car_curve()
    every = round(step / 5e-4)
    far = [largest(result[name] - curve[name][::every][: len(result.time)]) for name in CAR]
    return outcome(result, None, z_wheel=(far[1], wheel), z_body=(far[0], body))


problem("Car, 1.5 s", "rk4 1 ms")(lambda: car_fixed("rk4", 1e-3, 1.5, 1.2e-9, 1.6e-8))
problem("Car, 1.5 s", "rk4 0.5 ms")(lambda: car_fixed("rk4", 5e-4, 1.5, 1.2e-9 / 16, 1.6e-8 / 16))
problem("Car, 1.3 s", "rk2 10 ms")(lambda: car_fixed("rk2", 1e-2, 1.3, 1.45e-4, 2.35e-3))


@problem("Car, 1.5 s", "dopri5 1e-11")
def car_adaptive() -> Outcome:
    result = run(car(), "dopri5", 1.5, 0.1, rtol=1e-11)
    positions, accelerations = from_table(result)
    return outcome(result, None, positions=(positions, 1e-9), accelerations=(accelerations, 1e-9))


@problem("Car, 1.5 s", "dopri5 1e-13")
def car_tight() -> Outcome:
    result = car_curve()
    positions, accelerations = from_table(result)
    return outcome(result, None, positions=(positions, 1e-12), accelerations=(accelerations, 5e-12))


def start_of(name: str) -> dict[str, float]:
    """The start as channel values."""
    return {CHANNELS[key]: value for key, value in STARTS[name].items()}


def car_start(name: str, method: str, position: float, speed: float, **options: float) -> Outcome:
    result = run(car(), method, 0.3, initial=start_of(name), **options)
    dense = document("car_starts")[name]
    far = dict.fromkeys(("position", "velocity", "angular_velocity"), 0.0)
    for kind in far:
        expected = np.array(dense[kind])
        scale = max(1.0, float(np.abs(expected).max()))
        found = np.stack([vectors(result, f"{body}.{kind}") for body in BODIES], axis=1)
        far[kind] = float(np.abs(found - expected).max()) / scale
    checks = {kind: (value, position if kind == "position" else speed) for kind, value in far.items()}
    return outcome(result, None, **checks)


for _name in STARTS:
    problem(f"Car, {_name}", "dopri5 1e-12")(
        lambda name=_name: car_start(name, "dopri5", 1e-10, 1e-9, step=0.1, rtol=1e-12)
    )
    problem(f"Car, {_name}", "rk4 0.1 ms")(
        lambda name=_name: car_start(name, "rk4", 1e-10, 1e-9, step=1e-4, every=1000)
    )


def write_car_starts() -> None:
    """Integrate `dense_car` from all starts and keep the results: `python -m reference.machines` in tests/."""
    times = np.array([0.0, 0.1, 0.2, 0.3])
    found = {name: dense_car.solve(dense_car.start(**start), times) for name, start in STARTS.items()}
    data = {name: {kind: value.tolist() for kind, value in parts.items()} for name, parts in found.items()}
    (DATA / "car_starts.json").write_text(json.dumps(data), encoding="utf-8")


# -- the manipulator

ARM = tuple(f"arm.link{k}.motor.bearing.angle" for k in (1, 2, 3))
ARM_TABLE = {  # t: p1, p2, p3 and their accelerations
    0.0: (0.0, 2.5, 0.0, -19.97788343155, 50.25576200032, -148.31582756767),
    2.5: (0.001997779448, 2.441326356286, -0.015743291058, -18.95320565799, 49.84611851715, -148.39648497433),
    5.0: (0.000156798661, 2.498479759093, 0.236485385359, -20.00517841350, 50.12272698517, -146.25595770141),
}


@cache
def manipulator() -> Simulation:
    return Simulation(example("manipulator").Manipulator())


@cache
def manipulator_curve() -> Result:
    return run(manipulator(), "dopri5", 5.0, 1e-2, rtol=1e-13)


def manipulator_run(method: str, limits: tuple[float, float, float], rows: float, **options: float) -> Outcome:
    result, curve = run(manipulator(), method, 5.0, **options), manipulator_curve()
    at = [int(np.argmin(np.abs(result.time - t))) for t in ARM_TABLE]
    found = np.column_stack([result[name + kind][at] for kind in ("", ".acceleration") for name in ARM])
    far = [
        max(largest(result[name + kind] - curve[name + kind]) for name in ARM)
        for kind in ("", ".rate", ".acceleration")
    ]
    return outcome(
        result, None, angles=(far[0], limits[0]), rates=(far[1], limits[1]), accelerations=(far[2], limits[2]),
        table=(largest(found - np.array(list(ARM_TABLE.values()))), rows),
    )  # fmt: skip


problem("Manipulator, 5 s", "adams 0.1 ms")(
    lambda: manipulator_run("adams", (6e-12, 2e-11, 1.5e-10), 1e-10, step=1e-4, every=100)
)
problem("Manipulator, 5 s", "rk4 0.1 ms")(
    lambda: manipulator_run("rk4", (6e-12, 2e-11, 1.5e-10), 1e-10, step=1e-4, every=100)
)
problem("Manipulator, 5 s", "rk4 1 ms")(lambda: manipulator_run("rk4", (3e-8, 4e-8, 4e-7), 1e-6, step=1e-3, every=10))
problem("Manipulator, 5 s", "dopri5 1e-11")(
    lambda: manipulator_run("dopri5", (1e-9, 1e-9, 5e-9), 1e-9, step=1e-2, rtol=1e-11)
)


if __name__ == "__main__":
    write_car_starts()
