"""Ports: joints and forces outside touch only what every subsystem in between exposes; errors name joint, body, fix."""

from __future__ import annotations

from math import isclose

import pytest
from solve.machines import Pendulum

from kompono import Body, Ground, ModelError, ModelWarning, Subsystem, simulate
from kompono.library import Distance, Drive, Gravity, JointEffort, Revolute, SpringDamper, solids


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
