"""Directions, pitches, radii, ratios and places of grounds are put in after tracing in absolute coordinates, too: the
survey of the catalogue, inlined and in schedules of shared kernels. Another number gives the program a new translation
would give, to the letter, and traces nothing.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws.mechanisms import Case, build, held_together, loops, trees
from translate.catalogue import cases, edited, edits
from translate.test_catalogue import DECIDED, all_edited, tilted
from translate.test_numbers import Shelf
from translate.test_placed_lengths import WAYS, letters, placed, traced

__all__ = ["traced"]  # a fixture
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
QUICK = [
    ("Rolling wheel, tree", "inlined"), ("Ground, loop", "inlined"), ("Gear, loop", "inlined"),
    ("Universal, tree", "shared"),
]  # fmt: skip
PLACED = [name for name in cases() if not name.startswith("Chain")]  # it has no conditions
ALL = [(name, way) for name in PLACED for way in WAYS]


@pytest.mark.parametrize(("name", "way"), ALL if LONG else QUICK)
def test_other_numbers_trace_nothing(name: str, way: str, traced: set[str]) -> None:
    make, numbers, _ = cases()[name]
    shelf, other = Shelf(), all_edited(numbers)
    translation = placed(make(numbers), shelf, way)
    apart = translation.engine.model.numbers
    assert apart is not None
    known, first = apart.pattern, letters(translation)
    assert apart.pattern == known  # all that is decided was so before anything was traced
    new = letters(placed(make(other), None, way))
    traced.clear()
    assert letters(placed(make(other), shelf, way)) == new != first
    assert not traced


@pytest.mark.skipif(not LONG, reason="the numbers of each element together are enough for every day")
@pytest.mark.parametrize(("name", "number"), [(name, number) for name, number in edits() if name in PLACED])
def test_each_number_by_itself(name: str, number: str, traced: set[str]) -> None:
    make, numbers, _ = cases()[name]
    shelf, other = Shelf(), edited(numbers, number)
    first = letters(placed(make(numbers), shelf))
    new = letters(placed(make(other), None))
    traced.clear()
    assert letters(placed(make(other), shelf)) == new != first
    assert not traced


@pytest.mark.parametrize("name", DECIDED if LONG else ["along an axis"])
@pytest.mark.parametrize("way", ["inlined", "shared"] if LONG else ["inlined"])
def test_what_numbers_decide_is_decided_anew(name: str, way: str) -> None:
    first, second = DECIDED[name]
    shelf = Shelf()
    letters(placed(first(), shelf, way))
    assert letters(placed(second(), shelf, way)) == letters(placed(second(), None, way))


@pytest.mark.skipif(not LONG, reason="random machines; KOMPONO_LAWS=1")
@settings(
    max_examples=40, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], phases=[Phase.generate],
)  # fmt: skip
@given(st.one_of(trees(), loops(), held_together()), st.sampled_from(["inlined", "shared"]))
def test_random_machines(case: Case, way: str) -> None:
    shelf = Shelf()
    letters(placed(build(case.m).model, shelf, way))
    kept = letters(placed(tilted(build(case.m).model, 1), shelf, way))
    assert kept == letters(placed(tilted(build(case.m).model, 1), None, way))
