"""Masses and inertias are put in after tracing: another number gives the program a new translation would give, without
tracing and without compiling anything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Force, Ground, Motion, Simulation, State, Subsystem, Wrench, simulate
from kompono.compile import Interpreter, compile_program
from kompono.errors import TranslationError
from kompono.library import (
    DryFriction,
    EndStops,
    Gravity,
    PointOnPoint,
    Prismatic,
    Revolute,
    SpringDamper,
    Universal,
    solids,
)
from kompono.starting import closed_start
from kompono.translate import Translation, sharing, translate
from kompono.translate.declared.sameness import Names, names_of
from kompono.translate.sharing import SharingTracer
from kompono.translate.tracer import InlineTracer

FULL = np.array([[0.02, 0.003, -0.003], [0.003, 0.03, 0.001], [-0.003, 0.001, 0.04]])


class Weighed(Force):
    """A law of a user that looks at a mass itself."""

    def wrench(self, motion: Motion) -> Wrench:
        assert isinstance(self.second.body, Body)
        return Wrench(-self.second.body.solid.mass * motion.position, ca.SX.zeros(3))


class Arm(Subsystem):
    """Two bodies in a row."""

    def __init__(self, mass: float, inertia: Any = FULL) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.first = Body(solids.rod(mass=mass, length=1.0, radius=0.02, axis="x"))
        self.second = Body(mass=0.5, inertia=inertia)
        self.joint = Universal(self.ground, self.first.at(-0.5, 0, 0))
        self.elbow = Revolute(self.first.at(0.5, 0, 0), self.second.at(-0.3, 0, 0.1), axis="y", angle=0.4)
        self.spring = SpringDamper(self.ground.at(0, 0, 1), self.second, k=40.0, c=0.3, rest=0.5)


class Watched(Arm):
    def __init__(self, mass: float, inertia: Any = FULL) -> None:
        super().__init__(mass, inertia)
        self.pull = Weighed(self.ground.at(0, 1, 0), self.first)


class FourBar(Subsystem):
    """A parallelogram: a redundant loop, whose references follow from masses."""

    def __init__(self, mass: float, inertia: Any = FULL, laws: bool = False) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crank, self.rocker = (Body(solids.rod(mass=m, length=0.5, axis="x", radius=0.01)) for m in (mass, 1.0))
        self.coupler = Body(mass=2.0, inertia=inertia)
        self.a = Revolute(self.ground, self.crank.at(-0.25, 0, 0), axis="y", angle=0.7)
        self.b = Revolute(self.crank.at(0.25, 0, 0), self.coupler.at(-0.5, 0, 0), axis="y", angle=-0.7)
        self.c = Revolute(self.ground.at(1, 0, 0), self.rocker.at(-0.25, 0, 0), axis="y", angle=0.7)
        self.d = Revolute(self.rocker.at(0.25, 0, 0), self.coupler.at(0.5, 0, 0), axis="y")
        if laws:
            self.stop = EndStops(self.a, -0.2, 1.5)
            self.friction = DryFriction(self.c, preload=0.02)


def with_laws(mass: float, inertia: Any = FULL) -> FourBar:
    return FourBar(mass, inertia, laws=True)


class Slider(Subsystem):
    """Friction of a single body: what holds it depends on no coordinate, only on its mass."""

    def __init__(self, mass: float, inertia: Any = FULL) -> None:
        self.ground, self.block = Ground(), Body(mass=mass, inertia=inertia)
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.1)
        self.spring = SpringDamper(self.ground.at(0, 0.1, 0), self.block, k=100.0, rest=0.1)
        self.friction = DryFriction(self.rail, preload=0.3)


MACHINES: list[Callable[..., Subsystem]] = [Arm, Watched, FourBar, with_laws, Slider]


class Shelf:
    """In memory, with what is on another."""

    def __init__(self, other: Shelf | None = None) -> None:
        self.kept: dict[str, bytes] = dict(other.kept) if other else {}

    def get(self, name: str) -> bytes | None:
        return self.kept.get(name)

    def put(self, name: str, data: bytes) -> None:
        self.kept[name] = data


def translated(model: Subsystem, shelf: Shelf | None, **options: Any) -> Translation:
    return translate(model, shelf=shelf, close=closed_start, **options)


def kernels(translation: Translation) -> dict[str, Any]:
    program = translation.program
    with translation.kept_together():
        routines = {name: program.routines[name] for name in program.routines}
    return {
        name: ([program.kernels[call.kernel].serialize() for call in one.calls], one.result, one.inputs)
        for name, one in routines.items()
    }


@pytest.fixture(scope="module")
def shelves() -> dict[Any, Shelf]:
    """What a first translation of each machine keeps."""
    found = {}
    for machine in MACHINES:
        found[machine] = Shelf()
        kernels(translated(machine(10.0), found[machine]))
    return found


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("mass", "scale"), [(3.7, 1.0), (4e5, 1e-3)])
def test_kernels_from_the_shelf_are_those_of_a_new_translation(
    shelves: dict[Any, Shelf], machine: Callable[..., Subsystem], mass: float, scale: float
) -> None:
    model = machine(mass, scale * FULL)
    assert kernels(translated(model, Shelf(shelves[machine]))) == kernels(translated(model, None))


@pytest.mark.parametrize("machine", [Arm, FourBar, with_laws])
def test_another_mass_traces_no_dynamics(
    shelves: dict[Any, Shelf], machine: Callable[..., Subsystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    traced: list[str] = []
    routine = InlineTracer.routine
    monkeypatch.setattr(
        InlineTracer, "routine", lambda self, name, *rest: traced.append(name) or routine(self, name, *rest)
    )
    program = translated(machine(3.7, 0.7 * FULL), Shelf(shelves[machine])).program
    for name in program.routines:
        if name not in ("jacobian", "implicit"):
            assert program.routines[name]
    assert not {"derivative", "project", "outputs", "law_view", "guards"}.intersection(traced)


@pytest.mark.parametrize(
    ("machine", "options"),
    [(Slider, {}), (Arm, {"inline_limit": 0, "metric": "identity"}), (FourBar, {"inline_limit": 0})],
    ids=["inlined", "shared", "a loop"],
)
def test_the_same_in_absolute_coordinates(
    machine: Callable[..., Subsystem], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another mass traces nothing, and gives the kernels of a new translation."""
    shelf, traced, names = Shelf(), set[str](), ("derivative", "project", "gap")

    def made(mass: float, shelf: Shelf | None) -> list[Any]:
        program = translated(machine(mass, mass * FULL), shelf, engine="absolute", **options).program
        known = [program.routines[name] for name in names if name in program.routines]
        return [[program.kernels[call.kernel].serialize() for call in one.calls] for one in known]

    first = made(10.0, shelf)
    expected = made(3.7, None)
    for kind in (InlineTracer, SharingTracer):
        routine = kind.routine
        monkeypatch.setattr(kind, "routine", lambda self, name, *r, m=routine: traced.add(name) or m(self, name, *r))
    assert made(3.7, shelf) == made(3.7, shelf) == expected != first
    assert not traced.intersection(names)


