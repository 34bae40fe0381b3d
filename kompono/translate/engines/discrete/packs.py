"""Instances of equal pieces side by side: tables for native code that works on several of them at once.

Pieces with the same kernel and the same roles form packs of `LANES` instances; what is left over repeats the last one
in the free lanes of its pack. Numbers of the instances (*data*) lie lane by lane behind the model's parameters and are
loaded as they lie; states of bodies are gathered. Wrenches go to the workspace lane by lane; the kernel of a body
gathers and adds those that act on it, so that no two lanes ever write to one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np

from kompono.translate.engines.discrete.pieces import Piece
from kompono.translate.engines.large.tables import put_places
from kompono.translate.program import ARRAYS, HEADER, Column, Loop, Place, TableRoutine

LANES = 4
LEAST = 2  # instances that are worth a pack
_ARRAY = {name: number for number, name in enumerate(ARRAYS)}
ZERO = HEADER  # a workspace slot that is always zero


@dataclass(frozen=True)
class Pack:
    """Some instances of one kind: as many as there are lanes, or a single one."""

    pieces: tuple[Piece, ...]  # the last ones may be repeated
    data: int  # where its data begin behind the model's parameters

    @property
    def lanes(self) -> int:
        """How many run at once."""
        return len(self.pieces)


@dataclass
class Packing:
    """The numbers of all instances, in the order kernels read them: symbols, those of an instance that is repeated
    again.
    """

    symbols: list[ca.SX] = field(default_factory=list)

    def pack(self, pieces: Iterable[Piece]) -> list[Pack]:
        """Instances of like pieces in packs, and their data in place."""
        kinds: dict[tuple, list[Piece]] = {}
        for piece in pieces:
            kinds.setdefault((piece.kernel, piece.roles), []).append(piece)
        packs = []
        for alike in kinds.values():
            width = LANES if len(alike) >= LEAST else 1
            for begin in range(0, len(alike), width):
                some = alike[begin : begin + width]
                packs.append(self._placed((*some, *[some[-1]] * (width - len(some)))))
        return packs

    def _placed(self, pieces: tuple[Piece, ...]) -> Pack:
        begin = len(self.symbols)
        for k in range(len(pieces[0].data)):
            self.symbols += [piece.data[k] for piece in pieces]
        return Pack(pieces, begin)


class PackTables:
    """Builds a routine that runs packs one after the other.

    `nq` is where speeds begin in the state, `parameters` how many the model has itself.
    """

    def __init__(self, name: str, nq: int, parameters: int, output: tuple[str, int]) -> None:
        self.name, self.nq, self.parameters, self.output = name, nq, parameters, output
        self.workspace = HEADER + 1
        self.loops: list[Loop] = []
        self.rows: list[list[list[int]]] = []
        self.sources: dict[int, list[tuple[int, int]]] = {}  # by body: workspace places of wrenches, and their strides

    def add(self, pack: Pack, writes: Sequence[tuple[str, int]] | None = None, read_from: str = "state") -> None:
        """Run a pack. It writes numbers to places (what they belong to: "q", "v", "kick" of its first body or "state",
        offset), by default wrenches to the workspace.
        """
        columns: list[Column] = []
        row: list[int] = []
        table: dict[tuple, int] = {}

        def column(key: tuple, places: list[tuple[int, int]], spread: str = "") -> int:
            if key not in table:
                put_places(columns, row, places, spread)
                table[key] = len(columns) - 1
            return table[key]

        reads = tuple(self._read(pack, role, column, read_from) for role in pack.pieces[0].roles)
        if writes is None:
            targets = self._wrenches(pack, column)
        else:
            targets = tuple(self._write(pack, kind, offset, column) for kind, offset in writes)
        filled = len(row) if pack.lanes > 1 else -1
        row += [len(dict.fromkeys(map(id, pack.pieces)))] if pack.lanes > 1 else []
        loop = Loop(pack.pieces[0].kernel, reads, targets, 0, pack.lanes, tuple(columns), filled)
        self._append(loop, row)

    def zero(self, kernel: str) -> None:
        """Have the slot `ZERO` set by a kernel that gives zero."""
        self._append(Loop(kernel, ((_ARRAY["time"], -1, 0),), ((_ARRAY["work"], -1, ZERO),), 0, 1, (Column(0),)), [0])

    def _append(self, loop: Loop, row: list[int]) -> None:
        """One more row, for the last loop if that is the same."""
        if self.loops and self.loops[-1] == loop:
            self.rows[-1].append(row)
        else:
            self.loops.append(loop)
            self.rows.append([row])

    def _read(self, pack: Pack, role: tuple, column, read_from: str) -> Place:
        pieces, kind = pack.pieces, role[0]
        if kind in ("q", "v"):
            start, size = (0, 12) if kind == "q" else (self.nq, 6)
            places = [(start + size * piece.bodies[role[1]], 1) for piece in pieces]
            return _ARRAY[read_from], column((kind, role[1]), places, _each(pack)), role[2]
        if kind == "data":
            begin = self.parameters + pack.data
            spread = "lanes" if pack.lanes > 1 else ""
            return _ARRAY["parameters"], column(("data",), [(begin, pack.lanes)], spread), role[1]
        if kind == "source":
            places = [self._source(piece.bodies[0], role[1]) for piece in pieces]
            return _ARRAY["work"], column(("source", role[1]), places, "every" if pack.lanes > 1 else ""), role[2]
        return _ARRAY[kind], -1, role[1]

    def _source(self, body: int, number: int) -> tuple[int, int]:
        known = self.sources.get(body, [])
        return known[number] if number < len(known) else (ZERO, 0)

    def _wrenches(self, pack: Pack, column) -> tuple[Place, ...]:
        begin, lanes = self.workspace, pack.lanes
        count = 6 * len(pack.pieces[0].acts_on)
        self.workspace += -(-count * lanes // 8) * 8
        for lane, piece in enumerate(pack.pieces):
            if lane and piece is pack.pieces[lane - 1]:
                break
            for number, body in enumerate(piece.acts_on):
                self.sources.setdefault(body, []).append((begin + 6 * number * lanes + lane, lanes))
        own = column(("own",), [(begin, lanes)], "lanes" if lanes > 1 else "")
        return tuple((_ARRAY["work"], own, k) for k in range(count))

    def _write(self, pack: Pack, kind: str, offset: int, column) -> Place:
        if kind == "state":
            return _ARRAY["output"], -1, offset
        start, size = {"q": (0, 12), "v": (self.nq, 6), "kick": (0, 6)}[kind]
        places = [(start + size * piece.bodies[0], 1) for piece in pack.pieces]
        return _ARRAY["output"], column(("to", kind), places, _each(pack)), offset

    def routine(self, inputs: tuple[tuple[str, int], ...]) -> TableRoutine:
        """The finished routine."""
        tables = tuple(np.array(rows, dtype=np.int32) for rows in self.rows)
        loops = tuple(replace(loop, table=k) for k, loop in enumerate(self.loops))
        sweeps = np.array([(k, 0, len(rows), 1) for k, rows in enumerate(self.rows)], dtype=np.int32).reshape(-1, 4)
        tasks, phases = np.array([[0, len(sweeps)]], dtype=np.int32), np.array([[0, 1]], dtype=np.int32)
        return TableRoutine(
            self.name, inputs, (self.output,), (), (), self.workspace,
            loops=loops, tables=tables, sweeps=sweeps, tasks=tasks, phases=phases,
        )  # fmt: skip


def _each(pack: Pack) -> str:
    """Always the same way to reach bodies, so that all packs of a kind share one kernel."""
    return "each" if pack.lanes > 1 else ""
