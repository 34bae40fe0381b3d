"""Small motions: closed forms, published eigenvalues, differences along runs, loops that are redundant."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from laws.mechanisms import build, loops, redundant_loops

from kompono import Body, Ground, Input, RunError, Simulation, State, Subsystem, equilibrium, linearize, modes, simulate
from kompono.analyses.point import Point, find_point
from kompono.analyses.slopes import Slopes, differences
from kompono.analyses.tangent import find_tangent
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.examples.kuka import Kuka
from kompono.examples.manipulator import Manipulator
from kompono.examples.reference.bicycle import Bicycle
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, solids

CONTACTS = ("rear_contact", "front_contact")


def rods(count: int, length: float = 1.0) -> Subsystem:
    """A hanging chain of equal rods."""
    model = Subsystem()
    model.ground, model.gravity = Ground(), Gravity((0, 0, -9.81))
    above = model.ground
    for k in range(count):
        rod = Body(solids.rod(mass=1.0, length=length, radius=1e-3, axis="z"))
        setattr(model, f"rod{k}", rod)
        setattr(model, f"pin{k}", Revolute(above, rod.at(0, 0, length / 2), axis="y"))
        above = rod.at(0, 0, -length / 2)
    return model


def exact_and_differenced(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """A along three random directions by CasADi, and by differences along states with loops closed."""
    tangent = find_tangent(point)
    exact = Slopes(point, "derivative")
    assert exact.exact
    chosen, count = tangent.chosen, tangent.basis.shape[1]
    along = tangent.basis @ np.random.default_rng(5).uniform(-1.0, 1.0, (count, min(count, 3)))
    return exact.along(along)[chosen], differences(point, along, lambda there: there.rate)[chosen]


def test_two_equal_rods() -> None:
    found = modes(rods(2)).frequencies
    thin = np.sqrt(9.81 * (3 + np.array([-6, 6]) / np.sqrt(7))) / (2 * np.pi)
    assert found == pytest.approx(thin, rel=1e-5)  # rods have a radius of a millimetre


def test_the_bicycle_of_the_literature() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = linearize(Bicycle(speed=5.0), {"rear_hub.angle.rate": -5.0 / 0.3}, cut=CONTACTS)
    found = linear.eigenvalues[-4:]
    published = [-0.32286643, -0.77534188 - 4.46486771j, -0.77534188 + 4.46486771j, -14.07838969]
    assert np.abs(found - published).max() < 1e-8
    assert np.abs(linear.eigenvalues[:-4]).max() < 1e-9  # where it is, where it heads, and how fast it goes
    assert linear.steady


def test_the_speeds_between_which_a_bicycle_stays_up() -> None:
    """Published: weave ends at 4.29238253634111 m/s, capsizing begins at 6.02426201538837 m/s."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulation = Simulation(Bicycle(speed=5.0), cut=CONTACTS)
        for speed, sway in ((4.29238253634111, True), (6.02426201538837, False)):
            found = linearize(simulation, {"rear_hub.angle.rate": -speed / 0.3}).eigenvalues
            if sway:
                assert np.abs(found[np.abs(found.imag) > 1.0].real).max() < 1e-9
                assert (found.real < 1e-6).all()
            else:  # one more eigenvalue is zero, beside those of where it is, heads, and how fast it goes
                assert np.sum(np.abs(found) < 1e-6) == len(found) - 3
                assert (np.sort(found.real)[:3] < -1.0).all()


def test_two_equal_points_on_strings() -> None:
    """w^2 = (2 -+ sqrt 2) g / l, and the lower swings sqrt 2 times as far as the upper, with it or against it."""
    model = Subsystem()
    model.ground, model.gravity = Ground(), Gravity((0, 0, -9.81))
    model.upper, model.lower = (Body(mass=1.0, inertia=(1e-12,) * 3) for _ in range(2))
    model.first = Revolute(model.ground, model.upper.at(0, 0, 1.0), axis="y")
    model.second = Revolute(model.upper, model.lower.at(0, 0, 1.0), axis="y")
    found = modes(model)
    assert found.frequencies == pytest.approx(
        np.sqrt(9.81 * (2 + np.array([-1, 1]) * np.sqrt(2))) / (2 * np.pi), rel=1e-8
    )
    for mode, sign in zip(found, (1, -1), strict=True):
        shape = mode.shape
        assert 1 + (shape["second.angle"] / shape["first.angle"]).real == pytest.approx(sign * np.sqrt(2), rel=1e-8)


def test_coordinates_that_turn_with_the_motion_are_not_steady() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = linearize(Bicycle(speed=5.0), {"rear_hub.angle.rate": -5.0 / 0.3})
    assert not linear.steady


