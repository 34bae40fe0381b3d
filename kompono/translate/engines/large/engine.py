"""The relative engine of large models without loops: kernels by type of component, instances in tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.opening import Opening
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.large.cells import LARGEST, Apart, Cell, find_blocks, find_cells
from kompono.translate.engines.large.channels import CellChannels
from kompono.translate.engines.large.kernels import OUTPUT, CellCode, CellPlaces, KindCode, make_code
from kompono.translate.engines.large.likeness import Likeness
from kompono.translate.engines.large.report import LargeReport
from kompono.translate.engines.large.tables import PlacedCells, Tables
from kompono.translate.engines.large.trace import trace_cell
from kompono.translate.engines.large.types import CellTypes
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.program import Routine, TableRoutine
from kompono.translate.structure.topology import Topology

LANES = 8  # cells of one type and level that are computed at once
_WHOLE = ("placement", "rates", "normalize", "holds", "measured")  # routines that have no kernels by type
MOST_SETS = 100  # a model with more cells of numbers of their own is no model of equal components

Pass = Sequence[KindCode | None]  # a kernel for each type of cell


class NestedEngine(Engine):
    """The state is (q, v) of the tree joints, cell by cell."""

    whole = False

    def __init__(
        self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, largest: int = LARGEST,
        lanes: int = LANES,
    ) -> None:  # fmt: skip
        check_shape(model, topology)
        self.lanes, self.tree = lanes, topology
        cells = self._chosen(find_cells(model, topology, largest))
        types, sets, signals = self._find_types(Likeness(model, topology), cells)
        levels, blocks = (np.array([getattr(cell, name) for cell in cells]) for name in ("level", "block"))
        order = np.lexsort(np.stack([np.arange(len(cells)), types, levels, blocks]))
        self.cells = [cells[k] for k in order]
        self.numbers = np.array([cell.place for cell in self.cells])  # of the cells as they were found
        for place, cell in enumerate(self.cells):
            cell.place = place
        ordered = [link for cell in self.cells for link in cell.links]
        grounds = [link for link in topology.links if link.joint is None]
        super().__init__(model, Topology(topology.world, (*grounds, *ordered), ()), kernels, shared=True)
        self.placed = self._place(types[order], sets[order], [signals[k] for k in order])

    def _chosen(self, cells: list[Cell]) -> list[Cell]:
        """The cells to compute, with blocks, of all that were found."""
        find_blocks(cells)
        return cells

    def _find_types(
        self, likeness: Likeness, cells: Sequence[Cell]
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[int, ...]]]:
        """By cell: its type, its numbers, the inputs and parameters it reads."""
        model = likeness.model
        offsets: dict[Element, int] = {s: k for kind in (model.inputs, model.parameters) for k, s in enumerate(kind)}
        known: dict[Any, int] = {}
        alone: list[tuple[Cell, tuple[Element, ...]]] = []  # one cell of each set of numbers
        sets, signals = np.zeros(len(cells), dtype=np.int64), list[tuple[int, ...]]()
        for k, cell in enumerate(cells):
            key, used = likeness.key(cell)
            sets[k] = known.setdefault(key, len(known))
            if sets[k] == len(alone):
                if len(alone) == MOST_SETS:
                    raise Apart
                alone.append((cell, used))
            signals.append(tuple(offsets[signal] for signal in used))
        opening, found = Opening(model, (), {}), CellTypes()
        made = [found.add(trace_cell(model, self.tree, cell, used, opening), used) for cell, used in alone]
        self.set_numbers = [numbers for _, numbers in made]
        kinds = [kind for kind, _ in made]
        firsts = [alone[kinds.index(kind)] for kind in range(len(found.found))]
        self.examples, self.example_signals = [cell for cell, _ in firsts], [used for _, used in firsts]
        self.traced, self.type_channels = [t.traced for t in found.found], [t.channels for t in found.found]
        return np.array(kinds)[sets], sets, signals

    def _place(self, types: np.ndarray, sets: np.ndarray, signals: list[tuple[int, ...]]) -> PlacedCells:
        sizes = np.array(
            [
                [sum(len(link.joint.coordinates) for link in c.links), sum(link.joint.freedoms for link in c.links)]  # type: ignore[union-attr]
                for c in self.examples
            ]
        )[types]
        before = np.cumsum(sizes, axis=0) - sizes
        state = before[:, 0], before[:, 1] + self.nq
        return PlacedCells(self.cells, types, signals, *state, sets, self.set_numbers)

    @cached_property
    def placed_in_world(self) -> bool:
        """Whether accelerations depend on where cells are in the world."""
        values = [v for t in self.traced for v in (t.speeds, t.answer, *t.motions) if v is not None]
        used = {s.element_hash() for value in values for s in ca.symvar(value[:12] if value.numel() == 24 else value)}
        return any(t.parent[k].element_hash() in used for t in self.traced for k in range(12, 24))

    def codes(self, *, posed: bool, rates: bool = True) -> list[CellCode]:
        """The kernels of all types."""
        pairs = zip(self.traced, self.example_signals, strict=True)
        return [make_code(traced, signals, self.kernels, posed=posed, rates=rates) for traced, signals in pairs]

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """What runs over cells; the rest, which is rarely asked for, from the model traced as a whole."""
        own = {name: getattr(self, name) for name in ("derivative", "outputs", "conditions")}
        rest = {name: lambda name=name: getattr(self._traced_whole, name)() for name in _WHOLE}
        return {**own, **rest, **({"project": self.project} if self._turns else {})}

    @cached_property
    def _traced_whole(self) -> RelativeEngine:
        return RelativeEngine(self.model, self.topology, self.kernels, shared=False)

    @property
    def _turns(self) -> bool:
        """Whether there are quaternions to keep."""
        return any(type(joint).normalize is not Joint.normalize for joint in self.joints)

    def derivative(self) -> TableRoutine:
        """state -> rate."""
        codes = self.codes(posed=self.placed_in_world)
        tables = Tables(self.placed, codes, self.lanes, most_teams=_most_teams())
        passes = [[getattr(code, name) for code in codes] for name in ("move", "condense", "resolve")]
        self._schedule(tables, *passes)
        return self.routine("derivative", [("rate", self.nq + self.nv)], tables)

    def _schedule(self, tables: Tables, move: Pass, condense: Pass, resolve: Pass) -> None:
        top = tables.blocks[0]
        tables.phase([[(move, top, False)]])
        self._inwards(tables, move, condense)
        tables.phase([[(condense, top, True), (resolve, top, False)]])
        tables.phase([[(resolve, block, False)] for block in reversed(tables.blocks[1:])])  # the last is still at hand

    def _inwards(self, tables: Tables, move: Pass, condense: Pass) -> None:
        """Blocks of a team one after the other: they leave their answers at the same places."""
        steps = [[(move, block, False), (condense, block, True)] for block in tables.blocks[1:]]
        tables.phase([[step for block in team for step in steps[block]] for team in tables.teams])

    def project(self) -> TableRoutine:
        """state -> state with unit quaternions."""
        codes: list[KindCode | None] = []
        for traced, signals in zip(self.traced, self.example_signals, strict=True):
            places = CellPlaces(traced, signals)
            values = [(traced.normal, traced.q), (traced.v, traced.v)]
            wanted = []
            for value, symbols in values:
                for k in range(symbols.numel()):
                    _, column, offset = places.of[symbols[k].element_hash()]
                    wanted.append((value[k], (OUTPUT, column, offset)))
            codes.append(places.code(self.kernels, wanted))
        tables = Tables(self.placed, self.codes(posed=False))
        tables.sweep(codes)
        return self.routine("project", [("state", self.nq + self.nv)], tables)

    @cached_property
    def channels(self) -> CellChannels:
        """All channels of the result, made when asked for."""
        return CellChannels(self)

    def outputs(self, name: str = "outputs", columns: Sequence[int] | None = None) -> TableRoutine:
        """The channels in some columns (rising), by default those that cost nothing."""
        chosen = self.channels.matching("*") if columns is None else columns
        return LargeReport(self, self.channels, chosen).routine(name, len(chosen))

    def conditions(self) -> Routine:
        """There are none."""
        return self._empty("conditions", "g", "g_dot", "G", "u")

    def _empty(self, name: str, *outputs: str) -> Routine:
        inputs = self._inputs()
        return Routine(
            name, inputs, tuple((o, 0) for o in outputs), (), ((),) * len(outputs), sum(size for _, size in inputs)
        )

    def routine(self, name: str, outputs: Sequence[tuple[str, int]], tables: Tables) -> TableRoutine:
        """The finished routine."""
        sweeps, tasks, phases = (
            np.array(part, dtype=np.int32).reshape(len(part), -1)
            for part in (tables.sweeps, tables.tasks, tables.phases)
        )
        return TableRoutine(
            name, self._inputs(), tuple(outputs), (), (), tables.workspace, tuple(tables.loops), tuple(tables.tables),
            sweeps, tasks, phases, tuple(tables.exchanges), tables.numbers,
        )  # fmt: skip

    def _inputs(self) -> tuple[tuple[str, int], ...]:
        sizes = (1, self.nq + self.nv, len(self.model.inputs), len(self.model.parameters))
        return tuple(zip(("time", "state", "inputs", "parameters"), sizes, strict=True))


def _most_teams() -> int:
    """Tasks for all processors, a few each, so that none is long without any."""
    return max(8, 4 * (os.cpu_count() or 1))


def check_shape(model: Elaborated, topology: Topology) -> None:
    """Raise Apart for models that are not trees of bodies, forces and fields alone."""
    if (
        topology.closing
        or model.constraints
        or model.couplings
        or model.memory
        or model.events
        or model.laws
        or model.soft
        or model.outputs
        or model.connections
        or model.networks
    ):
        raise Apart
