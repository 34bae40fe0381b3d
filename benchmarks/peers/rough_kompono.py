"""The rough problems in Kompono. Seconds are processor time of steps and events, without that of a run of two steps."""

from __future__ import annotations

import sys
import time as clock
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from rough import FORCE, FREQUENCY, FRICTION, MASS, RESTITUTION, SIZE, SLOPE, SPAN, STIFFNESS, G, Slope

import kompono
from kompono import Body, Ground, Result, Simulation, Subsystem, rotation, time
from kompono.library import Contact, DryFriction, Gravity, JointEffort, Prismatic, solids
from kompono.solve.settings import Settings

NAME = "Kompono"

Setting = tuple[float, str, str]  # step [s], engine, path of the machine: none if it is the model


def version() -> str:
    """That which runs."""
    return kompono.__version__


class Brick(Subsystem):
    """A box on a slope."""

    def __init__(self, run: Slope) -> None:
        turn = rotation("y", SLOPE)
        along, up = np.array([np.cos(SLOPE), 0, -np.sin(SLOPE)]), np.array([np.sin(SLOPE), 0, np.cos(SLOPE)])
        self.ground, self.gravity = Ground(orientation=turn), Gravity()
        self.brick = Body(
            solids.box(mass=MASS, size=SIZE), start_position=SIZE[2] / 2 * up, start_velocity=run.speed * along,
            start_orientation=turn,
        )  # fmt: skip
        self.feet = Contact(self.ground.plane(), self.brick.at(0, 0, -SIZE[2] / 2).corners((*SIZE[:2], 0)), mu=run.mu)


class Slider(Subsystem):
    """A mass on a sloping rail."""

    def __init__(self, run: Slope) -> None:
        self.ground, self.gravity = Ground(orientation=rotation("y", SLOPE)), Gravity()
        self.mass = Body(solids.box(mass=MASS, size=SIZE))
        self.rail = Prismatic(self.ground, self.mass, axis="x", displacement_rate=run.speed)
        self.friction = DryFriction(self.rail, mu=run.mu)


class Oscillator(Subsystem):
    """Den Hartog's."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.mass, axis="x")
        pull = FORCE * ca.cos(FREQUENCY * time)
        self.spring = JointEffort(self.slide, pull - STIFFNESS * self.slide.displacement)
        self.friction = DryFriction(self.slide, preload=FRICTION)


class Ball(Subsystem):
    """Above a floor."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 1.1))
        self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1), restitution=RESTITUTION)


class Owner(Subsystem):
    """A model of which the machine is a component."""

    def __init__(self, part: Subsystem) -> None:
        self.part = part


def settings() -> dict[str, Setting]:
    """Names of what is run."""
    return {
        "1 ms": (1e-3, "relative", ""),
        "10 ms": (1e-2, "relative", ""),
        "1 ms, absolute": (1e-3, "absolute", ""),
        "1 ms, a component": (1e-3, "relative", "part."),
        "1 ms, a component, absolute": (1e-3, "absolute", "part."),
    }


def _run(model: Subsystem, until: float, setting: Setting, **options: Any) -> tuple[Result, float]:
    """A result, and seconds per second of a run whose code is there."""
    every, channels, (step, engine, path) = options.pop("every", 1), options.pop("channels", "*"), setting
    simulation = Simulation(Owner(model) if path else model, engine=engine)
    settings = Settings("rk4", until, step, every)
    costs = []
    for end in (2 * step, 2 * step, until):
        begun = clock.process_time()
        result = simulation.run(replace(settings, until=end), channels=channels, progress=False)
        costs.append(clock.process_time() - begun)
    assert result.time[-1] == until
    if not result.status.ok:
        print(f"{NAME}, {type(model).__name__}, {step:g} s: {result.status.message}", file=sys.stderr)
    return result, (costs[2] - costs[1]) / (until - 2 * step)


def brick(setting: Setting, run: Slope) -> tuple[float, float]:
    """How far a box slides [m], seconds per second."""
    result, seconds = _run(Brick(run), run.until, setting, every=round(1 / setting[0]))
    return float(np.hypot(*[np.ptp(result[f"{setting[2]}brick.position.{axis}"][[0, -1]]) for axis in "xz"])), seconds


def slider(setting: Setting, run: Slope) -> tuple[float, float]:
    """How far a mass slides [m], seconds per second."""
    result, seconds = _run(Slider(run), run.until, setting, every=round(1 / setting[0]))
    return float(result[f"{setting[2]}rail.displacement"][-1]), seconds


def oscillator(setting: Setting) -> tuple[np.ndarray, np.ndarray, float]:
    """Times, positions, seconds per second."""
    result, seconds = _run(Oscillator(), SPAN, setting, channels=(name := f"{setting[2]}slide.displacement"))
    return result.time, result[name], seconds


def ball(setting: Setting) -> tuple[np.ndarray, float]:
    """Heights [m] at all steps of 3 s, seconds per second."""
    result, seconds = _run(Ball(), 3.0, setting, channels=(name := f"{setting[2]}ball.position.z"))
    return result[name][np.unique(result.time, return_index=True)[1]] - 0.1, seconds


assert G == 9.81  # that of Gravity()