@pytest.mark.parametrize("make", [Car, Engine, Manipulator, Kuka], ids=lambda make: make.__name__)
def test_machines_of_the_papers(make: type[Subsystem]) -> None:
    at = {"main.angle": 0.3, "main.angle.rate": 50.0} if make is Engine else None  # its gas has corners
    point = find_point(make(), at, 0.0, None, None, {})
    exact, differenced = exact_and_differenced(point)
    assert np.abs(exact - differenced).max() < 1e-8 * max(1.0, np.abs(exact).max())


@settings(max_examples=3, deadline=None)
@given(loops(bodies=(3, 4), couplings=False))
def test_random_loops(case) -> None:
    _check_random(case)


@settings(max_examples=3, deadline=None)
@given(redundant_loops())
def test_random_redundant_loops(case) -> None:
    _check_random(case)


def _check_random(case) -> None:
    built = build(case.m, starts=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point = find_point(built.model, None, case.m.time, None, None, {})
    exact, differenced = exact_and_differenced(point)
    scale = max(1.0, np.abs(exact).max(initial=0.0))
    assert np.abs(exact - differenced).max(initial=0.0) < 1e-7 * scale


class Servo(Subsystem):
    """A slide on a spring, pushed by a force behind a filter."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.slide = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
        self.rail = Prismatic(self.ground, self.slide, axis="x")
        self.spring = JointEffort(self.rail, -50.0 * self.rail.displacement - 0.4 * self.rail.v)
        self.command = Input(0.0, unit="N")
        self.force = State(0.0, unit="N")
        self.force.rate = (self.command - self.force) / 0.1
        self.motor = JointEffort(self.rail, self.force)


def test_state_space_by_hand() -> None:
    linear = linearize(Servo(), outputs=["rail.displacement", "slide.acceleration.x"])
    assert linear.states == ("rail.displacement", "rail.displacement.rate", "force")
    assert pytest.approx(np.array([[0, 1, 0], [-25, -0.2, 0.5], [0, 0, -10]]), abs=1e-13) == linear.A
    assert pytest.approx(np.array([[0], [0], [10.0]]), abs=1e-13) == linear.B
    assert pytest.approx(np.array([[1, 0, 0], [-25, -0.2, 0.5]]), abs=1e-13) == linear.C
    assert pytest.approx(np.zeros((2, 1)), abs=1e-13) == linear.D


def test_response_and_its_friends() -> None:
    linear = linearize(Servo(), outputs=["rail.displacement"])
    s = 2j * np.pi * 0.7
    hand = 0.5 / (s * s + 0.2 * s + 25) * 10 / (s + 10)
    assert linear.response([0.7])[0, 0, 0] == pytest.approx(hand, rel=1e-12)
    control = pytest.importorskip("control")
    assert complex(control.evalfr(linear.to_control(), s)) == pytest.approx(hand, rel=1e-12)
    assert linear.to_xarray().sizes == {"rate": 3, "state": 3, "input": 1, "output": 1}


def test_closed_parts_are_differenced() -> None:
    rest = equilibrium(Car())
    opened, closed = linearize(Car(), rest), linearize(Car(), rest, closed=["left"])
    assert closed.states == opened.states
    assert np.abs(closed.A - opened.A).max() < 1e-9 * np.abs(opened.A).max()


def test_energy_shares_and_shapes() -> None:
    found = modes(rods(2))
    for mode in found:
        assert sum(mode.shares.values()) == pytest.approx(1.0, abs=1e-9)
        assert max(abs(size) for size in mode.shape.values()) == pytest.approx(1.0)
    slow, fast = found
    assert (
        (slow.shape["pin1.angle"] / slow.shape["pin0.angle"]).real
        > 0
        > (fast.shape["pin1.angle"] / fast.shape["pin0.angle"]).real
    )
    assert "Hz" in str(found)


def test_a_mode_is_what_a_run_does() -> None:
    slow = modes(rods(2))[0]
    start = {name: 1e-5 * size.real for name, size in slow.shape.items()}
    run = simulate(rods(2), until=1.0, step=1e-3, initial=start, channels=["pin0.angle"])
    swing = start["pin0.angle"] * np.cos(2 * np.pi * slow.frequency * run.time)
    assert np.abs(run["pin0.angle"] - swing).max() < 1e-12


def test_unknown_names() -> None:
    with pytest.raises(RunError, match="no input or parameter 'comand'"):
        linearize(Servo(), inputs=["comand"])
    with pytest.raises(RunError, match="no coordinate 'rail'"):
        linearize(Servo(), coordinates=["rail"])
    with pytest.raises(RunError, match="joint coordinates"):
        linearize(Servo(), engine="absolute")
