"""Efforts for a motion and motions for a target: against closed forms, drives and other ways to ask the same."""

from __future__ import annotations

from functools import cache
from math import pi
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import (
    Body,
    Event,
    Ground,
    Input,
    Mode,
    Result,
    RunError,
    Sensor,
    Simulation,
    State,
    Subsystem,
    inverse,
    reach,
    simulate,
    time,
)
from kompono.library import (
    Drive,
    DryFriction,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Rotor,
    Table,
    solids,
)

TIMES = np.linspace(0.0, 1.0, 21)


class Arm(Subsystem):
    """Links of 1 m in the plane xz, each on a motor with a rotor, gravity along -z."""

    def __init__(self, links: int = 2, **start: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.links = [Body(solids.rod(mass=1.0 + k, length=1.0, radius=0.02, axis="x")) for k in range(links)]
        ends = [self.ground, *(link.at(0.5, 0, 0) for link in self.links)]
        roots = [link.at(-0.5, 0, 0) for link in self.links]
        self.axes = [Revolute(a, b, axis="y", angle=0.3) for a, b in zip(ends, roots, strict=False)]
        self.rotor = Rotor(self.axes[0], inertia=0.2)
        self.spring = RotationalSpringDamper(self.axes[-1], k=3.0, c=0.5)
        self.tool = Sensor(self.links[-1].at(0.5, 0, 0))


class FourBar(Subsystem):
    """A loop of three moving bars with gravity in its plane; five conditions too many, as all axes are parallel."""

    def __init__(self, drive: Any = None) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.crank, self.coupler, self.rocker = (
            Body(solids.rod(mass=n, length=n, radius=0.05, axis="x")) for n in (1.0, 3.0, 2.5)
        )
        self.bearing = Revolute(self.ground, self.crank.at(-0.5, 0, 0), axis="z", angle=0.9)
        self.pivot = Revolute(self.ground.at(3.0, 0, 0), self.rocker.at(-1.25, 0, 0), axis="z", angle=1.2)
        self.crank_pin = Revolute(self.crank.at(0.5, 0, 0), self.coupler.at(-1.5, 0, 0), axis="z", angle=0.0)
        self.rocker_pin = Revolute(self.rocker.at(1.25, 0, 0), self.coupler.at(1.5, 0, 0), axis="z")
        if drive is not None:
            self.drive = Drive(self.bearing, drive)


@cache
def arm(links: int = 2) -> Simulation:
    return Simulation(Arm(links))


TURNING = 0.9 + 9.0 * time + 2 * time**2


@cache
def driven() -> Result:
    return simulate(FourBar(TURNING), until=1.0, step=0.05, method="dopri5", rtol=1e-10)


@cache
def bars() -> Simulation:
    return Simulation(FourBar())


def test_a_pendulum_takes_the_torque_of_its_closed_form() -> None:
    class Rod(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.rod = Body(mass=2.0, inertia=(0.1, 0.1, 0.1))
            self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y")

    result = inverse(Rod(), {"pin.angle": 0.7 * ca.sin(3 * time)}, times=TIMES)
    angle, bend = 0.7 * np.sin(3 * TIMES), -6.3 * np.sin(3 * TIMES)
    assert result["pin.angle.effort"] == pytest.approx(0.6 * bend + 9.81 * np.sin(angle), abs=1e-9)
    assert result["pin.angle.acceleration"] == pytest.approx(bend, abs=1e-12)
    assert result.units["pin.angle.effort"] == "N*m"


def test_efforts_make_the_motion_they_were_asked_for() -> None:
    """Fed back as efforts of drives: the effort of a Drive is the multiplier of its condition."""
    paths = [0.3 + ca.sin(2 * time), 0.3 - time**2]

    class Driven(Arm):
        def __init__(self) -> None:
            super().__init__()
            self.drives = [Drive(axis, path) for axis, path in zip(self.axes, paths, strict=True)]

    other = simulate(Driven(), until=1.0, step=0.05, method="dopri5", rtol=1e-10)
    motion = dict(zip(("axes.0.angle", "axes.1.angle"), paths, strict=True))
    result = inverse(arm(), motion, times=TIMES)
    for k in range(2):
        assert result[f"axes.{k}.angle.effort"] == pytest.approx(other[f"drives.{k}.effort"], abs=1e-6)


def test_a_loop_is_driven_by_its_crank_for_whole_turns() -> None:
    other = driven()
    result = inverse(bars(), {"bearing.angle": TURNING}, times=TIMES)
    assert result["bearing.angle.effort"] == pytest.approx(other["drive.effort"], abs=1e-5)
    assert result["pivot.angle"] == pytest.approx(other["pivot.angle"], abs=1e-8)
    assert result["pivot.angle.acceleration"] == pytest.approx(other["pivot.angle.acceleration"], abs=1e-5)
    assert result.statistics["redundant"] == 0


def test_redundant_efforts_are_the_smallest() -> None:
    motion = {"bearing.angle": 0.9 + time}
    alone = inverse(bars(), motion, times=TIMES)["bearing.angle.effort"]
    both = inverse(bars(), motion, times=TIMES, efforts=["bearing.angle", "pivot.angle"])
    one, two = both["bearing.angle.effort"], both["pivot.angle.effort"]
    assert both.statistics["redundant"] == 1
    assert np.all(one**2 + two**2 <= alone**2 + 1e-12)
    ratio = both["pivot.angle.rate"] / both["bearing.angle.rate"]
    assert one + ratio * two == pytest.approx(alone, abs=1e-9)  # the same power
    assert two == pytest.approx(ratio * one, abs=1e-9)  # the smallest that have it


def test_measured_values_tables_and_expressions_say_the_same() -> None:
    fine = np.linspace(-0.1, 1.1, 241)
    exact = {"axes.0.angle": ca.sin(time), "axes.1.angle": ca.cos(2 * time)}
    table = {"axes.0.angle": (fine, np.sin(fine)), "axes.1.angle": lambda t: float(np.cos(2 * t))}
    times = np.linspace(0.0, 1.0, 201)
    found = [inverse(arm(), given, times=times) for given in (exact, table)]
    for k in range(2):
        name = f"axes.{k}.angle.effort"
        assert found[1][name] == pytest.approx(found[0][name], abs=2e-4)
    arrays = inverse(arm(), {"axes.0.angle": np.sin(times), "axes.1.angle": 0.5}, times=times)
    assert arrays["axes.1.angle"] == pytest.approx(0.5, abs=1e-12)


def test_a_drive_follows_a_table() -> None:
    knots = np.linspace(0.0, 1.0, 9)
    curve = Table(knots, np.sin(3 * knots), kind="spline")

    class Wheel(Subsystem):
        def __init__(self) -> None:
            self.ground, self.wheel = Ground(), Body(mass=1.0, inertia=(1, 1, 2))
            self.axle = Revolute(self.ground, self.wheel, axis="z")
            self.drive = Drive(self.axle, curve(time))

    result = simulate(Wheel(), until=1.0, step=0.125)
    assert result["axle.angle"] == pytest.approx(np.sin(3 * knots), abs=1e-12)
    assert result["drive.effort"][4] == pytest.approx(2.0 * -9.0 * np.sin(1.5), rel=0.02)


def test_two_links_reach_what_they_can() -> None:
    x, z = 1.2 + 0.2 * ca.cos(time), -0.6 + 0.3 * ca.sin(time)
    result = reach(arm(), {"tool.position.x": x, "tool.position.z": z}, times=TIMES)
    first, second = result["axes.0.angle"], result["axes.0.angle"] + result["axes.1.angle"]
    assert np.cos(first) + np.cos(second) == pytest.approx(1.2 + 0.2 * np.cos(TIMES), abs=1e-9)
    assert -np.sin(first) - np.sin(second) == pytest.approx(-0.6 + 0.3 * np.sin(TIMES), abs=1e-9)
    slope = np.gradient(first, TIMES, edge_order=2)
    assert result["axes.0.angle.rate"][1:-1] == pytest.approx(slope[1:-1], abs=1e-3)
    assert result.statistics["open"] == 0
    driven = inverse(arm(), {"tool.position.x": x, "tool.position.z": z}, times=TIMES,
                     efforts=["axes.0.angle", "axes.1.angle"])  # fmt: skip
    joints = {f"axes.{k}.angle": result[f"axes.{k}.angle"] for k in range(2)}
    again = inverse(arm(), joints, times=TIMES)
    assert again["axes.0.angle.effort"] == pytest.approx(driven["axes.0.angle.effort"], abs=1e-3)


def test_three_links_follow_two_targets_with_one_freedom_left() -> None:
    result = reach(arm(3), {"tool.position.x": 2.0, "tool.position.z": -1.0 + 0.3 * time}, times=TIMES)
    assert result.statistics["open"] == 1
    turned = np.cumsum([result[f"axes.{k}.angle"] for k in range(3)], axis=0)
    assert np.cos(turned).sum(axis=0) == pytest.approx(2.0, abs=1e-9)
    assert np.abs(np.diff(turned, axis=1)).max() < 0.2  # no jumps


def test_a_point_of_a_coupler_leads_its_loop() -> None:
    count = 5  # not beyond where the coupler is farthest
    path = driven()["coupler.position.x"][:count]
    result = reach(bars(), {"coupler.position.x": path}, times=TIMES[:count])
    assert result["bearing.angle"] == pytest.approx(driven()["bearing.angle"][:count], abs=1e-8)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: inverse(arm(), {"axes.0.angle": time}, times=TIMES), "leaves 1 of 2 freedoms open"),
        (lambda: inverse(arm(), {"axes.0.angel": time}, times=TIMES), "axes.0.angel"),
        (lambda: reach(arm(), {"tool.position.x": 3.0}, times=TIMES), "cannot be followed"),
        (lambda: reach(arm(), {"tool.velocity.x": 0.0}, times=TIMES), "positions and angles"),
        (lambda: inverse(arm(), {"axes.0.angle": time}), "times="),
        (lambda: inverse(arm(), {}), "no motion"),
        (lambda: inverse(arm(), {"axes.0.angle": np.zeros(3)}, times=TIMES), "21 times"),
        (lambda: reach(bars(), {"bearing.angle": time, "pivot.angle": 2.0}, times=TIMES), "cannot be followed"),
        (
            lambda: inverse(arm(), {"axes.0.angle": 0.0, "axes.1.angle": 0.0}, times=TIMES, efforts=["axes.1.angle"]),
            "cannot make this motion",
        ),
    ],
)
def test_what_cannot_be_is_said(ask: Any, words: str) -> None:
    with pytest.raises(RunError, match=words):
        ask()


