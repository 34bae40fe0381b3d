"""Chains of turns and slides, sums and polynomials of coordinates, actuators: the same as longer ways to say it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Input, ModelError, Subsystem, evaluate
from kompono.library import (
    Actuator,
    Chain,
    Damping,
    Gear,
    Gravity,
    Polynomial,
    Prismatic,
    Revolute,
    Spherical,
    Sum,
    Universal,
    slide,
    solids,
    tendon,
    turn,
)
from kompono.model.joint import derived_subspace
from kompono.spatial.turns import rotation

SOLID = solids.box(mass=2.0, size=(0.2, 0.3, 0.4))


def test_the_declared_subspace_is_the_derivative_of_the_pose() -> None:
    steps = (
        turn("a", (0.48, 0.6, 0.64), at=(0.1, 0.2, 0.3)), slide("b", "y", orientation=rotation("x", 0.4)),
        turn("c", "-z", at=(0, 0.2, 0), orientation=rotation("y", 1.0)),
    )  # fmt: skip
    joint = Chain(Ground(), Body(SOLID), *steps)
    q = ca.SX(ca.DM([0.3, -0.2, 0.7]))
    given, derived = (
        np.asarray(ca.DM(ca.evalf(ca.densify(ca.SX(x))))) for x in (joint.subspace(q), derived_subspace(joint, q))
    )
    assert np.allclose(given, derived, atol=1e-14)
    assert joint.units == ("rad", "m", "rad")


class Hung(Subsystem):
    def __init__(self, *, chain: bool) -> None:
        self.ground, self.gravity, self.body = Ground(), Gravity(), Body(SOLID)
        ends = self.ground, self.body.at(0.1, 0.2, 0.5)
        if chain:
            self.joint = Chain(*ends, turn("angle1", "x"), turn("angle2", "y"))
        else:
            self.joint = Universal(*ends)


def test_two_turns_are_a_universal_joint() -> None:
    at = {"joint.angle1": 0.3, "joint.angle2": -0.5, "joint.angle1.rate": 1.0, "joint.angle2.rate": 2.0}
    one, other = evaluate(Hung(chain=True), at), evaluate(Hung(chain=False), at)
    assert max(abs(one[name] - other[name]) for name in other) < 1e-12


def test_a_chain_needs_steps_and_has_its_coordinates() -> None:
    ground, body = Ground(), Body(SOLID)
    with pytest.raises(ModelError, match="a chain of"):
        Chain(ground, body)
    with pytest.raises(ModelError, match="no start value"):
        Chain(ground, body, turn("yaw"), pitch=1.0)
    assert Chain(ground, body, turn("yaw"), yaw=0.4, yaw_rate=1.0).start == {"yaw": 0.4, "yaw.rate": 1.0}


class Geared(Subsystem):
    def __init__(self, *, how: str) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.one, self.two = Body(SOLID), Body(SOLID)
        self.pin = Revolute(self.ground, self.one.at(0.3, 0, 0), axis="y")
        self.rail = Prismatic(self.ground.at(1, 0, 0), self.two, axis="z")
        if how == "gear":
            self.law = Gear(self.pin, self.rail, ratio=2.0, offset=0.1)
        elif how == "sum":
            self.law = Sum((self.rail, 1.0), (self.pin, -2.0, "angle"), value=0.1)
        else:
            self.law = Polynomial(self.rail, self.pin, (0.1, 2.0))


def test_linear_couplings_are_one() -> None:
    at = {"pin.angle": 0.3, "pin.angle.rate": 0.7, "rail.displacement": 0.7, "rail.displacement.rate": 1.4}
    names = ["pin.angle.acceleration", "rail.displacement.acceleration"]
    found = [evaluate(Geared(how=how), at, channels=names) for how in ("gear", "sum", "polynomial")]
    for other in found[1:]:
        assert all(abs(other[name] - found[0][name]) < 1e-12 for name in names)


class Driven(Subsystem):
    def __init__(self) -> None:
        self.ground, self.u = Ground(), Input(3.0)
        self.one, self.two, self.three = Body(SOLID), Body(SOLID), Body(SOLID)
        self.pin, self.second = Revolute(self.ground, self.one), Revolute(self.ground, self.two)
        self.ball = Spherical(self.ground, self.three, wx=1.0)
        self.servo = Actuator(
            self.pin, self.u, gear=2.0, gain=5.0, bias=(1.0, -4.0, -0.5), control_limits=(-1, 1), force_limits=(-9, 5)
        )
        rope = tendon((self.pin, 1.0), (self.second, -2.0))
        self.pull = Actuator(self.second, self.u, gear=-2.0, bias=(0.0, -3.0, 0.0), tendon=rope)
        self.rub = Damping(self.ball, 0.25)


def test_actuators_give_what_they_say() -> None:
    here = evaluate(Driven(), {"pin.angle": 0.3, "pin.angle.rate": 0.4, "second.angle": 0.2})
    assert here["servo.torque.z"] == pytest.approx(2.0 * (5.0 * 1.0 + 1.0 - 4.0 * 0.6 - 0.5 * 0.8))
    assert here["pull.torque.z"] == pytest.approx(-2.0 * (3.0 - 3.0 * (0.3 - 0.4)))
    assert here["rub.torque.x"] == pytest.approx(-0.25)
    held = evaluate(Driven(), {"pin.angle": -1.0}, inputs={"u": 5.0})
    assert held["servo.torque.z"] == pytest.approx(2.0 * 5.0)
