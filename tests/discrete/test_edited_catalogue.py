"""Directions, pitches, radii, ratios, speeds of drives and places of grounds are put in after tracing on the discrete
engine, too: another number gives the program a new translation would give, to the letter, and traces nothing.
"""

from __future__ import annotations

import os

import pytest
from discrete.test_edited_numbers import check_nothing_is_traced, whole
from translate.catalogue import cases, edited, edits
from translate.test_catalogue import all_edited
from translate.test_numbers import Shelf

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
LINKED = [name for name in cases() if not name.startswith("Chain")]  # it has no conditions
QUICK = ["Screw, tree", "Rolling wheel, tree", "Ground, tree", "Gear, tree", "Drive, tree"]


@pytest.mark.parametrize("name", LINKED if LONG else QUICK)
def test_other_numbers_trace_nothing(name: str) -> None:
    make, numbers, _ = cases()[name]
    shelf = Shelf()
    first = whole(make(numbers), shelf)
    check_nothing_is_traced(shelf, lambda: make(all_edited(numbers)))
    assert first != whole(make(all_edited(numbers)), shelf)


@pytest.mark.skipif(not LONG, reason="the numbers of each element together are enough for every day")
@pytest.mark.parametrize(("name", "number"), [(name, number) for name, number in edits() if name in LINKED])
def test_each_number_by_itself(name: str, number: str) -> None:
    make, numbers, _ = cases()[name]
    shelf = Shelf()
    whole(make(numbers), shelf)
    check_nothing_is_traced(shelf, lambda: make(edited(numbers, number)))
