"""Lengths are put in after tracing: a point elsewhere gives the program a new translation would give, to the letter,
and traces nothing, as long as what is decided by lengths stays the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws.mechanisms import Case, build, loops, redundant_loops, trees
from translate.test_numbers import FULL, Arm, Shelf, Watched, translated

from kompono import Body, Frame, Ground, Joint, Pose, Sensor, Subsystem, simulate
from kompono.examples.car import Car
from kompono.examples.reference.slider_crank import SliderCrank
from kompono.library import (
    Distance,
    DryFriction,
    EndStops,
    Gravity,
    PointOnPoint,
    Revolute,
    Spherical,
    SpringDamper,
    Weld,
    solids,
)
from kompono.translate import Translation
from kompono.translate.declared.elaborate import elaborate
from kompono.translate.lengths import named_frames
from kompono.translate.structure.topology import find_topology
from kompono.translate.tracer import InlineTracer

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
SLOPES = {"jacobian", "implicit"}  # of the derivative with its numbers
LONG = "KOMPONO_LAWS" in os.environ


def frames_of(model: Subsystem) -> list[Frame]:
    whole = elaborate(model)
    return list(named_frames(whole, find_topology(whole)))


def moved(model: Subsystem, scale: float, one: int | None = None) -> Subsystem:
    """The model with all its points, or one that is not at the origin, farther out."""
    chosen = [frame for frame in frames_of(model) if np.any(ca.DM(frame.pose.position).full())]
    for frame in chosen if one is None else chosen[one : one + 1]:
        frame.pose = Pose(scale * frame.pose.position, frame.pose.rotation)
    return model


def kernels(translation: Translation) -> dict[str, Any]:
    """All routines but those that are made of others."""
    program = translation.program
    with translation.kept_together():
        routines = {name: program.routines[name] for name in program.routines if name not in SLOPES}
    return {
        name: ([program.kernels[call.kernel].serialize() for call in one.calls], one.result, one.inputs)
        for name, one in routines.items()
    }


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of routines that are traced and compute something; those of numbers alone, from which all is found, are
    not counted.
    """
    found, routine = set[str](), InlineTracer.routine

    def counted(self: InlineTracer, name: str, *rest: Any) -> Any:
        made = routine(self, name, *rest)
        if self.numbers is not None and made.calls:
            found.add(name)
        return made

    monkeypatch.setattr(InlineTracer, "routine", counted)
    return found


class FourBar(Subsystem):
    """A loop in a plane: a parallelogram if the coupler is as long as the ground."""

    def __init__(self, coupler: float = 0.9, crank: float = 0.25, aside: float = 0.0, laws: bool = False) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crank, self.rocker = (Body(solids.rod(mass=1.0, length=0.5, axis="x", radius=0.01)) for _ in range(2))
        self.coupler = Body(mass=2.0, inertia=FULL)
        self.a = Revolute(self.ground, self.crank.at(-crank, 0, 0), axis="y", angle=0.7)
        self.b = Revolute(self.crank.at(crank, 0, 0), self.coupler.at(-coupler / 2, aside, 0), axis="y", angle=-0.7)
        self.c = Revolute(self.ground.at(0.9, 0, 0), self.rocker.at(-0.25, 0, 0), axis="y", angle=0.7)
        self.d = Revolute(self.rocker.at(0.25, 0, 0), self.coupler.at(coupler / 2, aside, 0), axis="y")
        self.sensor = Sensor(self.coupler.at(0.1, 0.2, 0.3))
        if laws:
            self.stop, self.friction = EndStops(self.a, -0.2, 1.5), DryFriction(self.c, preload=0.02)


