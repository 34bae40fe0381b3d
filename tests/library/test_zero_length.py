"""Where two points meet: springs, dampers and mounts stay finite there, and so do their derivatives."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Motion, Parameter, Subsystem, evaluate, simulate
from kompono.library import (
    Bushing,
    Cylindrical,
    Distance,
    Free,
    Gravity,
    Link,
    Planar,
    Prismatic,
    Revolute,
    Rolling,
    Screw,
    Spherical,
    SpringDamper,
    Universal,
    Weld,
    solids,
)
from kompono.spatial.pose import Pose

FRAMES = Ground(), Body(mass=1, inertia=(1, 1, 1))


def numbers(expression: Any, symbols: Any, values: Any) -> np.ndarray:
    column = ca.densify(ca.vec(ca.SX(expression)))
    everything = ca.vertcat(column, ca.vec(ca.jacobian(column, symbols)))
    return ca.Function("f", [symbols], [everything])(values).full()


@pytest.mark.parametrize("velocity", [(0, 0, 0), (1, 2, 3)])
@pytest.mark.parametrize(
    "law",
    [
        SpringDamper(*FRAMES, k=5.0),
        SpringDamper(*FRAMES, k=5.0, c=2.0),
        SpringDamper(*FRAMES, k=5.0, c=2.0, rest=0.3),
        SpringDamper(*FRAMES, c=2.0),
        Bushing(*FRAMES, k=[1] * 6, c=[1] * 6),
    ],
    ids=["spring", "with damper", "with rest", "damper", "bushing"],
)
def test_laws_and_their_derivatives_are_finite_where_points_meet(law: Any, velocity: tuple[float, ...]) -> None:
    p, v, w = ca.SX.sym("p", 3), ca.SX.sym("v", 3), ca.SX.sym("w", 3)
    motion = Motion(p, ca.SX.eye(3), v, w)
    readings = [value for value, _ in law.readings(motion).values()]
    load = law.wrench(motion)
    everything = [load.force, load.torque, law.potential(motion), motion.length, motion.length_rate, *readings]
    values = numbers(
        ca.vertcat(*[ca.vec(ca.SX(x)) for x in everything]), ca.vertcat(p, v, w), [0, 0, 0, *velocity, 0, 0, 0]
    )
    assert np.isfinite(values).all()


JOINTS = [
    Weld, Revolute, Prismatic, Cylindrical, Universal, Spherical, Planar, Free,
    lambda a, b: Screw(a, b, pitch=0.1), lambda a, b: Link(a, b, length=1.0),
    lambda a, b: Rolling(a, b, radius=1.0), lambda a, b: Rolling(a, b, radius=1.0, axis="x"),
]  # fmt: skip


@pytest.mark.parametrize("make", JOINTS)
def test_joints_are_finite_at_their_neutral_pose(make: Any) -> None:
    joint = make(*FRAMES)
    if not joint.coordinates:
        return
    place = joint.pose(joint.q)
    measured = joint.measure(Pose(ca.SX(place.position), ca.SX(place.rotation)))
    everything = [place.position, place.rotation, joint.rate(joint.q, joint.v), measured, joint.subspace(joint.q)]
    column = ca.vertcat(*[ca.vec(ca.SX(x)) for x in everything])
    values = numbers(column, ca.vertcat(joint.q, joint.v), [*joint.neutral(), *np.zeros(joint.freedoms)])
    assert np.isfinite(values).all()


def test_a_rod_of_a_distance_is_finite_where_its_ends_meet() -> None:
    p = ca.SX.sym("p", 3)
    values = numbers(Distance(*FRAMES, length=1.0).conditions(Pose(p, ca.SX.eye(3)))[0], p, [0, 0, 0])
    assert np.isfinite(values).all()


class Bob(Subsystem):
    """A weight that starts at the other end of its spring (ADAMS TranSpring)."""

    def __init__(self, *, rest: Any = 0.0, c: float = 0.0, v: tuple[float, float, float] = (0, 0, 0)) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=2, radius=0.1), start_velocity=v)
        self.spring = SpringDamper(self.ground, self.ball, k=50.0, c=c, rest=rest)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_a_weight_that_starts_at_zero_length(method: str) -> None:
    """z = -(m g / k) (1 - cos(omega t))."""
    result = simulate(Bob(), until=1.0, method=method, step=1e-3, rtol=1e-9)
    assert result.status.ok
    expected = -2 * 9.81 / 50 * (1 - np.cos(5 * result.time))
    assert np.abs(result["ball.position.z"] - expected).max() < 1e-6


def test_a_spring_with_rest_pushes_the_way_the_points_part() -> None:
    here = evaluate(Bob(rest=0.2, v=(3, 0, 4)))
    assert here.vector("spring.force") == pytest.approx([50 * 0.2 * 0.6, 0, 50 * 0.2 * 0.8])
    assert here["spring.length.rate"] == pytest.approx(5.0)
    still = evaluate(Bob(rest=0.2))
    assert still.vector("spring.force") == pytest.approx([0, 0, 0])
    moving = simulate(Bob(rest=0.2, v=(0, 0, 1.0)), until=0.5, step=1e-3)
    assert moving.status.ok
    assert np.isfinite(moving.table).all()


def test_a_damper_through_its_zero_length_is_the_same_on_both_sides() -> None:
    """On a line the damper is -c v, also where its length passes through zero."""
    result = simulate(Bob(c=3.0, v=(0, 0, 1)), until=1.0, step=1e-3)
    delta, omega = 3 / 4, np.sqrt(25 - (3 / 4) ** 2)
    a, low, t = 2 * 9.81 / 50, -2 * 9.81 / 50, result.time
    expected = low + np.exp(-delta * t) * (a * np.cos(omega * t) + (1 + delta * a) / omega * np.sin(omega * t))
    assert np.abs(result["ball.position.z"] - expected).max() < 1e-8


def test_a_rest_that_can_be_tuned_may_be_zero() -> None:
    class Tuned(Bob):
        def __init__(self) -> None:
            self.rest = Parameter(0.0)
            super().__init__(rest=self.rest, c=1.0)

    result = simulate(Tuned(), until=0.3)
    assert result.status.ok
    assert np.isfinite(result.table).all()
    assert result["ball.position.z"][-1] < -0.2
