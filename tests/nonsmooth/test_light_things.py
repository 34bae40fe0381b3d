"""Light things that are pressed hard slip fast where the end of their slip is located: it ends nevertheless."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, JointLaw, Subsystem, Unit, simulate, time
from kompono.library import AppliedLoad, Contact, JointEffort, Prismatic

MU, SPEED = 0.4, (8.0, 3.0)
FOUR = ((0.01, 0.01, 0), (-0.01, 0.01, 0), (0.01, -0.01, 0), (-0.01, -0.01, 0))


class Shoe(Subsystem):
    """Pressed on a plane and thrown along it."""

    def __init__(self, mass: float, force: float, feet: Any) -> None:
        self.ground, self.body = Ground(), Body(mass=mass, inertia=(1e-4 * mass,) * 3, start_velocity=(*SPEED, 0))
        self.press = AppliedLoad(self.body, force=(0, 0, -force))
        self.feet = Contact(self.ground.plane(), self.body.points(*feet), mu=MU)


class Whole(Subsystem):
    def __init__(self, part: Subsystem) -> None:
        self.part = part


class Groove(JointLaw):
    """A gap along the first joint, friction along the second one."""

    def units(self) -> Unit:
        across, along = self.joints
        return Unit(gap=across.displacement, slip=along.displacement_rate, mu=MU)


class Guided(Subsystem):
    """The same on a line."""

    def __init__(self, mass: float, force: float) -> None:
        self.ground, self.near, self.far = Ground(), *(Body(mass=mass, inertia=(mass,) * 3) for _ in range(2))
        self.across = Prismatic(self.ground, self.near, axis="z")
        self.along = Prismatic(self.near, self.far, axis="x", displacement_rate=SPEED[0])
        self.press = JointEffort(self.across, -force)
        self.feet = Groove(self.across, self.along)


@pytest.mark.parametrize("feet", [((0, 0, 0),), FOUR])
@pytest.mark.parametrize(
    ("mass", "options"),
    [
        (1e-3, {}),
        (1e-6, {}),
        (1e-3, {"engine": "absolute"}),
        (1e-3, {"method": "dopri5"}),
        (1e-3, {"closed": ["part"]}),
    ],
)
def test_a_shoe_stops_on_all_of_its_feet(mass: float, options: dict[str, Any], feet: Any) -> None:
    part = "closed" in options
    model = Whole(Shoe(mass, 1e3, feet)) if part else Shoe(mass, 1e3, feet)
    result = simulate(model, until=2e-3, **options)
    stops = np.hypot(*SPEED) * mass / (MU * 1e3)
    events = result.statistics["events"]
    assert [name.rpartition(".")[2] for _, name in events] == ["sticks"] * len(feet)
    assert max(abs(when - stops) for when, _ in events) < 1e-11
    assert abs(result["part.body.position.x" if part else "body.position.x"][-1] - SPEED[0] * stops / 2) < 1e-15
    assert result.status.ok
    assert "fallback" not in result.statistics


def test_so_it_does_on_a_line() -> None:
    result = simulate(Guided(1e-3, 1e3), until=2e-3)
    ((when, name),) = result.statistics["events"]
    assert name == "feet.sticks"
    assert abs(when - SPEED[0] * 1e-3 / (MU * 1e3)) < 1e-11


class Inertial(Subsystem):
    """A table that goes to and fro thousands of times a second, and what slips on four feet on it."""

    def __init__(self, pace: float) -> None:
        way = (1e-3 * ca.sin(30 * pace * time), 5e-4 * ca.sin(20 * pace * time + 1), 0)
        self.table, self.body = Ground(way), Body(mass=1e-3, inertia=(1e-7,) * 3)
        self.press = AppliedLoad(self.body, force=(0, 0, -1e-3 * pace**2))
        self.feet = Contact(self.table.plane(), self.body.points(*FOUR), mu=MU)


def test_short_steps_are_divided_for_slow_slip_as_long_ones_are() -> None:
    """The same way in a thousandth of the time."""
    slow, fast = (simulate(Inertial(pace), until=0.2 / pace, step=1e-4 / pace, every=50) for pace in (1.0, 1e3))
    places = [(result["body.position.x"][-1], result["body.position.y"][-1]) for result in (slow, fast)]
    assert np.abs(np.subtract(*places)).max() < 1e-12
