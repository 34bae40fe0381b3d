"""The car with active dampers: actuators between piston and cylinder, told by a controller what to do.

kompono run examples/active.py                                 a skyhook controller of our own, sampled at 1 kHz
kompono export fmu examples/active.py:Plant --out car.fmu      the same car for another tool, forces as inputs

The controller may be a model of another tool: `ActiveCar("skyhook.fmu", trust=True)`, or `isolate=True` with a wall
around it; an input `speed` [m/s] and an output `force` [N] are all it needs. See the page about FMI.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

from casadi import fmax, fmin

from kompono import Fmu, Input, Mode, Output, Subsystem
from kompono.examples.car import Car, Damper
from kompono.library import JointEffort

EVERY = 1e-3  # [s]


class ActiveDamper(Damper):
    """A damper with little damping and an actuator that pushes piston and cylinder apart by `push` [N]."""

    def __init__(self) -> None:
        super().__init__(damping=2e3, length=0.6 * (sqrt(2) - 1))
        self.push = Input(unit="N")
        self.actuator = JointEffort(self.slide, self.push, coordinate="displacement")


class Plant(Car):
    """The car with its two forces as inputs, and what a sensor in it sees."""

    def __init__(self) -> None:
        super().__init__(ActiveDamper)
        self.force = Input(unit="N")
        self.climb = Output(self.body.velocity[2], unit="m/s")
        self.connect(self.force, self.left.damper.push, self.right.damper.push)


class Skyhook(Subsystem):
    """Damps the body against the sky: force is -`gain` [N s/m] times its speed, as far as `limit` [N] goes."""

    def __init__(self, *, gain: float = 6e3, limit: float = 3e3, every: float = EVERY) -> None:
        self.speed = Input(unit="m/s")
        self.force = Mode(0.0, every=every)
        self.force.next = fmin(fmax(-gain * self.speed, -limit), limit)
        self.expose(self.force)


class ActiveCar(Plant):
    """The car with a controller: our own, or that of a file."""

    def __init__(self, controller: str | Path | None = None, **options: Any) -> None:
        super().__init__()
        self.control: Any = Skyhook() if controller is None else Fmu(controller, every=EVERY, **options)
        self.connect(self.climb, self.control.speed)
        self.connect(self.control.force, self.force)
