"""A machine at rest costs next to nothing, and wakes when it must."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pytest

from kompono import Body, Event, Ground, Input, Mode, Simulation, Subsystem, simulate, time
from kompono.compile.resting import can_rest
from kompono.library import Contact, DryFriction, Gravity, JointEffort, Prismatic, solids


class Crate(Subsystem):
    """It slides on a floor until it rests."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crate = Body(
            solids.box(mass=2.0, size=(0.4, 0.3, 0.2)), start_position=(0, 0, 0.1), start_velocity=(1, 0, 0)
        )
        self.feet = Contact(self.ground.plane(), self.crate.at(0, 0, -0.1).corners((0.4, 0.3, 0)), mu=0.5)


def test_steps_of_what_rests_are_not_made() -> None:
    short, long = (simulate(Crate(), until=until, step=1e-3) for until in (0.3, 3.0))
    assert long.statistics["events"] == short.statistics["events"]
    assert long.statistics["steps"] == short.statistics["steps"] + 2700
    assert long.statistics["evaluations"] < short.statistics["evaluations"] + 50
    assert long["crate.position.x"][-1] == short["crate.position.x"][-1]


class Held(Subsystem):
    """A mass that friction holds until something pulls harder than 5 N, which happens after a second."""

    def __init__(self, kind: str) -> None:
        self.ground = Ground()
        self.mass = Body(mass=1.0, inertia=(0.1,) * 3)
        self.rail = Prismatic(self.ground, self.mass, axis="x")
        pull: Any = 4.0
        limit: Any = 5.0
        if kind == "pull":
            pull = 5.0 * time
        elif kind == "limit":
            limit = 8.0 - 4.0 * time
        elif kind == "event":
            self.weak = Mode(1.0)
            self.later = Event(time - 1.0, {self.weak: 0.5})
            limit = 5.0 * self.weak
        elif kind == "input":
            self.force = Input(table=([0.0, 2.0], [0.0, 10.0]))
            pull = self.force
        elif kind == "sampled":
            self.count = Mode(0.0, every=0.25)
            self.count.next = self.count + 1
            pull = ca.if_else(self.count > 4, 6.0, 4.0)
        self.dry = DryFriction(self.rail, preload=limit)
        self.effort = JointEffort(self.rail, pull)


@pytest.mark.parametrize("kind", ["pull", "limit", "event", "input", "sampled"])
def test_what_rests_wakes(kind: str) -> None:
    result = simulate(Held(kind), until=1.2, step=1e-3).check()
    ((when, name),) = [event for event in result.statistics["events"] if event[1].startswith("dry")]
    assert name == "dry.slips"
    assert abs(when - 1.0) < 1e-9
    assert result["rail.displacement"][-1] > 0


def test_what_depends_on_time_is_known() -> None:
    assert can_rest(Simulation(Crate()).program)
    assert can_rest(Simulation(Held("")).program)
    assert not any(can_rest(Simulation(Held(kind)).program) for kind in ("pull", "limit", "event", "input", "sampled"))
