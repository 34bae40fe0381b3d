"""Mates that are a weld or another lower pair become it: same motion, same loads; anything else stays as declared."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Parameter, Subsystem, inspect, rotation, simulate, time
from kompono.library import (
    Cylindrical,
    Gravity,
    LineOnLine,
    ParallelAxes,
    Planar,
    PlaneToPlane,
    PointInPlane,
    PointOnLine,
    PointOnPoint,
    Prismatic,
    Revolute,
    Spherical,
    Weld,
    solids,
)
from kompono.translate import translate


class Hammer(Subsystem):
    """A handle that swings on the ground with a turned head at its end, held by mates or by a weld."""

    turn = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)

    def __init__(self, hold: str = "mates", off: float = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.handle = Body(solids.cylinder(mass=1.0, radius=0.02, length=1.0), start_position=(0.5, 0, 0))
        self.head = Body(
            solids.box(mass=2.0, size=(0.1, 0.2, 0.1)), start_position=(1.1, 0.05 + off, 0), start_orientation=self.turn
        )
        self.pin = Revolute(self.ground, self.handle.at(-0.5, 0, 0), axis="y", angle=0.0, angle_rate=1.0)
        ends = self.handle.at(0.5, 0, 0), self.head.at(*self._eye(), orientation=(self.turn[0], 0, -self.turn[2], 0))
        if hold == "mates":
            self.mates = [PlaneToPlane(*ends, axis=axis) for axis in "xyz"]
        elif hold == "two":
            self.mates = [PlaneToPlane(*ends, axis=axis) for axis in "xy"]
        else:
            self.weld = Weld(*ends)

    def _eye(self) -> np.ndarray:
        """Where the end of the handle is on the head."""
        c, s = np.cos(0.6), np.sin(0.6)
        return np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) @ np.array([-0.1, -0.05, 0.0])


CHANNELS = ("head.position.*", "head.acceleration.*", "pin.*")


def run(model: Subsystem, **options: Any) -> Any:
    return simulate(model, until=0.3, step=1e-3, method="rk4", every=50, progress=False, **options)


def test_three_mates_are_a_weld() -> None:
    mated, welded = Hammer("mates"), Hammer("weld")
    translation = translate(mated)
    (pair,) = translation.topology.mated
    assert len(pair.constraints) == 3
    assert not translation.engine.closing
    assert translation.program.coordinates == ("pin.angle",)
    first, second, third = run(mated), run(welded), run(Hammer("mates"), engine="absolute")
    for name in ("head.position.x", "head.position.z", "head.acceleration.z", "pin.force.x", "pin.torque.x"):
        assert np.abs(first[name] - second[name]).max() < 1e-11, name
        assert np.abs(first[name] - third[name]).max() < 1e-8, name


def test_the_report_names_them() -> None:
    report = inspect(Hammer("mates"))
    assert report.degrees_of_freedom == 1
    assert any("head on handle by mates" in line and "rigid, 0" in line for line in report.spanning_tree)
    assert (report.conditions, report.redundant_count) == (9, 3)
    assert any("3 of their 9 conditions are implied" in line for line in report.redundant)


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")  # assembly says what it moved
def test_a_start_away_from_the_mates_is_left_to_assembly() -> None:
    translation = translate(Hammer("mates", off=0.01))
    assert not translation.topology.mated
    assert len(translation.engine.closing) == 3
    first, second = run(Hammer("mates", off=0.01)), run(Hammer("weld"))
    assert np.abs(first["head.position.x"] - second["head.position.x"]).max() < 1e-9


def test_two_mates_are_a_slide() -> None:
    """Planes across x and y: 6 conditions, one of them twice."""
    translation = translate(Hammer("two"))
    (pair,) = translation.topology.mated
    assert isinstance(pair.joint, Prismatic)
    assert pair.rank == 5
    assert not translation.engine.closing


def _pair(*mates: Any, off: float = 0.0) -> Subsystem:
    """A body above a slanted ground with mates between them, made by functions of both frames."""

    class Pair(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground((0.1, 0.2, 0.3), orientation=rotation(("z", 0.4), ("x", 0.7))), Gravity()
            place = ca.DM(self.ground.motion.position).full().ravel()
            turn = ca.DM(self.ground.motion.rotation).full()
            self.body = Body(
                solids.box(mass=2.0, size=(0.1, 0.2, 0.3)), start_position=place + turn @ [0.5, 0.6, 0.7 + off],
                start_orientation=turn, start_velocity=(0.1, 0.2, 0.3), start_angular_velocity=(1.0, 0.5, 0.2),
            )  # fmt: skip
            self.mates = [make(self.ground.at(0.4, 0.6, 0.7), self.body.at(-0.1, 0, 0)) for make in mates]

    return Pair()


def _swapped(kind: Any, **keywords: Any) -> Any:
    return lambda first, second: kind(second, first, **keywords)


def _straight(kind: Any, **keywords: Any) -> Any:
    return lambda first, second: kind(first, second, **keywords)


SETS = {
    "hinge": ([_straight(LineOnLine, axis="y"), _swapped(PlaneToPlane, axis="y")], Revolute),
    "slide": ([_swapped(PlaneToPlane, axis="y"), _straight(PlaneToPlane, axis="z")], Prismatic),
    "cylinder": ([_straight(LineOnLine, axis="x")], Cylindrical),
    "plane": ([_straight(PlaneToPlane, axis="x"), _swapped(ParallelAxes, axis="x")], Planar),
    "ball": ([_straight(PointOnPoint), _swapped(PointOnLine, axis="y")], Spherical),
    "cylinder by parts": ([_straight(PointOnLine, axis="z"), _swapped(ParallelAxes, axis="z")], Cylindrical),
}


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")  # speeds that a joint does not allow
@pytest.mark.parametrize("name", SETS)
def test_mates_are_their_lower_pair_and_move_as_on_the_other_engine(name: str) -> None:
    mates, kind = SETS[name]
    (pair,) = translate(_pair(*mates)).topology.mated
    assert type(pair.joint) is kind
    first, second = run(_pair(*mates)), run(_pair(*mates), engine="absolute")
    for channel in ("position", "velocity", "acceleration", "angular_acceleration"):
        for axis in "xyz":
            apart = np.abs(first[f"body.{channel}.{axis}"] - second[f"body.{channel}.{axis}"]).max()
            assert apart < 1e-8, (channel, axis)


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
def test_the_load_of_the_joint_is_shared_among_its_mates() -> None:
    """What all mates exert on the body, and gravity, is its change of momentum."""
    result = run(_pair(*SETS["hinge"][0]))
    forces = [np.array([result[f"mates.{k}.force.{axis}"] for axis in "xyz"]) for k in range(2)]
    total = forces[0] - forces[1]  # the second mate holds the ground as its second body
    acceleration = np.array([result[f"body.acceleration.{axis}"] for axis in "xyz"])
    assert np.abs(total - 2.0 * (acceleration - np.array([[0], [0], [-9.81]]))).max() < 1e-10


def test_what_is_no_lower_pair_stays_as_declared() -> None:
    assert not translate(_pair(_straight(PointInPlane, axis="z"))).topology.mated
    assert not translate(_pair(_straight(PointOnLine, axis="z"), _straight(PointInPlane, axis="y"))).topology.mated


class Held(Subsystem):
    """A body that mates hold on the ground; what `follows` makes one of them move or tunable."""

    def __init__(self, follows: Any = 0.0, points: bool = False) -> None:
        self.ground = Ground()
        self.body = Body(mass=1.0, inertia=(1, 1, 1), start_position=(1, 2, 3))
        where = self.ground.at(1, 2, 3)
        self.mates = [PlaneToPlane(where, self.body, axis=axis) for axis in "xy"]
        if isinstance(follows, Parameter):
            self.shift = follows
            self.last = PlaneToPlane(self.ground.at(1, 2, 3 + follows), self.body, axis="z")
        elif points:
            self.last = PointOnLine(where, self.body, axis="x")
        else:
            self.last = _Lifted(where, self.body, follows)
        self.gravity = Gravity()


class _Lifted(PlaneToPlane):
    """A mate that follows an expression."""

    def __init__(self, first: Any, second: Any, height: Any) -> None:
        super().__init__(first, second, axis="z")
        self.height = height

    def conditions(self, pose: Any) -> list[Any]:
        distance, *rest = super().conditions(pose)
        return [distance - self.height, *rest]


def test_a_body_held_on_the_ground_has_no_coordinates() -> None:
    translation = translate(Held())
    assert translation.program.coordinates == ()
    result = run(Held())
    assert np.abs(result["body.position.z"] - 3).max() == 0
    assert np.abs(result["body.acceleration.z"]).max() < 1e-14


def test_other_constraints_count_as_well() -> None:
    assert len(translate(Held(points=True)).topology.mated) == 1


@pytest.mark.parametrize("follows", [0.1 * time**2, Parameter(0.0)], ids=["time", "parameter"])
def test_mates_that_move_are_no_weld(follows: Any) -> None:
    assert not translate(Held(follows)).topology.mated
