"""The start: loops close from the user's guess, what was given stays, what moved is named, contradictions refused."""

from __future__ import annotations

from math import acos, pi

import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum, Swing

from kompono import (
    AssemblyError,
    Body,
    Ground,
    ModelWarning,
    RunError,
    Simulation,
    Subsystem,
    inspect,
    rotation,
    simulate,
    time,
)
from kompono.library import Distance, Drive, Free, Gravity, Prismatic, Revolute, Spherical, Universal, solids


class Triangle(Subsystem):
    """Two rods of 1 m hang from hooks `span` apart and meet at a pin."""

    def __init__(self, *, span: float = 1.0, left: float | None = None, right: float | None = None) -> None:
        self.ground = Ground()
        self.left_rod, self.right_rod = (Body(solids.rod(mass=1, length=1, radius=0.02)) for _ in range(2))
        self.left = Revolute(self.ground, self.left_rod.at(0, 0, 0.5), axis="y", angle=left)
        self.right = Revolute(self.ground.at(span, 0, 0), self.right_rod.at(0, 0, 0.5), axis="y", angle=right)
        self.meet = Spherical(self.left_rod.at(0, 0, -0.5), self.right_rod.at(0, 0, -0.5))


class SliderCrank(Subsystem):
    """Crank 0.3, rod 1.0; the slider follows."""

    def __init__(
        self, *, angle: float | None = None, displacement: float | None = None, rate: float | None = None
    ) -> None:
        self.ground = Ground()
        self.crank = Body(solids.rod(mass=1, length=0.3, radius=0.02, axis="x"))
        self.slider = Body(solids.sphere(mass=1, radius=0.1))
        self.bearing = Revolute(self.ground, self.crank.at(-0.15, 0, 0), axis="z", angle=angle, angle_rate=rate)
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=displacement)
        self.rod = Distance(self.crank.at(0.15, 0, 0), self.slider, length=1.0)


def expected_slide(angle: float) -> float:
    return float(0.3 * np.cos(angle) + np.sqrt(1 - (0.3 * np.sin(angle)) ** 2))


def test_assembly_moves_only_what_was_not_given_and_names_it() -> None:
    with pytest.warns(ModelWarning, match=r"assembly moved slide\.displacement by [+-]") as told:
        result = simulate(SliderCrank(angle=0.7), until=0.0)
    assert result["bearing.angle"][0] == 0.7
    across = 0.3 * np.cos(0.7)
    assert abs(result["slide.displacement"][0] - across) == pytest.approx(expected_slide(0.7) - across, abs=1e-9)
    assert len(told) == 1
    assert "bearing" not in str(told[0].message)


def test_where_all_was_given_and_does_not_close_all_may_move_and_is_named() -> None:
    with pytest.warns(ModelWarning, match=r"bearing\.angle by .*slide\.displacement by "):
        result = simulate(SliderCrank(angle=0.7, displacement=0.9), until=0.0)
    assert result["drift.position"][0] < 1e-12


def test_the_guess_chooses_between_two_ways_to_assemble() -> None:
    for sign in (1, -1):
        with pytest.warns(ModelWarning):
            start = simulate(SliderCrank(displacement=sign * 1.1), until=0.0, initial={"bearing.angle": 0.7})
        assert np.sign(start["slide.displacement"][0]) == sign


def test_given_speeds_stay_and_the_others_follow() -> None:
    model = SliderCrank(angle=0.7, displacement=expected_slide(0.7), rate=2.0)
    with pytest.warns(ModelWarning, match=r"slide\.displacement\.rate"):
        result = simulate(model, until=0.0)
    h = 1e-6
    slope = (expected_slide(0.7 + h) - expected_slide(0.7 - h)) / (2 * h)
    assert result["bearing.angle.rate"][0] == 2.0
    assert result["slide.displacement.rate"][0] == pytest.approx(2.0 * slope, rel=1e-6)
    assert result["drift.velocity"][0] < 1e-12


def test_a_closed_start_moves_nothing_and_warns_nothing(recwarn: pytest.WarningsRecorder) -> None:
    assert Simulation(Swing()).assemble().moved == {}
    simulate(Swing(), until=0.0)
    assert not recwarn.list
    assert inspect(Swing()).moved == {}


def test_a_loop_that_cannot_be_closed_is_named_with_its_gap() -> None:
    with pytest.raises(AssemblyError) as caught:
        simulate(Triangle(span=2.5), until=1.0)
    message = str(caught.value)
    assert caught.value.path == "meet"
    assert "cannot be closed" in message
    gap = float(message.split("gap of ")[1].split()[0])
    assert 0.3 < gap < 0.7  # two rods of 1 m over 2.5 m
    assert "start values" in message