class Cart(Subsystem):
    """2 kg on a rail, pushed by an input, with dry friction of 5 N if asked for."""

    def __init__(self, friction: bool = False) -> None:
        self.ground, self.cart = Ground(), Body(mass=2.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.cart, axis="x")
        self.wind = Input(0.0, unit="N")
        self.push = JointEffort(self.rail, self.wind)
        if friction:
            self.dry = DryFriction(self.rail, preload=5.0)


def test_inputs_that_change_with_time_are_felt() -> None:
    table = (np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    result = inverse(Cart(), {"rail.displacement": time**3}, times=TIMES, inputs={"wind": table})
    assert result["rail.displacement.effort"] == pytest.approx(12.0 * TIMES - 3.0 * TIMES, abs=1e-9)
    with pytest.raises(RunError, match="callables are not followed"):
        inverse(Cart(), {"rail.displacement": time**3}, times=TIMES, inputs={"wind": (lambda time: time, 0.1)})


def test_friction_is_overcome_where_it_slides() -> None:
    """Soft laws do not stick, and have all their friction where something slides."""
    times = np.linspace(0.5, 1.0, 6)
    path = {"rail.displacement": ca.sin(3.0 * time)}
    result = inverse(Cart(friction=True), path, times=times, contact="soft")
    expected = -18.0 * np.sin(3.0 * times) + 5.0 * np.sign(np.cos(3.0 * times))
    assert result["rail.displacement.effort"] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(RunError, match=r"dry.*soft"):
        inverse(Cart(friction=True), path, times=times)


class Cell(Subsystem):
    """An arm as a part of something larger."""

    def __init__(self) -> None:
        self.arm = Arm()


def test_closed_parts_are_opened() -> None:
    path = {"arm.axes.0.angle": 0.3 + time**2, "arm.axes.1.angle": 0.3 - time}
    one = inverse(Cell(), path, times=TIMES)
    for two in (
        inverse(Cell(), path, times=TIMES, closed=["arm"]),
        inverse(Simulation(Cell(), closed=["arm"]), path, times=TIMES),
    ):
        for name in one.names:
            assert two[name] == pytest.approx(one[name], abs=1e-12)


class Servo(FourBar):
    """The loop on a motor whose current lags, a filter with a switch behind it, and a controller that samples."""

    def __init__(self, inductance: float, drive: Any = None) -> None:
        super().__init__(drive)
        self.volt, self.current = Input(3.0), State(0.0, unit="A")
        self.current.rate = (self.volt - 2.0 * self.current - 0.5 * self.bearing.angle_rate) / inductance
        self.motor = JointEffort(self.bearing, 0.5 * self.current)
        self.seen, self.gain = State(0.0), Mode(1.0)
        self.seen.rate = 50.0 * (self.pivot.angle - self.seen)
        self.passed = Event(self.seen - 1.3, {self.gain: 2.0})
        self.held = Mode(0.0, every=0.05)
        self.held.next = 0.3 * self.seen
        self.control = JointEffort(self.bearing, self.gain * self.held)


@pytest.mark.filterwarnings("ignore:assembly moved", "ignore:start values")
@pytest.mark.parametrize("inductance", [1e-2, 1e-6])
def test_what_a_machine_remembers_follows_the_motion(inductance: float) -> None:
    """Currents, stiff or not, filters, events and samples: as in a run with a drive, by values as by expressions."""
    path, volts = 0.9 + 0.8 * ca.sin(3 * time), {"volt": (np.array([0.0, 0.33, 1.0]), np.array([3.0, 6.0, 1.0]))}
    exact: dict[str, Any] = {"method": "esdirk4", "rtol": 1e-10, "atol": 1e-11}
    run = simulate(Servo(inductance, path), until=1.0, step=0.05, inputs=volts, **exact)
    assert {name for _, name in run.statistics["events"]} == {"passed"}
    result = inverse(Servo(inductance), {"bearing.angle": path}, times=TIMES, inputs=volts)
    assert result.units["current"] == "A"
    for one, two in (("bearing.angle.effort", "drive.effort"), ("current", "current"), ("seen", "seen")):
        assert result[one] == pytest.approx(run[two], abs=1e-6)
    fine = np.linspace(0.0, 1.0, 401)
    values = inverse(Servo(inductance), {"bearing.angle": 0.9 + 0.8 * np.sin(3 * fine)}, times=fine, inputs=volts)
    assert values["bearing.angle.effort"][::20] == pytest.approx(run["drive.effort"], abs=1e-5)


def test_memories_of_what_is_asked_for_are_refused_by_name() -> None:
    class Felt(Cart):
        def __init__(self) -> None:
            super().__init__()
            self.felt = State(0.0)
            self.felt.rate = self.cart.acceleration[0] - self.felt

    class Ended(Cart):
        def __init__(self) -> None:
            super().__init__()
            self.end = Event(self.rail.displacement - 0.5, stop=True)

    with pytest.raises(RunError, match=r"felt.*accelerations"):
        inverse(Felt(), {"rail.displacement": time**2}, times=TIMES)
    with pytest.raises(RunError, match=r"end.*ends the motion at 0\.707"):
        inverse(Ended(), {"rail.displacement": time**2}, times=TIMES)
    assert reach(Felt(), {"rail.displacement": pi}, times=[0.0])["rail.displacement"] == pytest.approx(pi)
