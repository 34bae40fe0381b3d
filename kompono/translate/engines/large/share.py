"""The part of a large tree that one of several processes has: its cells, and what it tells the others.

Cut at forks, cells above the cuts are *shared*: every process has them and computes the same, so that nothing has to be
told downwards. Each moves and condenses its own subtrees; then all tell all the answers at the cuts (27 numbers each);
then each condenses what is shared, and resolves. That is one message in an evaluation.

Cut by levels, as a chain must be, each process has a range of levels and its neighbours the next ones. Motion goes
down, answers come up, accelerations go down: three messages, one process after the other.

A cell is computed from the same numbers in the same way wherever it is, so the bits do not depend on the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import casadi as ca
import numpy as np

from kompono.errors import RunError
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.large.cells import Cell, find_blocks
from kompono.translate.engines.large.engine import NestedEngine, Pass
from kompono.translate.engines.large.tables import Tables
from kompono.translate.engines.large.trace import ANSWER, MOTION, UNPOSED
from kompono.translate.program import Program, Spread
from kompono.translate.structure.topology import Topology

SHARED = -1  # the home of cells that every process has
ACCELERATION = range(6, 12)  # places in a motion


@dataclass(frozen=True)
class Share:
    """Which process has which cell: `homes` (cells, as they are found), the number of this one and of all; whether
    cuts are by levels, and whether accelerations depend on where cells are in the world.
    """

    homes: np.ndarray
    rank: int
    ranks: int
    by_levels: bool
    posed: bool


class SpreadEngine(NestedEngine):
    """The state is (q, v) of the joints in this process."""

    def __init__(
        self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], share: Share, **options: Any
    ) -> None:
        self.share = share
        super().__init__(model, topology, kernels, **options)

    def _chosen(self, cells: list[Cell]) -> list[Cell]:
        homes, rank = self.share.homes, self.share.rank
        if len(cells) != len(homes):
            raise RunError("another process has declared another model.", fix="Declare the same in all.")
        self._homes = dict(zip(cells, homes.tolist(), strict=True))
        self._cuts = [c for c in cells if c.owner is not None and self._homes[c] != self._homes[c.owner]]
        own = [cell for cell in cells if self._homes[cell] == rank]
        self.roots = [cell for cell in own if cell.owner is None or self._homes[cell.owner] != rank]
        self.shape = crc32(np.array([[c.owner.place if c.owner else -1, len(c.links)] for c in cells]).tobytes())
        shared = [cell for cell in cells if self._homes[cell] == SHARED]
        for cell in shared:
            cell.block = -1
        if not self.share.by_levels:
            find_blocks(own)
        kept = [cell for cell in cells if self._homes[cell] in (rank, SHARED)]
        places = [cell.place for cell in kept]
        for cell in cells:
            cell.place = -1
        for cell, place in zip(kept, places, strict=True):
            cell.place = place
        return kept

    @property
    def placed_in_world(self) -> bool:  # type: ignore[override]
        """Whether accelerations depend on where cells are in the world, here or elsewhere."""
        return self.share.posed

    @property
    def projects(self) -> bool:
        """Whether there are quaternions to keep, here or elsewhere."""
        return any(type(link.joint).normalize is not Joint.normalize for link in self.tree.links if link.joint)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Numbers each process tells all others in an evaluation."""
        if self.share.by_levels:
            return (0,) * self.share.ranks
        homes = [self._homes[cell] for cell in self._cuts]
        return tuple(ANSWER * homes.count(rank) for rank in range(self.share.ranks))

    def _schedule(self, tables: Tables, move: Pass, condense: Pass, resolve: Pass) -> None:
        if self.share.by_levels:
            self._in_turn(tables, move, condense, resolve)
            return
        shared, top = tables.shared, tables.blocks[0]
        tables.phase([[(move, [*shared, *top], False)]])
        self._inwards(tables, move, condense)
        tables.phase([[(condense, top, True)]])
        self._tell_answers(tables)
        tables.phase([[(condense, shared, True), (resolve, [*shared, *top], False)]])
        tables.phase([[(resolve, block, False)] for block in reversed(tables.blocks[1:])])

    def _tell_answers(self, tables: Tables) -> None:
        """All tell all the answers of the roots of their subtrees."""
        if not sum(self.counts):
            return
        known = tables.allocate(ANSWER)  # own answers come back to where nobody looks
        send: list[int] = []
        receive: list[int] = []
        for rank in range(self.share.ranks):
            for cell in self._cuts:
                if self._homes[cell] == rank:
                    here = rank == self.share.rank
                    send += _places(tables.answer(cell)) if here else []
                    receive += range(known, known + ANSWER) if here else _places(tables.answer(cell))
        tables.exchange("gather", 0, send, receive)

    def _in_turn(self, tables: Tables, move: Pass, condense: Pass, resolve: Pass) -> None:
        """One range of levels after the other."""
        rank, items = self.share.rank, tables.blocks[0]
        above = [cell for cell in self._cuts if self._homes[cell] == rank]
        below = [cell for cell in self._cuts if self._homes[cell] == rank + 1]

        def hear(peer: int, places: list[int]) -> None:
            if places:
                tables.exchange("receive", peer, [], places)

        def tell(peer: int, places: list[int]) -> None:
            if places:
                tables.exchange("send", peer, places, [])

        told = range(MOTION if self.share.posed else UNPOSED)
        hear(rank - 1, _motions(tables, above, told))
        tables.phase([[(move, items, False)]])
        tell(rank + 1, _motions(tables, below, told))
        hear(rank + 1, _answers(tables, below))
        tables.phase([[(condense, items, True)]])
        tell(rank - 1, _answers(tables, above))
        hear(rank - 1, _motions(tables, above, ACCELERATION))
        tables.phase([[(resolve, items, False)]])
        tell(rank + 1, _motions(tables, below, ACCELERATION))

    def program(self, state_size: int) -> Program:
        """What this process runs, of a whole with so long a state."""
        routines = {"derivative": self.derivative(), **({"project": self.project()} if self.projects else {})}
        inputs, parameters = (tuple(map(self.model.path, kind)) for kind in (self.model.inputs, self.model.parameters))
        spread = Spread(self.share.rank, self.share.ranks, state_size, self.counts)
        names = self.coordinate_names(), self.speed_names()
        return Program(self.kernels, routines, *names, inputs, parameters, spread=spread)


def _places(start: tuple[int, int], offsets: Sequence[int] = range(ANSWER)) -> list[int]:
    address, stride = start
    return [address + stride * k for k in offsets]


def _answers(tables: Tables, cut: Sequence[Cell]) -> list[int]:
    return [place for cell in cut for place in _places(tables.answer(cell))]


def _motions(tables: Tables, cut: Sequence[Cell], offsets: Sequence[int]) -> list[int]:
    """The motion of each body that carries cells across a cut, once."""
    bodies = {cell.parent: cell for cell in cut}
    starts = [tables.motion(cell.owner, cell) for cell in bodies.values() if cell.owner is not None]
    return [place for start in starts for place in _places(start, offsets)]