def test_a_loop_inside_a_part_is_named_by_its_path() -> None:
    class Owner(Subsystem):
        def __init__(self) -> None:
            self.part = Triangle(span=3.0)

    with pytest.raises(AssemblyError, match=r"^part\.meet: the loop cannot be closed"):
        simulate(Owner(), until=1.0)


def test_a_loop_closes_from_a_rough_guess() -> None:
    with pytest.warns(ModelWarning, match="assembly moved"):
        result = simulate(Triangle(span=1.0), until=0.0)
    assert result["drift.position"][0] < 1e-12
    assert abs(result["left.angle"][0]) == pytest.approx(pi / 2 - acos(0.5), abs=1e-6)


# -- drives


class Driven(Pendulum):
    def __init__(self, *motions: object) -> None:
        super().__init__()
        self.drives = [Drive(self.pin, motion) for motion in motions]


@pytest.mark.parametrize(
    ("motions", "cause"),
    [
        ((0.0, 1.0), "cannot be closed"),
        ((time, 2 * time), "contradictory speeds"),
        ((0.0, time**2), "contradictory accelerations"),
    ],
)
def test_two_drives_of_one_joint_that_disagree_are_both_named(motions: tuple[object, ...], cause: str) -> None:
    with pytest.raises(AssemblyError, match=cause) as caught:
        simulate(Driven(*motions), until=1.0)
    assert "drives.0" in str(caught.value)
    assert "drives.1" in str(caught.value)
    assert caught.value.fix


def test_two_drives_that_agree_are_redundant_not_wrong() -> None:
    with pytest.warns(ModelWarning, match=r"pin\.angle\.rate by \+2"):
        result = simulate(Driven(2 * time, 2 * time), until=1.0)
    assert result.status.ok
    assert result["pin.angle"][-1] == pytest.approx(2.0, abs=1e-12)


def test_drives_that_part_later_do_not_end_as_if_all_were_well() -> None:
    """Same position, speed and acceleration at the start, another jerk: the run must not call itself fine."""
    try:
        result = simulate(Driven(0.0 * time, time**3), until=1.0)
    except AssemblyError:
        return
    assert not result.status.ok
    assert "drives" in result.status.message


def test_a_drive_against_a_mechanism_that_cannot_move_is_refused() -> None:
    class Locked(Triangle):
        def __init__(self) -> None:
            super().__init__(span=1.0, left=-pi / 6, right=pi / 6)
            self.drive = Drive(self.left, -pi / 6 + time)

    with pytest.raises(AssemblyError, match=r"contradictory speeds") as caught:
        simulate(Locked(), until=1.0)
    assert "drive" in str(caught.value)


def test_a_drive_moves_a_start_that_does_not_agree_with_it() -> None:
    with pytest.warns(ModelWarning, match=r"pin\.angle by \+0\.5.*pin\.angle\.rate by \+2|pin\.angle"):
        result = simulate(Driven(0.5 + 2 * time), until=1.0)
    assert result["pin.angle"][0] == pytest.approx(0.5, abs=1e-12)
    assert result["pin.angle.rate"][0] == pytest.approx(2.0, abs=1e-12)


def test_the_torque_of_a_drive_is_a_channel() -> None:
    """A horizontal rod held by a drive needs m g l / 2 about the pin; the bearing itself carries none of it."""

    class Held(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=pi / 2)
            self.hold = Drive(self.pin, pi / 2)

    result = simulate(Held(), until=0.1)
    assert np.abs(result["hold.effort"] - 9.81 / 2).max() < 1e-9
    assert np.abs(result["pin.torque.y"]).max() < 1e-12
    assert np.abs(result["pin.force.z"] - 9.81).max() < 1e-9


# -- initial values


def test_initial_values_override_declared_ones_by_channel_name() -> None:
    result = simulate(Pendulum(angle=0.1), until=0.0, initial={"pin.angle": 0.4, "pin.angle.rate": -2.0})
    assert result["pin.angle"][0] == 0.4
    assert result["pin.angle.rate"][0] == -2.0


def test_initial_values_of_an_independent_body() -> None:
    class Stone(Subsystem):
        def __init__(self) -> None:
            self.gravity = Gravity()
            self.stone = Body(
                solids.box(mass=1, size=(0.1, 0.2, 0.3)),
                start_orientation=rotation("z", pi / 2),
                start_position=(1, 2, 3),
            )

    initial = {
        "stone.position.x": 5.0,
        "stone.velocity.y": 4.0,
        "stone.angular_velocity.x": 3.0,
    }
    result = simulate(Stone(), until=1.0, initial=initial)
    row = result.at(0.0)
    assert [row[f"stone.position.{a}"] for a in "xyz"] == [5.0, 2.0, 3.0]
    assert [row[f"stone.velocity.{a}"] for a in "xyz"] == pytest.approx([0, 4.0, 0], abs=1e-14)
    assert [row[f"stone.angular_velocity.{a}"] for a in "xyz"] == pytest.approx([3.0, 0, 0], abs=1e-14)
    assert row["stone.orientation.e3"] == pytest.approx(np.sqrt(0.5))
    assert result["stone.position.y"][-1] == pytest.approx(6.0, abs=1e-9)


