"""Instances of cell types as rows of tables, and the sweeps over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from kompono.translate.nested.cells import Cell
from kompono.translate.nested.kernels import CHILDREN, CellCode, Code
from kompono.translate.program import Loop


@dataclass(frozen=True)
class Placed:
    """Cells in order, the type of each, and where their state and their workspace begin."""

    cells: Sequence[Cell]
    types: np.ndarray  # (cells)
    signals: Sequence[tuple[int, ...]]  # by cell: places of the inputs and parameters it reads
    q: np.ndarray  # (cells) offset of its coordinates in the state
    v: np.ndarray


class Tables:
    """Rows of offsets by type, and loops over them that are added pass by pass."""

    def __init__(self, placed: Placed, codes: Sequence[CellCode]) -> None:
        self.placed, self.codes = placed, codes
        sizes = np.array([code.size for code in codes])[placed.types]
        self.own = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.workspace = int(self.own[-1])
        self.row = np.zeros(len(placed.types), dtype=np.int64)  # of each cell in the table of its type
        self.tables = self._rows()
        self.loops: list[Loop] = []
        self.sweeps: list[tuple[int, int, int, int]] = []

    def _rows(self) -> list[np.ndarray]:
        placed = self.placed
        counts = np.bincount(placed.types, minlength=len(self.codes))
        tables: list[np.ndarray] = []
        for number, count in enumerate(counts):
            members = np.flatnonzero(placed.types == number)
            self.row[members] = np.arange(count)
            first = placed.cells[int(members[0])]
            width = CHILDREN + len(first.children) + len(placed.signals[int(members[0])])
            tables.append(np.zeros((count, width), dtype=np.int32))
        own = self.own.tolist()
        for k, cell in enumerate(placed.cells):
            number = int(placed.types[k])
            line = tables[number][self.row[k]]
            line[:3] = own[k], placed.q[k], placed.v[k]
            carriers = self.codes[number].carriers
            for j, (_, child) in enumerate(cell.children):
                line[CHILDREN + j] = own[child.place]
                tables[placed.types[child.place]][self.row[child.place]][3] = own[k] + carriers[j]
            if placed.signals[k]:
                line[CHILDREN + len(cell.children) :] = placed.signals[k]
        return tables

    def sweep(self, chosen: Sequence[Code | None], cells: Sequence[int] | np.ndarray, *, back: bool = False) -> None:
        """One pass over cells (rising numbers), with the code of each type; `back` from the last to the first."""
        numbers = {}
        for number, code in enumerate(chosen):
            if code is not None:
                numbers[number] = len(self.loops)
                self.loops.append(Loop(code.kernel, code.reads, code.writes, number))
        found = []
        for (number, _), group in groupby(cells, key=self._run_key()):
            members = list(group)
            if number in numbers:
                rows = self.row[members]
                start = int(rows[-1] if back else rows[0])
                found.append((numbers[number], start, len(members), -1 if back else 1))
        self.sweeps += reversed(found) if back else found

    def run(self, code: Code, rows: np.ndarray) -> None:
        """One more pass over rows (rows, columns) of its own."""
        self.loops.append(Loop(code.kernel, code.reads, code.writes, len(self.tables)))
        self.sweeps.append((len(self.loops) - 1, 0, len(rows), 1))
        self.tables.append(rows.astype(np.int32))

    def allocate(self, size: int) -> int:
        """So many more doubles of workspace; where they begin."""
        self.workspace += size
        return self.workspace - size

    def _run_key(self):
        """Consecutive cells of one type whose rows follow one another share a key."""
        types, row = self.placed.types.tolist(), self.row.tolist()
        state = {"before": -2, "type": -1, "run": 0}

        def key(cell: int) -> tuple[int, int]:
            if types[cell] != state["type"] or row[cell] != state["before"] + 1:
                state["run"] += 1
            state["type"], state["before"] = types[cell], row[cell]
            return types[cell], state["run"]

        return key
