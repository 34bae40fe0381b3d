"""Which numbers of the catalogue are put in after tracing: directions, pitches, radii, ratios, places of grounds.
Another one gives the program a new translation would give, to the letter, and traces nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws.mechanisms import Case, build, loops, trees
from translate.catalogue import AXIS, PLANE, Coupled, Machine, Numbers, cases, edited, edits
from translate.test_lengths import kernels, traced
from translate.test_numbers import FULL, Shelf, translated

from kompono import Body, Ground, Subsystem, simulate
from kompono.library import Gear, Gravity, Revolute, Rolling, Screw, SpringDamper, Sum, Universal
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.translate.structure.turned import along_axis

__all__ = ["traced"]  # a fixture
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
QUICK = [
    "Revolute across y, loop", "Screw, loop", "Universal, tree", "Planar, tree", "Rolling wheel, tree", "Link, tree",
    "Ground, loop", "LineOnLine, loop", "AngleBetween, loop", "Gear, loop", "Sum, tree", "Polynomial, tree",
    "Drive, tree", "Rotor, tree", "mates, hinge", "mates, weld", "Chain, tree",
]  # fmt: skip


def all_edited(numbers: Numbers) -> Numbers:
    for name in numbers:
        numbers = edited(numbers, name)
    return numbers


@pytest.mark.parametrize("name", cases() if LONG else QUICK)
def test_other_numbers_trace_nothing(name: str, traced: set[str]) -> None:
    make, numbers, cut = cases()[name]
    shelf = Shelf()
    first = kernels(translated(make(numbers), shelf, cut=cut))
    new = kernels(translated(make(all_edited(numbers)), None, cut=cut))
    traced.clear()
    assert kernels(translated(make(all_edited(numbers)), shelf, cut=cut)) == new != first
    assert not traced


@pytest.mark.skipif(not LONG, reason="the numbers of each element together are enough for every day")
@pytest.mark.parametrize(("name", "number"), list(edits()))
def test_each_number_by_itself(name: str, number: str, traced: set[str]) -> None:
    make, numbers, cut = cases()[name]
    shelf, other = Shelf(), edited(numbers, number)
    first = kernels(translated(make(numbers), shelf, cut=cut))
    new = kernels(translated(make(other), None, cut=cut))
    traced.clear()
    assert kernels(translated(make(other), shelf, cut=cut)) == new != first
    assert not traced


def machine(element: Callable[..., Any], *, loop: bool = False, **numbers: Any) -> Subsystem:
    return Machine(element, numbers, loop=loop, beside=False)


def coupled(element: Callable[..., Any], *, loop: bool = False, **numbers: Any) -> Subsystem:
    return Coupled(element, numbers, loop=loop)


def mated(off: float = 0.0) -> Subsystem:
    """A hinge of mates, or, a little off where it should be, a loop."""
    model = cases()["mates, hinge"].make({"x": 0.93, "z": 0.17})
    model.bob.start_position = model.bob.start_position + off
    return model


class Grounds(Subsystem):
    """A pendulum pulled by a spring from a second ground, perhaps level with the first."""

    def __init__(self, first: Any, second: Any) -> None:
        self.low, self.high, self.gravity, self.bob = (
            Ground(first),
            Ground(second),
            Gravity(),
            Body(mass=1.0, inertia=FULL),
        )
        self.pin = Revolute(self.low, self.bob.at(0, 0, 0.4), axis="y")
        self.spring = SpringDamper(self.high, self.bob, k=20.0, rest=0.2)


class Ring(Subsystem):
    """Three gears that turn each other: the last is implied by the others, or all of them stand still."""

    def __init__(self, ratio: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        for k in range(3):
            wheel = Body(mass=1.0 + k, inertia=FULL)
            setattr(self, f"wheel{k}", wheel)
            setattr(self, f"pin{k}", Revolute(self.ground.at(0, 0.3 * k, 0), wheel.at(0.1, 0, 0), axis="y"))
        self.a = Gear(self.pin0, self.pin1, ratio=1.5)
        self.b = Gear(self.pin1, self.pin2, ratio=3.0)
        self.c = Gear(self.pin0, self.pin2, ratio=ratio)


PLACE = (0.1, 0.2, 0.3)
Z, X = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
DECIDED: dict[str, tuple[Callable[[], Subsystem], Callable[[], Subsystem]]] = {
    "along an axis": (lambda: machine(Revolute, axis=AXIS), lambda: machine(Revolute, axis=Z)),
    "in a plane": (lambda: machine(Revolute, axis=AXIS, loop=True), lambda: machine(Revolute, axis=PLANE, loop=True)),
    "out of it": (lambda: machine(Revolute, axis=PLANE), lambda: machine(Revolute, axis=AXIS)),
    "another side": (lambda: machine(Revolute, axis=PLANE), lambda: machine(Revolute, axis=np.roll(PLANE, 1))),
    "back": (lambda: machine(Screw, pitch=0.03, axis=AXIS), lambda: machine(Screw, pitch=-0.03, axis=-AXIS)),
    "unit pitch": (lambda: machine(Screw, pitch=0.03), lambda: machine(Screw, pitch=1.0)),
    "unit radius": (lambda: machine(Rolling, radius=0.3), lambda: machine(Rolling, radius=1.0)),
    "cross": (
        lambda: machine(Universal, first_axis=AXIS, second_axis=np.cross(AXIS, X) / np.hypot(*AXIS[1:])),
        lambda: machine(Universal, first_axis=Z, second_axis=X),
    ),
    "at the origin": (lambda: machine(Revolute, position=PLACE), lambda: machine(Revolute, position=(0, 0, 0))),
    "one zero": (lambda: machine(Revolute, position=PLACE), lambda: machine(Revolute, position=(0.1, 0, 0.3))),
    "straight": (lambda: machine(Revolute, turn=0.4), lambda: machine(Revolute, turn=0.0)),
    "not level": (lambda: Grounds(PLACE, (0.4, 0.2, 0.7)), lambda: Grounds(PLACE, (0.4, 0.25, 0.7))),
    "level": (lambda: Grounds(PLACE, (0.4, 0.3, 0.7)), lambda: Grounds(PLACE, (0.4, 0.2, 0.3))),
    "unit ratio": (lambda: coupled(Gear, ratio=3.0), lambda: coupled(Gear, ratio=-1.0)),
    "no ratio": (lambda: coupled(Gear, ratio=3.0), lambda: coupled(Gear, ratio=0.0)),
    "offset": (lambda: coupled(Gear, ratio=3.0, offset=0.2), lambda: coupled(Gear, ratio=3.0)),
    "equal": (
        lambda: coupled(lambda p, q: Sum((p, 3.0), (q, 5.0))), lambda: coupled(lambda p, q: Sum((p, 3.0), (q, 3.0)))
    ),
    "no mates": (lambda: mated(), lambda: mated(off=1e-3)),
    "mates": (lambda: mated(off=1e-3), lambda: mated()),
    "ring": (lambda: Ring(4.5), lambda: Ring(4.6)),
    "ring that turns": (lambda: Ring(4.6), lambda: Ring(4.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_what_numbers_decide_is_decided_anew(name: str) -> None:
    first, second = DECIDED[name]
    shelf = Shelf()
    kernels(translated(first(), shelf))
    assert kernels(translated(second(), shelf)) == kernels(translated(second(), None))


def test_all_that_is_decided_is_known_before_anything_is_traced() -> None:
    for name in cases() if LONG else QUICK[::3]:
        make, values, cut = cases()[name]
        translation = translated(make(values), None, cut=cut)
        numbers = translation.engine.model.numbers
        assert numbers is not None
        before = numbers.pattern
        kernels(translation)
        assert numbers.pattern == before


def tilted(model: Subsystem, seed: int) -> Subsystem:
    """A machine with all directions that are no coordinate axes, and all grounds, a little elsewhere."""
    random = np.random.default_rng(seed)
    for element in model.walk():
        if isinstance(element, Joint | Constraint):
            for name, value in vars(element).items():
                if isinstance(value, np.ndarray) and value.shape == (3,) and not along_axis(value):
                    moved = value * (1 + 1e-3 * random.uniform(-1, 1, 3))
                    setattr(element, name, moved / np.linalg.norm(moved))
    return model


@settings(
    max_examples=60 if LONG else 2, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], phases=[Phase.generate],
)  # fmt: skip
@given(st.one_of(trees(), loops()))
def test_random_machines(case: Case) -> None:
    shelf = Shelf()
    kernels(translated(build(case.m).model, shelf))
    assert kernels(translated(tilted(build(case.m).model, 1), shelf)) == kernels(
        translated(tilted(build(case.m).model, 1), None)
    )


def test_other_numbers_compile_nothing_and_give_the_bits_of_a_new_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
    make, numbers, cut = cases()["Screw, loop"]

    def run(given: Numbers, *, cache: bool = True) -> list[float]:
        result = simulate(make(given), until=0.02, step=1e-3, cut=cut, cache=cache)
        return list(result.end.values.values())

    run(numbers)
    objects = {path.name for path in tmp_path.glob("*.o")}
    other = all_edited(numbers)
    found = run(other)
    assert {path.name for path in tmp_path.glob("*.o")} == objects != set()
    assert found == run(other, cache=False) != run(numbers)
