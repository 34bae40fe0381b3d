"""Numbers are put in after tracing on the discrete engine, too: another mass, point, stiffness, gravity, gain or
coefficient of soft contact gives the program a new translation would give, to the letter, and traces and compiles
nothing, assembly included.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import pytest
from translate.test_edited_numbers import survey
from translate.test_lengths import SLOPES, FourBar, moved
from translate.test_numbers import FULL, Shelf, translated

from kompono import Body, Ground, Parameter, Result, Subsystem, simulate
from kompono.examples.car import Car
from kompono.examples.reference.slider_crank import SliderCrank
from kompono.library import Gravity, Revolute, SpringDamper
from kompono.spatial.pose import Pose
from kompono.translate import Translation
from kompono.translate.engines.discrete.engine import DiscreteEngine
from kompono.translate.program import TableRoutine
from kompono.translate.translate import assembly_program

LONG = "KOMPONO_LAWS" in os.environ
MACHINES: dict[str, type[Subsystem]] = survey.LINKED
NUMBERS = [(name, number) for name, machine in MACHINES.items() for number in survey.numbers_of(machine)]
SHARES = {number: 1.001 + 0.0005 * k for k, (_, number) in enumerate(NUMBERS)}


def of_discrete(model: Subsystem, shelf: Shelf | None, **options: Any) -> Translation:
    return translated(model, shelf, engine="discrete", contact="soft", **options)


def letters(translation: Translation) -> dict[str, Any]:
    """All that a program is: routines with their kernels, tables, and the numbers behind the parameters."""
    program, engine = translation.program, translation.engine
    assert isinstance(engine, DiscreteEngine)
    found: dict[str, Any] = {"names": program.parameters, "gives": engine.steps.gives}
    found["values"] = engine.steps.values.tolist()
    with translation.kept_together():
        routines = {name: program.routines[name] for name in program.routines if name not in SLOPES}
    for name, one in routines.items():
        if isinstance(one, TableRoutine):
            kernels = [program.kernels[loop.kernel].serialize() for loop in one.loops]
            loops = [replace(loop, kernel="") for loop in one.loops]
            arrays = [array.tolist() for array in (*one.tables, one.sweeps, one.tasks, one.phases)]
            found[name] = kernels, loops, arrays, one.inputs, one.outputs, one.workspace
        else:
            kernels = [program.kernels[call.kernel].serialize() for call in one.calls]
            found[name] = kernels, [replace(call, kernel="") for call in one.calls], one.result, one.inputs
    return found


def placing(translation: Translation, shelf: Shelf | None) -> dict[str, Any]:
    """The same of what assembles the machine."""
    assembly = assembly_program(translation.model, shelf=shelf)
    program = assembly.program
    with assembly.kept_together():
        routines = {name: program.routines[name] for name in program.routines}
    return {
        name: ([program.kernels[call.kernel].serialize() for call in one.calls], one.result, one.inputs)
        for name, one in routines.items()
    }


def whole(model: Subsystem, shelf: Shelf | None, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    translation = of_discrete(model, shelf, **options)
    numbers = translation.engine.model.numbers
    assert numbers is not None
    known, found = numbers.pattern, letters(translation)
    assert numbers.pattern == known  # all that is decided was so before anything was traced
    return found, placing(translation, shelf)


@pytest.fixture(scope="module")
def shelves() -> dict[str, Shelf]:
    """What a first translation of each machine keeps, as it is asked for."""
    return {}


def kept(shelves: dict[str, Shelf], name: str) -> Shelf:
    if name not in shelves:
        shelves[name] = Shelf()
        whole(MACHINES[name](), shelves[name])
    return Shelf(shelves[name])


def all_edited(name: str) -> Subsystem:
    """A machine with all its numbers a little larger, each by another share."""
    return MACHINES[name](**{n: SHARES[n] * value for n, value in survey.numbers_of(MACHINES[name]).items()})


def check_nothing_is_traced(shelf: Shelf, make: Callable[[], Subsystem], **options: Any) -> None:
    """Routines of constants alone have no kernel that could be kept."""
    traced: list[str] = []
    with survey.watched(traced):
        found, placed = whole(make(), shelf, **options)
    assert (found, placed) == whole(make(), None, **options)
    assert all(not (found | placed)[name][0] for name in traced if name != "steps")
    assert "steps" not in traced


@pytest.mark.parametrize("name", MACHINES)
def test_routines_from_the_shelf_are_those_of_a_new_translation(shelves: dict[str, Shelf], name: str) -> None:
    check_nothing_is_traced(kept(shelves, name), lambda: all_edited(name))


@pytest.mark.skipif(not LONG, reason="each number by itself; KOMPONO_LAWS=1")
@pytest.mark.parametrize(("name", "number"), NUMBERS)
def test_routines_with_one_other_number(shelves: dict[str, Shelf], name: str, number: str) -> None:
    check_nothing_is_traced(kept(shelves, name), lambda: survey.edited(MACHINES[name], number))


EXAMPLES: dict[str, Callable[[], Subsystem]] = {"car": Car, "four-bar": FourBar, "slider-crank": SliderCrank}


def changed(model: Subsystem, share: float) -> Subsystem:
    """Points farther out, and masses that are not 1 larger."""
    for one in model.walk():
        if isinstance(one, Body) and one.solid.mass != 1:
            one.solid = replace(one.solid, mass=share * one.solid.mass)
    return moved(model, share)


@pytest.mark.parametrize("name", EXAMPLES if LONG else ["slider-crank"])
def test_points_and_masses_of_examples(name: str) -> None:
    shelf = Shelf()
    whole(changed(EXAMPLES[name](), 1.003), shelf)
    check_nothing_is_traced(shelf, lambda: changed(EXAMPLES[name](), 1.007))


@pytest.mark.parametrize("name", ["window", "landing"] if LONG else ["window"])
def test_schedules_of_shared_kernels(name: str) -> None:
    shelf = Shelf()
    whole(MACHINES[name](), shelf, inline_limit=0)
    check_nothing_is_traced(shelf, lambda: all_edited(name), inline_limit=0)


STRUCTURE: list[tuple[str, dict[str, float]]] = [
    ("window", {"mass": 1.0, "gravity": 0.0, "c": 0.0, "rod": 1.0}),
    ("window", {"moment": 0.011, "raised": 0.0, "crank": 1.0, "coupler": 2.0, "hook": 0.0}),
    ("window", {"crank": 0.31, "coupler": 0.87, "raised": 0.0}),
    ("landing", {"mu": 0.0, "mu_static": 0.0, "restitution": 0.0, "gravity": 0.0}),
    ("landing", {"mu": 0.41, "restitution": 1.0, "lower": 0.0, "mass": 1.0, "slide": 0.0, "limit": 0.0}),
    ("servo", {"kp": 2.0, "kd": 0.0, "num": 1.0, "wanted": 0.0, "mass": 1.0}),
]


@pytest.mark.parametrize(("name", "given"), STRUCTURE if LONG else STRUCTURE[:5:2], ids=str)
def test_zeros_ones_and_equal_numbers_are_structure(
    shelves: dict[str, Shelf], name: str, given: dict[str, float]
) -> None:
    found = whole(MACHINES[name](**given), kept(shelves, name))
    assert found == whole(MACHINES[name](**given), None)


def test_numbers_are_told_whatever_was_kept_before() -> None:
    """A model whose program is known to the bit, and one that is known but for numbers, both after others."""
    shelf, machine = Shelf(), MACHINES["landing"]
    first, second = (of_discrete(machine(mu=mu), shelf) for mu in (0.3, 0.37))
    third = of_discrete(machine(mu=0.3), shelf)
    values = [letters(one)["values"] for one in (first, second, third)]
    assert values[0] == values[2] != values[1]


class Tuned(Subsystem):
    """An arm with a mass and a point that are parameters of the run, on a spring."""

    def __init__(self, k: float = 31.0, place: float = 0.23, height: float = 0.31, mass: float = 0.7) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.heavy, self.high = Parameter(mass), Parameter(height)
        self.arm = Body(mass=self.heavy, inertia=FULL)
        self.hinge = Revolute(self.ground.at(0.1, 0, self.high), self.arm.at(-place, 0.02, 0), axis="y", angle=0.3)
        self.spring = SpringDamper(self.ground.at(0, 0, 0.9), self.arm.at(0, 0, 0.1), k=k, c=0.3, rest=0.3)


def test_parameters_of_a_run_beside_numbers() -> None:
    shelf = Shelf()
    whole(Tuned(), shelf)
    check_nothing_is_traced(shelf, lambda: Tuned(32.0, 0.24, 0.32, 0.8))


def turned(model: Tuned, angle: float) -> Tuned:
    c, s = ca.cos(angle), ca.sin(angle)
    rotation = ca.DM([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    model.spring.second.pose = Pose(model.spring.second.pose.position, rotation)
    return model


@pytest.mark.parametrize(("angle", "anew"), [(0.31, False), (0.0, True)])
def test_a_frame_that_is_turned_or_not(angle: float, anew: bool) -> None:
    shelf, traced = Shelf(), list[str]()
    letters(of_discrete(turned(Tuned(), 0.3), shelf))
    with survey.watched(traced):
        found = letters(of_discrete(turned(Tuned(), angle), shelf))
    assert ("steps" in traced) is anew
    assert found == letters(of_discrete(turned(Tuned(), angle), None))


OTHERS = {
    "window": {"mass": 1.31, "crank": 0.231, "rod": 0.411, "k": 114.0, "gravity": 9.7, "angle": 0.71},
    "landing": {"mass": 0.71, "radius": 0.112, "mu": 0.31, "restitution": 0.61, "place": 0.231, "high": 0.112},
    "servo": {"mass": 1.31, "kp": 32.0, "time_constant": 0.032, "knot": 0.78, "sampled": 0.84},
}


@pytest.mark.parametrize("name", OTHERS if LONG else ["landing"])
def test_an_edited_number_compiles_nothing_and_gives_the_bits_of_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def end(numbers: dict[str, float], *, cache: bool = True) -> list[float]:
        model = MACHINES[name](**numbers)
        result: Result = simulate(model, until=2e-3, step=1e-5, engine="discrete", contact="soft", cache=cache)
        assert result.status.ok
        return list(result.end.values.values())

    first = end({})
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    traced: list[str] = []
    with survey.watched(traced):
        edited = end(OTHERS[name])
    assert not traced
    assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
    assert edited == end(OTHERS[name]) == end(OTHERS[name], cache=False) != first
