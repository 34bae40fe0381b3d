"""Instances of cell types as rows of tables, and the sweeps over them.

Cells of one type at one level do not depend on each other. Where there are enough of them, they form packs whose
workspace lies lane by lane (slot 0 of all lanes, slot 1 of all lanes, ...), and one row of the table stands for a pack.
The last pack of a level repeats its last cell in lanes that are left over, which then write the same values twice. A
pack mostly reads from lanes in the same order (a row of equal arms), or from one place (a hub); anything else is
gathered lane by lane. Cells that another process has are only known by places where their answers, or the motion of
what they carry, are put by messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kompono.model.body import Carrier
from kompono.translate.engines.large.cells import Cell
from kompono.translate.engines.large.kernels import CellCode, KindCode
from kompono.translate.engines.large.trace import ANSWER, MOTION
from kompono.translate.program import HEADER, Column, Exchange, Loop


@dataclass(frozen=True)
class PlacedCells:
    """Cells in order, the type of each, and where their state and their workspace begin."""

    cells: Sequence[Cell]
    types: np.ndarray  # (cells)
    signals: Sequence[tuple[int, ...]]  # by cell: places of the inputs and parameters it reads
    q: np.ndarray  # (cells) offset of its coordinates in the state
    v: np.ndarray
    sets: np.ndarray  # (cells) which numbers it has
    numbers: Sequence[np.ndarray]  # by set; those of a type have the same meaning


@dataclass(slots=True)
class _Rows:
    """The table of one variant: instances of a type that read from their neighbours in the same way."""

    type: int
    lanes: int
    columns: tuple[Column, ...]
    number: int
    rows: list[list[int]]


class Tables:
    """Rows of offsets by variant, and loops over them that are added pass by pass.

    `lanes` is the size of packs (1: none), `least` how many cells make it worth while. With `most_teams` blocks are put
    into so many teams at most: blocks of one team leave answers that nobody outside reads at the same places.
    """

    def __init__(
        self, placed: PlacedCells, codes: Sequence[CellCode], lanes: int = 1, least: int = 4, most_teams: int = 0
    ) -> None:
        self.placed, self.codes, self.lanes = placed, codes, lanes
        self.items = _packs(placed, lanes, least)  # first cell, number of cells, lanes
        self.own = np.zeros(len(placed.types), dtype=np.int64)  # where slot 0 of each cell lies
        self.stride = np.ones(len(placed.types), dtype=np.int64)
        self.workspace = HEADER
        for first, count, width in self.items:
            self.own[first : first + count] = self.workspace + np.arange(count)
            self.stride[first : first + count] = width
            self.workspace += width * codes[placed.types[first]].size
        self.shared: list[int] = []  # items of all processes
        self.blocks: list[list[int]] = [[] for _ in range(1 + max(0, *[cell.block for cell in placed.cells]))]
        for item, (first, _, _) in enumerate(self.items):
            block = placed.cells[first].block
            (self.shared if block < 0 else self.blocks[block]).append(item)
        self.teams = [team.tolist() for team in np.array_split(np.arange(len(self.blocks) - 1), most_teams or 1)]
        self.left = np.zeros(len(placed.types), dtype=np.int64)  # where the answer of each cell begins
        self._place_answers(common=most_teams > 0)
        self.answers: dict[Cell, int] = {}  # where answers of cells that are elsewhere are put
        self.motions: dict[Carrier, int] = {}  # where the motion of bodies that are elsewhere is put
        self.told = np.zeros(len(placed.types), dtype=np.int64)  # place where it is written where its numbers begin
        self.numbers = self._place_numbers()
        self.variants: dict[tuple, _Rows] = {}
        self.place: list[tuple[_Rows, int]] = []  # variant and row of each item
        self._fill()
        self.tables = [np.array(v.rows, dtype=np.int32) for v in self.variants.values()]
        self.loops: list[Loop] = []
        self.sweeps: list[tuple[int, int, int, int]] = []
        self.tasks: list[tuple[int, int]] = []
        self.phases: list[tuple[int, int]] = []
        self.exchanges: list[Exchange] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def _place_answers(self, common: bool) -> None:
        """Answers that are read inside a block, in the area of its team; all others at places of their own."""
        cells = self.placed.cells
        inside = [[] for _ in self.blocks]
        for block, items in enumerate([self.shared, *self.blocks]):
            for item in items:
                first, count, width = self.items[item]
                owners = {cell.owner.block if cell.owner else None for cell in cells[first : first + count]}
                if common and block > 1 and owners == {block - 1}:
                    inside[block - 1].append(item)
                else:
                    self.left[first : first + count] = self.allocate(width * ANSWER) + np.arange(count)
        sizes = [ANSWER * sum(self.items[item][2] for item in items) for items in inside]
        for team in self.teams:
            area = self.allocate(max((sizes[1 + block] for block in team), default=0))
            for block in team:
                place = area
                for first, count, width in (self.items[item] for item in inside[1 + block]):
                    self.left[first : first + count] = place + np.arange(count)
                    place += width * ANSWER

    def _place_numbers(self) -> np.ndarray:
        """Numbers lane by lane, once for all packs (or single cells) that have the same, behind a list of where those
        of each begin, one entry for each lane. Where they lie is no part of the code, and there is room for some more:
        so it is the same for a model in which some cells have other numbers.
        """
        sets, numbers = self.placed.sets.tolist(), self.placed.numbers
        starts: dict[tuple[int, ...], int] = {}
        blocks, begins = list[np.ndarray](), list[int]()
        used = sum(width for _, _, width in self.items)
        for first, count, width in self.items:
            self.told[first : first + count] = len(begins) + np.arange(count)
            members = tuple([sets[first + min(lane, count - 1)] for lane in range(width)])
            if members not in starts:
                starts[members] = used
                blocks.append(np.array([numbers[k] for k in members]).T.ravel())
                used += len(blocks[-1])
            begins += range(starts[members], starts[members] + width)
        left = np.zeros(self._room(used - len(begins)) - used + len(begins))
        return np.concatenate([np.array(begins, dtype=np.int64).view(float), *blocks, left])

    def _room(self, used: int) -> int:
        """Room for numbers, of which so many are used: for so many different packs of each type and width as there are,
        or 16, or 256, ...
        """
        kinds = Counter((int(self.placed.types[first]), width) for first, _, width in self.items)
        sizes = {(kind, width): width * self.codes[kind].numbers for kind, width in kinds}
        most, room = 1, -1
        while room < used:
            most *= 16
            room = sum(sizes[key] * min(count, most) for key, count in kinds.items())
        return room

    def _fill(self) -> None:
        cells, placed = self.placed.cells, self.placed
        own, stride, types = self.own.tolist(), self.stride.tolist(), placed.types.tolist()
        above = [(0, 1)] * len(cells)  # address and stride of the motion each cell reads
        for k, cell in enumerate(cells):
            for j, (_, child) in enumerate(cell.children):
                if child.place >= 0:
                    above[child.place] = own[k] + self.codes[types[k]].carriers[j] * stride[k], stride[k]
            if cell.owner is not None and cell.owner.place < 0:
                above[k] = self._motion_from_elsewhere(cell.parent), 1
        q, v = placed.q.tolist(), placed.v.tolist()
        for first, count, width in self.items:
            members = [first + min(lane, count - 1) for lane in range(width)]
            one, kind = cells[first], types[first]
            columns: list[Column] = []
            row: list[int] = []
            put_places(columns, row, [(own[first], width)], "lanes" if width > 1 else "one")
            for values in (q, v):
                put_places(columns, row, [(values[c], 1) for c in members])
            put_places(columns, row, [above[c] for c in members])
            put_places(columns, row, [(int(self.left[first]), width)], "lanes" if width > 1 else "one")
            for j in range(len(one.children)):
                put_places(columns, row, [self.answer(cells[c].children[j][1]) for c in members])
            for j in range(len(placed.signals[first])):
                put_places(columns, row, [(placed.signals[c][j], 1) for c in members])
            put_places(columns, row, [(int(self.told[first]), width)], "lanes" if width > 1 else "one")
            key = (kind, width, tuple(columns))
            if key not in self.variants:
                self.variants[key] = _Rows(kind, width, key[2], len(self.variants), [])
            variant = self.variants[key]
            variant.rows.append(row)
            self.place.append((variant, len(variant.rows) - 1))

    def answer(self, cell: Cell) -> tuple[int, int]:
        """Address and stride of the answer of a cell, which may be elsewhere."""
        if cell.place >= 0:
            return int(self.left[cell.place]), int(self.stride[cell.place])
        if cell not in self.answers:
            self.answers[cell] = self.allocate(ANSWER)
        return self.answers[cell], 1

    def motion(self, cell: Cell, child: Cell) -> tuple[int, int]:
        """Address and stride of the motion a child of a cell reads; one of them may be elsewhere."""
        if cell.place < 0:
            return self._motion_from_elsewhere(child.parent), 1
        j = next(j for j, (_, other) in enumerate(cell.children) if other is child)
        offset = self.codes[self.placed.types[cell.place]].carriers[j]
        stride = int(self.stride[cell.place])
        return int(self.own[cell.place]) + offset * stride, stride

    def _motion_from_elsewhere(self, body: Carrier) -> int:
        if body not in self.motions:
            self.motions[body] = self.allocate(MOTION)
        return self.motions[body]

    def exchange(self, kind: str, peer: int, send: Sequence[int], receive: Sequence[int]) -> None:
        """Tell and hear numbers at these places, after all phases so far."""
        told, heard = (np.array(places, dtype=np.int32) for places in (send, receive))
        self.exchanges.append(Exchange(len(self.phases), kind, peer, told, heard))

    def phase(self, tasks: Sequence[Sequence[tuple[Sequence[KindCode | None], Iterable[int], bool]]]) -> None:
        """Tasks that do not depend on each other, each some passes: code by type, items, whether back to front."""
        first = len(self.tasks)
        for task in tasks:
            begin = len(self.sweeps)
            for chosen, items, back in task:
                self._sweep(chosen, items, back)
            if len(self.sweeps) > begin:
                self.tasks.append((begin, len(self.sweeps)))
        if len(self.tasks) > first:
            self.phases.append((first, len(self.tasks)))

    def sweep(
        self, chosen: Sequence[KindCode | None], items: Iterable[int] | None = None, *, back: bool = False
    ) -> None:
        """One pass over items (all by default) as a phase of its own."""
        self.phase([[(chosen, range(len(self.items)) if items is None else items, back)]])

    def _sweep(self, chosen: Sequence[KindCode | None], items: Iterable[int], back: bool) -> None:
        found: list[tuple[int, int, int]] = []  # loop, first row, rows
        last = (-1, -2)
        for item in items:
            variant, row = self.place[item]
            code = chosen[variant.type]
            if code is None:
                continue
            if (variant.number, row) == (last[0], last[1] + 1):
                loop, start, count = found.pop()
                found.append((loop, start, count + 1))
            else:
                found.append((self._loop(code, variant), row, 1))
            last = variant.number, row
        if back:
            self.sweeps += [(loop, start + count - 1, count, -1) for loop, start, count in reversed(found)]
        else:
            self.sweeps += [(loop, start, count, 1) for loop, start, count in found]

    def _loop(self, code: KindCode, variant: _Rows) -> int:
        key = (id(code), variant.number)
        if key not in self._numbers:
            self._numbers[key] = len(self.loops)
            self.loops.append(
                Loop(code.kernel, code.reads, code.writes, variant.number, variant.lanes, variant.columns)
            )
        return self._numbers[key]

    def rows(self, cells: Sequence[int]) -> np.ndarray:
        """Rows of single cells of one type (rows, columns)."""
        found = [self.place[cell] for cell in cells]
        return self.tables[found[0][0].number][[row for _, row in found]]

    def run(self, code: KindCode, rows: np.ndarray) -> None:
        """One more pass over rows (rows, columns) of its own."""
        columns = tuple(Column(k) for k in range(rows.shape[1]))
        self.loops.append(Loop(code.kernel, code.reads, code.writes, len(self.tables), 1, columns))
        self.tasks.append((len(self.sweeps), len(self.sweeps) + 1))
        self.phases.append((len(self.tasks) - 1, len(self.tasks)))
        self.sweeps.append((len(self.loops) - 1, 0, len(rows), 1))
        self.tables.append(rows.astype(np.int32))

    def allocate(self, size: int) -> int:
        """So many more doubles of workspace; where they begin."""
        self.workspace += size
        return self.workspace - size


def _packs(placed: PlacedCells, lanes: int, least: int) -> list[tuple[int, int, int]]:
    """First cell, number of cells and lanes of each item: neighbours of one type and level, in order."""
    groups = np.array([(cell.block, cell.level, kind) for cell, kind in zip(placed.cells, placed.types, strict=True)])
    ends = np.flatnonzero(np.any(np.diff(groups, axis=0) != 0, axis=1)) + 1
    items = []
    for first, end in zip([0, *ends.tolist()], [*ends.tolist(), len(groups)], strict=True):
        if lanes == 1 or end - first < least:
            items += [(cell, 1, 1) for cell in range(first, end)]
        else:
            items += [(cell, min(lanes, end - cell), lanes) for cell in range(first, end, lanes)]
    return items


def put_places(columns: list[Column], row: list[int], places: list[tuple[int, int]], spread: str = "") -> None:
    """Append one reference of all lanes to a row, in the simplest form that fits."""
    start, lanes = len(row), len(places)
    addresses, strides = [a for a, _ in places], {s for _, s in places}
    stride = places[0][1]
    if not spread:
        if lanes == 1:
            spread = "one"
        elif len(set(addresses)) == 1 and len(strides) == 1:
            spread = "same"
        elif strides == {lanes} and addresses == list(range(addresses[0], addresses[0] + lanes)):
            spread = "lanes"
        else:
            spread = "each" if len(strides) == 1 else "every"
    columns.append(Column(start, spread, stride if spread != "every" else 0))
    if spread in ("each", "every"):
        row += addresses + ([s for _, s in places] if spread == "every" else [])
    else:
        row.append(addresses[0])
