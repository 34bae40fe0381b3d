"""Numbers are put in after tracing in schedules of shared kernels in joint coordinates, too: an edit gives the program
a new translation would give, to the letter, and traces nothing; kernels that differ in numbers alone are one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from translate.test_lengths import FourBar, Mated, Spatial, moved
from translate.test_numbers import FULL, Arm, Shelf, translated
from translate.test_placed_lengths import letters as all_letters
from translate.test_placed_lengths import traced

from kompono import Body, Ground, Subsystem
from kompono.compile import Interpreter
from kompono.library import Gravity, Revolute, Spherical, SpringDamper, Universal
from kompono.translate import Translation

__all__ = ["traced"]
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ


class Branches(Subsystem):
    """A tree of links, all different or all equal; `edited` scales what one of them has of each kind."""

    def __init__(self, count: int = 5, different: float = 1.0, mass: float = 1.0, place: float = 1.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        random = np.random.default_rng(5).uniform(-0.1, 0.1, (count, 3)) * different
        links: list[Body] = []
        pins: list[Revolute] = []
        for k, (a, b, c) in enumerate(random.tolist()):
            heavy, far = (mass, place) if k == count // 2 else (1.0, 1.0)
            tensor = (1.3 + a) * heavy * FULL
            links.append(Body(mass=(0.7 + b) * heavy, inertia=tensor))
            base = links[(k - 1) // 2].at(0.03 + c, 0, -0.1) if k else self.ground
            pins.append(Revolute(base, links[-1].at(0, 0.02 + a, (0.13 + b) * far), axis="xy"[k % 2], angle=0.1))
        self.links, self.pins = links, pins
        self.spring = SpringDamper(self.ground.at(0, 0, 1), links[-1], k=40.0 * mass, c=0.3, rest=0.45)


class Rings(Subsystem):
    """Loops in space, each on the coupler of the one before."""

    def __init__(self, count: int = 1, mass: float = 1.0, place: float = 1.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        before, parts = None, []
        for k in range(count):
            m, length = 0.9 + 0.1 * k + (mass - 1) * (k == 0), 0.55 + 0.05 * k
            crank, rod, plate = (Body(mass=m * share, inertia=m * FULL) for share in (1.0, 0.7, 1.1))
            near = self.ground if before is None else before.at(-0.3, 0, 0)
            far = self.ground.at(0.6, 0, 0) if before is None else before.at(0.3, 0, 0)
            parts += [
                crank, rod, plate, Revolute(near, crank.at(0, 0, 0.21), axis="y", angle=0.1),
                Universal(far, rod.at(0, 0, 0.21)),
                Revolute(crank.at(0, 0, -0.21), plate.at(-length / 2, 0, 0), axis="y"),
                Spherical(rod.at(0, 0, -0.21 * place if k == 0 else -0.21), plate.at(length / 2, 0.03, 0)),
            ]  # fmt: skip
            before = plate
        self.parts = parts


def letters(translation: Translation) -> dict[str, Any]:
    """Routines by what they are; of the whole only what moves the model, where tests have to be short."""
    if LONG:
        return all_letters(translation)
    program = translation.program
    with translation.kept_together():
        found = {name: program.routines[name] for name in ("derivative", "project") if name in program.routines}
    return {
        name: (
            replace(one, calls=tuple(replace(call, kernel="") for call in one.calls)),
            [program.kernels[call.kernel].serialize() for call in one.calls],
        )
        for name, one in found.items()
    }


def shared(model: Subsystem, shelf: Shelf | None = None) -> Translation:
    return translated(model, shelf, inline_limit=0)


@pytest.mark.parametrize("make", [Branches, Rings])
def test_an_edit_traces_nothing(make: Callable[..., Subsystem], traced: set[str]) -> None:
    shelf = Shelf()
    first = shared(make(), shelf)
    assert first.engine.shared
    before = letters(first)
    for edit in ({"mass": 1.001}, {"place": 1.001}):
        traced.clear()
        edited = letters(shared(make(**edit), shelf))
        assert not traced
        assert edited == letters(shared(make(**edit))) != before


MACHINES: list[Callable[[], Subsystem]] = [lambda: Arm(10.0), FourBar, Spatial, Mated]


@pytest.mark.skipif(not LONG, reason="takes half a minute")
@pytest.mark.parametrize("number", range(len(MACHINES)))
def test_all_points_elsewhere(number: int, traced: set[str]) -> None:
    make, shelf = MACHINES[number], Shelf()
    letters(shared(moved(make(), 1.002), shelf))
    traced.clear()
    edited = letters(shared(moved(make(), 1.03), shelf))
    assert not traced
    assert edited == letters(shared(moved(make(), 1.03)))


def test_a_length_that_becomes_zero_is_traced(traced: set[str]) -> None:
    shelf = Shelf()
    letters(shared(Branches(), shelf))
    traced.clear()
    kept = letters(shared(Branches(place=0.0), shelf))
    assert traced
    assert kept == letters(shared(Branches(place=0.0)))


@pytest.mark.parametrize("make", [Branches, Rings])
def test_accelerations_are_those_of_inlined_equations(make: Callable[..., Subsystem]) -> None:
    shelf = Shelf()
    letters(shared(make(), shelf))
    edited = make(mass=1.1, place=1.02)
    programs = [shared(edited, shelf).program, translated(edited, None).program]
    count = len(programs[0].coordinates) + len(programs[0].speeds)
    state = np.random.default_rng(2).uniform(-0.3, 0.3, count)
    one, other = (Interpreter(program).evaluate("derivative", 0.0, state)[0] for program in programs)
    assert np.abs(one - other).max() < 1e-10 * np.abs(other).max()


def test_bodies_that_differ_in_numbers_share_kernels() -> None:
    equal, different = (shared(Branches(9, size)).program.routines["derivative"] for size in (0.0, 1.0))
    assert [call.kernel for call in different.calls[1:]] == [call.kernel for call in equal.calls[1:]]
    assert len(different.counts()) < len(different.calls) / 2


def test_what_follows_from_numbers_is_computed_before_anything_moves() -> None:
    """The first call has all numbers that are read, side by side, and nobody else reads nothing but such."""
    program = shared(Branches()).program
    routine = program.routines["derivative"]
    first, *rest = routine.calls
    assert not first.inputs
    assert list(first.outputs) == list(range(first.outputs[0], first.outputs[0] + len(first.outputs)))
    assert {slot for call in rest for slot in call.inputs} >= set(first.outputs)
    for call in rest:
        assert not set(call.inputs) <= set(first.outputs)


@pytest.mark.skipif(not LONG, reason="takes a minute")
def test_a_model_too_large_to_be_inlined(traced: set[str]) -> None:
    shelf = Shelf()
    for routine in ("derivative", "outputs"):
        assert translated(Branches(500), shelf).program.routines[routine].calls
    traced.clear()
    for edit in ({"mass": 1.001}, {"place": 1.001}):
        found = translated(Branches(500, **edit), shelf)
        assert found.engine.shared
        assert found.program.routines["derivative"].calls
    assert not traced