class Spatial(Subsystem):
    """A loop in space, with a rod and a body that is welded on twice."""

    def __init__(self, place: float = 0.3, turn: float = 0.4, rod: float = 1.25) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.arm, self.plate, self.lump, self.more = (Body(mass=m, inertia=FULL) for m in (1.0, 2.0, 0.3, 0.2))
        tilted = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1.0]])
        self.hinge = Revolute(self.ground.at(0, 0, 0.1, orientation=tilted), self.arm.at(-place, 0.1, 0), axis="y")
        self.ball = Spherical(self.arm.at(0.4, 0, 0.2), self.plate.at(-0.2, 0.1, 0))
        self.rod = Distance(self.ground.at(0.5, 0.5, 1.3), self.plate.at(0, 0.1, 0), length=rod)
        self.held = Weld(self.plate.at(0.1, 0.1, 0.1, orientation=tilted), self.lump.at(0.05, 0, 0))
        self.also = Weld(self.lump, self.more.at(0, 0.03, 0.01))
        self.spring = SpringDamper(self.ground.at(0, 0, 1.4), self.more.at(0.02, 0, 0), k=30.0, c=0.2, rest=0.4)


class Mated(FourBar):
    """Two bodies that mates hold together as a ball would."""

    def __init__(self) -> None:
        super().__init__()
        self.bob = Body(mass=0.5, inertia=FULL, start_position=(0.7, 0.3, 0.4))
        self.point = PointOnPoint(self.ground.at(0.6, 0.3, 0.5), self.bob.at(-0.1, 0, 0.1))
        self.string = SpringDamper(self.bob.at(0.1, 0, 0), self.coupler.at(0, 0.1, 0), k=20.0, rest=0.2)


def with_laws() -> FourBar:
    return FourBar(laws=True)


def parallelogram() -> FourBar:
    return FourBar(0.9)


MACHINES: list[Callable[[], Subsystem]] = [
    lambda: Arm(10.0), lambda: Watched(10.0), FourBar, with_laws, Spatial, Mated, SliderCrank, Car,
]  # fmt: skip


@pytest.fixture(scope="module")
def shelves() -> list[Shelf]:
    """What a first translation of each machine keeps."""
    found = [Shelf() for _ in MACHINES]
    for make, shelf in zip(MACHINES, found, strict=True):
        kernels(translated(moved(make(), 1.002), shelf))  # lengths of 1 are no numbers
    return found


@pytest.mark.parametrize("number", range(len(MACHINES)))
def test_kernels_from_the_shelf_are_those_of_a_new_translation(
    shelves: list[Shelf], number: int, traced: set[str]
) -> None:
    make = MACHINES[number]
    new = kernels(translated(moved(make(), 1.01), None))
    traced.clear()
    assert kernels(translated(moved(make(), 1.01), Shelf(shelves[number]))) == new
    assert not traced
    for one in range(3 if LONG else 1):
        edited = kernels(translated(moved(make(), 1.03, one), Shelf(shelves[number])))
        assert edited == kernels(translated(moved(make(), 1.03, one), None)) != new


@pytest.fixture(scope="module")
def parallel() -> Shelf:
    shelf = Shelf()
    kernels(translated(parallelogram(), shelf))
    return shelf


@pytest.fixture(scope="module")
def spatial() -> Shelf:
    shelf = Shelf()
    kernels(translated(Spatial(), shelf))
    return shelf


@pytest.mark.parametrize(
    "other",
    [
        lambda: FourBar(0.8), lambda: FourBar(0.9, 0.05), lambda: FourBar(0.9, 0.25, 0.1), lambda: FourBar(1.0),
        lambda: FourBar(0.9, 1.0), lambda: FourBar(0.0), lambda: FourBar(0.9, 0.0),
    ],
    ids=["no parallelogram", "a crank that turns", "bodies aside", "unit", "too long", "zero", "no crank"],
)  # fmt: skip
def test_what_lengths_decide_is_decided_anew(other: Callable[[], Subsystem], parallel: Shelf) -> None:
    assert kernels(translated(other(), Shelf(parallel))) == kernels(translated(other(), None))


