"""Numbers of contact, friction, stops, gravity, signals and networks are put in after tracing: another one gives the
program a new translation would give, to the letter, and traces nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import casadi as ca
import pytest
from translate.test_lengths import kernels
from translate.test_numbers import Shelf, translated

from kompono import (
    Body,
    Electrical,
    Event,
    Field,
    Ground,
    Input,
    Mode,
    Output,
    Parameter,
    State,
    Subsystem,
    Unit,
    simulate,
)
from kompono.library import (
    Brake,
    Contact,
    DryFriction,
    Gravity,
    Prismatic,
    Reference,
    Resistor,
    Revolute,
    RotationalSpringDamper,
    TwoPins,
    VoltageSource,
)  # fmt: skip
from kompono.model.law import JointLaw, PairLaw
from kompono.translate.declared.elaborate import elaborate
from kompono.translate.declared.sameness import Names, names_of

LONG = "KOMPONO_LAWS" in os.environ


def _survey() -> Any:
    """The benchmark that has the machines; other tests have folders with names of files there."""
    sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
    try:
        return importlib.import_module("edited_numbers")
    finally:
        sys.path.pop()


survey = _survey()
MACHINES: dict[str, type[Subsystem]] = survey.MACHINES
NUMBERS = [(name, number) for name, machine in MACHINES.items() for number in survey.numbers_of(machine)]
SHARES = {number: 1.001 + 0.003 * k for k, (_, number) in enumerate(NUMBERS)}


def named(model: Subsystem) -> Names:
    return names_of(elaborate(model), ())


@pytest.fixture(scope="module")
def known() -> dict[str, Names]:
    return {name: named(machine()) for name, machine in MACHINES.items()}


@pytest.fixture(scope="module")
def shelves() -> dict[Any, Shelf]:
    """What a first translation of each machine keeps, as it is asked for."""
    return {}


def kept(shelves: dict[Any, Shelf], name: str, engine: str) -> Shelf:
    if (name, engine) not in shelves:
        shelves[name, engine] = Shelf()
        kernels(translated(MACHINES[name](), shelves[name, engine], engine=engine))
    return Shelf(shelves[name, engine])


@pytest.mark.parametrize(("name", "number"), NUMBERS)
def test_a_number_is_in_the_exact_name_alone(known: dict[str, Names], name: str, number: str) -> None:
    edited = named(survey.edited(MACHINES[name], number))
    assert edited.open == known[name].open
    assert edited.exact != known[name].exact


def moved(name: str) -> Subsystem:
    """A machine with all its numbers a little larger, each by another share."""
    return MACHINES[name](**{n: SHARES[n] * value for n, value in survey.numbers_of(MACHINES[name]).items()})


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    "engine", ["relative", pytest.param("absolute", marks=pytest.mark.skipif(not LONG, reason=""))]
)
def test_kernels_from_the_shelf_are_those_of_a_new_translation(
    shelves: dict[Any, Shelf], name: str, engine: str
) -> None:
    shelf, traced = kept(shelves, name, engine), list[str]()
    with survey.watched(traced):
        found = kernels(translated(moved(name), shelf, engine=engine))
    assert found == kernels(translated(moved(name), None, engine=engine))
    assert all(not found[routine][0] for routine in traced)


@pytest.mark.skipif(not LONG, reason="each number by itself; KOMPONO_LAWS=1")
@pytest.mark.parametrize(("name", "number"), NUMBERS)
def test_kernels_with_one_other_number(shelves: dict[Any, Shelf], name: str, number: str) -> None:
    found = kernels(translated(survey.edited(MACHINES[name], number), kept(shelves, name, "relative")))
    assert found == kernels(translated(survey.edited(MACHINES[name], number), None))


STRUCTURE: list[tuple[str, dict[str, float]]] = [
    ("rubbing", {"mu": 0.0, "mu_static": 0.0, "restitution": 0.0, "preload": 0.0}),
    ("rubbing", {"gravity": 0.0, "pin_mu": 0.0, "lower": 0.0, "rebound": 0.0}),
    ("rubbing", {"gravity": 1.0, "mu": 0.41, "pin_mu": 0.23, "upper": 2.0, "limit": 0.5}),
    ("controlled", {"kp": 2.0, "kd": 0.0, "num": 1.0, "wanted": 0.0, "heat": 1.0}),
    ("controlled", {"kp": 7.3, "ki": 7.3, "knot": 0.1, "lower": -0.29, "shown": 1.0}),
    ("wired", {"resistance": 1e7, "series": 1.0, "conductance": 1e-3}),
    ("wired", {"k": 2.0, "voltage": 0.0, "on": 1e-12, "off": 1e-12}),
]


@pytest.mark.parametrize(("name", "given"), STRUCTURE if LONG else STRUCTURE[::2], ids=str)
def test_zeros_ones_equal_numbers_and_sizes_are_structure(
    shelves: dict[Any, Shelf], name: str, given: dict[str, float]
) -> None:
    found = kernels(translated(MACHINES[name](**given), kept(shelves, name, "relative")))
    assert found == kernels(translated(MACHINES[name](**given), None))


class Slider(Subsystem):
    """So small that its routines are in the code of their loop."""

    def __init__(self, mass: float = 1.3, k: float = 113.0, preload: float = 0.3, gravity: float = 9.81) -> None:
        self.ground, self.gravity, self.block = Ground(), Gravity((0, 0, -gravity)), Body(mass=mass, inertia=(1, 2, 3))
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.1)
        self.spring = RotationalSpringDamper(self.rail, k=k)
        self.friction = DryFriction(self.rail, mu=0.17, preload=preload)


RUBBING = {"mu": 0.31, "gravity": 9.6, "upper": 1.31, "limit": 0.02, "backlash": 0.022}
SLIDER = {"mass": 1.4, "k": 120.0, "preload": 0.35, "gravity": 9.7}


@pytest.mark.parametrize(
    ("machine", "others"), [(MACHINES["rubbing"], RUBBING), (Slider, SLIDER)], ids=["rubs", "small"]
)
def test_another_number_compiles_nothing_and_gives_the_bits_of_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: type[Subsystem], others: dict[str, float]
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def end(numbers: dict[str, float], *, cache: bool = True) -> list[float]:
        result = simulate(machine(**numbers), until=0.02, step=1e-3, cache=cache)
        return list(result.end.values.values())

    first = end({})
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    edited = end(others)
    assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
    assert edited == end(others) == end(others, cache=False) != first


class Wind(Field):
    """A field of a user, stronger with height."""

    def __init__(self, table: dict[str, float]) -> None:
        self.table = table

    def acceleration(self, position: Any) -> Any:
        return ca.vertcat(self.table["wind"] * position[2], 0, self.table["up"])


class Floor(PairLaw):
    """A slope of a user."""

    def __init__(self, first: Any, second: Any, table: dict[str, float]) -> None:
        super().__init__(first, second)
        self.table = table

    def units(self, motion: Any) -> Unit:
        x, z = motion.position[0], motion.position[2]
        return Unit(gap=z + self.table["rise"] * x + 0.7, slip=motion.velocity[0], mu=self.table["rough"])


class Catch(JointLaw):
    """A stop of a user."""

    def __init__(self, joint: Any, table: dict[str, float]) -> None:
        super().__init__(joint)
        self.table = table

    def units(self) -> Unit:
        return Unit(gap=self.table["catch"] - self.joints[0].q[0], restitution=0.3)


class Users(Subsystem):
    """What users write themselves: laws that read a dictionary, components that keep numbers and expressions."""

    def __init__(
        self, wind: float = 0.3, up: float = -9.7, rise: float = 0.13, rough: float = 0.4, catch: float = 0.9,
        gain: float = 3.1, offset: float = 0.7, parameter: float = 0.6, input: float = 4.1, faces: int = 3,
    ) -> None:  # fmt: skip
        table = {"wind": wind, "up": up, "rise": rise, "rough": rough, "catch": catch}
        self.gain, self.offsets, self.many = gain, [offset, (2 * offset,)], faces
        self.ground, self.wind = Ground(), Wind(table)
        self.block, self.flap = (Body(mass=m, inertia=(0.1, 0.2, 0.3)) for m in (1.0, 0.4))
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.1)
        self.hinge = Revolute(self.block, self.flap.at(0.2, 0, 0), axis="y", angle=0.3)
        self.floor, self.catch = Floor(self.ground, self.flap, table), Catch(self.rail, table)
        self.p, self.u = Parameter(parameter), Input(input)
        self.error = gain * self.rail.displacement - offset
        self.shown = Output(self.error * self.p + self.u)
        self.grip = Brake(self.hinge, normal=gain, mu=offset, radius=0.02, faces=faces)


@pytest.mark.parametrize("number", survey.numbers_of(Users))
def test_numbers_of_users_are_apart(number: str) -> None:
    value = survey.numbers_of(Users)[number]
    first, second = named(Users()), named(Users(**{number: value + 1 if number == "faces" else 1.001 * value}))
    assert first.open == second.open
    assert first.exact != second.exact


def test_kernels_of_users_laws_from_the_shelf() -> None:
    shelf, others = Shelf(), {name: 1.01 * value for name, value in survey.numbers_of(Users).items() if name != "faces"}
    kernels(translated(Users(), shelf))
    traced: list[str] = []
    with survey.watched(traced):
        found = kernels(translated(Users(**others), shelf))
    assert found == kernels(translated(Users(**others), None))
    assert all(not found[routine][0] for routine in traced)


class Bent(TwoPins):
    """What flows is not linear in what is across, nor does it tell that."""

    kind = Electrical

    def __init__(self) -> None:
        super().__init__()
        self.require(self.flow - (self.drop**3 - self.drop))


class Latch(Subsystem):
    """A network with three answers: which of them it is follows from the start."""

    def __init__(self, voltage: float) -> None:
        self.source, self.wire, self.bent, self.zero = VoltageSource(voltage), Resistor(3.0), Bent(), Reference()
        self.connect(self.source.p, self.wire.p)
        self.connect(self.wire.n, self.bent.p)
        self.connect(self.source.n, self.bent.n, self.zero.pin)
        self.seen = State(0.0)
        self.seen.rate = self.bent.p.v


def test_what_an_iteration_begins_from_is_found_anew() -> None:
    shelf = Shelf()
    first = kernels(translated(Latch(3.0), shelf))
    assert kernels(translated(Latch(0.1), shelf)) == kernels(translated(Latch(0.1), None)) != first


class Crate(Subsystem):
    """Events that change a state, and corners on a floor."""

    def __init__(self, mu: float = 0.3, level: float = -0.02, new: float = 0.77) -> None:
        self.ground, self.gravity, self.crate = Ground(), Gravity(), Body(mass=1.0, inertia=(0.1, 0.2, 0.3))
        self.floor = Contact(self.ground.at(0, 0, -0.3).plane(), self.crate.corners((0.3, 0.2, 0.1)), mu=mu)
        self.seen, self.level = Mode(0), State(0.1)
        self.level.rate = -0.3 * self.level
        self.falls = Event(level - self.crate.position[2], {self.seen: 1, self.level: new})


def test_which_states_an_event_changes_is_structure() -> None:
    swapped = Crate()
    swapped.falls.changes = [(swapped.level, ca.SX(1)), (swapped.seen, ca.SX(0.77))]
    assert named(Crate()).open != named(swapped).open
    assert named(Crate()).open == named(Crate(mu=0.31, level=-0.021, new=0.78)).open
