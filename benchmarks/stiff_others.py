"""The bounds between explicit and implicit steps of `esdirk4`, on machines that had no say when they were chosen.

python benchmarks/stiff_others.py            all machines, a few tolerances each (half a minute)
python benchmarks/stiff_others.py shaft      machines whose names begin so

Machines: the car on tyres a thousand times as stiff, a shaft of 1e7 N m/rad between motor and load, a motor whose
current settles in 10 microseconds, the woodpecker on soft contacts, six bodies on bushings in a row; and, not stiff,
the heavy top and Bricard's mechanism. What is compared, and how, is `stiff.py`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

import stiff  # noqa: E402
from casadi import sin  # noqa: E402

from kompono import Body, Ground, State, Subsystem, time  # noqa: E402
from kompono.examples.car import Car  # noqa: E402
from kompono.examples.reference.bricard import Bricard  # noqa: E402
from kompono.examples.reference.heavy_top import HeavyTop  # noqa: E402
from kompono.examples.woodpecker import Woodpecker  # noqa: E402
from kompono.library import Bushing, Gravity, JointEffort, Revolute, SpringDamper, solids  # noqa: E402

stiff.METHODS = {
    "esdirk4": (1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
    "Radau": (1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    "dopri5": (1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
    "rk4": (1e-3, 1e-4),
}


def hard_car() -> Subsystem:
    """The car with tyres of 4e8 N/m."""
    car: Any = Car()
    for wheel in (car.left_wheel, car.right_wheel):
        wheel.tyre = SpringDamper(wheel.ground, wheel.ring, k=4e8, c=1e5, rest=0.35)
    return car


class Shaft(Subsystem):
    """A motor turns a load by a stiff shaft."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.motor, self.load = (Body(mass=1.0, inertia=(i,) * 3) for i in (0.01, 0.5))
        self.near, self.far = (Revolute(self.ground, body, axis="z") for body in (self.motor, self.load))
        twist = 1e7 * (self.near.angle - self.far.angle) + 100 * (self.near.v[0] - self.far.v[0])
        self.torque = JointEffort(self.near, 20 * sin(3 * time) - twist)
        self.shaft = JointEffort(self.far, twist - 2 * self.far.v[0])


class Motor(Subsystem):
    """A motor swings an arm; its current settles in ten microseconds."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.arm = Body(solids.rod(mass=1.0, length=0.5, radius=0.01))
        self.axle = Revolute(self.ground, self.arm.at(0, 0, 0.25), axis="y", angle=0.3)
        self.current = State(0.0)
        self.current.rate = (12 * sin(2 * time) - 0.5 * self.current - 0.2 * self.axle.v[0]) / 5e-6
        self.torque = JointEffort(self.axle, 0.2 * self.current)


class Row(Subsystem):
    """Six bodies in a row on bushings, the last one free."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        places = [(0.1 * i + 0.05, 0, 0) for i in range(6)]
        self.bodies = [Body(solids.box(mass=0.1, size=(0.1, 0.05, 0.05)), start_position=p) for p in places]
        ends = [self.ground, *[body.at(0.05, 0, 0) for body in self.bodies]]
        k, c = [1e7] * 3 + [1e3] * 3, [1e3] * 3 + [0.1] * 3
        pairs = zip(ends, self.bodies, strict=False)
        self.bushings = [Bushing(end, body.at(-0.05, 0, 0), k=k, c=c) for end, body in pairs]


MACHINES: dict[str, tuple[Callable[[], Subsystem], float, bool, dict[str, Any]]] = {
    "car on hard tyres": (hard_car, 1.0, True, {}),
    "shaft": (Shaft, 1.0, True, {}),
    "motor": (Motor, 2.0, True, {}),
    "woodpecker, soft": (Woodpecker, 0.2, True, {"contact": "soft"}),
    "row of bushings": (Row, 0.2, True, {}),
    "heavy top": (HeavyTop, 1.0, False, {}),
    "Bricard": (Bricard, 2.0, False, {}),
}


def main() -> None:
    """Measure, print."""
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:]
    for name, (make, until, is_stiff, options) in MACHINES.items():
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        machine = stiff.Machine(make, until, is_stiff, ("dopri5", 1e-12))
        runs = stiff.runs_of(machine, **options)
        stiff.tell(name, machine, runs)
        stiff.conclude(machine, runs, explicit=is_stiff)


if __name__ == "__main__":
    main()
