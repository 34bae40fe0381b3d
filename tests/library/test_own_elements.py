"""A user's own joint, force, effort, constraint, coupling and field: a few lines, the same door as the library."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum

from kompono import (
    Body,
    Constraint,
    Coupling,
    Effort,
    Field,
    Force,
    Ground,
    Joint,
    Motion,
    Pose,
    Subsystem,
    TranslationError,
    Wrench,
    simulate,
    time,
)
from kompono.library import Gravity, Prismatic, Revolute, SpringDamper, solids


def turn_y(angle: Any) -> Any:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))


class Hinge(Joint):
    """A revolute about y by its pose alone."""

    coordinates = ("swing",)
    units = ("rad",)

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=turn_y(q[0]))


class ClosableHinge(Hinge):
    """The same with conditions, so that it may close a loop."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, ca.vertcat(pose.rotation[0, 1], pose.rotation[2, 1])]


class Parabola(Joint):
    """A bead on the wire z = x^2."""

    coordinates = ("s",)
    units = ("m",)

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.vertcat(q[0], 0, q[0] ** 2))


class HingePendulum(Subsystem):
    def __init__(self, angle: float) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.rod = Body(solids.rod(mass=1, length=1, radius=0.01))
        self.pin = Hinge(self.ground, self.rod.at(0, 0, 0.5), start={"swing": angle})


def test_a_joint_is_its_coordinates_and_its_pose() -> None:
    own, builtin = simulate(HingePendulum(1.0), until=1.0), simulate(Pendulum(angle=1.0), until=1.0)
    assert np.abs(own["pin.swing"] - builtin["pin.angle"]).max() < 1e-12
    assert np.abs(own["pin.swing.acceleration"] - builtin["pin.angle.acceleration"]).max() < 1e-11
    assert np.abs(own["pin.force.z"] - builtin["pin.force.z"]).max() < 1e-11


