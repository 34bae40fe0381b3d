"""Which process gets which cells of a tree, so that the slowest is done early.

Forks first: the heaviest subtree is opened again and again, its root going to those cells that all processes share,
until the subtrees can be dealt out evenly; of all these ways the one is taken that is done first, shared cells and the
fullest process counted. Where that gains nothing, as for a chain, levels are dealt out in ranges: correct, one process
after the other, and no faster.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

SHARED = -1  # the home of cells that every process has
ANYWHERE = -2  # nobody has said where
GAINS = 0.95  # of the work of one process: what is not done before is better cut by levels
PIECES = 24  # subtrees for each process at most: each is 27 numbers in every message


class TooManyRanks(Exception):
    """There is not that much to share; `most` processes find something to do."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


class Torn(Exception):
    """A cell is wanted on another process than the one it hangs on: its number."""

    def __init__(self, cell: int) -> None:
        super().__init__(cell)
        self.cell = cell


@dataclass(frozen=True)
class Placement:
    """The home of each cell, whether cuts are by levels, and the work on the way to the end of one evaluation."""

    homes: np.ndarray
    by_levels: bool
    work: float


def place(owners: np.ndarray, weights: np.ndarray, ranks: int, wanted: np.ndarray | None = None) -> Placement:
    """Deal out cells in order, parents first: `owners` (cells) are the numbers of those they hang on or -1, `weights`
    their operations, `wanted` homes somebody asked for (`ANYWHERE`: nobody).
    """
    total = float(weights.sum())
    if ranks == 1:
        return Placement(np.zeros(len(owners), dtype=np.int64), False, total)
    told = wanted is not None and bool(np.any(wanted != ANYWHERE))
    forks = _Forks(owners, weights, ranks, _inherited(owners, wanted) if told else None).best()
    if not told and forks.work > GAINS * total:
        return _by_levels(owners, weights, ranks)
    used = np.unique(forks.homes)
    if SHARED not in used and len(used) < ranks:
        raise TooManyRanks(len(used))
    return forks


def _inherited(owners: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
    """Homes somebody asked for, of whatever hangs there, too."""
    assert wanted is not None
    homes = wanted.copy()
    for cell, owner in enumerate(owners.tolist()):
        above = homes[owner] if owner >= 0 else ANYWHERE
        if homes[cell] == ANYWHERE:
            homes[cell] = above
        elif above not in (ANYWHERE, homes[cell]):
            raise Torn(cell)
    return homes


class _Forks:
    """Ways to cut a tree at its forks."""

    def __init__(self, owners: np.ndarray, weights: np.ndarray, ranks: int, told: np.ndarray | None) -> None:
        self.ranks, self.weights = ranks, weights.tolist()
        self.owners = owners.tolist()
        self.told = told
        self.children: list[list[int]] = [[] for _ in self.owners]
        self.sums = list(self.weights)
        above = np.zeros(len(owners), dtype=bool)  # what cells somebody asked for hang on
        for cell in range(len(self.owners) - 1, -1, -1):
            owner = self.owners[cell]
            if owner >= 0:
                self.sums[owner] += self.sums[cell]
                self.children[owner].append(cell)
                if told is not None and told[owner] == ANYWHERE and (above[cell] or told[cell] != ANYWHERE):
                    above[owner] = True
        self.loads = [0.0] * ranks
        self.shared = [int(cell) for cell in np.flatnonzero(above)]
        for cell in np.flatnonzero(told != ANYWHERE).tolist() if told is not None else ():
            assert told is not None
            self.loads[told[cell]] += self.weights[cell]
        self.roots = [c for c, o in enumerate(self.owners) if (o < 0 or above[o]) and self._free(c) and not above[c]]

    def _free(self, cell: int) -> bool:
        return self.told is None or self.told[cell] == ANYWHERE

    def best(self) -> Placement:
        """The way that is done first."""
        pieces = [(-self.sums[root], root) for root in self.roots]
        heapq.heapify(pieces)
        shared, common = list(self.shared), sum(self.weights[cell] for cell in self.shared)
        dealt, fullest = self._deal(pieces)
        least, looked, count = common + fullest, len(pieces), len(shared)
        while pieces and len(pieces) < PIECES * self.ranks and common < least:
            _, root = heapq.heappop(pieces)
            shared.append(root)
            common += self.weights[root]
            for child in self.children[root]:
                heapq.heappush(pieces, (-self.sums[child], child))
            if len(pieces) != looked and (len(pieces) <= 64 or len(pieces) >= 1.1 * looked):
                looked = len(pieces)
                found, fullest = self._deal(pieces)
                if common + fullest < least:
                    dealt, least, count = found, common + fullest, len(shared)
        return self._homes(least, dealt, shared[:count])

    def _deal(self, pieces: list[tuple[float, int]]) -> tuple[list[tuple[int, int]], float]:
        """The heaviest first, each to who has least; (root, home) of each, and what the fullest has."""
        loads = [(load, rank) for rank, load in enumerate(self.loads)]
        heapq.heapify(loads)
        dealt = []
        for weight, root in sorted(pieces):
            load, rank = heapq.heappop(loads)
            dealt.append((root, rank))
            heapq.heappush(loads, (load - weight, rank))
        return dealt, max(load for load, _ in loads)

    def _homes(self, work: float, dealt: list[tuple[int, int]], shared: list[int]) -> Placement:
        homes = np.full(len(self.owners), ANYWHERE, dtype=np.int64) if self.told is None else self.told.copy()
        homes[shared] = SHARED
        for root, rank in dealt:
            homes[root] = rank
        for cell, owner in enumerate(self.owners):
            if homes[cell] == ANYWHERE:
                homes[cell] = homes[owner]
        return Placement(homes, False, work)


def _by_levels(owners: np.ndarray, weights: np.ndarray, ranks: int) -> Placement:
    """Ranges of levels with about the same work."""
    levels = np.zeros(len(owners), dtype=np.int64)
    for cell, owner in enumerate(owners.tolist()):
        levels[cell] = levels[owner] + 1 if owner >= 0 else 0
    sums = np.bincount(levels, weights)
    if len(sums) < ranks:
        raise TooManyRanks(len(sums))
    middles = np.cumsum(sums) - sums / 2
    homes = np.minimum((middles / sums.sum() * ranks).astype(np.int64), ranks - 1)
    homes[0] = 0
    for level in range(1, len(homes)):  # no process is left out, and the last levels suffice for the last ones
        homes[level] = max(min(homes[level], homes[level - 1] + 1), ranks - len(homes) + level)
    return Placement(homes[levels], True, float(weights.sum()))
