"""Numbers of networks that are iterated, or reach into closed parts, are put in after tracing: another one gives the
program a new translation would give, to the letter, and traces nothing; what decides anything is traced.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from translate.test_edited_numbers import survey
from translate.test_lengths import kernels
from translate.test_numbers import Shelf, translated

from kompono import KomponoError, Parameter, State, Subsystem, simulate
from kompono.library import (
    Capacitor,
    Chamber,
    Orifice,
    PressureSource,
    Reference,
    Resistor,
    Tank,
    VoltageSource,
)

LONG = "KOMPONO_LAWS" in os.environ


Driven, Bent = survey.Driven, survey.Bent


class Still(Subsystem):
    """A network that is iterated, and in which nothing changes: all follows from numbers."""

    def __init__(self, voltage: float = 2.3, series: float = 3.1, scale: float = 0.013, volts: float = 0.7) -> None:
        self.source, self.wire, self.one, self.zero = (
            VoltageSource(voltage), Resistor(series), Bent(scale, volts), Reference(),
        )  # fmt: skip
        self.connect(self.source.p, self.wire.p)
        self.connect(self.wire.n, self.one.p)
        self.connect(self.source.n, self.one.n, self.zero.pin)
        self.flown = State(0.0)
        self.flown.rate = 3.3 * self.wire.p.i


class Edges(Subsystem):
    """Two orifices in a row without a volume between, into one, and out of it through a third."""

    def __init__(
        self, supply: float = 1.1e7, volume: float = 1.3e-3, area: float = 1.7e-6, two: float = 2.1e-6,
        three: float = 1.2e-6,
    ) -> None:  # fmt: skip
        self.area = Parameter(area)
        self.supply, self.tank, self.volume = PressureSource(supply), Tank(), Chamber(volume)
        self.one, self.two, self.three = Orifice(self.area), Orifice(two), Orifice(three)
        self.connect(self.supply.pin, self.one.p)
        self.connect(self.one.n, self.two.p)
        self.connect(self.two.n, self.volume.pin, self.three.p)
        self.connect(self.three.n, self.tank.pin)


class Boxed(Subsystem):
    """The same in a closed part."""

    numbers_of = Edges

    def __init__(self, **numbers: float) -> None:
        self.inner = Edges(**numbers)
        self.inner.closed = True


class Filter(Subsystem):
    """Two resistors and a capacitor, with pins outside."""

    def __init__(self, first: float, second: float, store: float) -> None:
        self.first, self.second, self.store = Resistor(first), Resistor(second), Capacitor(store)
        self.connect(self.first.n, self.second.p, self.store.p)
        self.expose(self.first.p, self.second.n, self.store.n)


class Filtered(Subsystem):
    """A network across the borders of closed parts, one of which is a resistor."""

    def __init__(
        self, voltage: float = 4.3, lead: float = 0.9, first: float = 3.1, second: float = 2.3, store: float = 0.7,
        load: float = 5.3,
    ) -> None:  # fmt: skip
        self.inner, self.load = Filter(first, second, store), Resistor(load)
        self.zero, self.source, self.lead = Reference(), VoltageSource(voltage), Resistor(lead)
        self.connect(self.source.p, self.lead.p)
        self.connect(self.lead.n, self.inner.first.p)
        self.connect(self.inner.second.n, self.load.p)
        self.connect(self.load.n, self.inner.store.n, self.source.n, self.zero.pin)
        self.inner.closed = self.load.closed = True


class Mixed(Filtered):
    """The same with what is iterated outside."""

    def __init__(self, scale: float = 0.013, volts: float = 0.7, first: float = 3.1, load: float = 5.3) -> None:
        super().__init__(first=first, load=load)
        self.bent = Bent(scale, volts)
        self.connect(self.bent.p, self.lead.n)
        self.connect(self.bent.n, self.zero.pin)


MACHINES: dict[str, type[Subsystem]] = {
    "driven": Driven, "still": Still, "edges": Edges, "boxed": Boxed, "filtered": Filtered, "mixed": Mixed,
}  # fmt: skip
NUMBERS = [(name, number) for name, machine in MACHINES.items() for number in survey.numbers_of(machine)]


@pytest.fixture(scope="module")
def shelves() -> dict[Any, Shelf]:
    """What a first translation of each machine keeps, as it is asked for."""
    return {}


def kept(shelves: dict[Any, Shelf], name: str, engine: str = "relative") -> Shelf:
    if (name, engine) not in shelves:
        shelves[name, engine] = Shelf()
        kernels(translated(MACHINES[name](), shelves[name, engine], engine=engine))
    return Shelf(shelves[name, engine])


def check_nothing_is_traced(model: type[Subsystem], numbers: dict[str, float], shelf: Shelf, **options: Any) -> None:
    traced: list[str] = []
    with survey.watched(traced):
        found = kernels(translated(model(**numbers), shelf, **options))
    assert found == kernels(translated(model(**numbers), None, **options))
    assert all(not found[routine][0] for routine in traced)


@pytest.mark.parametrize(("name", "number"), NUMBERS)
def test_another_number_gives_the_kernels_of_a_new_translation(
    shelves: dict[Any, Shelf], name: str, number: str
) -> None:
    value = survey.numbers_of(MACHINES[name])[number]
    check_nothing_is_traced(MACHINES[name], {number: 1.003 * value}, kept(shelves, name))


@pytest.mark.parametrize("engine", ["absolute", "discrete"])
def test_other_engines(shelves: dict[Any, Shelf], engine: str) -> None:
    numbers = {name: (1.003 + 0.001 * k) * v for k, (name, v) in enumerate(survey.numbers_of(Driven).items())}
    check_nothing_is_traced(Driven, numbers, kept(shelves, "driven", engine), engine=engine)


def outcome(model: type[Subsystem], numbers: dict[str, float], shelf: Shelf | None) -> Any:
    """Kernels, or why there are none."""
    try:
        return kernels(translated(model(**numbers), shelf))
    except KomponoError as error:
        return str(error)


SPECIAL = (0.0, 0.5, 1.0, 2.0, 1e-9, 1e9)


@pytest.mark.parametrize("name", ["driven", "filtered"])
@settings(max_examples=200 if LONG else 8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_zeros_ones_equal_numbers_and_sizes_are_structure(shelves: dict[Any, Shelf], name: str, data: Any) -> None:
    """Whatever was kept before, kernels are those of a new translation."""
    numbers = survey.numbers_of(MACHINES[name])
    edited = data.draw(st.lists(st.sampled_from(sorted(numbers)), min_size=1, max_size=4, unique=True))
    values = st.one_of(st.sampled_from((*SPECIAL, *numbers.values())), st.floats(0.1, 10.0))
    given = {number: data.draw(values) for number in edited}
    kept(shelves, name)
    assert outcome(MACHINES[name], given, shelves[name, "relative"]) == outcome(MACHINES[name], given, None)


@pytest.mark.parametrize("name", ["driven", "filtered"])
def test_another_number_compiles_nothing_and_gives_the_bits_of_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def end(share: float, *, cache: bool = True) -> list[float]:
        model = MACHINES[name](**{n: share * value for n, value in survey.numbers_of(MACHINES[name]).items()})
        result = simulate(model, until=0.02, step=1e-3, cache=cache)
        assert result.status.ok
        return [result[name][-1] for name in result.names]

    first = end(1.0)
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    edited = end(1.01)
    assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
    assert edited == end(1.01) == end(1.01, cache=False) != first
