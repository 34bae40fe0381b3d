"""Every constraint keeps what it promises, on the way and not only at the start."""

from __future__ import annotations

from math import pi
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Input, Simulation, Subsystem, TranslationError, inspect, rotation, simulate, time
from kompono.library import (
    AppliedLoad,
    Cylindrical,
    Distance,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    ParallelAxes,
    PlaneToPlane,
    PointInPlane,
    PointOnLine,
    Prismatic,
    Revolute,
    solids,
)


class Held(Subsystem):
    """A free box that starts at (0, 0, -1), is pushed and turned, and is held by one constraint to a tilted frame."""

    def __init__(self, constraint: Any, position: tuple[float, float, float] = (0, 0, 0), **keywords: Any) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.box = Body(solids.box(mass=1, size=(0.2, 0.3, 0.4)), start_position=position, start_velocity=(0, 0, 0))
        self.hold = constraint(self.ground, self.box, **keywords)
        self.push = AppliedLoad(self.box.at(0.1, 0.1, 0), force=(2 * ca.cos(time), 1, 0), torque=(0.02, -0.01, 0.03))


def run(model: Subsystem) -> dict[str, np.ndarray]:
    result = simulate(model, until=1.0, step=2e-3)
    assert result.status.ok
    assert result["drift.position"].max() < 1e-12
    assert result["drift.velocity"].max() < 1e-11
    return {name: result[name] for name in result}


