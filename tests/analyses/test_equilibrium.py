"""At rest: closed forms, what is held, what is trimmed, what is stable, what is neutral, and what is refused."""

from __future__ import annotations

from math import cosh, pi

import numpy as np
import pytest

from kompono import (
    Body,
    Ground,
    Input,
    Mode,
    ModelWarning,
    Parameter,
    RunError,
    State,
    Subsystem,
    equilibrium,
    simulate,
    time,
)
from kompono.analyses import Equilibrium
from kompono.examples.car import Car
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.library import Contact, Drive, Gravity, JointEffort, Prismatic, Revolute, solids


class Pendulum(Subsystem):
    """A rod on a pin with a torque."""

    def __init__(self, *, angle: float = 0.3, torque: float = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, 0, -9.81))
        self.rod = Body(solids.rod(mass=2.0, length=1.0, radius=0.01, axis="z"))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=angle)
        self.torque = Input(torque, unit="N*m")
        self.motor = JointEffort(self.pin, self.torque)


class Stack(Subsystem):
    """A mass on a spring on a mass on a spring."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, 0, -10.0))
        self.low, self.high = (Body(solids.box(mass=m, size=(0.1, 0.1, 0.1))) for m in (2.0, 3.0))
        self.stiffness = Parameter(100.0)
        self.first = Prismatic(self.ground, self.low, axis="z")
        self.second = Prismatic(self.low, self.high, axis="z")
        self.below = JointEffort(self.first, -self.stiffness * self.first.displacement)
        self.above = JointEffort(self.second, -200.0 * self.second.displacement)


@pytest.fixture(scope="module")
def car() -> Equilibrium:
    return equilibrium(Car())


def test_springs_carry_what_is_above() -> None:
    rest = equilibrium(Stack())
    assert rest.at["first.displacement"] == pytest.approx(-0.5, abs=1e-14)
    assert rest.at["second.displacement"] == pytest.approx(-0.15, abs=1e-14)
    assert rest.stability == "stable"


def test_what_is_held_stays_and_the_rest_settles() -> None:
    rest = equilibrium(Stack(), near={"first.displacement": 0.2}, hold=["first.displacement"])
    assert rest.at["first.displacement"] == pytest.approx(0.2, abs=1e-13)
    assert rest.at["second.displacement"] == pytest.approx(-0.15, abs=1e-12)


def test_a_parameter_is_trimmed() -> None:
    rest = equilibrium(Stack(), near={"first.displacement": -0.25}, hold="first.displacement", trim="stiffness")
    assert rest.trimmed == {"stiffness": pytest.approx(200.0, rel=1e-12)}
    assert rest.residual < 1e-10


def test_an_input_is_trimmed() -> None:
    rest = equilibrium(Pendulum(), near={"pin.angle": 0.5}, hold=["pin.angle"], trim=["torque"])
    assert abs(rest.trimmed["torque"]) == pytest.approx(2.0 * 9.81 * 0.5 * np.sin(0.5), rel=1e-12)


def test_a_pendulum_hangs_if_it_shall_be_stable() -> None:
    above = equilibrium(Pendulum(angle=pi - 0.05))
    assert abs(above.at["pin.angle"]) == pytest.approx(pi, abs=1e-12)
    assert above.stability == "unstable"
    below = equilibrium(Pendulum(angle=pi - 0.05), stable=True)
    assert np.cos(below.at["pin.angle"]) == pytest.approx(1.0, abs=1e-12)
    assert below.stable
    assert below.by == "relaxation"


def test_the_car_comes_to_rest_and_its_growth_is_that_of_a_run(car: Equilibrium) -> None:
    assert car.residual < 1e-12
    assert car.neutral == ("left_axle.angle", "right_axle.angle")
    growth = np.real(car.eigenvalues).max()
    start = car.at | {"guide.angle": 1e-7}
    run = simulate(Car(), until=0.5, initial=start, channels=["guide.angle"])
    assert run["guide.angle"][-1] == pytest.approx(1e-7 * cosh(growth * 0.5), rel=1e-7)


def test_a_run_from_rest_stays(car: Equilibrium) -> None:
    run = simulate(Car(), until=0.2, initial=car.at, channels=["body.position.z"])
    assert np.ptp(run["body.position.z"]) < 1e-12


def test_redundant_loops_rest() -> None:
    rest = equilibrium(NFourBar(), stable=True)
    assert rest.residual < 1e-9
    assert rest.stable


def test_states_of_ones_own_come_to_rest() -> None:
    class Filtered(Subsystem):
        def __init__(self) -> None:
            self.level = State(0.0)
            self.level.rate = 3.0 - 2.0 * self.level

    assert equilibrium(Filtered()).at["level"] == pytest.approx(1.5, abs=1e-14)


def test_leaning_under_a_torque() -> None:
    rest = equilibrium(Pendulum(torque=3.0), inputs={"torque": 4.0})
    assert abs(np.sin(rest.at["pin.angle"])) == pytest.approx(4.0 / 9.81, rel=1e-12)
    assert abs(rest.evaluation["pin.force.z"]) == pytest.approx(2.0 * 9.81, rel=1e-12)


class Box(Subsystem):
    """A box of 2 kg just above the ground."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.box = Body(solids.box(mass=2.0, size=(0.4, 0.3, 0.2)), start_position=(0, 0, 0.1001))
        self.floor = Contact(self.ground.plane(), self.box.at(0, 0, -0.1).corners((0.4, 0.3, 0)), mu=0.5)


def test_a_box_rests_on_the_ground_with_soft_laws() -> None:
    """It may rest anywhere there, turned about the vertical: that is neutral. With events it is refused, by name."""
    rest = equilibrium(Box(), contact="soft")
    assert rest.stability == "neutral"
    assert rest.residual < 1e-10
    assert 0 < 0.1 - rest.at["box.position.z"] < 1e-3
    assert set(rest.neutral) == {"box.free.x", "box.free.y", "box.free.e3"}
    with pytest.raises(RunError, match=r"floor.*soft"):
        equilibrium(Box())


def test_what_has_no_rest_is_said() -> None:
    with pytest.raises(RunError, match="no equilibrium was found"):
        equilibrium(Pendulum(torque=100.0))
    with pytest.raises(RunError, match=r"there is no coordinate 'pin\.angel'"):
        equilibrium(Pendulum(), hold=["pin.angel"])
    with pytest.raises(RunError, match="no input or parameter"):
        equilibrium(Pendulum(), hold=["pin.angle"], trim=["force"])
    with pytest.raises(RunError, match="1 names are to be trimmed and 0 coordinates held"):
        equilibrium(Pendulum(), trim=["torque"])


def test_what_is_sampled_is_said_to_be_held() -> None:
    class Controlled(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.command = Mode(0.0, every=1e-2)
            self.command.next = -5.0 * self.pin.angle
            self.drive = JointEffort(self.pin, self.command)

    with pytest.warns(ModelWarning, match=r"what is sampled \(every 0\.01 s\) keeps its value"):
        equilibrium(Controlled())


def test_a_drive_that_moves_is_refused() -> None:
    class Driven(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.drive = Drive(self.pin, 0.5 * time)

    with pytest.raises(RunError, match=r"prescribed motions move it: pin\.angle\.rate"):
        equilibrium(Driven())


def test_the_words(car: Equilibrium) -> None:
    assert "neutral: left_axle.angle" in str(car)
    assert "unstable" in repr(car)