def test_what_lengths_decided_before_is_not_forgotten(traced: set[str]) -> None:
    shelf = Shelf()
    for machine in (Spatial(turn=0.0), Spatial()):
        kernels(translated(machine, shelf))
    traced.clear()
    for scale in (1.01, 1.02):
        for machine in (Spatial(turn=0.0), Spatial()):
            kernels(translated(moved(machine, scale), shelf))
    assert not traced


@pytest.mark.parametrize("turn", [0.3, 0.0, np.pi / 2, np.pi])
def test_another_angle_of_a_frame(turn: float, spatial: Shelf, traced: set[str]) -> None:
    new = kernels(translated(Spatial(turn=turn), None))
    traced.clear()
    assert kernels(translated(Spatial(turn=turn), Shelf(spatial))) == new
    assert bool(traced) is (turn != 0.3)


@pytest.mark.parametrize("rod", [1.3, 1.0])
def test_another_length_of_a_rod(rod: float, spatial: Shelf, traced: set[str]) -> None:
    new = kernels(translated(Spatial(rod=rod), None))
    traced.clear()
    assert kernels(translated(Spatial(rod=rod), Shelf(spatial))) == new
    assert bool(traced) is (rod == 1.0)


def test_all_that_is_decided_is_known_before_anything_is_traced() -> None:
    for make in MACHINES:
        translation = translated(make(), None)
        numbers = translation.engine.model.numbers
        assert numbers is not None
        before = numbers.pattern
        kernels(translation)
        assert numbers.pattern == before


def shifted(case: Case, seed: int) -> Subsystem:
    """A random machine with all points a little elsewhere."""
    model, random = build(case.m).model, np.random.default_rng(seed)
    for frame in frames_of(model):
        place = ca.DM(frame.pose.position)
        frame.pose = Pose(place * ca.DM(1 + 1e-3 * random.uniform(-1, 1, 3)), frame.pose.rotation)
    return model


@settings(
    max_examples=60 if LONG else 3, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], phases=[Phase.generate],
)  # fmt: skip
@given(st.one_of(trees(), loops(), redundant_loops()))
def test_random_machines(case: Case) -> None:
    shelf = Shelf()
    kernels(translated(build(case.m).model, shelf))
    assert kernels(translated(shifted(case, 1), shelf)) == kernels(translated(shifted(case, 1), None))


@pytest.mark.parametrize("make", [lambda: Watched(10.0), with_laws])
def test_another_length_compiles_nothing_and_gives_the_bits_of_a_new_model(
    make: Callable[[], Subsystem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def run(scale: float, *, cache: bool = True) -> list[float]:
        result = simulate(moved(make(), scale), until=0.05, step=1e-3, cache=cache)
        return list(result.end.values.values())

    run(1.01)
    objects = {path.name for path in tmp_path.glob("*.o")}
    edited, warm = run(1.02), run(1.02)
    if make is not with_laws:  # routines as short as one of these are in the code of their loop
        assert {path.name for path in tmp_path.glob("*.o")} == objects
    assert objects
    assert edited == warm == run(1.02, cache=False) != run(1.01)


def test_a_joint_that_looks_at_its_frames_has_them_in_its_name() -> None:
    class Offset(Revolute):
        """A hinge with an eccentric of its own."""

        def pose(self, q: Any) -> Pose:
            return Pose(2 * ca.SX(self.second.pose.position), super().pose(q).rotation)

        def conditions(self, pose: Pose) -> None:
            return None

    class One(Subsystem):
        def __init__(self, place: float) -> None:
            self.ground, self.body = Ground(), Body(mass=1.0, inertia=FULL)
            self.joint: Joint = Offset(self.ground, self.body.at(place, 0, 0), axis="y")

    shelf = Shelf()
    kernels(translated(One(0.3), shelf))
    assert kernels(translated(One(0.4), shelf)) == kernels(translated(One(0.4), None))
