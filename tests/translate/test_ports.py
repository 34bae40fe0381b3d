"""Ports: joints and forces outside touch only what every subsystem in between exposes; errors name joint, body, fix."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import Any

import casadi as ca
import pytest
from solve.machines import Pendulum

from kompono import (
    Body,
    Event,
    Force,
    Ground,
    Input,
    Mode,
    ModelError,
    ModelWarning,
    Motion,
    Output,
    Parameter,
    Sensor,
    Subsystem,
    Wrench,
    simulate,
    time,
)
from kompono.library import (
    AppliedLoad,
    Distance,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    Revolute,
    RotationalSpringDamper,
    SpringDamper,
    solids,
)
from kompono.translate.declared.elaborate import elaborate


class Wrist(Subsystem):
    """A hand on a pin; what is exposed is up to the caller."""

    def __init__(self, *, expose: bool = True) -> None:
        self.fore = Body(solids.sphere(mass=1, radius=0.1))
        self.hand = Body(solids.sphere(mass=1, radius=0.1))
        self.pin = Revolute(self.fore, self.hand.at(0, 0, 0.3), axis="y")
        if expose:
            self.expose(self.fore, self.hand)


class Arm(Subsystem):
    def __init__(self, *, expose: bool = True, inner: bool = True) -> None:
        self.wrist = Wrist(expose=inner)
        if expose:
            self.expose(self.wrist.fore)


class Robot(Subsystem):
    def __init__(self, arm: Arm, connect: str = "joint") -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.arm = arm
        if connect == "joint":
            self.shoulder = Revolute(self.ground, self.arm.wrist.fore, axis="y")
        elif connect == "force":
            self.cable = SpringDamper(self.ground.at(0, 0, 1), self.arm.wrist.fore, k=10, rest=0.5)
        else:
            self.rod = Distance(self.ground.at(0, 0, 1), self.arm.wrist.fore, length=1.0)


def test_a_body_exposed_through_every_level_can_be_used() -> None:
    result = simulate(Robot(Arm()), until=0.01)
    assert result.status.ok
    assert "arm.wrist.pin.angle" in result


@pytest.mark.parametrize(("connect", "user"), [("joint", "shoulder"), ("force", "cable"), ("constraint", "rod")])
def test_a_hidden_body_is_named_with_the_user_and_the_line_to_add(connect: str, user: str) -> None:
    with pytest.raises(ModelError) as caught:
        simulate(Robot(Arm(inner=False, expose=True), connect), until=0.1)
    assert caught.value.path == user
    message = str(caught.value)
    assert "arm.wrist.fore is not exposed by arm.wrist" in message
    assert "self.expose(self.fore) in Wrist.__init__" in message


def test_each_level_must_expose_again_what_its_part_exposes() -> None:
    with pytest.raises(ModelError, match=r"^shoulder: arm\.wrist\.fore is not exposed by arm\.") as caught:
        simulate(Robot(Arm(expose=False)), until=0.1)
    assert "self.expose(self.wrist.fore) in Arm.__init__" in str(caught.value)


def test_members_of_the_own_level_need_no_exposing() -> None:
    assert simulate(Pendulum(), until=0.01).status.ok


def test_a_joint_inside_a_part_cannot_reach_out_of_it() -> None:
    class Reaching(Subsystem):
        def __init__(self, foreign: Body) -> None:
            self.finger = Body(solids.sphere(mass=1, radius=0.1))
            self.grip = Revolute(foreign, self.finger)

    class Whole(Subsystem):
        def __init__(self) -> None:
            self.palm = Body(solids.sphere(mass=1, radius=0.1))
            self.reaching = Reaching(self.palm)

    with pytest.raises(ModelError, match=r"^reaching\.grip: palm lies outside.*common owner"):
        simulate(Whole(), until=0.1)


def test_a_body_of_another_model_is_refused() -> None:
    other = Pendulum()

    class Thief(Subsystem):
        def __init__(self) -> None:
            self.own = Body(solids.sphere(mass=1, radius=0.1))
            self.link = Revolute(self.own, other.rod)

    with pytest.raises(ModelError, match=r"^link: it uses Body 'rod', which is not part of this model.*Assign it"):
        simulate(Thief(), until=0.1)


def test_a_body_that_was_never_assigned_is_refused() -> None:
    class Forgetful(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            bob = Body(solids.sphere(mass=1, radius=0.1))
            self.bob = Body(solids.sphere(mass=1, radius=0.1))
            self.pin = Revolute(self.ground, bob)

    with pytest.raises(ModelError, match=r"^pin: it uses Body.*not part of this model.*Assign it to self"):
        simulate(Forgetful(), until=0.1)


def test_a_joint_on_one_body_only_is_refused() -> None:
    class Ring(Subsystem):
        def __init__(self) -> None:
            self.bob = Body(solids.sphere(mass=1, radius=0.1))
            self.loop = Revolute(self.bob, self.bob.at(1, 0, 0))

    with pytest.raises(ModelError, match=r"^loop: both frames are on the same body.*two bodies"):
        simulate(Ring(), until=0.1)


def test_a_drive_or_effort_on_a_joint_outside_the_model_is_refused() -> None:
    other = Pendulum()

    class Puller(Pendulum):
        def __init__(self, drive: bool) -> None:
            super().__init__()
            self.pull = Drive(other.pin, 0.0) if drive else JointEffort(other.pin, 1.0)

    for drive in (True, False):
        with pytest.raises(ModelError, match=r"^pull: it uses Revolute 'pin', which is not part of this model"):
            simulate(Puller(drive), until=0.1)


def test_a_body_nobody_connects_is_allowed_and_warned_about() -> None:
    class Loose(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.stone = Body(solids.sphere(mass=1, radius=0.1), start_velocity=(1, 0, 0))

    with pytest.warns(ModelWarning, match=r"^stone: no joint, constraint or force touches this body"):
        result = simulate(Loose(), until=1.0)
    assert isclose(result["stone.position.z"][-1], -9.81 / 2, rel_tol=1e-9)
    assert isclose(result["stone.position.x"][-1], 1.0, rel_tol=1e-12)


def test_a_single_free_body_is_a_model_and_no_cause_to_warn(recwarn: pytest.WarningsRecorder) -> None:
    class Stone(Subsystem):
        def __init__(self) -> None:
            self.stone = Body(solids.sphere(mass=1, radius=0.1))

    assert simulate(Stone(), until=0.1).status.ok
    assert not recwarn.list


def test_a_component_can_be_simulated_alone_with_free_ports() -> None:
    class Bench(Subsystem):
        def __init__(self) -> None:
            self.wrist = Wrist()

    result = simulate(Wrist(), until=0.5, initial={"pin.angle.rate": 2.0})
    assert result.status.ok
    assert "pin.angle" in result
    momentum = result["fore.velocity.x"] + result["hand.velocity.x"]
    assert abs(momentum - momentum[0]).max() < 1e-10
    inside = simulate(Bench(), until=0.5, initial={"wrist.pin.angle.rate": 2.0})
    assert abs(inside["wrist.pin.angle"] - result["pin.angle"]).max() == 0


def test_a_part_of_a_built_model_can_be_simulated_alone_by_its_own_paths() -> None:
    robot = Robot(Arm())
    alone = simulate(robot.arm.wrist, until=0.5, initial={"pin.angle.rate": 2.0})
    assert alone.status.ok
    assert (
        abs(alone["pin.angle"] - simulate(Wrist(), until=0.5, initial={"pin.angle.rate": 2.0})["pin.angle"]).max() == 0
    )
    assert simulate(robot, until=0.01).status.ok  # and the whole is as it was


def test_gravity_acts_on_its_owner_and_below_only() -> None:
    class Heavy(Subsystem):
        def __init__(self) -> None:
            self.gravity = Gravity((0, 0, -1))
            self.stone = Body(solids.sphere(mass=1, radius=0.1))

    class World(Subsystem):
        def __init__(self) -> None:
            self.heavy = Heavy()
            self.feather = Body(solids.sphere(mass=1, radius=0.1))

    with pytest.warns(ModelWarning):
        result = simulate(World(), until=1.0)
    assert isclose(result["heavy.stone.position.z"][-1], -0.5, rel_tol=1e-12)
    assert abs(result["feather.position.z"]).max() == 0


class Inner(Subsystem):
    """A swing with everything that can be read or acted on, none of it exposed but what the caller names."""

    def __init__(self, *exposed: str) -> None:
        self.ground, self.bob = Ground(), Body(solids.sphere(mass=1, radius=0.1))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y", angle=0.1)
        self.stage, self.probe = Mode(0), Sensor(self.bob)
        self.stiffness, self.torque = Parameter(1.0), Input(0.0)
        self.expose(*(getattr(self, name) for name in exposed))


class Middle(Subsystem):
    def __init__(self, *exposed: str, further: bool = True) -> None:
        self.inner = Inner(*exposed)
        if further:
            self.expose(*self.inner.exposed)


class Pulled(Force):
    """A force of a user that reads something in its law."""

    def __init__(self, frame: Any, read: Callable[[], Any]) -> None:
        super().__init__(frame)
        self.read = read

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(ca.vertcat(self.read(), 0, 0))


REACHING: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {  # what must be exposed; how an owner reaches it
    "an effort": ("pin", lambda own, inner: JointEffort(inner.pin, 1.0)),
    "a torsion spring": ("pin", lambda own, inner: RotationalSpringDamper(inner.pin, k=1.0)),
    "a drive": ("pin", lambda own, inner: Drive(inner.pin, 0.1 + 0 * time)),
    "a gear": ("pin", lambda own, inner: Gear(own.pin, inner.pin, ratio=1.0)),
    "an angle in an effort": ("pin", lambda own, inner: JointEffort(own.pin, inner.pin.angle)),
    "a rate in an output": ("pin", lambda own, inner: Output(inner.pin.angle_rate)),
    "an angle in a drive": ("pin", lambda own, inner: Drive(own.pin, inner.pin.angle)),
    "an angle in a guard": ("pin", lambda own, inner: Event(inner.pin.angle - 1, {own.stage: 1})),
    "an angle in a new value": ("pin", lambda own, inner: Event(time - 1, {own.stage: inner.pin.angle})),
    "an angle in a law of a user": ("pin", lambda own, inner: Pulled(own.bob, lambda: inner.pin.angle)),
    "a position in an output": ("bob", lambda own, inner: Output(inner.bob.position[0])),
    "a velocity in a load": ("bob", lambda own, inner: AppliedLoad(own.bob, force=inner.bob.at(0, 0, 1).velocity)),
    "an acceleration": ("bob", lambda own, inner: Output(inner.bob.acceleration[2])),
    "a sensor": ("bob", lambda own, inner: Sensor(inner.bob)),
    "values of a sensor": ("probe", lambda own, inner: Output(inner.probe.velocity[0])),
    "a mode": ("stage", lambda own, inner: JointEffort(own.pin, inner.stage)),
    "a mode that is changed": ("stage", lambda own, inner: Event(own.pin.angle - 1, {inner.stage: 1})),
}


class Reaching(Subsystem):
    def __init__(self, middle: Middle, reach: Callable[[Any, Any], Any]) -> None:
        self.ground, self.bob, self.stage = Ground(), Body(solids.sphere(mass=1, radius=0.1)), Mode(0)
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y")
        self.middle = middle
        self.user = reach(self, middle.inner)


@pytest.mark.parametrize("way", REACHING)
def test_every_way_into_a_component_needs_all_levels_to_expose(way: str) -> None:
    name, reach = REACHING[way]
    with pytest.raises(ModelError, match=rf"^user: middle\.inner\.{name} is not exposed by middle\.inner\.") as caught:
        elaborate(Reaching(Middle(), reach))
    assert f"self.expose(self.{name}) in Inner.__init__" in str(caught.value)
    with pytest.raises(ModelError, match=rf"^user: middle\.inner\.{name} is not exposed by middle\.") as caught:
        elaborate(Reaching(Middle(name, further=False), reach))
    assert f"self.expose(self.inner.{name}) in Middle.__init__" in str(caught.value)
    assert elaborate(Reaching(Middle(name), reach))


def test_parameters_and_inputs_of_a_part_are_public() -> None:
    def reach(own: Any, inner: Any) -> Any:
        return JointEffort(own.pin, inner.stiffness * inner.torque * time)

    assert simulate(Reaching(Middle(), reach), until=0.01).status.ok


def test_what_an_owner_hands_down_may_be_used_below() -> None:
    class Motor(Subsystem):
        def __init__(self, angle: Any) -> None:
            self.rotor = Body(solids.sphere(mass=1, radius=0.1))
            self.load = AppliedLoad(self.rotor, torque=(0, -angle, 0))

    def hand_down(own: Any, inner: Any) -> Any:
        return Motor(own.pin.angle)

    assert elaborate(Reaching(Middle(), hand_down))
    with pytest.raises(ModelError, match=r"^user\.load: middle\.inner\.pin is not exposed by middle\.inner"):
        elaborate(Reaching(Middle(), lambda own, inner: Motor(inner.pin.angle)))


@pytest.mark.parametrize(
    ("reach", "words"),
    [
        (lambda own, inner: JointEffort(own.pin, Parameter(1.0)), "a Parameter, which is not part"),
        (lambda own, inner: JointEffort(own.pin, Input(1.0)), "an Input, which is not part"),
        (lambda own, inner: Output(Inner().pin.angle), "a coordinate of a joint, which is not part"),
        (lambda own, inner: Output(Inner().bob.velocity[1]), "the velocity of a body or sensor, which is not part"),
        (lambda own, inner: JointEffort(own.pin, ca.SX.sym("stray")), "the symbol 'stray', which is not part"),
    ],
)
def test_symbols_of_nobody_in_the_model_are_named(reach: Callable[[Any, Any], Any], words: str) -> None:
    with pytest.raises(ModelError, match=rf"^user: it uses {words} of this model"):
        elaborate(Reaching(Middle(), reach))
