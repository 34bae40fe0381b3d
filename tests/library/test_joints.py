"""Every joint: its pose, its freedoms, and that it is the same joint in the tree and where it closes a loop."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Joint, Pose, Subsystem, simulate
from kompono.library import (
    AppliedLoad,
    Cylindrical,
    Free,
    Gravity,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    Weld,
    solids,
)
from kompono.model.joint import derived_subspace

SLANT = (0.48, 0.6, 0.64)
JOINTS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "weld": (Weld, {}, 0),
    "revolute": (Revolute, {"axis": SLANT}, 1),
    "prismatic": (Prismatic, {"axis": SLANT}, 1),
    "screw": (Screw, {"axis": SLANT, "pitch": 0.05}, 1),
    "cylindrical": (Cylindrical, {"axis": SLANT}, 2),
    "universal": (Universal, {"first_axis": "z", "second_axis": "x"}, 2),
    "spherical": (Spherical, {}, 3),
    "planar": (Planar, {"normal": SLANT}, 3),
    "free": (Free, {}, 6),
}


def make(name: str) -> Joint:
    cls, keywords, _ = JOINTS[name]
    return cls(Ground(), Body(solids.sphere(mass=1, radius=0.1)), **keywords)


def some_coordinates(joint: Joint) -> np.ndarray:
    q = np.array(joint.neutral(), dtype=float) + np.random.default_rng(3).uniform(-0.4, 0.4, len(joint.coordinates))
    return np.asarray(ca.DM(joint.normalize(ca.DM(q)))).ravel() if len(q) else q


def numbers(expression: Any) -> np.ndarray:
    return np.asarray(ca.DM(ca.evalf(ca.densify(ca.SX(expression)))))


def pose_at(joint: Joint, q: np.ndarray) -> Pose:
    pose = joint.pose(ca.SX(ca.DM(q)))
    return Pose(ca.SX(ca.DM(numbers(pose.position))), ca.SX(ca.DM(numbers(pose.rotation))))


@pytest.mark.parametrize("name", JOINTS)
def test_a_joint_has_its_freedoms_and_locks_the_rest(name: str) -> None:
    joint, freedoms = make(name), JOINTS[name][2]
    assert joint.freedoms == freedoms
    groups = joint.conditions(Pose(ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3)))
    assert groups is not None
    assert sum(ca.SX(group).numel() for group in groups) == 6 - freedoms


@pytest.mark.parametrize("name", JOINTS)
def test_frames_coincide_at_the_neutral_coordinates(name: str) -> None:
    joint = make(name)
    pose = pose_at(joint, joint.neutral())
    assert np.allclose(numbers(pose.position), 0)
    assert np.allclose(numbers(pose.rotation), np.eye(3))


@pytest.mark.parametrize("name", JOINTS)
def test_the_declared_subspace_is_the_derivative_of_the_pose(name: str) -> None:
    joint = make(name)
    q = ca.SX(ca.DM(some_coordinates(joint)))
    if joint.freedoms:
        assert np.allclose(numbers(joint.subspace(q)), numbers(derived_subspace(joint, q)), atol=1e-14)


@pytest.mark.parametrize("name", JOINTS)
def test_conditions_hold_at_every_pose_of_the_joint_and_measure_inverts_it(name: str) -> None:
    joint = make(name)
    q = some_coordinates(joint)
    pose = pose_at(joint, q)
    for group in joint.conditions(pose) or []:
        assert np.abs(numbers(group)).max(initial=0.0) < 1e-14
    assert np.allclose(numbers(joint.measure(pose)).ravel(), q, atol=1e-13)


class Pair(Subsystem):
    """Two free bodies with the joint between them and a push on the second.

    With both made independent, the joint closes the loop between them through its conditions.
    """

    def __init__(self, name: str) -> None:
        self.gravity = Gravity()
        self.base = Body(solids.box(mass=2, size=(0.3, 0.4, 0.5)))
        self.tip = Body(solids.box(mass=1, size=(0.2, 0.3, 0.1)), start_position=(0.1, 0.7, 0.3))
        cls, keywords, _ = JOINTS[name]
        self.joint = cls(self.base.at(0.1, 0.5, 0), self.tip.at(0, -0.2, -0.3), **keywords)
        self.push = AppliedLoad(self.tip.at(0.1, 0, 0.1), force=(3, -2, 1), torque=(0.1, 0.05, 0.2), axes="body")


@pytest.mark.parametrize("name", [name for name in JOINTS if name != "free"])
def test_a_joint_is_the_same_in_the_tree_and_where_it_closes_a_loop(name: str) -> None:
    """Motion, accelerations, reactions and coordinates of one joint from rest, tree against loop."""
    tree = simulate(Pair(name), until=0.1, step=1e-3)
    loop = simulate(Pair(name), until=0.1, step=1e-3, independent=["base", "tip"])
    assert loop["drift.position"].max() < 1e-12
    for channel in ("tip.position.x", "tip.position.z", "base.angular_velocity.y", "tip.acceleration.y"):
        assert np.abs(tree[channel] - loop[channel]).max() < 1e-6 * (1 + np.abs(tree[channel]).max()), channel
    for channel in ("joint.force.x", "joint.force.z", "joint.torque.y"):
        assert np.abs(tree[channel] - loop[channel]).max() < 1e-5 * (1 + np.abs(tree[channel]).max()), channel
    for coordinate in tree.names:
        if coordinate.startswith("joint.") and coordinate.count(".") == 1:
            assert np.abs(tree[coordinate] - loop[coordinate]).max() < 1e-6, coordinate


def test_a_screw_advances_by_its_pitch() -> None:
    class Spindle(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.gravity = Gravity()
            self.nut = Body(mass=1.0, inertia=(1, 1, 0.02))
            self.thread = Screw(self.ground, self.nut, axis="z", pitch=0.1)

    result = simulate(Spindle(), until=1.0, step=0.01)
    assert np.abs(result["nut.position.z"] - 0.1 * result["thread.angle"]).max() < 1e-12
    second = -9.81 * 0.1 / (0.02 + 0.1**2)  # (J + m p^2) angle'' = -m g p
    assert result["thread.angle.acceleration"][0] == pytest.approx(second)
    assert result["thread.angle"][-1] == pytest.approx(second / 2, rel=1e-9)


def test_a_weld_makes_one_body_of_two() -> None:
    class Glued(Subsystem):
        def __init__(self, glued: bool) -> None:
            self.ground = Ground()
            self.gravity = Gravity()
            if glued:
                self.upper = Body(solids.rod(mass=1, length=0.5, axis="z"))
                self.lower = Body(solids.rod(mass=1, length=0.5, axis="z"))
                self.glue = Weld(self.upper.at(0, 0, -0.25), self.lower.at(0, 0, 0.25))
                top = self.upper.at(0, 0, 0.25)
            else:
                self.whole = Body(solids.rod(mass=2, length=1, axis="z"))
                top = self.whole.at(0, 0, 0.5)
            self.pin = Revolute(self.ground, top, axis="y", angle=1.0)

    two, one = (simulate(Glued(flag), until=1.0)["pin.angle"] for flag in (True, False))
    assert np.abs(two - one).max() < 1e-11


def test_reactions_are_on_the_second_body_at_the_joint() -> None:
    class Shelf(Subsystem):
        def __init__(self) -> None:
            self.wall = Ground()
            self.gravity = Gravity()
            self.board = Body(solids.box(mass=2, size=(1, 0.2, 0.1)))
            self.bolt = Weld(self.wall, self.board.at(-0.5, 0, 0))

    row = simulate(Shelf(), until=0.0).at(0.0)
    assert row["bolt.force.z"] == pytest.approx(2 * 9.81)
    assert row["bolt.torque.y"] == pytest.approx(-2 * 9.81 * 0.5)  # holds against the board's weight
