"""Levers of all links of a model in several runs: numbers for the links, how far each is eased at the start, and rows
at all travels in the place of those a link may get to at the start. Runs with equal masses and points are asked once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.translate.motion.conditions import Conditions
from kompono.translate.rank.levers import Lever, Slide
from kompono.translate.rank.reach import Given, Reach, ReachableRows, alike

Mobilities = Sequence[np.ndarray | None]  # (runs, 6, 6) of the second and the first body, None: a ground


class LeverTable:
    """`numbers` (runs, levers) and `easing` (runs, rows), filled element by element."""

    def __init__(self, runs: int) -> None:
        self._numbers, self._easing, self._groups = [np.zeros((runs, 0))], [np.zeros((runs, 0))], 0

    @property
    def numbers(self) -> np.ndarray:
        """Four of each group that has a lever, by run."""
        return np.hstack(self._numbers)

    @property
    def easing(self) -> np.ndarray:
        """How much softer each row is at the start of each run than where its lever is shortest."""
        return np.hstack(self._easing)

    def skip(self, sizes: Sequence[int]) -> None:
        """An element without levers."""
        self._easing.append(np.ones((len(self._easing[0]), sum(sizes))))
        self._groups += len(sizes)

    def add(
        self, reach: ReachableRows, element: Joint | Constraint, law: Conditions, sizes: Sequence[int],
        groups: Sequence[int], mobilities: Mobilities, blocks: list[Reach], firm: np.ndarray,
    ) -> list[Reach]:  # fmt: skip
        """The levers of an element; gives where its rows may get on each body, eased."""
        first = self._groups
        self.skip(sizes)
        if not groups:
            return blocks
        given, runs = reach.given(element, law), len(self._easing[0])
        ends, easing = np.cumsum(sizes), self._easing[-1]
        bodies = [side for side, mobility in enumerate(mobilities) if mobility is not None]
        places = np.hstack([part.reshape(runs, -1) for part in (*given.first, *given.second, given.signals)])
        masses = np.hstack([mobilities[side].reshape(runs, -1) for side in bodies])  # type: ignore[union-attr]
        kinds = alike(np.hstack([places, masses]))
        numbers = np.zeros((runs, len(groups), 4))
        rows: dict[int, list[dict[int, np.ndarray]]] = {}  # by kind, body: rows by group
        for where in range(alike(places).max() + 1):
            mine = np.flatnonzero(alike(places) == where)
            slides = [_Travelled(given.of(mine[:1]), slice(ends[g] - sizes[g], ends[g]), reach.turns) for g in groups]
            for kind in np.unique(kinds[mine]):
                same = np.flatnonzero(kinds == kind)
                weights = [None if m is None else m[same[0]] for m in mobilities]
                rows[kind] = [{} for _ in bodies]
                for k, (group, slide) in enumerate(zip(groups, slides, strict=True)):
                    lever = slide.slide.lever(weights)
                    if firm[first + group] or not lever.growth > 0:
                        continue
                    numbers[same, k] = lever.numbers
                    easing[same, slide.slide.part] = lever.eases(given.start[0][same])[:, None]
                    both = slide.eased(lever)
                    for place, side in enumerate(bodies):
                        rows[kind][place][group] = both[side]
        self._numbers.append(numbers.reshape(runs, -1))
        each = [{kind: found[place] for kind, found in rows.items()} for place in range(len(bodies))]
        return [_replaced(block, len(sizes), kinds, mine) for block, mine in zip(blocks, each, strict=True)]


class _Travelled:
    """A sliding group and its rows at many travels, which are found once whatever is moved."""

    def __init__(self, given: Given, part: slice, turns: np.ndarray) -> None:
        self.slide, self._turns = Slide(given, part), turns

    def eased(self, lever: Lever) -> list[np.ndarray]:
        """Rows (poses, rows, 6) on the second and the first body as they count with a lever."""
        positions, rows = self._everywhere or self._found(lever)
        scale = np.sqrt(lever.eases(positions))[:, None, None]
        return [scale * side for side in rows]

    _everywhere: tuple[np.ndarray, list[np.ndarray]] | None = None

    def _found(self, lever: Lever) -> tuple[np.ndarray, list[np.ndarray]]:
        self._everywhere = self.slide.travelled(lever.point, self._turns)
        return self._everywhere


def _replaced(block: Reach, count: int, kinds: np.ndarray, rows: dict[int, dict[int, np.ndarray]]) -> Reach:
    """Where rows of `count` groups may get, with those of some replaced in runs of a kind."""
    if not any(rows.values()):
        return block
    pairs, which = np.unique(np.stack([block.which, kinds], axis=1), axis=0, return_inverse=True)
    poses = []
    for old, kind in pairs:
        before = block.poses[old] if old >= 0 else (None,) * count
        poses.append(tuple(rows[kind].get(k, before[k]) for k in range(count)))
    return Reach(which.reshape(-1), tuple(poses))
