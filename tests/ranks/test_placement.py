"""Who gets which cells: balanced by operations, at forks where there are any, as asked for where somebody asks."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, RunError, Subsystem, simulate
from kompono.library import Revolute
from kompono.ranks.placement import ANYWHERE, SHARED, TooManyRanks, Torn, place
from kompono.ranks.tree import make_plan
from kompono.translate import translate

from .machines import ROD, Chain, Forest, Tree


def binary(levels: int) -> np.ndarray:
    """Owners of a binary tree, parents first."""
    return np.array([-1, *[(k - 1) // 2 for k in range(1, 2**levels - 1)]])


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_a_tree_is_cut_at_forks_into_even_parts(ranks: int) -> None:
    owners, weights = binary(9), np.random.default_rng(1).uniform(1, 2, 511)
    found = place(owners, weights, ranks)
    assert not found.by_levels
    loads = [weights[found.homes == rank].sum() for rank in range(ranks)]
    assert max(loads) < 1.1 * weights.sum() / ranks
    shared = found.homes == SHARED
    assert weights[shared].sum() < 0.15 * weights.sum()
    assert found.work == pytest.approx(weights[shared].sum() + max(loads))
    for cell, owner in enumerate(owners.tolist()):  # whole subtrees, shared cells above them
        if owner >= 0 and found.homes[cell] != found.homes[owner]:
            assert shared[owner]


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_a_chain_is_cut_by_levels(ranks: int) -> None:
    owners = np.arange(20) - 1
    found = place(owners, np.ones(20), ranks)
    assert found.by_levels
    assert np.all(np.diff(found.homes) >= 0)
    assert np.all(np.diff(found.homes) <= 1)
    assert max(np.bincount(found.homes, minlength=ranks)) <= -(-20 // ranks)
    assert min(np.bincount(found.homes, minlength=ranks)) >= 1


def test_heavy_ends_of_a_chain_leave_nobody_out() -> None:
    for weights in ([100.0, 1, 1, 1], [1, 1, 1, 100.0], [1, 100.0, 1, 1]):
        assert place(np.arange(4) - 1, np.array(weights), 4).homes.tolist() == [0, 1, 2, 3]


def test_more_ranks_than_there_is_work_for() -> None:
    with pytest.raises(TooManyRanks):
        place(np.arange(3) - 1, np.ones(3), 4)
    with pytest.raises(TooManyRanks):
        place(np.full(3, -1), np.ones(3), 4)


def test_what_is_asked_for_comes_first() -> None:
    owners, wanted = binary(4), np.full(15, ANYWHERE)
    wanted[1] = 1  # the left half
    found = place(owners, np.ones(15), 2, wanted)
    assert found.homes[0] == SHARED
    assert set(found.homes[[1, 3, 4, 7, 8, 9, 10]]) == {1}
    assert set(found.homes[[2, 5, 6]]) == {0}
    wanted[3] = 0
    with pytest.raises(Torn):
        place(owners, np.ones(15), 2, wanted)


def test_components_are_placed_by_path() -> None:
    found = translate(Tree(), nested_from=1)
    plan = make_plan(found, 2, {"stem.stems.0": 1, "stem.stems.1": 0})
    inside = [found.model.path(cell.links[0].carrier).startswith("stem.stems.0") for cell in found.engine.cells]
    assert set(plan.homes[found.engine.numbers[inside]]) == {1}
    for place_, word in (({"stem.stems.0": 5}, "ranks 0 to 1"), ({"pin": 1}, "neither a component nor a body")):
        with pytest.raises(RunError, match=word):
            make_plan(found, 2, place_)
    with pytest.raises(RunError, match=r"stem.stems.0.stems.0.rods.0 hangs on stem.stems.0.rods.2"):
        make_plan(found, 2, {"stem.stems.0": 1, "stem.stems.0.stems.0": 0})


def test_trees_of_a_forest_need_nothing_shared() -> None:
    plan = make_plan(translate(Forest(), nested_from=1), 3, None)
    assert sorted(np.unique(plan.homes)) == [0, 1, 2]
    assert plan.work == pytest.approx(plan.total / 3)
    with pytest.raises(RunError, match="only 1 of 4 ranks"):
        make_plan(translate(Chain(3), nested_from=1), 4, None)


class Loop(Subsystem):
    def __init__(self) -> None:
        self.ground, self.rods = Ground(), [Body(ROD) for _ in range(3)]
        above = [self.ground, *self.rods]
        self.pins = [Revolute(a.at(0.1, 0, 0), b.at(-0.1, 0, 0)) for a, b in zip(above, self.rods, strict=False)]
        self.last = Revolute(self.rods[-1].at(0.1, 0, 0), self.ground.at(0.3, 0.2, 0))


def test_what_cannot_be_spread_is_refused_by_name() -> None:
    with pytest.raises(RunError, match=r"pins.2 closes a loop"):
        make_plan(translate(Loop(), nested_from=1), 2, None)


@pytest.mark.parametrize("options", [{"ranks": 2}, {"ranks": "yes"}, {"place": 3}, {"place": {"stem": 0}}])
def test_wrong_options_are_refused(options: dict) -> None:
    with pytest.raises(RunError, match=r"ranks|place"):
        simulate(Tree(), until=0.01, **options)
