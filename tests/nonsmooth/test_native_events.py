"""Events of one row are settled in native code, with the bits and the names they have in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Event, Ground, Input, Mode, Result, Subsystem, simulate, time
from kompono.library import Contact, DryFriction, EndStops, FreeWheel, Gravity, JointEffort, Prismatic, Revolute, solids
from kompono.solve.settling import Settler


class OnRail(Subsystem):
    """A mass on a rail, pulled to and fro, with dry friction or between stops."""

    def __init__(self, law: str) -> None:
        self.ground = Ground()
        self.mass = Body(mass=1.3, inertia=(0.1,) * 3)
        self.rail = Prismatic(self.ground, self.mass, axis="x")
        self.pull = JointEffort(self.rail, 5.0 * ca.cos(4.0 * time) - 40.0 * self.rail.displacement)
        if law == "dry":
            self.dry = DryFriction(self.rail, preload=2.0, preload_static=2.6)
        else:
            self.stops = EndStops(self.rail, -0.02, 0.07, restitution=0.6)


class Busy(Subsystem):
    """A mass between stops, pulled by an input, a mode that an event of its own switches, and a sampled one."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(mass=0.8, inertia=(0.1,) * 3)
        self.rail = Prismatic(self.ground, self.mass, axis="x", displacement_rate=0.7)
        self.stops = EndStops(self.rail, -0.1, 0.15, restitution=0.7)
        self.given = Input(table=([0.0, 0.3, 0.31, 1.0, 3.0], [0.0, 1.0, -2.0, 3.0, 0.0]))
        self.way, self.count = Mode(1.0), Mode(0.0, every=0.013)
        self.turn = Event(ca.sin(9 * time) - 0.5, {self.way: -self.way})
        self.count.next = self.count + 0.1
        pull = self.given + 2 * self.way + ca.sin(self.count) - 30 * self.rail.displacement
        self.pull = JointEffort(self.rail, pull)


class Ball(Subsystem):
    """It bounces until it rests."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=0.7, radius=0.1), start_position=(0, 0, 0.3), start_velocity=(0.2, 0, 0))
        self.floor = Contact(self.ground.plane(), self.ball.sphere(radius=0.1), restitution=0.5)


class Ratchet(Subsystem):
    """Two wheels with a freewheel between them, one driven to and fro."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.inner, self.outer = (Body(mass=1.0, inertia=(0.2,) * 3) for _ in range(2))
        self.pin = Revolute(self.ground, self.inner, axis="z")
        self.shaft = Revolute(self.ground, self.outer, axis="z")
        self.ratchet = FreeWheel(self.inner, self.outer)
        self.drive = JointEffort(self.pin, ca.sin(7.0 * time) - self.pin.angle_rate)
        self.load = JointEffort(self.shaft, -0.2 * self.shaft.angle_rate)


MACHINES: dict[str, Callable[[], Subsystem]] = {
    "dry": lambda: OnRail("dry"), "stops": lambda: OnRail("stops"), "ball": Ball, "ratchet": Ratchet,
    "busy": Busy,
}  # fmt: skip


@pytest.mark.parametrize("method", ["rk4", "adams", "dopri5"])
@pytest.mark.parametrize("machine", MACHINES)
def test_native_events_are_those_of_python(machine: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _counted(monkeypatch)
    native = _run(MACHINES[machine](), method)
    assert calls["settled"] == 1  # the start
    monkeypatch.setattr(Settler, "natively", False)
    python = _run(MACHINES[machine](), method)
    assert len(native.statistics["events"]) >= 5
    assert calls["settled"] > 5
    assert native.statistics["events"] == python.statistics["events"]
    assert native.statistics["evaluations"] == python.statistics["evaluations"]
    for name in python.names:
        np.testing.assert_array_equal(native[name], python[name], err_msg=name)


def test_native_events_by_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both say alike whether something is held, which decides what is projected."""
    native = simulate(OnRail("dry"), until=1.0, step=2e-3, engine="absolute", progress=False)
    monkeypatch.setattr(Settler, "natively", False)
    python = simulate(OnRail("dry"), until=1.0, step=2e-3, engine="absolute", progress=False)
    assert {event.split(".")[-1] for _, event in native.statistics["events"]} >= {"sticks", "slips"}
    for name in python.names:
        np.testing.assert_array_equal(native[name], python[name], err_msg=name)


def test_events_that_crowd_are_counted_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """A light mass between stops that close: one step over all of it, from Python, wherever the events were settled."""
    found = []
    for natively in (True, False):
        monkeypatch.setattr(Settler, "natively", natively)
        found.append(simulate(Squeezed(), until=0.1, step=1e-3).statistics)
    assert found[0]["fallback"]
    assert found[0]["fallback"] == found[1]["fallback"]
    assert found[0]["events"] == found[1]["events"]


class Squeezed(Subsystem):
    """A mass that flies between two stops, of which one comes nearer until there is next to no room."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(mass=1.0, inertia=(0.1,) * 3)
        self.rail = Prismatic(self.ground, self.mass, axis="x", displacement_rate=3.0)
        self.stops = EndStops(self.rail, -0.01, 0.01 - 0.0199995 * ca.fmin(time / 0.05, 1.0), restitution=1.0)


def _run(model: Subsystem, method: str) -> Result:
    return simulate(model, until=3.0, step=2e-3, method=method, progress=False)


def _counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often Python settles."""
    calls, settle = {"settled": 0}, Settler.__call__

    def counted(self: Settler, *given: Any) -> Any:
        calls["settled"] += 1
        return settle(self, *given)

    monkeypatch.setattr(Settler, "__call__", counted)
    return calls
