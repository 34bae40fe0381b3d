"""contact="steps": equal steps over contact and friction, and the step over events that crowd."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.law_machines import Stop
from nonsmooth.test_soft import Ball, Brick, Rubbing, apexes, sticks
from nonsmooth.touching_machines import OffASphere

from kompono import Body, Event, Ground, Mode, RunError, Subsystem, rotation, simulate, simulate_many, time
from kompono.library import AppliedLoad, Contact, Gravity, JointEffort, Planar, Prismatic, Revolute, solids
from kompono.model.law import JointLaw, Unit


def test_friction_in_steps() -> None:
    """n06 at 1 ms."""
    error, creep = sticks(simulate(Rubbing(), until=10.0, step=1e-3, contact="steps"))
    assert error < 2e-6
    assert creep == 0.0


def test_a_ball_in_steps_bounces_and_rests() -> None:
    result = simulate(Ball(), until=5.0, step=1e-3, contact="steps")
    assert result.status.ok
    assert apexes(result)[:3] == pytest.approx([0.64, 0.4096, 0.262144], rel=5e-3)
    assert (result["slide.displacement"][-1], result["slide.displacement.rate"][-1]) == (0.0, 0.0)
    struck = [time for time, name in result.statistics["events"] if name == "floor.strikes"]
    assert struck[0] == pytest.approx(np.sqrt(2 / 9.81), abs=2e-3)


def test_friction_in_a_plane_in_steps() -> None:
    exact, steps = (simulate(Brick(), until=1.0, step=2e-3, contact=contact) for contact in ("events", "steps"))
    assert steps["box.position.x"][-1] == pytest.approx(exact["box.position.x"][-1], abs=2e-3)
    assert steps["box.position.z"][-1] == pytest.approx(0.1, abs=1e-12)
    assert steps["box.position.x"][-1] == steps["box.position.x"][-50]  # it rests


def test_a_contact_is_left_in_time() -> None:
    """n10: where a particle leaves a sphere, to a few steps."""
    exact = simulate(OffASphere(1.0, 0.1), until=1.4)
    result = simulate(OffASphere(1.0, 0.1), until=1.4, contact="steps")
    left = [run.statistics["events"][0] for run in (exact, result)]
    assert left[0][1] == left[1][1] == "sphere.opens"
    assert left[1][0] == pytest.approx(left[0][0], abs=3e-3)


def test_events_of_the_model_are_seen_after_steps() -> None:
    class Watched(Ball):
        def __init__(self) -> None:
            super().__init__()
            self.low = Mode(0)
            self.below = Event(0.5 - self.slide.displacement, {self.low: 1})

    result = simulate(Watched(), until=1.0, contact="steps")
    below = [time for time, name in result.statistics["events"] if name == "below"]
    assert below[0] == pytest.approx(np.sqrt(1 / 9.81), abs=1.1e-3)
    assert result["low"][-1] == 1.0


def test_steps_are_equal() -> None:
    with pytest.raises(RunError, match=r"dopri5 chooses its steps"):
        simulate(Ball(), until=1.0, method="dopri5", contact="steps")


def test_many_runs_in_steps() -> None:
    many = simulate_many(Ball(), until=0.6, contact="steps", initial={"slide.displacement": [0.8, 1.0]})
    alone = simulate(Ball(), until=0.6, contact="steps")
    assert many["slide.displacement"][1] == pytest.approx(alone["slide.displacement"], abs=1e-12)


class Lifted(Subsystem):
    """A table on rough legs, pulled up by more than its weight from a sample on."""

    def __init__(self, legs: int) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.table = Body(mass=1.0, inertia=(1, 1, 1), start_position=(0, 0, 1))
        corners = [(1, 1, -1), (-1, -1, -1), (-1, 1, -1), (1, -1, -1)] if legs > 1 else [(0, 0, -1)]
        self.legs = Contact(self.ground.plane(), self.table.points(*corners), mu=0.3)
        self.lift = Mode(0.0, every=0.01, offset=0.005)
        self.lift.next = 12.0
        self.pull = AppliedLoad(self.table, force=(0, 0, self.lift))


@pytest.mark.parametrize("contact", ["events", "steps"])
@pytest.mark.parametrize("legs", [1, 4])
def test_rough_legs_without_friction_to_bear_are_lifted(legs: int, contact: str) -> None:
    """What pulls could not stick with a force of nothing, which has no direction to slip in."""
    result = simulate(Lifted(legs), until=0.02, step=1e-3, contact=contact)
    assert result["table.position.z"][-1] == pytest.approx(1 + (12 - 9.81) * 0.015**2 / 2, abs=1e-12)


class Drawer(Subsystem):
    """In a rough guide without clearance, pulled `aside` [m] of its middle: two corners bear, the others touch."""

    pull, mass, long = 5.0, 2.0, 0.4

    def __init__(self, aside: Any, mu: float) -> None:
        self.ground = Ground()
        self.drawer = Body(mass=self.mass, inertia=(0.05, 0.05, 0.05))
        self.plane = Planar(self.ground, self.drawer)
        for name, y, turn in (("low", -0.15, 0.0), ("top", 0.15, np.pi)):
            side = self.ground.at(0, y, 0, orientation=rotation("z", turn))
            corners = self.drawer.points((-self.long / 2, y, 0), (self.long / 2, y, 0))
            setattr(self, name, Contact(side.plane("y"), corners, mu=mu))
        self.along = JointEffort(self.plane, self.pull, coordinate="x")
        self.turn = JointEffort(self.plane, -self.pull * aside, coordinate="angle")


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("mu", [0.5, 0.9])
def test_what_touches_without_bearing_is_not_wedged(engine: str, mu: float) -> None:
    """Forces of four corners that hold each other and the drawer would fit as well: it stayed where it was."""
    result = simulate(Drawer(0.2, mu), until=0.5, step=1e-3, contact="steps", engine=engine)
    normal = Drawer.pull * 0.2 / Drawer.long
    bears = [result[f"{side}.{corner}.normal"] for side in ("low", "top") for corner in (0, 1)]
    assert result["plane.x"][-1] == pytest.approx((Drawer.pull - 2 * mu * normal) / Drawer.mass / 8, abs=1e-12)
    assert np.sort(bears, axis=0) == pytest.approx(np.array([[0.0], [0.0], [normal], [normal]]) + 0 * bears[0])


def test_corners_of_a_drawer_bear_in_turn() -> None:
    """The pull goes from side to side twice a second: friction is half of it times |cos|, whose mean is 2 / pi."""
    result = simulate(Drawer(0.2 * ca.cos(4 * np.pi * time), 0.5), until=1.0, step=1e-3, contact="steps")
    exact = Drawer.pull / Drawer.mass * (1 / 2 - 1 / (2 * np.pi))
    assert result["plane.x"][-1] == pytest.approx(exact, abs=1e-5)


def test_a_wedged_drawer_is_wedged() -> None:
    """Pulled far beside its middle its friction holds it, whatever the pull is."""
    result = simulate(Drawer(0.5, 0.5), until=0.5, step=1e-3, contact="steps")
    assert np.abs(result["plane.x"]).max() < 1e-12


class Guide(JointLaw):
    """Two corners of a block between two walls, with a clearance [m] on each side."""

    def __init__(self, slide: Prismatic, turn: Revolute, clearance: float, restitution: float) -> None:
        super().__init__(slide, turn)
        self.clearance, self.restitution = clearance, restitution

    def units(self) -> list[Unit]:
        y, angle = self.joints[0].q[0], self.joints[1].q[0]
        places = {"front": y + 0.1 * angle, "rear": y - 0.1 * angle}
        return [
            Unit(name=f"{name}.{side}", gap=self.clearance + sign * place, restitution=self.restitution)
            for name, place in places.items() for side, sign in (("low", 1), ("high", -1))
        ]  # fmt: skip


class Rattling(Subsystem):
    """A slider in a guide with hardly any clearance, thrown across it."""

    def __init__(self, restitution: float = 1.0) -> None:
        self.ground = Ground()
        self.carrier = Body(solids.sphere(mass=0.01, radius=0.01))
        self.block = Body(solids.box(mass=1.0, size=(0.2, 0.1, 0.1)))
        self.slide = Prismatic(self.ground, self.carrier, axis="y", displacement_rate=0.7)
        self.turn = Revolute(self.carrier, self.block, axis="z", angle_rate=3.0)
        self.guide = Guide(self.slide, self.turn, 1e-6, restitution)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "adams"])
def test_a_rattling_slider_runs_on(method: str) -> None:
    result = simulate(Rattling(), until=0.05, step=1e-3, method=method)
    assert result.status.ok
    assert result.time[-1] == 0.05
    crowded = result.statistics["fallback"]
    assert all(path.startswith("guide.") and 1e-5 < end - begun < 1.01e-3 for path, begun, end in crowded)
    for sign in (1, -1):
        place = result["slide.displacement"] + sign * 0.1 * result["turn.angle"]
        assert np.abs(place).max() < 2e-5
    energy = result["energy.kinetic"]
    assert energy.max() <= energy[0] * (1 + 1e-9)


def test_runs_of_an_ensemble_tell_what_they_went_over() -> None:
    many = simulate_many(Rattling(), until=0.01, step=1e-3, initial={"slide.displacement.rate": [0.1, 0.7]})
    alone = simulate(Rattling(), until=0.01, step=1e-3)
    assert many.run(1).statistics["fallback"] == alone.statistics["fallback"]
    assert many.run(-1).statistics["fallback"] == alone.statistics["fallback"]
    assert set(many.statistics["fallback"]) >= {1}


def test_what_comes_to_rest_needs_no_such_step() -> None:
    result = simulate(Rattling(0.5), until=0.05)
    assert result.status.ok
    assert "fallback" not in result.statistics


class Between(Subsystem):
    """A mass thrown to and fro between stops that are two micrometres apart."""

    def __init__(self, restitution: float) -> None:
        self.ground, self.mass = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement_rate=1.0)
        self.low, self.high = Stop(self.slide, -1e-6, restitution), Stop(self.slide, 1e-6, restitution, -1.0)


def test_rattle_without_end_between_near_stops() -> None:
    result = simulate(Between(1.0), until=0.1)
    assert result.status.ok
    assert result.statistics["fallback"]
    assert len(result.statistics["events"]) < 20_000  # of 50,000 blows
    assert np.abs(result["slide.displacement"]).max() < 1e-5
    assert np.abs(result["slide.displacement.rate"]).max() <= 1.0


def test_a_crowd_that_thins_out_is_followed_blow_by_blow() -> None:
    result = simulate(Between(0.999), until=0.2)
    assert result.status.ok
    assert "fallback" not in result.statistics
    struck = 1e-6 + 2e-6 * np.concatenate([[0.0], np.cumsum(0.999 ** -np.arange(1.0, 6000.0))])
    count = int(np.sum(struck < 0.2))
    found = [when for when, name in result.statistics["events"] if name.endswith("strikes")]
    assert len(found) == count
    assert np.abs(found - struck[:count]).max() < 1e-8
    assert abs(result["slide.displacement.rate"][-1]) == pytest.approx(0.999**count, rel=1e-9)
