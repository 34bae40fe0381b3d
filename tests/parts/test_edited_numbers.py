"""Numbers inside closed parts and in their owners are put in after tracing: another one gives the program a new
translation would give, to the letter, traces nothing and compiles nothing; parts that differ in numbers share their
code.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from parts.numbered import Bob, Stand
from translate import catalogue
from translate.test_edited_numbers import survey
from translate.test_lengths import SLOPES, kernels, traced
from translate.test_numbers import Shelf, translated

from kompono import Event, Ground, Mode, State, Subsystem, simulate
from kompono.examples.car import Car
from kompono.library import Gravity, Revolute
from kompono.translate import Translation
from kompono.translate.parts.inside import Part
from kompono.translate.parts.owner import PartedEngine

__all__ = ["traced"]  # a fixture
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
long = pytest.mark.skipif(not LONG, reason="all numbers together are enough for every day")
NUMBERS: dict[str, float] = {
    name: one.default for name, one in inspect.signature(Stand).parameters.items() if type(one.default) is float
}
SHARES = {name: 1.001 + 0.0007 * k for k, name in enumerate(NUMBERS)}
SHELVES: dict[str, Shelf] = {}


ROUTINES = ("derivative", "outputs", "guards", "gap", "kick", "drift")


def some(translation: Translation) -> dict[str, Any]:
    """All routines, or, every day, most of those that a run needs."""
    if LONG:
        return kernels(translation)
    program = translation.program
    with translation.kept_together():
        found = {name: program.routines[name] for name in ROUTINES if name in program.routines}
    return {
        name: ([program.kernels[call.kernel].serialize() for call in one.calls], one.result)
        for name, one in found.items()
    }


def edited(*names: str) -> Stand:
    given: dict[str, Any] = {name: SHARES[name] * NUMBERS[name] for name in names}
    return Stand(**given)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, traced: set[str]) -> set[str]:
    """What is traced, functions of parts as well."""
    trace = Part._trace

    def noted(self: Part, name: str) -> Any:
        traced.add(f"{self.path}.{name}")
        return trace(self, name)

    monkeypatch.setattr(Part, "_trace", noted)
    return traced


def kept(engine: str, contact: str = "events") -> Shelf:
    key = f"{engine} {contact}"
    if key not in SHELVES:
        SHELVES[key] = Shelf()
        some(translated(Stand(), SHELVES[key], engine=engine, contact=contact))
    return Shelf(SHELVES[key])


@pytest.mark.parametrize(
    ("engine", "contact"),
    [
        ("relative", "events"), ("relative", "soft"), ("discrete", "soft"),
        *(pytest.param("absolute", contact, marks=long) for contact in ("events", "soft")),
    ],
)  # fmt: skip
def test_other_numbers_inside_and_outside_trace_nothing(engine: str, contact: str, asked: set[str]) -> None:
    shelf = kept(engine, contact)
    asked.clear()
    found = some(translated(edited(*NUMBERS), shelf, engine=engine, contact=contact))
    assert not asked
    assert found == some(translated(edited(*NUMBERS), None, engine=engine, contact=contact))
    assert asked


@long
@pytest.mark.parametrize("contact", ["events", "soft"])
@pytest.mark.parametrize("name", NUMBERS)
def test_each_number_by_itself(name: str, contact: str, asked: set[str]) -> None:
    shelf = kept("relative", contact)
    asked.clear()
    found = kernels(translated(edited(name), shelf, contact=contact))
    assert not asked
    assert found == kernels(translated(edited(name), None, contact=contact))


STRUCTURE: list[dict[str, Any]] = [
    {"shin": 0.0}, {"shin": 1.0}, {"tilt": 0.0}, {"preload": 0.0, "mu": 0.0}, {"gain": 2.0, "wanted": 0.0},
    {"gravity": 0.0}, {"span": 1.0, "depth": 0.0}, {"k": 2.0, "mass": 1.0, "rest": 0.0}, {"arm": 0.0, "upper": 1.0},
]  # fmt: skip


@long
@pytest.mark.parametrize("numbers", STRUCTURE, ids=str)
def test_zeros_and_ones_are_structure(numbers: dict[str, Any]) -> None:
    assert kernels(translated(Stand(**numbers), kept("relative"))) == kernels(translated(Stand(**numbers), None))


@pytest.mark.parametrize("engine", ["relative", pytest.param("absolute", marks=long)])
def test_whoever_traces_finds_nothing_that_was_not_known(engine: str) -> None:
    translation = translated(Stand() if LONG else Car(), None, engine=engine, **({} if LONG else {"closed": ["left"]}))
    numbers = translation.engine.model.numbers
    assert numbers is not None
    before = numbers.pattern
    some(translation) if LONG else translation.program.routines["outputs"]
    assert numbers.pattern == before


class Cased(Subsystem):
    """A machine in a closed part, and an event outside of it."""

    def __init__(self, machine: type[Subsystem], share: float = 1.0) -> None:
        numbers = survey.numbers_of(machine)
        self.case = Subsystem()
        self.case.machine = machine(**{n: (share + 0.0007 * k) * v for k, (n, v) in enumerate(numbers.items())})
        self.case.closed = True
        self.seen, self.level = Mode(0.0), State(0.3)
        self.level.rate = -0.7 * share * self.level
        self.falls = Event(0.21 * share - self.level, {self.seen: 3.3 * share * self.level})


@pytest.mark.parametrize("engine", ["relative", pytest.param("absolute", marks=long)])
@pytest.mark.parametrize("name", ["controlled", "clocked", "wired"])
def test_events_signals_and_networks_inside(name: str, engine: str, asked: set[str]) -> None:
    shelf, machine = Shelf(), survey.MACHINES[name]
    kernels(translated(Cased(machine), shelf, engine=engine))
    asked.clear()
    found = kernels(translated(Cased(machine, 1.003), shelf, engine=engine))
    assert not asked
    assert found == kernels(translated(Cased(machine, 1.003), None, engine=engine))


ROLLS = catalogue.cases()["Rolling ball, loop"]


class Rolls(Subsystem):
    """A ball that rolls in a closed part, with a loop: coordinates follow from speeds by the radius."""

    def __init__(self, radius: float) -> None:
        self.inner = ROLLS.make({"radius": radius})
        self.inner.closed = True


def test_projections_of_what_rolls_inside() -> None:
    shelf = Shelf()
    kernels(translated(Rolls(0.37), shelf))
    assert kernels(translated(Rolls(0.371), shelf)) == kernels(translated(Rolls(0.371), None))


class Pair(Subsystem):
    """Two weights that hang by themselves."""

    def __init__(self, mass: float = 0.37, arm: float = 0.19, k: float = 37.0, other: float = 1.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bobs = [Bob(mass, arm, k), Bob(other * mass, arm, other * k)]
        for number, bob in enumerate(self.bobs):
            bob.closed = True
            setattr(self, f"hook{number}", Revolute(self.ground.at(0.3 * number, 0, 0), bob.eye, axis="y"))


def functions(model: Subsystem) -> list[set[str]]:
    translation = translated(model, None)
    for name in ("derivative", "outputs"):
        translation.program.routines[name]
    assert isinstance(translation.engine, PartedEngine)
    return [{one.function.name() for one in part._made.values()} for part in translation.engine.compartment.parts]


def test_parts_that_differ_in_numbers_share_their_code() -> None:
    equal, other = functions(Pair()), functions(Pair(other=1.07))
    assert equal[0] == equal[1] == other[0] == other[1]
    assert functions(Pair(arm=0.0))[0] != equal[0]


Model = Callable[[], Subsystem]


def schedules(model: Subsystem, shelf: Shelf | None, engine: str = "relative") -> Translation:
    """As a large model is: shared kernels, which call the functions of parts."""
    made = translated(model, shelf, engine=engine, contact="soft", inline_limit=0)
    assert made.engine.shared
    return made


def letters(translation: Translation) -> dict[str, Any]:
    """Routines of a schedule, with what they call."""
    program = translation.program
    with translation.kept_together():
        names = [name for name in program.routines if LONG or name in ("derivative", "project")]
        found = {name: program.routines[name] for name in names if name not in SLOPES}
    return {
        name: (replace(one, calls=tuple(replace(call, kernel="") for call in one.calls)),
               [program.kernels[call.kernel].serialize() for call in one.calls])
        for name, one in found.items()
    }  # fmt: skip


SCHEDULES: list[Any] = [
    (Pair, lambda: Pair(mass=0.371, arm=0.191, k=37.1, other=1.001), "relative"),
    *(
        pytest.param(make, other, engine, marks=long)
        for engine in ("relative", "absolute")
        for make, other in (
            (Stand, lambda: edited(*NUMBERS)),
            *((lambda name=name: Cased(survey.MACHINES[name]), lambda name=name: Cased(survey.MACHINES[name], 1.003))
              for name in ("controlled", "clocked", "wired")),
            (lambda: Cased(survey.Driven), lambda: Cased(survey.Driven, 1.003)),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("first", "other", "engine"), SCHEDULES)
def test_schedules_of_shared_kernels(first: Model, other: Model, engine: str, asked: set[str]) -> None:
    shelf = Shelf()
    before = letters(schedules(first(), shelf, engine))
    asked.clear()
    found = letters(schedules(other(), shelf, engine))
    assert not asked
    assert found == letters(schedules(other(), None, engine)) != before


def test_schedules_hand_over_numbers_at_once() -> None:
    """Numbers of each call lie side by side, behind its other arguments."""
    translation = schedules(Pair(other=1.07), None)
    program, parts = translation.program, translation.engine.compartment.parts  # type: ignore[attr-defined]
    routine = program.routines["derivative"]
    counts = {one.function.name(): one.numbers.numel() for part in parts for one in part._made.values()}
    written, asked = routine.calls[0].outputs, 0
    assert not routine.calls[0].inputs
    assert written == tuple(range(written[0], written[0] + len(written)))
    for call in routine.calls[1:]:
        for function in program.kernels[call.kernel].find_functions():
            given = call.inputs[len(call.inputs) - counts[function.name()] :]
            assert not given or given == tuple(range(given[0], given[0] + len(given)))
            asked += len(given)
    assert asked > 40


HOUSED: list[Model] = [lambda: survey.Housed(mu=0.31, mass=0.71, radius=0.112, stiffness=1.2e5, slide=0.014)]
EDITS: list[tuple[Model, str, list[Model]]] = [
    (Pair, "relative", [lambda: Pair(mass=0.371, k=37.1), lambda: Pair(arm=0.191, other=1.001)]),
    (survey.Housed, "relative", HOUSED),
    (survey.Housed, "discrete", HOUSED),
]


@pytest.mark.parametrize(("machine", "engine", "edits"), EDITS)
def test_another_number_compiles_nothing_and_gives_the_bits_of_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: Model, engine: str, edits: list[Model]
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def end(model: Subsystem, *, cache: bool = True) -> list[float]:
        step = 1e-5 if engine == "discrete" else 1e-3
        found = simulate(model, until=20 * step, step=step, engine=engine, contact="soft", cache=cache)
        return list(found.end.values.values())

    first = end(machine())
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    for edit in edits:
        found = end(edit())
        assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
        assert found == end(edit(), cache=False) != first