def turned(r: dict[str, np.ndarray], k: int) -> np.ndarray:
    """Components (3, n) of the k-th axis of the box in the world."""
    e0, e1, e2, e3 = (r[f"box.orientation.e{i}"] for i in range(4))
    rows = [
        [e0**2 + e1**2 - e2**2 - e3**2, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
        [2 * (e1 * e2 + e0 * e3), e0**2 - e1**2 + e2**2 - e3**2, 2 * (e2 * e3 - e0 * e1)],
        [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0**2 - e1**2 - e2**2 + e3**2],
    ]
    return np.array([row[k] for row in rows])


def test_a_rod_keeps_its_length_and_nothing_else() -> None:
    model = Held(Distance, (0, 0, -1), length=1.0)
    assert inspect(model).degrees_of_freedom == 5
    r = run(model)
    assert np.abs(np.sqrt(sum(r[f"box.position.{a}"] ** 2 for a in "xyz")) - 1).max() < 1e-12
    assert np.abs(r["box.position.x"]).max() > 0.1


def test_a_rod_whose_length_is_given_over_time() -> None:
    model = Held(Distance, (0, 0, -1), length=1 + 0.2 * ca.sin(3 * time))
    with pytest.warns(match="assembly moved"):
        result = simulate(model, until=1.0, step=2e-3)
    length = np.sqrt(sum(result[f"box.position.{a}"] ** 2 for a in "xyz"))
    assert np.abs(length - (1 + 0.2 * np.sin(3 * result.time))).max() < 1e-12


def test_a_point_stays_on_its_line() -> None:
    model = Held(PointOnLine, axis="z")
    assert inspect(model).degrees_of_freedom == 4
    r = run(model)
    assert np.abs(r["box.position.x"]).max() < 1e-12
    assert np.abs(r["box.position.y"]).max() < 1e-12
    assert r["box.position.z"][-1] == pytest.approx(-9.81 / 2, rel=1e-6)


def test_a_point_stays_in_its_plane() -> None:
    model = Held(PointInPlane, axis=(0, 0.6, 0.8))
    assert inspect(model).degrees_of_freedom == 5
    r = run(model)
    assert np.abs(0.6 * r["box.position.y"] + 0.8 * r["box.position.z"]).max() < 1e-12
    assert np.abs(r["box.position.z"]).max() > 0.1


def test_planes_stay_together() -> None:
    model = Held(PlaneToPlane, axis="z")
    assert inspect(model).degrees_of_freedom == 3
    r = run(model)
    assert np.abs(r["box.position.z"]).max() < 1e-12
    assert np.abs(turned(r, 2)[:2]).max() < 1e-12
    assert np.abs(r["box.orientation.e3"]).max() > 0.01


def test_axes_stay_parallel() -> None:
    model = Held(ParallelAxes, axis="y")
    assert inspect(model).degrees_of_freedom == 4
    r = run(model)
    assert np.abs(turned(r, 1)[[0, 2]]).max() < 1e-12
    assert r["box.position.z"][-1] < -4


class Gears(Subsystem):
    """Two wheels on one frame, ratio -2: the second turns twice as fast the other way."""

    def __init__(self, ratio: float = -2.0, offset: float = 0.0) -> None:
        self.frame = Ground()
        self.small = Body(mass=1.0, inertia=(1, 1, 0.3))
        self.large = Body(mass=1.0, inertia=(1, 1, 0.7))
        self.first = Revolute(self.frame, self.small, axis="z")
        self.second = Revolute(self.frame.at(1, 0, 0), self.large, axis="z", angle=offset)
        self.mesh = Gear(self.first, self.second, ratio=ratio, offset=offset)
        self.motor = JointEffort(self.first, 5.0)


@pytest.mark.parametrize(("ratio", "offset"), [(-2.0, 0.0), (3.0, 0.4)])
def test_a_gear_keeps_its_ratio_and_reflects_the_inertia(ratio: float, offset: float) -> None:
    result = simulate(Gears(ratio, offset), until=1.0, step=0.01)
    assert np.abs(result["second.angle"] - ratio * result["first.angle"] - offset).max() < 1e-12
    second = 5.0 / (0.3 + ratio**2 * 0.7)
    assert np.abs(result["first.angle.acceleration"] - second).max() < 1e-10
    assert result["first.angle"][-1] == pytest.approx(second / 2, rel=1e-9)


def test_one_projection_brings_gears_back() -> None:
    """Linear conditions: the least change, exact at once."""
    s = Simulation(Gears(-2.0, 0.4), native=False)
    assert s.program.coordinates == ("second.angle", "first.angle")
    (state, _) = s.kernel.evaluate("project", 0.0, [0.1, 0.3, 1.0, 1.0])
    assert state == pytest.approx([0.04, 0.18, 0.4, -0.2], abs=1e-15)


def test_a_rack_couples_an_angle_with_a_displacement() -> None:
    class Rack(Subsystem):
        def __init__(self) -> None:
            self.frame = Ground()
            self.pinion = Body(mass=1.0, inertia=(1, 1, 0.2))
            self.rack = Body(solids.box(mass=3, size=(1, 0.1, 0.1)))
            self.turn = Cylindrical(self.frame, self.pinion, axis="z")
            self.slide = Prismatic(self.frame, self.rack, axis="x")
            self.mesh = Gear(self.turn, self.slide, ratio=0.1, first_coordinate="angle")
            self.motor = JointEffort(self.turn, 1.0, coordinate="angle")

    result = simulate(Rack(), until=1.0, step=0.01)
    assert np.abs(result["slide.displacement"] - 0.1 * result["turn.angle"]).max() < 1e-12
    assert result["turn.angle"][-1] == pytest.approx(0.5 / (0.2 + 0.01 * 3), rel=1e-9)
    assert np.abs(result["turn.displacement"]).max() == 0


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_a_drive_is_followed_exactly(method: str) -> None:
    class Cranked(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.gravity = Gravity()
            self.crank = Body(solids.rod(mass=1, length=1, radius=0.05))
            self.pin = Revolute(self.ground, self.crank.at(0, 0, 0.5), axis="y")
            self.drive = Drive(self.pin, ca.sin(2 * time))

    with pytest.warns(match=r"pin\.angle\.rate by \+2"):
        result = simulate(Cranked(), until=2.0, step=0.01, method=method, rtol=1e-6)
    t = result.time
    assert np.abs(result["pin.angle"] - np.sin(2 * t)).max() < 1e-12
    assert np.abs(result["pin.angle.rate"] - 2 * np.cos(2 * t)).max() < 1e-11
    assert np.abs(result["pin.angle.acceleration"] + 4 * np.sin(2 * t)).max() < 1e-10


@pytest.mark.parametrize("place", [0.0, 0.3])
def test_one_drive_moves_and_another_holds(place: float) -> None:
    class Pair(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.first, self.second = (Body(mass=1, inertia=(1, 1, 1)) for _ in range(2))
            self.pin1 = Revolute(self.ground, self.first, angle_rate=1.0)
            self.pin2 = Revolute(self.ground, self.second, angle=place)
            self.moves, self.holds = Drive(self.pin1, ca.sin(time)), Drive(self.pin2, place)

    result = simulate(Pair(), until=1.0, step=0.01)
    assert np.abs(result["pin1.angle"] - np.sin(result.time)).max() < 1e-12
    assert np.abs(result["pin2.angle"] - place).max() < 1e-12


def test_a_drive_can_pick_one_coordinate() -> None:
    class Drill(Subsystem):
        def __init__(self) -> None:
            self.frame = Ground()
            self.bit = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
            self.spindle = Cylindrical(self.frame, self.bit, axis="z")
            self.spin = Drive(self.spindle, 10 * time, coordinate="angle")
            self.feed = JointEffort(self.spindle, -2.0, coordinate="displacement")

    with pytest.warns(match=r"spindle\.angle\.rate"):
        result = simulate(Drill(), until=1.0, step=0.01)
    assert result["spindle.angle"][-1] == pytest.approx(10, abs=1e-11)
    assert result["spindle.displacement"][-1] == pytest.approx(-1.0, rel=1e-9)


def test_constraints_between_tilted_frames() -> None:
    """The same line, said in a turned frame of the ground and in the world."""

    class Tilted(Held):
        def __init__(self) -> None:
            super().__init__(PointOnLine, axis="z")
            del self._members["hold"]
            tilted = self.ground.at(0, 0, 0, orientation=rotation("y", pi / 2))
            self.line = PointOnLine(tilted, self.box, axis="-z")  # along world -x

    r = run(Tilted())
    assert np.abs(r["box.position.y"]).max() < 1e-12
    assert np.abs(r["box.position.z"]).max() < 1e-12
    assert np.abs(r["box.position.x"]).max() > 0.1


def test_a_drive_may_follow_another_joint_and_loads_it() -> None:
    """q = 2 p with equal inertias J: the effort f on p gives f / (J + 4 J)."""

    class Coupled(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.first, self.second = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(2))
            self.p = Revolute(self.ground, self.first, axis="y")
            self.q = Revolute(self.ground, self.second, axis="y")
            self.torque = JointEffort(self.p, 0.3)
            self.follow = Drive(self.q, 2 * self.p.angle)

    for engine in ("relative", "absolute"):
        result = simulate(Coupled(), until=0.5, engine=engine)
        assert result["p.angle.acceleration"][0] == pytest.approx(0.6, rel=1e-12)
        assert result["q.angle.rate"][-1] == pytest.approx(2 * result["p.angle.rate"][-1], rel=1e-12)


def test_conditions_cannot_depend_on_inputs() -> None:
    class Led(Subsystem):
        def __init__(self) -> None:
            self.ground, self.body = Ground(), Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
            self.pin = Revolute(self.ground, self.body, axis="y")
            self.hand = Input(0.3)
            self.lead = Drive(self.pin, self.hand)

    with pytest.raises(TranslationError, match=r"^lead: .*'input'.*forces"):
        simulate(Led(), until=0.1)