def test_a_curved_joint_brings_its_own_velocity_terms() -> None:
    """Bead on z = x^2: (1 + 4 x^2) x'' + 4 x x'^2 + 2 g x = 0; energy is kept."""

    class Wire(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.gravity = Gravity()
            self.bead = Body(solids.point(mass=2.0))
            self.wire = Parabola(self.ground, self.bead, start={"s": 0.5, "s.rate": 1.0})

    result = simulate(Wire(), until=2.0, step=1e-3)
    x, v, a = (result[f"wire.s{suffix}"] for suffix in ("", ".rate", ".acceleration"))
    assert np.abs((1 + 4 * x**2) * a + 4 * x * v**2 + 2 * 9.81 * x).max() < 1e-10
    assert np.abs(result["bead.position.z"] - x**2).max() < 1e-13
    assert np.abs(result["energy.total"] - result["energy.total"][0]).max() < 1e-7


class Swing(Subsystem):
    """A parallelogram whose last hinge is a user's; the others are the library's."""

    def __init__(self, last: type[Joint]) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.left, self.right = (Body(solids.rod(mass=0.5, length=1, radius=0.02)) for _ in range(2))
        self.board = Body(solids.rod(mass=2, length=1, radius=0.02, axis="x"))
        self.left_hook = Revolute(self.ground, self.left.at(0, 0, 0.5), axis="y", angle=0.5)
        self.right_hook = Revolute(self.ground.at(1, 0, 0), self.right.at(0, 0, 0.5), axis="y", angle=0.5)
        self.left_knot = Revolute(self.left.at(0, 0, -0.5), self.board.at(-0.5, 0, 0), axis="y", angle=-0.5)
        self.last = last(self.right.at(0, 0, -0.5), self.board.at(0.5, 0, 0))


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_a_joint_with_conditions_closes_a_loop_and_one_without_takes_its_place_in_the_tree() -> None:
    closing, placed = (simulate(Swing(kind), until=0.2) for kind in (ClosableHinge, Hinge))
    assert closing.status.ok
    assert placed.status.ok
    assert np.abs(closing["board.position.z"] - placed["board.position.z"]).max() < 1e-7
    assert np.abs(closing["board.position.x"] + np.sin(closing["left_hook.angle"]) - 0.5).max() < 1e-9


def test_a_joint_without_conditions_that_must_close_a_loop_is_named_with_the_way_out() -> None:
    with pytest.raises(TranslationError, match=r"^last: this Hinge closes a loop.*conditions\(pose\).*cut"):
        simulate(Swing(Hinge), until=0.1, cut=["last"])


def test_an_own_joint_can_be_driven_braked_and_read() -> None:
    class Brake(Effort):
        def effort(self, q: Any, v: Any) -> Any:
            return -0.5 * v

    class Braked(HingePendulum):
        def __init__(self) -> None:
            super().__init__(1.0)
            self.brake = Brake(self.pin)

    energy = simulate(Braked(), until=2.0)["energy.total"]
    assert np.all(np.diff(energy) <= 1e-12)
    assert energy[-1] < energy[0] - 0.5
    assert HingePendulum(0.1).pin.swing_rate.is_scalar()


def test_an_own_force() -> None:
    class Cubic(Force):
        """A hardening spring with its energy."""

        def __init__(self, first: Any, second: Any, k: float) -> None:
            super().__init__(first, second)
            self.k = k

        def wrench(self, motion: Motion) -> Wrench:
            return Wrench(force=-self.k * motion.length**2 * motion.position)

        def potential(self, motion: Motion) -> Any:
            return self.k * motion.length**4 / 4

    class Duffing(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.stone = Body(solids.sphere(mass=1, radius=0.1), start_position=(1, 0.5, 0), start_velocity=(0, 0, 1))
            self.cubic = Cubic(self.ground, self.stone, k=7.0)

    result = simulate(Duffing(), until=1.0)
    assert result["stone.acceleration.x"][0] == pytest.approx(-7 * 1.25)
    assert np.abs(result["energy.total"] - result["energy.total"][0]).max() < 1e-8
    assert np.ptp(result["energy.kinetic"]) > 1


def test_an_own_force_on_one_frame_sees_its_motion_in_the_world() -> None:
    class Drag(Force):
        def wrench(self, motion: Motion) -> Wrench:
            return Wrench(force=-2 * motion.velocity, torque=-0.1 * motion.angular_velocity)

    class Sinking(Subsystem):
        def __init__(self) -> None:
            self.gravity = Gravity()
            self.stone = Body(solids.sphere(mass=1, radius=0.1))
            self.water = Drag(self.stone)

    result = simulate(Sinking(), until=5.0, step=0.01)
    assert np.abs(result["stone.velocity.z"] + 9.81 / 2 * (1 - np.exp(-2 * result.time))).max() < 1e-7


def test_an_own_constraint() -> None:
    class OnParabola(Constraint):
        def conditions(self, pose: Pose) -> list[Any]:
            return [pose.position[2] - pose.position[0] ** 2, pose.position[1]]

    class Bead(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.gravity = Gravity()
            self.bead = Body(solids.sphere(mass=2, radius=0.1), start_position=(0.5, 0, 0.25), start_velocity=(1, 0, 1))
            self.wire = OnParabola(self.ground, self.bead)

    result = simulate(Bead(), until=1.0)
    x, z = result["bead.position.x"], result["bead.position.z"]
    assert np.abs(z - x**2).max() < 1e-12
    a, v = result["bead.acceleration.x"], result["bead.velocity.x"]
    assert np.abs((1 + 4 * x**2) * a + 4 * x * v**2 + 2 * 9.81 * x).max() < 1e-9


def test_an_own_coupling() -> None:
    class Cam(Coupling):
        """The follower lifts by 0.1 (1 - cos angle)."""

        def __init__(self, shaft: Joint, follower: Joint) -> None:
            super().__init__(shaft, follower)
            self.lift = follower.displacement - 0.1 * (1 - ca.cos(shaft.angle))

        def conditions(self) -> list[Any]:
            return [self.lift]

    class Engine(Subsystem):
        def __init__(self) -> None:
            self.block = Ground()
            self.shaft = Body(mass=1.0, inertia=(1, 1, 0.1))
            self.valve = Body(solids.sphere(mass=0.5, radius=0.05))
            self.bearing = Revolute(self.block, self.shaft, axis="z", angle_rate=5.0)
            self.guide = Prismatic(self.block.at(1, 0, 0), self.valve, axis="y")
            self.cam = Cam(self.bearing, self.guide)

    result = simulate(Engine(), until=2.0, step=1e-3)
    assert np.abs(result["guide.displacement"] - 0.1 * (1 - np.cos(result["bearing.angle"]))).max() < 1e-12
    assert np.abs(result["energy.kinetic"] - 0.5 * 0.1 * 25).max() < 1e-8


def test_an_own_field() -> None:
    class Sun(Field):
        def acceleration(self, position: Any) -> Any:
            return -position / ca.norm_2(position) ** 3

        def potential(self, position: Any) -> Any:
            return -1 / ca.norm_2(position)

    class Planet(Subsystem):
        def __init__(self) -> None:
            self.sun = Sun()
            self.planet = Body(solids.sphere(mass=3, radius=0.1), start_position=(1, 0, 0), start_velocity=(0, 1.2, 0))

    axis = 1 / (2 - 1.2**2)
    period = float(2 * np.pi * axis**1.5)
    result = simulate(Planet(), until=period, step=period / 10, method="dopri5", rtol=1e-11)
    assert result["planet.position.x"][-1] == pytest.approx(1.0, abs=1e-7)
    assert result["planet.position.y"][-1] == pytest.approx(0.0, abs=1e-7)
    assert np.abs(result["energy.total"] - 3 * (0.72 - 1)).max() < 1e-8


def test_own_elements_may_use_time_parameters_and_other_signals() -> None:
    from kompono import Parameter

    class Pull(Effort):
        def __init__(self, joint: Joint, law: Any) -> None:
            super().__init__(joint)
            self.law = law

        def effort(self, q: Any, v: Any) -> Any:
            return self.law - 4 * q

    class Pulled(Oscillator):
        def __init__(self) -> None:
            self.level = Parameter(2.0)
            super().__init__(k=0.0, displacement=0.0)
            self.pull = Pull(self.slide, self.level * time)

    result = simulate(Pulled(), until=1.0, parameters={"level": 8.0})
    expected = 2 * result.time - np.sin(2 * result.time)
    assert np.abs(result["slide.displacement"] - expected).max() < 1e-9


def test_an_own_element_that_forgets_its_law_says_so() -> None:
    class Nothing(Effort):
        pass

    class Idle(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.idle = Nothing(self.pin)

    with pytest.raises(Exception, match=r"Nothing does not define effort"):
        simulate(Idle(), until=0.1)


def test_a_law_of_the_wrong_size_is_an_error_with_the_path() -> None:
    from kompono import KomponoError

    class Wrong(Effort):
        def effort(self, q: Any, v: Any) -> Any:
            return ca.vertcat(1, 2)

    class Odd(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.odd = Wrong(self.pin)

    with pytest.raises(KomponoError, match=r"odd"):
        simulate(Odd(), until=0.1)


def test_springs_may_hang_between_a_users_frames() -> None:
    class Hung(HingePendulum):
        def __init__(self) -> None:
            super().__init__(0.0)
            self.spring = SpringDamper(self.ground.at(1, 0, -1), self.rod.at(0, 0, -0.5), k=10, c=5, rest=0.5)

    result = simulate(Hung(), until=10.0, step=5e-3)
    assert abs(result["pin.swing.rate"][-1]) < 1e-3
    assert result["pin.swing"][-1] < 0  # drawn towards +x
