"""Patterns are traced once and give the expressions one would write at each place."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Joint, Parameter, Pose, Subsystem, simulate
from kompono.library import Cylindrical, Gravity, Revolute, Screw, Spherical, Universal
from kompono.model.free import Free
from kompono.spatial.rotation import about
from kompono.translate.motion.joint_steps import JointSteps, joint_motion, joint_subspace, rate_along
from kompono.translate.patterns import Pattern


def test_a_pattern_is_its_function_node_by_node() -> None:
    traced = []

    def turned(p: Any, r: Any, w: Any) -> tuple[Any, ...]:
        traced.append(1)
        return r @ p + ca.cross(w, p), r.T @ w

    pattern, x = Pattern(turned), ca.SX.sym("x", 3)
    flat = ca.SX(3, 3)
    flat[0, 0], flat[1, 1], flat[2, 2] = ca.cos(x[0]), 1, ca.sin(x[1])
    cases = [(x, ca.SX.eye(3), 2 * x), (x, flat, ca.DM([0, 0, 1])), (ca.DM([1, 0, 2]), flat, x), (x, flat, 3 * x)]
    for case in cases:
        found, meant = pattern(*case), turned(*map(ca.SX, case))
        for one, other in zip(found, meant, strict=True):
            assert ca.is_equal(ca.densify(ca.sparsify(one)), ca.densify(ca.sparsify(ca.SX(other))), 20)
    assert len(traced) == len(cases) + 1  # all have one sparsity


@pytest.mark.parametrize("reverse", [False, True])
def test_steps_of_joints_are_what_joints_say(reverse: bool) -> None:
    ground, body = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
    joints: list[Joint] = [kind(ground, body) for kind in (Revolute, Cylindrical, Universal, Spherical, Free)]
    steps, random = JointSteps(), np.random.default_rng(3)
    for joint in [*joints, Screw(ground, body, pitch=0.1), Revolute(ground, body, axis=(0.6, 0.8, 0.0))]:
        q, v = random.normal(size=len(joint.coordinates)), random.normal(size=joint.freedoms)
        pose, subspace = joint_motion(joint, ca.DM(q), reverse), joint_subspace(joint, ca.DM(q), reverse)
        meant = (
            pose.position,
            pose.rotation,
            subspace,
            subspace @ v,
            rate_along(joint, reverse, q, v),
            joint.rate(q, v),
        )
        for found, one in zip(steps.of(joint, reverse)(ca.SX(q), ca.SX(v)), meant, strict=True):
            assert ca.DM(found).full() == pytest.approx(ca.DM(ca.SX(one)).full(), abs=1e-14)


def test_joints_of_a_kind_are_asked_once() -> None:
    ground, body = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
    steps = JointSteps()
    first = steps.of(Revolute(ground, body.at(1, 0, 0), angle=0.3), False)
    assert steps.of(Revolute(body, ground), False) is first
    assert steps.of(Revolute(ground, body, axis="x"), False) is not first
    assert steps.of(Revolute(ground, body), True) is not first
    assert steps.of(Screw(ground, body, pitch=0.1), False) is not steps.of(Screw(ground, body, pitch=0.2), False)
    mine = [Crank(ground, body, ca.SX(1.0)) for _ in range(2)]
    assert steps.of(mine[0], False) is not steps.of(mine[1], False)


class Crank(Joint):
    """A joint of a user, with a length that is tuned."""

    coordinates, units = ("angle",), ("rad",)

    def __init__(self, first: Any, second: Any, length: Any) -> None:
        super().__init__(first, second)
        self.length = length

    def pose(self, q: Any) -> Pose:
        turn = about((0.0, 1.0, 0.0), q[0])
        return Pose(turn @ ca.vertcat(0, 0, -self.length), turn)


class Swing(Subsystem):
    """A point mass on such a crank."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.length = Ground(), Gravity(), Parameter(1.0)
        self.bob = Body(mass=1.0, inertia=(1e-9, 1e-9, 1e-9))
        self.crank = Crank(self.ground, self.bob, self.length)


def test_a_parameter_in_a_joint_stays_one() -> None:
    for length in (1.0, 0.5):
        run = simulate(Swing(), until=0.5, initial={"crank.angle": 0.1}, parameters={"length": length})
        rate = np.sqrt(9.81 / length)
        assert run["crank.angle"][-1] == pytest.approx(0.1 * np.cos(rate * (1 - 0.1**2 / 16) * 0.5), abs=3e-5)