def test_initial_orientation_is_normalized() -> None:
    class Stone(Subsystem):
        def __init__(self) -> None:
            self.stone = Body(solids.sphere(mass=1, radius=0.1))

    result = simulate(Stone(), until=0.0, initial={"stone.orientation.e0": 1.0, "stone.orientation.e1": 1.0})
    assert result["stone.orientation.e1"][0] == pytest.approx(np.sqrt(0.5))


class Floating(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.box = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)))
        half = float(np.sqrt(0.5))
        self.free = Free(self.ground, self.box, e0=half, e3=half)  # box x points along world y


def test_rates_of_a_free_joint_are_rates_of_its_coordinates() -> None:
    result = simulate(Floating(), until=1.0, initial={"free.x.rate": 2.0, "free.z.rate": 1.0})
    assert result["free.x.rate"][0] == pytest.approx(2.0, abs=1e-14)
    assert result["free.x"][-1] == pytest.approx(2.0, abs=1e-12)
    assert result["free.z"][-1] == pytest.approx(1.0, abs=1e-12)
    assert result["free.vy"][0] == pytest.approx(-2.0, abs=1e-14)  # in the axes of the box


def test_speeds_of_a_free_joint_are_in_its_own_axes() -> None:
    result = simulate(Floating(), until=1.0, initial={"free.vx": 2.0, "free.wz": 1.0})
    assert result["box.velocity.y"][0] == pytest.approx(2.0, abs=1e-14)
    assert result["box.angular_velocity.z"][0] == pytest.approx(1.0, abs=1e-14)


def test_a_ball_joint_starts_with_speeds_or_quaternion_rates() -> None:
    class Ball(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.top = Body(solids.sphere(mass=1, radius=0.1))
            self.ball = Spherical(self.ground, self.top)

    spun = simulate(Ball(), until=0.5, initial={"ball.wz": 2.0})
    rated = simulate(Ball(), until=0.5, initial={"ball.e3.rate": 1.0})
    assert np.abs(spun["ball.e3"] - np.sin(spun.time)).max() < 1e-9
    assert np.abs(spun["ball.e3"] - rated["ball.e3"]).max() < 1e-12


def test_universal_start_values() -> None:
    class Cross(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.fork = Body(solids.sphere(mass=1, radius=0.1))
            self.cross = Universal(self.ground, self.fork, angle1=0.2, angle2_rate=0.3)

    result = simulate(Cross(), until=0.0, initial={"cross.angle2": -0.1})
    assert result["cross.angle1"][0] == 0.2
    assert result["cross.angle2"][0] == -0.1
    assert result["cross.angle2.rate"][0] == 0.3


def test_initial_values_that_are_no_start_values_are_refused_with_the_nearest() -> None:
    with pytest.raises(RunError, match=r"'pin\.angel'.*'pin\.angle'"):
        simulate(Pendulum(), until=0.1, initial={"pin.angel": 1.0})
    with pytest.raises(RunError, match=r"'rod\.position\.x'.*pin\.angle"):
        simulate(Pendulum(), until=0.1, initial={"rod.position.x": 1.0})
    with pytest.raises(RunError, match=r"energy\.total"):
        simulate(Pendulum(), until=0.1, initial={"energy.total": 1.0})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_initial_value_must_be_a_number(value: float) -> None:
    with pytest.raises(RunError, match=r"pin\.angle"):
        simulate(Pendulum(), until=0.1, initial={"pin.angle": value})


def test_an_initial_orientation_of_zeros_is_refused() -> None:
    class Stone(Subsystem):
        def __init__(self) -> None:
            self.stone = Body(solids.sphere(mass=1, radius=0.1))

    with pytest.raises(RunError, match="orientation"):
        simulate(Stone(), until=0.1, initial={"stone.orientation.e0": 0.0})


def test_the_same_simulation_runs_again_from_other_starts() -> None:
    from kompono.solve.integrate import Settings

    simulation = Simulation(Oscillator())
    settings = Settings("rk4", 1.0, 1e-2)
    one = simulation.run(settings, initial={"slide.displacement": 1.0}, progress=False)
    two = simulation.run(settings, initial={"slide.displacement": 2.0}, progress=False)
    assert np.abs(2 * one["slide.displacement"] - two["slide.displacement"]).max() < 1e-12
