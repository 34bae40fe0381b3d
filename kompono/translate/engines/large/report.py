"""The routine that computes chosen channels of a large model: only the cells they need are visited.

Positions and velocities need the motion of all cells between a ground and those asked for, accelerations and reactions
need all three passes over all cells, energies one pass over all cells that adds them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.translate.engines.large.channels import CellChannels
from kompono.translate.engines.large.kernels import INPUTS, OUTPUT, WORK, CellPlaces, KindCode
from kompono.translate.engines.large.tables import Tables
from kompono.translate.kernels import add_kernel
from kompono.translate.program import TableRoutine

if TYPE_CHECKING:
    from kompono.translate.engines.large.engine import NestedEngine

_RUNNING = 3  # kinetic and potential energy, drift


class LargeReport:
    """Collects what is needed for some columns of the channels."""

    def __init__(self, engine: NestedEngine, channels: CellChannels, columns: Sequence[int]) -> None:
        self.engine, self.channels = engine, channels
        self.groups: dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = {}  # type, places -> cell, column
        self.totals: list[tuple[int, int]] = []  # which, column
        self._collect(columns)
        used = {s for (kind, places) in self.groups for s in self._symbols(kind, places)}
        self.adds_up = any(which < 4 for which, _ in self.totals)
        self.accelerates = "late" in used
        self.moves = self.accelerates or self.adds_up or "motion" in used
        codes = engine.codes(posed=True, rates=False)
        self.tables = Tables(engine.placed, codes)
        self.codes = codes

    def _collect(self, columns: Sequence[int]) -> None:
        end = int(self.channels.starts[-1])
        by_cell: dict[int, list[tuple[int, int]]] = {}
        for column, index in enumerate(columns):
            if index >= end:
                self.totals.append((index - end, column))
            else:
                cell, place = self.channels.locate(index)
                by_cell.setdefault(cell, []).append((place, column))
        for cell, wanted in by_cell.items():
            places, first = tuple(place for place, _ in wanted), wanted[0][1]
            self.groups.setdefault((int(self.engine.placed.types[cell]), places), []).append((cell, first))

    def _symbols(self, kind: int, places: tuple[int, ...]) -> set[str]:
        """Whether some channels of a type need motion, or accelerations, from outside."""
        traced, values = self.engine.traced[kind], self.channels.types[kind].values
        used = {s.element_hash() for s in ca.symvar(values[list(places)])}
        late = [traced.parent[k] for k in range(6, 12)] + [c[k] for c in traced.children for k in range(c.numel())]
        moved = [traced.parent[k] for k in [*range(6), *range(12, 24)]]
        parts = (("late", late), ("motion", moved))
        return {name for name, symbols in parts if any(symbol.element_hash() in used for symbol in symbols)}

    def routine(self, name: str, size: int) -> TableRoutine:
        """The finished routine, with `size` outputs."""
        tables = self.tables
        if self.moves:
            whole = self.accelerates or self.adds_up
            tables.sweep([code.move for code in self.codes], None if whole else self._above())
        if self.accelerates:
            tables.sweep([code.condense for code in self.codes], back=True)
            tables.sweep([code.resolve for code in self.codes])
        for (kind, places), cells in self.groups.items():
            self._report(kind, places, cells)
        if self.totals:
            self._add_up()
        return self.engine.routine(name, [("channels", size)], tables)

    def _above(self) -> list[int]:
        """The cells asked for and all between them and a ground."""
        found: set[int] = set()
        for cells in self.groups.values():
            for number, _ in cells:
                cell = self.engine.cells[number].owner
                while cell is not None and cell.place not in found:
                    found.add(cell.place)
                    cell = cell.owner
        return sorted(found)

    def _places(self, kind: int) -> tuple[CellPlaces, int]:
        places = CellPlaces(self.engine.traced[kind], self.engine.example_signals[kind])
        return places, places.columns

    def _rows(self, cells: Sequence[int], *more: Sequence[int]) -> np.ndarray:
        return np.column_stack([self.tables.rows(cells), *more])

    def _report(self, kind: int, chosen: tuple[int, ...], cells: list[tuple[int, int]]) -> None:
        places, width = self._places(kind)
        values = self.channels.types[kind].values
        code = places.code(self.engine.kernels, [(values[k], (OUTPUT, width, i)) for i, k in enumerate(chosen)])
        assert code is not None
        numbers, columns = zip(*cells, strict=True)
        self.tables.run(code, self._rows(numbers, columns))

    def _add_up(self) -> None:
        """Energies and drift: every cell adds its own to those of the cell before it."""
        engine, tables = self.engine, self.tables
        count = len(engine.cells) if self.adds_up else 0
        start = tables.allocate(_RUNNING * (count + 1))
        zero = KindCode(_constant(engine.kernels), (), tuple((WORK, 0, k) for k in range(_RUNNING)))
        tables.run(zero, np.array([[start]]))
        if self.adds_up:
            codes = [self._adding(kind) for kind in range(len(engine.traced))]
            types = engine.placed.types
            cuts = [0, *(np.flatnonzero(np.diff(types)) + 1).tolist(), len(types)]
            for first, end in pairwise(cuts):
                cells = np.arange(first, end)
                rows = self._rows(cells.tolist(), start + 3 * cells, start + 3 * cells + 3)  # type: ignore[arg-type]
                tables.run(codes[int(types[first])], rows)
        self._totals(start + _RUNNING * count)

    def _adding(self, kind: int) -> KindCode:
        places, width = self._places(kind)
        before = ca.SX.sym("before", _RUNNING)
        for k in range(_RUNNING):
            places.of[before[k].element_hash()] = (WORK, width, k)
        own = self.channels.types[kind].totals
        sums = [before[0] + own[0], before[1] + own[1], ca.fmax(before[2], own[2])]
        code = places.code(self.engine.kernels, [(sums[k], (WORK, width + 1, k)) for k in range(_RUNNING)])
        assert code is not None
        return code

    def _totals(self, place: int) -> None:
        """Totals and inputs, from where they are to the output."""
        sums, signals = ca.SX.sym("sums", _RUNNING), ca.SX.sym("inputs", len(self.channels.inputs))
        places = CellPlaces(self.engine.traced[0], self.engine.example_signals[0])
        for k in range(_RUNNING):
            places.of[sums[k].element_hash()] = (WORK, 0, k)
        for k in range(signals.numel()):
            places.of[signals[k].element_hash()] = (INPUTS, -1, k)
        known = [sums[0], sums[1], sums[0] + sums[1], sums[2], ca.SX(0)]
        known += [signals[k] for k in range(signals.numel())]
        code = places.code(self.engine.kernels, [(known[which], (OUTPUT, -1, column)) for which, column in self.totals])
        assert code is not None
        self.tables.run(code, np.array([[place]]))


def _constant(kernels: dict[str, ca.Function]) -> str:
    return add_kernel(kernels, ca.SX(0, 1), ca.SX.zeros(_RUNNING))
