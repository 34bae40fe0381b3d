"""Laws of a joint that contradict one another are refused with the class, what disagrees and by how much."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from library.test_joints import JOINTS, make

from kompono import Body, Ground, Joint, ModelError, Parameter, Pose, Subsystem, simulate, time
from kompono.library import Gravity, solids
from kompono.model.free import Placed, Turned
from kompono.spatial.rotation import about, quaternion_matrix, skew
from kompono.translate.declared.joint_laws import contradiction

Y = np.array([0.0, 1.0, 0.0])


class Hinge(Joint):
    """Turns about y; every law is written out, and right."""

    coordinates = ("swing",)
    units = ("rad",)

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=about(Y, q[0]))

    def subspace(self, q: Any) -> Any:
        return ca.vertcat(0, 0, 0, 0, 1, 0)

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, ca.vertcat(pose.rotation[0, 1], pose.rotation[2, 1])]

    def measure(self, pose: Pose) -> Any:
        return ca.atan2(pose.rotation[0, 2], pose.rotation[0, 0])


class SmallAngles(Hinge):
    def pose(self, q: Any) -> Pose:
        return Pose(rotation=ca.DM.eye(3) + skew(ca.vertcat(0, q[0], 0)))


class Mirror(Hinge):
    def pose(self, q: Any) -> Pose:
        return Pose(rotation=ca.DM(np.diag([1.0, -1.0, 1.0])) @ about(Y, q[0]))


class OtherSubspace(Hinge):
    def subspace(self, q: Any) -> Any:
        return ca.vertcat(0, 0, 0, 0, -1, 0)


class OtherBias(Hinge):
    def subspace_rate(self, q: Any, v: Any) -> Any:
        return ca.vertcat(v[0] ** 2, 0, 0, 0, 0, 0)


class OtherRate(Hinge):
    """q_dot = 2 v, but the subspace is that of q_dot = v."""

    def rate(self, q: Any, v: Any) -> Any:
        return 2 * v


class OtherConditions(Hinge):
    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, ca.vertcat(pose.rotation[0, 2], pose.rotation[1, 2])]


class TooFewConditions(Hinge):
    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position]


class SquaredConditions(Hinge):
    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position**2, ca.vertcat(pose.rotation[0, 1], pose.rotation[2, 1])]


class OtherMeasure(Hinge):
    def measure(self, pose: Pose) -> Any:
        return -ca.atan2(pose.rotation[0, 2], pose.rotation[0, 0])


class Ball(Joint):
    """A ball joint whose quaternion is meant to stay a unit one, but grows."""

    coordinates = ("a", "b", "c", "d")
    speeds = ("wx", "wy", "wz")

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=quaternion_matrix(q))

    def rate(self, q: Any, v: Any) -> Any:
        return ca.vertcat(v[0] * q[0], v)

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def normalize(self, q: Any) -> Any:
        return q / ca.norm_2(q)


class Wheel(Joint):
    """Rolls on the plane z = 0 without slip: four coordinates, two speeds, so nonholonomic. It is right."""

    coordinates = ("x", "y", "heading", "roll")
    units = ("m", "m", "rad", "rad")
    speeds = ("turning", "rolling")

    def __init__(self, first: Any, second: Any, *, radius: Any) -> None:
        super().__init__(first, second)
        self.radius = radius

    def pose(self, q: Any) -> Pose:
        return Pose(ca.vertcat(q[0], q[1], self.radius), about(np.array([0.0, 0.0, 1.0]), q[2]) @ about(Y, q[3]))

    def rate(self, q: Any, v: Any) -> Any:
        return ca.vertcat(self.radius * v[1] * ca.cos(q[2]), self.radius * v[1] * ca.sin(q[2]), v)

    def conditions(self, pose: Pose) -> list[Any]:
        return [ca.vertcat(pose.position[2] - self.radius, pose.rotation[2, 1])]

    def measure(self, pose: Pose) -> Any:
        r = pose.rotation
        return ca.vertcat(pose.position[:2], ca.atan2(-r[0, 1], r[1, 1]), ca.atan2(-r[2, 0], r[2, 2]))


class Machine(Subsystem):
    def __init__(self, kind: type[Joint], **keywords: Any) -> None:
        self.gravity = Gravity()
        self.ground = Ground()
        self.bob = Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = kind(self.ground, self.bob, **keywords)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (SmallAngles, r"the rotation of pose\(q\) is none: R\^T R differs from 1 by 0\."),
        (Mirror, "rotation of pose"),
        (OtherSubspace, r"subspace\(q\) contradicts pose\(q\) and rate\(q, v\) by 2"),
        (OtherBias, r"subspace_rate\(q, v\) contradicts .* by 0\."),
        (OtherRate, r"subspace\(q\) contradicts pose\(q\) and rate\(q, v\) by 1"),
        (OtherConditions, r"conditions\(pose\) do not vanish at a pose of the joint: 0\."),
        (TooFewConditions, r"conditions\(pose\) take away 3 freedoms, pose\(q\) leaves 1 of 6"),
        (SquaredConditions, r"conditions\(pose\) take away 2 freedoms"),
        (OtherMeasure, r"measure\(pose\) is not the inverse of pose\(q\)"),
        (Ball, r"rate\(q, v\) leaves what normalize\(q\) keeps"),
    ],
)
def test_laws_that_contradict_are_refused(kind: type[Joint], cause: str) -> None:
    with pytest.raises(ModelError, match=rf"^pin: {kind.__name__}: .*{cause}") as caught:
        simulate(Machine(kind), until=0.0)
    assert caught.value.fix


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_laws_that_agree_pass(engine: str) -> None:
    assert simulate(Machine(Hinge), until=0.0, engine=engine).status.ok


def test_a_rolling_joint_passes_also_with_a_tunable_radius() -> None:
    class Rolling(Machine):
        def __init__(self) -> None:
            self.radius = Parameter(0.3)
            super().__init__(Wheel, radius=self.radius)

    result = simulate(Rolling(), until=0.1, initial={"pin.rolling": 2.0, "pin.turning": 0.5})
    assert result.status.ok
    assert result["pin.x"][-1] == pytest.approx(0.3 * 2.0 * np.sin(0.05) / 0.5, abs=1e-6)


def test_a_rolling_joint_that_slips_in_its_subspace_is_refused() -> None:
    class Slipping(Wheel):
        def subspace(self, q: Any) -> Any:
            down = -ca.sin(q[3])
            return ca.horzcat(ca.vertcat(0, 0, 0, down, 0, ca.cos(q[3])), ca.vertcat(0, 0, 0, 0, 1, 0))

    with pytest.raises(ModelError, match=r"Slipping: subspace\(q\) contradicts"):
        simulate(Machine(Slipping, radius=0.3), until=0.0)


@pytest.mark.parametrize("name", JOINTS)
def test_the_joints_of_the_library_agree_with_themselves(name: str) -> None:
    assert contradiction(make(name)) is None


@pytest.mark.parametrize("kind", [Placed, Turned])
def test_the_joints_of_the_engines_agree_with_themselves(kind: type[Joint]) -> None:
    assert contradiction(kind(Ground(), Body(solids.sphere(mass=1, radius=1)))) is None


class Carousel(Subsystem):
    def __init__(self, orientation: Any) -> None:
        self.ground = Ground((0, 0, 0), orientation=orientation)
        self.bob = Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = Hinge(self.ground, self.bob)


def test_a_ground_whose_quaternion_leaves_unit_length_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^ground: its orientation is no rotation: .* at t = 0\.137 s.*norm_2"):
        simulate(Carousel(ca.vertcat(1, time / 2, 0, 0)), until=0.0)
    with pytest.raises(ModelError, match="no rotation"):
        simulate(Carousel((0.7071 * ca.cos(time), 0.7071, 0.7071 * ca.sin(time), 0)), until=0.0)
    with pytest.raises(ModelError, match=r"^Ground: .*length 2"):
        Carousel((2, 0, 0, 0))


def test_a_ground_may_turn_by_a_quaternion_or_a_matrix_of_time() -> None:
    by_quaternion = simulate(Carousel((ca.cos(time), ca.sin(time), 0, 0)), until=0.1)
    by_matrix = simulate(Carousel(about(np.array([1.0, 0.0, 0.0]), 2 * time)), until=0.1)
    assert np.abs(by_quaternion.table - by_matrix.table).max() < 1e-12
