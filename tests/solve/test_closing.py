"""Closing loops: reachable positions are found, half a turn off is no solution, quaternions keep their length, rounded
redundant loops are taken with a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solve.test_starts import FourBar

from kompono import AssemblyError, Body, Ground, ModelWarning, Simulation, Subsystem, inspect, rotation, simulate, time
from kompono.library import (
    Cylindrical,
    Distance,
    Drive,
    Gear,
    Gravity,
    ParallelAxes,
    Planar,
    PlaneToPlane,
    Prismatic,
    Revolute,
    Spherical,
    Weld,
    solids,
)
from kompono.solve.assemble import remarks
from kompono.solve.bodies import matrix_of

quiet = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


@pytest.fixture(scope="module")
def four_bar() -> Simulation:
    return Simulation(FourBar(), native=False)


@pytest.mark.parametrize("angle", np.linspace(-3.1, 3.1, 32))
def test_a_parallelogram_takes_any_angle_of_its_crank(four_bar: Simulation, angle: float) -> None:
    assembly = four_bar.assemble({"foot1.angle": angle})
    assert assembly.state[four_bar.program.coordinates.index("foot1.angle")] == angle
    assert not assembly.not_kept


@pytest.mark.parametrize("angle", [1.0, 1.2, 1.4, 1.6])
def test_a_crank_is_turned_from_the_neutral_position_without_folding_over(four_bar: Simulation, angle: float) -> None:
    state = four_bar.assemble({"foot1.angle": angle}).state
    assert state[four_bar.program.coordinates.index("foot2.angle")] == pytest.approx(angle, abs=1e-9)


@quiet
def test_rows_of_machines_are_closed_one_by_one() -> None:
    class Row(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.parts = [FourBar(foot1_angle=0.4 + 0.15 * k) for k in range(8)]
            self.welds = [Weld(self.ground.at(3 * k, 0, 0), part.base) for k, part in enumerate(self.parts)]

    class FourBar(Subsystem):
        def __init__(self, foot1_angle: float) -> None:
            rod = solids.rod(mass=1, length=1, radius=0.01)
            self.base, self.left, self.right = Body(rod), Body(rod), Body(rod)
            self.top = Body(solids.rod(mass=1, length=1.2, radius=0.01, axis="x"))
            self.foot1 = Revolute(self.base, self.left.at(0, 0, -0.5), axis="y", angle=foot1_angle)
            self.foot2 = Revolute(self.base.at(1.2, 0, 0), self.right.at(0, 0, -0.5), axis="y")
            self.knee1 = Revolute(self.left.at(0, 0, 0.5), self.top.at(-0.6, 0, 0), axis="y")
            self.knee2 = Revolute(self.right.at(0, 0, 0.5), self.top.at(0.6, 0, 0), axis="y")
            self.expose(self.base)

    assembly = Simulation(Row(), native=False).assemble()
    assert not assembly.not_kept
    assert assembly.degrees_of_freedom == 8


# -- half a turn off


class Turned(Subsystem):
    """A box on a ball joint or pin at its centre, held by something that knows a direction, started beyond 90 deg."""

    def __init__(self, hold: Any, angle: float = 1.9, **options: Any) -> None:
        self.ground = Ground()
        self.box = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)))
        e = rotation("y", angle)
        self.ball = Spherical(self.ground, self.box, **{f"e{k}": float(e[k]) for k in range(4)})
        self.hold = hold(self.ground, self.box, **options)


HOLDS = [Revolute, Prismatic, Cylindrical, Planar, Weld, PlaneToPlane, ParallelAxes]


@quiet
@pytest.mark.parametrize("hold", HOLDS)
def test_a_direction_is_never_taken_half_a_turn_off(hold: Any) -> None:
    options: dict[str, Any] = {} if hold is Weld else {"normal": "x"} if hold is Planar else {"axis": "x"}
    result = simulate(Turned(hold, **options), until=0.0, cut=["hold"] if hasattr(hold, "pose") else [])
    x = 1 - 2 * (result["box.orientation.e2"][0] ** 2 + result["box.orientation.e3"][0] ** 2)
    assert x == pytest.approx(1.0, abs=1e-9)


@quiet
@pytest.mark.parametrize("hold", [PlaneToPlane, ParallelAxes])
def test_a_mate_may_be_opposed(hold: Any) -> None:
    result = simulate(Turned(hold, angle=1.2, axis="x", opposed=True), until=0.0)
    x = 1 - 2 * (result["box.orientation.e2"][0] ** 2 + result["box.orientation.e3"][0] ** 2)
    assert x == pytest.approx(-1.0, abs=1e-9)


def test_a_loop_that_closes_only_half_a_turn_off_is_refused_with_a_way_out() -> None:
    class Opposed(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.box = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)))
            self.pin = Revolute(self.ground, self.box, axis="y")
            self.mate = ParallelAxes(self.ground, self.box.at(0, 0, 0, orientation=rotation("x", np.pi)), axis="y")

    with pytest.raises(AssemblyError, match=r"^mate: .*half a turn off.*opposed"):
        simulate(Opposed(), until=0.1)


def test_three_mates_that_start_half_a_turn_off_are_no_weld() -> None:
    class Mated(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.box = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)), start_orientation=rotation("x", np.pi))
            self.mates = [PlaneToPlane(self.ground, self.box, axis=axis) for axis in "xyz"]

    with pytest.warns(ModelWarning, match=r"box\.start_orientation asked"):
        result = simulate(Mated(), until=0.0)
    assert abs(result["box.orientation.e0"][0]) == pytest.approx(1.0, abs=1e-9)


# -- quaternions


class OnRods(Subsystem):
    """A plate on three rods, started a few degrees off."""

    def __init__(self, tilt: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(
            solids.box(mass=1, size=(1, 1, 0.1)), start_position=(0.1, 0, 0), start_orientation=rotation("x", tilt)
        )
        corners = ((0.5, 0), (-0.4, 0.4), (-0.4, -0.4))
        self.rods = [Distance(self.ground.at(x, y, 1), self.plate.at(x, y, 0), length=1.0) for x, y in corners]


@quiet
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_plate_that_assembly_turns_keeps_unit_quaternions(engine: str) -> None:
    result = simulate(OnRods(0.3), until=0.2, engine=engine)
    assert result.status.ok, result.status.message
    assert result["drift.position"].max() < 1e-9


@quiet
def test_quaternions_have_unit_length_after_assembly() -> None:
    simulation = Simulation(OnRods(0.6), native=False)
    names = simulation.program.coordinates
    e = simulation.assemble().state[[names.index(f"plate.free.e{k}") for k in range(4)]]
    assert e @ e == pytest.approx(1.0, abs=1e-14)


# -- rounded points


class Rounded(Subsystem):
    """A planar four-bar turned in space, its points rounded: three of five conditions are implied but for rounding."""

    def __init__(self, digits: int = 8) -> None:
        turn = matrix_of(rotation((0.48, 0.6, 0.64), 1.1))
        self.ground, self.gravity = Ground(), Gravity()
        points = np.array([[0, 0, 0], [0.2, 0, 0.9], [1.3, 0, 1.1], [1.2, 0, 0.0]])
        a, b, c, d = (np.round(turn @ p, digits) for p in points)
        self.links = [
            Body(mass=1, inertia=(0.1, 0.1, 0.1), start_position=p) for p in ((a + b) / 2, (b + c) / 2, (c + d) / 2)
        ]
        axis = turn @ np.array([0.0, 1.0, 0.0])
        ends = [(self.ground, self.links[0], a), (self.links[0], self.links[1], b)]
        ends += [(self.links[1], self.links[2], c), (self.ground, self.links[2], d)]
        for name, (first, second, p) in zip(("foot1", "knee1", "knee2", "foot2"), ends, strict=True):
            frames = [
                _on(carrier, np.round(p + shift, digits))
                for carrier, shift in ((first, 0), (second, _noise(name, digits)))
            ]
            setattr(self, name, Revolute(*frames, axis=axis))


def _noise(name: str, digits: int) -> np.ndarray:
    """What rounding in another frame would have added."""
    return 10.0**-digits * np.random.default_rng(len(name) + ord(name[-1])).integers(-1, 2, 3)


def _on(carrier: Any, point: np.ndarray) -> Any:
    return carrier.at(point - getattr(carrier, "start_position", np.zeros(3)))


@pytest.mark.parametrize("cut", ["foot1", "knee1", "knee2", "foot2"])
def test_a_redundant_loop_with_rounded_points_is_taken_with_a_word(cut: str) -> None:
    assembly = Simulation(Rounded(), cut=[cut], native=False).assemble()
    (said,) = remarks(assembly)
    assert said.startswith(f"{cut}: a gap of {assembly.gap:.3g} m remains")
    assert 1e-9 < assembly.gap < 1e-7
    assert assembly.degrees_of_freedom == 1
    assert max(abs(change) for change in assembly.moved.values()) < 1e-5


def test_a_loop_that_misses_by_more_than_rounding_is_refused() -> None:
    with pytest.raises(AssemblyError, match=r"cannot be closed; a gap of .* m remains"):
        Simulation(Rounded(digits=3), native=False).assemble()


def test_a_loop_just_out_of_reach_is_not_taken_for_rounded() -> None:
    from solve.test_assembly import Triangle

    with pytest.raises(AssemblyError, match=r"cannot be closed; a gap of .* m remains"):
        Simulation(Triangle(span=2.0 + 2e-7, left=-0.1, right=0.1), native=False).assemble()


# -- words


class Geared(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.wheels = [Body(solids.cylinder(mass=1, radius=0.1, length=0.1)) for _ in range(2)]
        self.first = Revolute(self.ground, self.wheels[0], angle=0.3)
        self.second = Revolute(self.ground.at(1, 0, 0), self.wheels[1])
        self.gear = Gear(self.first, self.second, ratio=-2)


def test_without_loops_no_loops_are_spoken_of() -> None:
    with pytest.warns(ModelWarning, match=r"second\.angle by -0\.6 to agree with drives and couplings\.$"):
        simulate(Geared(), until=0.0)


def test_what_was_asked_and_what_it_became_is_said_with_units() -> None:
    with pytest.warns(
        ModelWarning, match=r"first\.angle asked 0\.3 rad, became .* rad; second\.angle asked 0\.3 rad, b"
    ):
        simulate(Geared(), until=0.0, initial={"second.angle": 0.3, "first.angle": 0.3})


def test_contradicting_drives_name_the_unit_and_what_was_given() -> None:
    class Both(Geared):
        def __init__(self) -> None:
            super().__init__()
            self.drives = [Drive(self.first, time), Drive(self.second, 1 + time)]

    with pytest.raises(
        AssemblyError, match=r"cannot be closed; a gap of .* rad remains.*Asked for: first\.angle = 0\.3 rad"
    ):
        simulate(Both(), until=0.1)


def test_the_report_of_a_model_shows_moves(four_bar: Simulation) -> None:
    assert inspect(FourBar(foot1_angle=0.3)).moved["foot2.angle"] == pytest.approx(0.3, abs=1e-9)


@quiet
def test_values_that_miss_a_closed_position_by_rounding_only_are_closed_without_a_search(
    monkeypatch: pytest.MonkeyPatch, four_bar: Simulation
) -> None:
    from kompono.solve import search

    tried: list[int] = []
    looked = search._from_elsewhere
    monkeypatch.setattr(search, "_from_elsewhere", lambda *given, **named: tried.append(1) or looked(*given, **named))
    near = four_bar.assemble({"foot1.angle": 4e-3, "foot2.angle": 3.9e-3})
    assert not tried
    assert all(abs(change) < 5e-3 for change in near.moved.values())
    four_bar.assemble({"foot1.angle": 0.4, "foot2.angle": 0.3})
    assert tried  # values that are wrong are looked at with care
