"""Large trees on ranks: what they must be, who gets which cells, and the part of each process.

This is one *kind* of model that can be spread (see `session.KINDS`): it says whether it `takes` a translated model, and
makes a plan of it, plain data that all processes get, from which each makes its `member`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.compile.messages import largest_message
from kompono.compile.spread import SpreadKernel
from kompono.errors import RunError
from kompono.given import shown
from kompono.model.body import Body
from kompono.model.subsystem import Subsystem
from kompono.ranks.member import Member
from kompono.ranks.placement import ANYWHERE, TooManyRanks, Torn, place
from kompono.ranks.world import World
from kompono.translate import Translation
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.large.cells import Cell
from kompono.translate.engines.large.engine import NestedEngine
from kompono.translate.engines.large.share import SHARED, Share, SpreadEngine
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.structure.topology import Topology


@dataclass(frozen=True)
class Plan:
    """Who has which cells (as they are found), where coordinates and speeds of each begin in the whole state (cells,
    2), the operations of all and of the longest way through an evaluation.
    """

    homes: np.ndarray
    starts: np.ndarray
    by_levels: bool
    posed: bool
    state_size: int
    total: float
    work: float

    @property
    def cut(self) -> str:
        """How the model is cut, in a word."""
        return "levels" if self.by_levels else "forks"

    def member(self, world: World, model: Elaborated, tree: Topology, cache: bool, threads: int) -> Member:
        """The part of this process; all make theirs at the same time."""
        share = Share(self.homes, world.rank, world.size, self.by_levels, self.posed)
        engine = world.agreed(lambda: SpreadEngine(model, tree, {}, share))
        shapes = world.group.allgather(engine.shape)
        if len(set(shapes)) > 1:
            other = next(rank for rank, shape in enumerate(shapes) if shape != shapes[0])
            raise RunError(f"rank {other} has declared another model than rank 0.", fix="Declare the same on all.")
        program = engine.program(self.state_size)
        wires = world.wires(engine.counts, largest_message(program.routines["derivative"]))  # type: ignore[arg-type]
        kernel = SpreadKernel(program, wires, cache=cache, threads=threads)
        own = np.full(len(engine.cells), True) if world.leads else self.homes[engine.numbers] != SHARED
        sizes = _sizes(engine)
        tells = np.concatenate([np.repeat(own, sizes[:, k]) for k in range(2)])
        starts = self.starts[engine.numbers]
        places = np.concatenate([_runs(starts[:, k], sizes[:, k]) for k in range(2)])
        return Member(world, kernel, places, tells, self.state_size, name_of(engine))


def takes(translation: Translation) -> bool:
    """Whether a model is cut into cells."""
    return isinstance(translation.engine, NestedEngine)


def make_plan(translation: Translation, ranks: int, wanted: Mapping[str, Any] | None) -> Plan:
    """Deal out the cells of a translated model; `wanted` homes of components by path come first."""
    engine = translation.engine
    if not isinstance(engine, NestedEngine):
        raise RunError(
            f"ranks=True spreads closed parts, and trees of bodies, forces and fields; {_reason(translation)}.",
            fix=_FIX,
        )
    kernels, types = engine.kernels, engine.placed.types
    codes = engine.codes(posed=engine.placed_in_world)
    passes = [[code.move, code.condense, code.resolve] for code in codes]
    each = [sum(kernels[code.kernel].n_instructions() for code in parts if code is not None) for parts in passes]
    weights, owners = np.zeros(len(types)), np.full(len(types), -1, dtype=np.int64)
    weights[engine.numbers] = np.array(each, dtype=float)[types]
    for cell, number in zip(engine.cells, engine.numbers.tolist(), strict=True):
        if cell.owner is not None:
            owners[number] = engine.numbers[cell.owner.place]
    homes = _wanted(engine, wanted, ranks) if wanted else None
    try:
        found = place(owners, weights, ranks, homes)
    except TooManyRanks as error:
        message = f"only {error.most} of {ranks} ranks would have something to do."
        raise RunError(message, fix=f"Start {error.most}, or fewer.") from None
    except Torn as error:
        cell = engine.cells[int(np.flatnonzero(engine.numbers == error.cell)[0])]
        body, parent = (engine.model.path(b) for b in (cell.links[0].carrier, cell.parent))
        message = f"place: {body} hangs on {parent}, which is placed on another rank."
        raise RunError(message, fix="Place both on one rank, or only one of them.") from None
    starts = np.zeros((len(types), 2), dtype=np.int64)
    starts[engine.numbers] = np.stack([engine.placed.q, engine.placed.v], axis=1)
    size = engine.nq + engine.nv
    return Plan(found.homes, starts, found.by_levels, engine.placed_in_world, size, float(weights.sum()), found.work)


_FIX = "Close the components that shall be on other ranks (closed=[...]), or leave ranks out."


def _reason(translation: Translation) -> str:
    model, topology = translation.model, translation.topology
    if not isinstance(translation.engine, NestedEngine | RelativeEngine):
        return "this engine does not cut models into cells"
    kinds: tuple[tuple[str, Any], ...] = (
        ("closes a loop", topology.closing), ("is a constraint", model.constraints), ("is a coupling", model.couplings),
        ("is an event", model.events), ("is a mode", model.modes), ("is a state", model.states),
        ("is a declared output", model.outputs), ("connects signals", model.connections),
    )  # fmt: skip
    for what, elements in kinds:
        if elements:
            return f"{model.path(elements[0])} {what}"
    return "this one is not made of few kinds of components that meet at single bodies"


def _wanted(engine: NestedEngine, given: Mapping[str, Any], ranks: int) -> np.ndarray:
    """Homes of cells somebody asked for, as they are found."""
    homes = np.full(len(engine.cells), ANYWHERE, dtype=np.int64)
    for path, rank in given.items():
        if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank < ranks:
            raise RunError(f"place: {path!r} on rank {shown(rank)}.", fix=f"There are ranks 0 to {ranks - 1}.")
        element = engine.model.model.find(path)
        if not isinstance(element, Subsystem | Body):
            raise RunError(f"place: {path} is neither a component nor a body.", fix="Place components.")
        inside = [_is_in(element, cell) for cell in engine.cells]
        if not any(inside):
            raise RunError(f"place: {path} has no body of its own to place.", fix="Place a component around it.")
        homes[engine.numbers[inside]] = rank
    return homes


def _is_in(element: Any, cell: Cell) -> bool:
    carrier = cell.links[0].carrier
    return element is carrier or (isinstance(element, Subsystem) and element.contains(carrier))


def _sizes(engine: NestedEngine) -> np.ndarray:
    """Coordinates and speeds of each cell (cells, 2)."""
    joints = [[link.joint for link in cell.links if link.joint is not None] for cell in engine.cells]
    pairs = [(sum(len(j.coordinates) for j in of), sum(j.freedoms for j in of)) for of in joints]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _runs(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """start, start + 1, ... of each, one after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


def name_of(engine: SpreadEngine) -> str:
    """What a process has, for people: components by path, those nearest to the ground first."""
    roots = engine.roots
    names = [engine.model.path(_component(cell)) for cell in roots[:2]]
    more = f" and {len(roots) - 2} more" if len(roots) > 2 else ""
    return ", ".join(names) + more or "nothing of its own"


def _component(cell: Cell) -> Any:
    """The largest component that has the first body of a cell, but not what it hangs on."""
    found: Any = cell.links[0].carrier
    while found.owner is not None and found.owner.owner is not None and not found.owner.contains(cell.parent):
        found = found.owner
    return found
