"""Derivatives of runs through contact and friction by events, against closed forms and differences of tight runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nonsmooth.law_machines import Dry, Leg, Stop

from kompono import Body, Ground, Parameter, RunError, Simulation, Subsystem, sensitivities, time
from kompono.library import Clutch, Gravity, JointEffort, Prismatic, Revolute, solids
from kompono.solve.integrate import Settings

STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


class Ball(Subsystem):
    """A ball bounces."""

    def __init__(self) -> None:
        self.e, self.g = Parameter(0.8), Parameter(9.81)
        self.ground = Ground()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.ball, axis="z", displacement=1.0)
        self.weight = JointEffort(self.slide, -self.g)
        self.floor = Stop(self.slide, 0.0, self.e)


def height(t: float, e: float, g: float, h: float) -> float:
    """Of the ball, in closed form."""
    fall = np.sqrt(2 * h / g)
    if t < fall:
        return h - g * t**2 / 2
    t, v = t - fall, e * g * fall
    while t > 2 * v / g:
        t, v = t - 2 * v / g, e * v
    return v * t - g * t**2 / 2


def difference(value: Callable[..., Any], at: list[float], k: int, step: float = 1e-3) -> Any:
    moved = [
        (sign * weight, [*at[:k], at[k] + sign * times * step, *at[k + 1 :]])
        for times, weight in STENCIL
        for sign in (1, -1)
    ]
    return sum(weight * value(*there) for weight, there in moved) / step


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_bouncing_ball_has_its_closed_form(method: str) -> None:
    names = ["e", "g", "slide.displacement"]
    result = sensitivities(Ball(), names, until=2.0, step=0.01, method=method, rtol=1e-10)
    assert len(result.statistics["events"]) == 3
    for t in (0.3, 0.6, 1.0, 1.9):
        for k, name in enumerate(names):
            wanted = difference(lambda *p, t=t: height(t, *p), [0.8, 9.81, 1.0], k)
            row = int(np.argmin(np.abs(result.time - t)))
            assert result[f"slide.displacement/{name}"][row] == pytest.approx(wanted, abs=1e-8)


class Belt(Subsystem):
    """A block on a belt sticks and slips on its spring."""

    def __init__(self) -> None:
        self.k, self.speed, self.grip = Parameter(100.0), Parameter(0.5), Parameter(6.0)
        self.ground = Ground()
        self.belt, self.block = (Body(mass=m, inertia=(1,) * 3) for m in (1.0, 1.0))
        self.roll = Prismatic(self.ground, self.belt, axis="x", displacement_rate=0.5)
        self.pull = JointEffort(self.roll, 1e4 * (self.speed * time - self.roll.displacement))
        self.slide = Prismatic(self.belt, self.block, axis="x")
        self.spring = JointEffort(self.slide, -self.k * (self.slide.displacement + self.roll.displacement))
        self.rubs = Dry(self.slide, limit=4.0, limit_static=self.grip)


class Coupled(Subsystem):
    """A clutch brings a wheel up to speed, holds, and slips again when the load grows."""

    def __init__(self) -> None:
        self.grip, self.load = Parameter(8.0), Parameter(3.0)
        self.ground = Ground()
        self.engine, self.wheel = (Body(mass=1.0, inertia=(i,) * 3) for i in (0.3, 0.5))
        self.shaft = Revolute(self.ground, self.engine, axis="z", angle_rate=20.0)
        self.axle = Revolute(self.ground, self.wheel, axis="z")
        self.drive = JointEffort(self.shaft, 5.0 - 0.2 * self.shaft.v[0])
        self.drag = JointEffort(self.axle, -self.load * (1 + time**3))
        self.clutch = Clutch(self.engine, self.wheel, axis="z", limit=self.grip)


class Puck(Subsystem):
    """A disc on three rough feet slides and turns until it rests: eighteen rows of friction that couple."""

    def __init__(self) -> None:
        self.mu = Parameter(0.3)
        self.ground, self.gravity = Ground(), Gravity()
        start = {"start_velocity": (0.8, 0.3, 0), "start_angular_velocity": (0, 0, 3.0)}
        self.body = Body(mass=2.0, inertia=(0.02, 0.03, 0.04), start_position=(0, 0, 0.1), **start)
        angles = 2 * np.pi * np.arange(3) / 3 + 0.2
        self.legs = [Leg(self.ground, self.body.at(0.3 * np.cos(a), 0.3 * np.sin(a), -0.1), self.mu) for a in angles]


@pytest.mark.parametrize(
    ("model", "names", "channel", "until", "events"),
    [
        (Belt, ["k", "speed", "grip"], "slide.displacement", 1.0, 3),
        (Coupled, ["grip", "load", "shaft.angle.rate"], "axle.angle", 1.6, 2),
        (Puck, ["mu"], "body.position.x", 0.2, 0),
    ],
)
def test_derivatives_are_those_of_tight_runs(
    model: Any, names: list[str], channel: str, until: float, events: int
) -> None:
    simulation = Simulation(model())
    settings = Settings("dopri5", until, until / 20, 1, 1e-12, 1e-13)
    result = sensitivities(simulation, names, until=until, step=until / 20, method="dopri5", rtol=1e-10, atol=1e-12)
    assert len(result.statistics.get("events", [])) >= events
    parameters = simulation.program.parameters
    known = dict(zip(parameters, simulation.parameters(None), strict=True)) | {"shaft.angle.rate": 20.0}
    for name in names:
        scale = max(abs(known[name]), 1.0)

        def run(value: float, name: str = name) -> np.ndarray:
            given = {"parameters" if name in parameters else "initial": {name: value}}
            return simulation.run(settings, progress=False, **given)[channel]

        wanted = difference(run, [known[name]], 0, 3e-4 * scale)
        assert np.abs(result[f"{channel}/{name}"] - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())


def test_two_impacts_at_once_have_no_derivative() -> None:
    class Two(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity, self.e = Ground(), Gravity(), Parameter(0.5)
            self.balls = [Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2)]
            self.slides = [Prismatic(self.ground, ball, axis="z", displacement=1.0) for ball in self.balls]
            self.floors = [Stop(slide, 0.0, self.e) for slide in self.slides]

    with pytest.raises(RunError, match=r"together at 0\.45"):
        sensitivities(Two(), ["e"], until=1.0, step=0.01)


def test_steps_over_events_have_no_derivative() -> None:
    with pytest.raises(RunError, match="contact='steps'"):
        sensitivities(Ball(), ["e"], until=0.1, step=0.01, contact="steps")
