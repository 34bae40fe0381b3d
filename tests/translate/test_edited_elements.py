"""Numbers of ropes, drives, clutches, blocks, shafts, oil and wires are put in after tracing: each is in the exact name
of a translation alone, and another one gives the program a new translation would give, to the letter.
"""

from __future__ import annotations

import os

import pytest
from translate.elements_with_numbers import MACHINES
from translate.test_edited_numbers import named, survey
from translate.test_lengths import kernels
from translate.test_numbers import Shelf, translated

from kompono import Subsystem

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
LENGTHS = {"strut"}  # are apart once a tree is known


def edited(machine: type[Subsystem], *names: str) -> Subsystem:
    values = survey.numbers_of(machine)
    return machine(**{name: (1.001 + 0.0007 * k) * values[name] for k, name in enumerate(names)})


@pytest.mark.parametrize("name", MACHINES)
def test_each_number_is_in_the_exact_name_alone(name: str) -> None:
    machine = MACHINES[name]
    known = named(machine())
    for number in survey.numbers_of(machine).keys() - LENGTHS:
        found = named(edited(machine, number))
        assert (found.open, found.exact != known.exact) == (known.open, True), number


@pytest.mark.skipif(not LONG, reason="traces twelve machines, twice")
@pytest.mark.parametrize("engine", ["relative", "absolute", "discrete"])
@pytest.mark.parametrize("name", MACHINES)
def test_kernels_from_the_shelf_are_those_of_a_new_translation(name: str, engine: str) -> None:
    machine, shelf, traced = MACHINES[name], Shelf(), list[str]()
    options = {"contact": "soft"} if engine == "discrete" else {}
    kernels(translated(machine(), shelf, engine=engine, **options))
    numbers = survey.numbers_of(machine)
    with survey.watched(traced):
        found = kernels(translated(edited(machine, *numbers), shelf, engine=engine, **options))
    assert found == kernels(translated(edited(machine, *numbers), None, engine=engine, **options))
    assert all(not found[routine][0] for routine in traced)