def test_schedules_of_another_mass_have_the_same_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
    counts, rates = [], []
    for mass in (10.0, 10.5, 10.0):
        program = translated(FourBar(mass), None, engine="absolute", inline_limit=0).program
        state = np.linspace(0.1, 0.6, program.state_size)
        one, two = (maker(program).evaluate("derivative", 0.0, state)[0] for maker in (compile_program, Interpreter))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
        counts.append(len(list(tmp_path.glob("*.o"))))
        rates.append(one)
    assert counts[0] == counts[1] == counts[2] > 0
    assert np.array_equal(rates[0], rates[2])
    assert not np.allclose(rates[0], rates[1], rtol=1e-6)


@pytest.mark.parametrize("machine", [FourBar, Arm, with_laws])
def test_calls_that_are_repeated_are_those_that_would_be_traced(
    machine: Callable[..., Subsystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    def routines() -> list[Any]:
        program = translated(machine(10.0), None, engine="absolute", inline_limit=0).program
        return [(program.routines[name].calls, program.routines[name].result) for name in ("derivative", "project")]

    repeated = routines()
    monkeypatch.setattr(sharing, "same_function", lambda _: None)
    assert routines() == repeated


def test_a_body_without_inertia_is_refused_whatever_is_kept() -> None:
    shelf = Shelf()
    kernels(translated(Arm(10.0), shelf, engine="absolute"))
    with pytest.raises(TranslationError, match="no inertia about some axis"):
        translated(Arm(10.0, 1e-16 * FULL), shelf, engine="absolute")


@pytest.mark.parametrize(
    "inertia",
    [np.diag([0.02, 0.03, 0.04]), np.diag([0.02, 0.02, 0.02]), np.abs(FULL), FULL + np.diag([0, 0.001, 0])],
    ids=["zeros", "equal", "signs", "other"],
)  # fmt: skip
def test_zeros_signs_and_equal_entries_are_structure(shelves: dict[Any, Shelf], inertia: np.ndarray) -> None:
    model = Arm(10.0, inertia)
    assert kernels(translated(model, Shelf(shelves[Arm]))) == kernels(translated(model, None))


def test_what_is_kept_for_one_number_does_not_follow_another(shelves: dict[Any, Shelf]) -> None:
    shelf = Shelf(shelves[Arm])
    one, two = (kernels(translated(Arm(mass), shelf)) for mass in (3.7, 3.8))
    again = kernels(translated(Arm(3.7), shelf))
    assert one == again != two


@pytest.mark.parametrize("machine", [with_laws, Slider])
def test_another_mass_compiles_nothing_and_gives_the_bits_of_a_new_model(
    machine: Callable[..., Subsystem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def run(mass: float, *, cache: bool = True) -> list[float]:
        return list(simulate(machine(mass), until=0.05, step=1e-3, cache=cache).end.values.values())

    run(10.0)
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    edited, warm = run(10.5), run(10.5)
    assert objects
    if machine is with_laws:  # routines as short as those of a slider are in the code of their loop
        assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
    assert edited == warm == run(10.5, cache=False) != run(10.0)


def test_native_code_of_another_mass_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models with one code, in one process at the same time."""
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
    light, heavy = (Simulation(Arm(mass)) for mass in (1.0, 7.0))
    state = np.linspace(0.1, 0.6, light.program.state_size)
    native = [one.kernel.evaluate("derivative", 0.0, state)[0] for one in (light, heavy, light)]
    plain = [Simulation(Arm(mass), native=False).kernel.evaluate("derivative", 0.0, state)[0] for mass in (1.0, 7.0)]
    assert np.array_equal(native[0], native[2])
    assert not np.allclose(native[0], native[1])
    np.testing.assert_allclose(native[:2], plain, rtol=1e-12)


class Started(FourBar):
    """The same with a memory, friction that reactions may limit, and a loose body."""

    def __init__(self, angle: float, rate: float, level: float = 0.3, place: float = 0.2, mu: float = 0.0) -> None:
        super().__init__(10.0, laws=mu > 0)
        self.a.start.update({"angle": angle})
        self.b.start.update({"angle": -angle})
        self.c.start.update({"angle": angle, "angle.rate": rate})
        self.level, self.loose = State(level), Body(mass=1.0, inertia=FULL, start_position=(0, place, 2))
        self.level.rate = -self.level
        self.string = SpringDamper(self.loose, self.coupler, k=30.0, rest=0.3)
        if mu:
            self.rubbing = DryFriction(self.b, mu=mu, radius=0.01)


@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_another_start_is_another_start_and_nothing_else(mu: float, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, traced, routine = Shelf(), set[str](), InlineTracer.routine
    translated(Started(0.7, 0.2, mu=mu), shelf).program.routines["derivative"]
    other = Started(0.5, 1.5, 7.0, 0.4, mu)
    new = translated(other, None).program
    monkeypatch.setattr(
        InlineTracer, "routine", lambda self, name, *rest: traced.add(name) or routine(self, name, *rest)
    )
    kept = translated(other, shelf).program
    for name in ("derivative", "project", "outputs"):
        assert (
            kept.kernels[kept.routines[name].calls[0].kernel].serialize()
            == new.kernels[new.routines[name].calls[0].kernel].serialize()
        )
    assert ("derivative" in traced) is (mu > 0)  # who bears what there is found from the start, and is no number


def test_starts_of_mated_bodies_are_structure() -> None:
    def names(place: float, *, mated: bool) -> Names:
        model = Started(0.7, 0.2, place=place)
        if mated:
            model.mate = PointOnPoint(model.ground, model.loose)
        return names_of(model, ())

    assert names(0.2, mated=False).open == names(0.4, mated=False).open
    assert names(0.2, mated=False).exact != names(0.4, mated=False).exact
    assert names(0.2, mated=True).open != names(0.4, mated=True).open
