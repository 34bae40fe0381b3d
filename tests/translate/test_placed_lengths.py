"""Lengths are put in after tracing in absolute coordinates, too: inlined, and in schedules of shared kernels. A point
elsewhere gives the program a new translation would give, to the letter.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws.mechanisms import Case, build, held_together, loops, redundant_loops, trees
from translate.test_lengths import SLOPES, FourBar, Mated, Spatial, moved, shifted, with_laws
from translate.test_numbers import FULL, Arm, Shelf, Watched, translated

from kompono import Body, Ground, Parameter, Pose, Sensor, Subsystem
from kompono.examples.reference.slider_crank import SliderCrank
from kompono.library import Distance, Gear, Gravity, Revolute, Spherical, SpringDamper
from kompono.translate import Translation
from kompono.translate.sharing import SharingTracer
from kompono.translate.tracer import InlineTracer

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
WAYS: dict[str, dict[str, Any]] = {
    "inlined": {}, "shared": {"inline_limit": 0}, "together": {"projection": "standard", "metric": "identity"},
}  # fmt: skip


def placed(model: Subsystem, shelf: Shelf | None, way: str = "inlined") -> Translation:
    return translated(model, shelf, engine="absolute", **WAYS[way])


def letters(translation: Translation) -> dict[str, Any]:
    """All routines but those that are made of others: calls, slots and kernels, by what these are, not their names."""
    program = translation.program
    with translation.kept_together():
        found = {name: program.routines[name] for name in program.routines if name not in SLOPES}
    return {
        name: (
            replace(one, calls=tuple(replace(call, kernel="") for call in one.calls)),
            [program.kernels[call.kernel].serialize() for call in one.calls],
        )
        for name, one in found.items()
    }


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of routines that are traced and compute something."""
    found = set[str]()
    for kind in (InlineTracer, SharingTracer):

        def counted(self: Any, name: str, *rest: Any, routine: Any = kind.routine) -> Any:
            made = routine(self, name, *rest)
            if self.numbers is not None and made.calls:
                found.add(name)
            return made

        monkeypatch.setattr(kind, "routine", counted)
    return found


class Geared(Subsystem):
    """Two arms that turn together, one of them on a post whose height can be tuned, and a rod between them."""

    def __init__(self, place: float = 0.3) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.height = Parameter(0.2)
        self.left, self.right, self.bob = (Body(mass=m, inertia=FULL) for m in (1.0, 2.0, 0.4))
        self.a = Revolute(self.ground.at(0.1, 0, 0.2), self.left.at(-place, 0, 0.05), axis="y", angle=0.3)
        self.b = Revolute(self.ground.at(0.9, 0, self.height), self.right.at(-0.2, 0.1, 0), axis="y")
        self.gears = Gear(self.a, self.b, ratio=-2.0)
        self.ball = Spherical(self.left.at(0.2, 0.1, 0), self.bob.at(0, 0, place))
        self.rod = Distance(self.bob.at(0.02, 0, -0.1), self.right.at(0.1, 0, 0.1), length=0.8)
        self.spring = SpringDamper(self.left.at(0, 0, 0.1), self.bob.at(0, 0.1, 0), k=30.0, c=0.2, rest=0.4)
        self.sensor = Sensor(self.bob.at(0.1, 0.2, 0.3))


MACHINES: list[Callable[[], Subsystem]] = [
    lambda: Arm(10.0), lambda: Watched(10.0), FourBar, with_laws, Spatial, Mated, SliderCrank, Geared,
]  # fmt: skip
CASES = [(1, "inlined"), (5, "inlined"), (7, "inlined"), (4, "shared"), (7, "shared"), (0, "together")]
ALL = [(number, way) for number in range(len(MACHINES)) for way in WAYS]


@pytest.mark.parametrize(("number", "way"), ALL if LONG else CASES)
def test_kernels_from_the_shelf_are_those_of_a_new_translation(number: int, way: str, traced: set[str]) -> None:
    make, shelf = MACHINES[number], Shelf()
    translation = placed(moved(make(), 1.002), shelf, way)  # lengths of 1 are no numbers
    numbers = translation.engine.model.numbers
    assert numbers is not None
    known, first = numbers.pattern, letters(translation)
    assert numbers.pattern == known  # all that is decided was so before anything was traced
    traced.clear()
    edited = letters(placed(moved(make(), 1.03), Shelf(shelf), way))
    assert not traced
    assert edited == letters(placed(moved(make(), 1.03), None, way)) != first
    one = letters(placed(moved(make(), 1.03, 1), Shelf(shelf), way))
    assert one == letters(placed(moved(make(), 1.03, 1), None, way))


@pytest.fixture(scope="module")
def parallelogram() -> Shelf:
    shelf = Shelf()
    letters(placed(FourBar(), shelf, "shared"))
    return shelf


@pytest.mark.parametrize(
    "other",
    [
        lambda: FourBar(0.8), lambda: FourBar(0.9, 0.05), lambda: FourBar(0.9, 0.25, 0.1), lambda: FourBar(1.0),
        lambda: FourBar(0.9, 1.0), lambda: FourBar(0.0), lambda: FourBar(0.9, 0.0),
    ],
    ids=["no parallelogram", "a crank that turns", "bodies aside", "unit", "too long", "zero", "no crank"],
)  # fmt: skip
def test_what_lengths_decide_is_decided_anew(other: Callable[[], Subsystem], parallelogram: Shelf) -> None:
    kept = letters(placed(other(), Shelf(parallelogram), "shared"))
    assert kept == letters(placed(other(), None, "shared"))


@pytest.mark.parametrize(("turn", "rod"), [(0.3, 1.3), (np.pi / 2, 1.0)])
def test_other_angles_of_frames_and_lengths_of_rods(turn: float, rod: float, traced: set[str]) -> None:
    shelf = Shelf()
    letters(placed(Spatial(), shelf))
    new = letters(placed(Spatial(turn=turn, rod=rod), None))
    traced.clear()
    assert letters(placed(Spatial(turn=turn, rod=rod), shelf)) == new
    assert bool(traced) is (turn != 0.3)


@settings(
    max_examples=60 if LONG else 2, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], phases=[Phase.generate],
)  # fmt: skip
@given(st.one_of(trees(), loops(), redundant_loops(), held_together()), st.sampled_from(["inlined", "shared"]))
def test_random_machines(case: Case, way: str) -> None:
    shelf = Shelf()
    letters(placed(build(case.m).model, shelf, way))
    assert letters(placed(shifted(case, 1), shelf, way)) == letters(placed(shifted(case, 1), None, way))


def test_where_a_mated_body_starts_is_a_number(traced: set[str]) -> None:
    def higher(place: float) -> Subsystem:
        machine = Mated()
        machine.bob.start_position = np.array([0.7, 0.3, place])
        machine.point.first.pose = Pose(ca.DM([0.6, 0.3, place + 0.1]), machine.point.first.pose.rotation)
        return machine

    shelf = Shelf()
    letters(placed(higher(0.4), shelf, "shared"))
    traced.clear()
    edited = letters(placed(higher(0.41), shelf, "shared"))
    assert not traced
    assert edited == letters(placed(higher(0.41), None, "shared"))
