"""Stiff machines with contact and friction by events: slopes at fixed modes, and the implicit method on them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.law_machines import DenHartog, Dry, DryGuide, DryPin, FourBar, Stop, Tripod, TwoBearings, Wedge
from nonsmooth.test_parts import Shaken

from kompono import Body, Ground, Simulation, State, Subsystem, simulate, time
from kompono.library import Gravity, JointEffort, Prismatic, Revolute

STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


class Dropped(Subsystem):
    """Two masses on a stiff, damped link fall on a floor and bounce."""

    def __init__(self, k: float = 1e8, c: float = 1e4) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.low, self.high = (Body(mass=m, inertia=(0.01,) * 3) for m in (1.0, 3.0))
        self.slide = Prismatic(self.ground, self.low, axis="z", displacement=1.0)
        self.rail = Prismatic(self.ground, self.high, axis="z", displacement=1.2)
        force = k * (self.slide.displacement + 0.2 - self.rail.displacement) + c * (self.slide.v[0] - self.rail.v[0])
        self.up, self.down = JointEffort(self.rail, force), JointEffort(self.slide, -force)
        self.floor = Stop(self.slide, 0.0, 0.5)


class StiffShaft(Subsystem):
    """A motor turns a load, which rubs, by a stiff shaft: it sticks and slips."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.motor, self.load = (Body(mass=1.0, inertia=(i,) * 3) for i in (0.01, 0.5))
        self.near, self.far = (Revolute(self.ground, body, axis="z") for body in (self.motor, self.load))
        twist = 1e7 * (self.near.angle - self.far.angle) + 100 * (self.near.v[0] - self.far.v[0])
        self.torque = JointEffort(self.near, 20 * ca.sin(3 * time) - twist)
        self.shaft = JointEffort(self.far, twist)
        self.rubs = Dry(self.far, limit=5.0, limit_static=7.0)


def shadowed(machine: Any, of: Any) -> Subsystem:
    """The same with a state that follows one of its numbers within ten microseconds."""
    machine.shadow = State(0.0)
    machine.shadow.rate = 1e5 * (of - machine.shadow)
    return machine


@pytest.mark.parametrize(
    ("machine", "until", "engine", "tolerance"),
    [
        (DenHartog(), 0.1, "relative", 1e-10),  # slides by a given limit
        (DryPin(), 0.1, "relative", 1e-10),  # by the length of a reaction
        (DryGuide(), 0.03, "relative", 1e-8),  # in a loop
        (DryPin(), 4.0, "relative", 1e-8),  # sticks
        (Tripod(), 0.05, "relative", 1e-8),  # three contacts slip in a plane
        (FourBar(closing=True), 0.3, "relative", 1e-7),
        (TwoBearings(), 0.1, "relative", 1e-9),  # redundant
        (Wedge(), 0.2, "relative", 1e-10),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Subsystem) else "",
)
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_slopes_at_fixed_modes_are_those_of_the_rates(
    machine: Any, until: float, engine: Any, tolerance: float
) -> None:
    simulation = Simulation(machine, engine=engine)
    end = simulate(machine, until=until, step=1e-3, engine=engine, progress=False).end
    program, kernel, state = simulation.program, simulation.kernel, end.state(simulation.program, engine)
    found = kernel.evaluate("jacobian", end.time, state)[0].reshape(len(state), -1).T
    moving = len(program.coordinates) + len(program.speeds)
    assert np.any(state[moving:])  # some law acts

    def rate(j: int, change: float) -> np.ndarray:
        moved = state.copy()
        moved[j] += change
        return kernel.evaluate("derivative", end.time, moved)[0]

    for j in range(moving):
        wanted = sum(w * (rate(j, k * 1e-3) - rate(j, -k * 1e-3)) for k, w in STENCIL) / 1e-3
        assert np.abs(found[:, j] - wanted).max() < tolerance * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize(
    ("make", "until", "closed"),
    [
        (Dropped, 1.0, ()),
        (StiffShaft, 2.0, ()),
        (lambda: shadowed(m := Tripod(), m.body.position[0]), 0.5, ()),
        (lambda: shadowed(m := DryGuide(), m.slide.displacement), 0.5, ()),
        (lambda: shadowed(m := Shaken(), m.base.displacement), 0.3, ("part",)),
    ],
    ids=["dropped", "shaft", "tripod", "guide", "part"],
)
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_stiff_machines_have_the_events_of_explicit_steps(make: Any, until: float, closed: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"until": until, "step": 1e-2, "rtol": 1e-9, "atol": 1e-9, "progress": False}
    explicit = simulate(make(), method="dopri5", **options)
    implicit = simulate(make(), method="esdirk4", closed=closed, **options)
    assert implicit.status.ok
    events = [result.statistics["events"] for result in (explicit, implicit)]
    assert len(events[0]) > 1
    assert [name for _, name in events[0]] == [name for _, name in events[1]]
    assert np.abs(np.subtract(*[[when for when, _ in found] for found in events])).max() < 3e-7
    assert implicit.statistics["implicit_steps"] > 50
    assert implicit.statistics["evaluations"] < 0.5 * explicit.statistics["evaluations"]
