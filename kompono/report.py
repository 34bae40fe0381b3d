"""inspect(model) -> Report: what a model is made of and how it will be solved, as text for people and as fields for
tests.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.interruption import heeded
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.law import Law
from kompono.model.subsystem import Subsystem
from kompono.simulation import Simulation
from kompono.solve.assemble import degrees_of_freedom
from kompono.translate import Translation
from kompono.translate.counted import operations
from kompono.translate.engines.large.engine import NestedEngine
from kompono.translate.laws.told import tell_units
from kompono.translate.motion.conditions import group_sizes, path_joints
from kompono.translate.program import Routine
from kompono.translate.structure.topology import common_owner


@dataclass(frozen=True)
class ComponentType:
    """A kind of component: its class, how many equal instances there are, operations of one in the derivative."""

    name: str
    instances: int
    kernels: int
    operations: int


@dataclass(frozen=True)
class Report:
    """The findings. `str(report)` is the whole text."""

    model: str
    tree: tuple[str, ...]
    bodies: int
    joints: int
    constraints: int
    coordinates: int
    conditions: int
    degrees_of_freedom: int
    spanning_tree: tuple[str, ...]
    independent: tuple[str, ...]
    loops: tuple[str, ...]
    redundant: tuple[str, ...]
    redundant_count: int
    moved: dict[str, float]
    types: tuple[ComponentType, ...]
    kernels: int
    calls: int
    operations: dict[str, int]
    laws: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{self.model}: {self.bodies} bodies, {self.joints} joints, "
            + (f"{self.constraints} constraints, " if self.constraints else "")
            + f"{self.degrees_of_freedom} degrees of freedom"
        ]
        lines += ["", "Components", *self.tree]
        lines += ["", f"Spanning tree: {self.coordinates} coordinates", *(f"  {line}" for line in self.spanning_tree)]
        if self.independent:
            lines.append(f"  independent bodies: {', '.join(self.independent)}")
        if self.conditions:
            lines += ["", f"Closing conditions: {self.conditions} rows, {self.redundant_count} redundant"]
            lines += [f"  {line}" for line in self.loops]
        lines += [f"  {line}" for line in self.redundant]
        if self.redundant:
            lines.append("  Reactions of these and of the joints of their loops: one of many sets that fit the motion.")
        if self.laws:
            lines += ["", f"Laws: {len(self.laws)} units", *(f"  {line}" for line in self.laws)]
        if self.moved:
            moved = ", ".join(f"{name} by {change:+.6g}" for name, change in self.moved.items())
            lines += ["", f"Assembly moved {moved}"]
        lines += ["", "Component types (instances, shared kernels, operations per evaluation of one)"]
        lines += [f"  {t.name:<24}{t.instances:>6}{t.kernels:>8}{t.operations:>10}" for t in self.types]
        lines += ["", f"Kernels: {self.kernels} distinct in {self.calls} calls when shared"]
        lines += [f"  {name:<12}{count:>8} operations per evaluation" for name, count in self.operations.items()]
        return "\n".join(lines)


@heeded
def inspect(model: Subsystem, **options: Any) -> Report:
    """Translate and assemble a model, and report its structure; options as of `Simulation` (engine, cut, ...)."""
    native = isinstance(model, Subsystem) and any(isinstance(element, Law) for element in model.walk())
    simulation = Simulation(model, **{**options, "native": native})  # only what laws hold at the start needs it
    translation = simulation.translation
    assembly = simulation.assemble()
    feed, parameters = simulation.feed(), simulation.parameters()
    hidden = len(simulation.program.parameters) - len(parameters)  # of the engine; no condition depends on them
    parameters = np.concatenate([parameters, np.zeros(hidden)])
    speeds = len(simulation.program.speeds)
    here = (0.0, assembly.state, feed.at(0.0), parameters)
    g, _, matrix, _ = simulation.kernel.evaluate("conditions", *here)
    rows = matrix.reshape(speeds, len(g)).T
    labels = translation.engine.row_labels()
    implied = _implied(rows) & (not simulation.entry.links)  # there each condition has a force of its own
    freedoms = degrees_of_freedom(rows)
    rank = speeds - freedoms
    mated = _mated(translation)
    types, kernels, calls = _types(translation)
    program = simulation.program
    names = [name for name in ("derivative", "project", "outputs") if name in program.routines]
    return Report(
        model=type(model).__name__,
        tree=tuple(_tree(model, "  ")),
        bodies=len(translation.model.bodies),
        joints=len(translation.model.joints),
        constraints=len(translation.model.constraints) + len(translation.model.couplings),
        coordinates=speeds,
        conditions=len(g) + sum(rows - solved for _, rows, _, solved in mated),
        degrees_of_freedom=freedoms,
        spanning_tree=tuple(_spanning_tree(translation)),
        independent=tuple(
            translation.model.path(link.carrier) for link in translation.topology.links if link.independent
        ),
        loops=tuple(_loops(translation)),
        redundant=(*_redundant(rows, labels, implied), *_mated_lines(mated)),
        redundant_count=len(g) - rank + sum(rows - rank for _, rows, rank, _ in mated),
        moved=assembly.moved,
        types=types,
        kernels=kernels,
        calls=calls,
        operations={name: operations(program.routines[name], program.kernels) for name in names},
        laws=tuple(str(unit) for law in translation.model.laws for unit in tell_units(law, translation.model.path)),
    )


def _tree(component: Subsystem, indent: str) -> Iterator[str]:
    for name, member in component.members.items():
        exposed = " (exposed)" if component.exposes(member) else ""
        yield f"{indent}{name}: {type(member).__name__}{exposed}"
        if isinstance(member, Subsystem):
            yield from _tree(member, indent + "  ")


def _spanning_tree(translation: Translation) -> Iterator[str]:
    path = translation.model.path
    mates: dict[Joint, str] = {
        pair.joint: ", ".join(map(path, pair.constraints)) for pair in translation.topology.mated
    }
    for link in translation.topology.links:
        indent = "  " * (link.depth - 1)
        parent = path(link.parent) if link.parent is not translation.topology.world else "world"
        if link.joint is None:
            yield f"{indent}{path(link.carrier)} (ground)"
        elif link.independent:
            yield f"{indent}{path(link.carrier)} free in the world"
        else:
            kind = type(link.joint).__name__.lower()
            by = mates.get(link.joint) or path(link.joint)
            yield f"{indent}{path(link.carrier)} on {parent} by {by} ({kind}, {link.joint.freedoms})"


def _mated(translation: Translation) -> list[tuple[str, int, int, int]]:
    """Paths, number of conditions, of independent ones, and of those solved for, of mates that a joint stands for."""
    path, closing = translation.model.path, set(translation.topology.closing)
    return [
        (
            ", ".join(map(path, pair.constraints)),
            sum(sum(group_sizes(c)) for c in pair.constraints),
            pair.rank,
            pair.rank if pair.joint in closing else 0,
        )
        for pair in translation.topology.mated
    ]


def _mated_lines(mated: list[tuple[str, int, int, int]]) -> Iterator[str]:
    for paths, rows, rank, _ in mated:
        if rows > rank:
            verb = "is" if rows == rank + 1 else "are"
            yield f"{paths}: {rows - rank} of their {rows} conditions {verb} implied by the others"


def _loops(translation: Translation) -> Iterator[str]:
    path = translation.model.path
    labels = Counter(translation.engine.row_labels())
    for element in translation.engine.closing:
        joints = [path(joint) or joint._name for joint in path_joints(translation.topology, element)]
        over = f" over {', '.join(joints)}" if joints else ""
        yield f"{path(element)} ({type(element).__name__.lower()}, {labels[path(element)]} conditions){over}"


def _implied(rows: np.ndarray) -> np.ndarray:
    """Which rows those before them imply."""
    implied, basis = np.zeros(len(rows), dtype=bool), np.zeros((0, rows.shape[1]))
    largest = np.linalg.norm(rows, axis=1).max(initial=0.0)
    for i, row in enumerate(rows):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        size = float(np.linalg.norm(rest))
        implied[i] = size <= 1e-7 * max(float(np.linalg.norm(row)), 1e-6 * largest)
        if not implied[i]:
            basis = np.vstack([basis, rest / size])
    return implied


def _redundant(rows: np.ndarray, labels: tuple[str, ...], implied: np.ndarray) -> Iterator[str]:
    """One line per element: how many of its conditions are implied, and by which other elements."""
    kept, gone = np.flatnonzero(~implied), np.flatnonzero(implied)
    shares = np.linalg.lstsq(rows[kept].T, rows[gone].T, rcond=None)[0] if len(gone) else np.zeros((len(kept), 0))
    for label in dict.fromkeys(labels):
        mine = [i for i, name in enumerate(labels) if name == label]
        dropped = [i for i in mine if implied[i]]
        if not dropped:
            continue
        sources: dict[str, None] = {}
        for i in dropped:
            if np.abs(rows[i]).max(initial=0.0) < 1e-12:
                sources["the joints of its loop"] = None
                continue
            for k in kept[np.abs(shares[:, np.searchsorted(gone, i)]) > 1e-6]:
                sources["its other conditions" if labels[k] == label else labels[k]] = None
        verb = "is" if len(dropped) == 1 else "are"
        by = ", ".join(sources) or "the others"
        yield f"{label}: {len(dropped)} of its {len(mine)} conditions {verb} implied by {by}"


def _types(translation: Translation) -> tuple[tuple[ComponentType, ...], int, int]:
    """Group subsystems whose shared kernels are the same; a model whose kernels are inlined is traced once more, but
    for one with laws, which counts as a whole.
    """
    if isinstance(translation.engine, NestedEngine):
        return _cell_types(translation.engine, translation.program.routines["derivative"])
    kernels = translation.program.kernels
    shared = translation.engine.shared or translation.model.laws  # with laws it is inlined, whatever its size
    routine = translation.program.routines["derivative"] if shared else translation.make_engine(True).derivative()
    owner_of = {translation.model.path(e): e.owner for e in translation.model.model.walk()}
    by_owner: dict[Element, list[str]] = {s: [] for s in translation.model.subsystems}
    for call in routine.calls:
        owner = owner_of.get(call.path) or translation.model.model
        by_owner[owner].append(call.kernel)
    groups: dict[tuple[str, str], list[Element]] = {}
    for subsystem in translation.model.subsystems:
        content = hashlib.sha256("".join(sorted(by_owner[subsystem])).encode()).hexdigest()
        groups.setdefault((type(subsystem).__name__, content), []).append(subsystem)
    types = []
    for (name, _), members in groups.items():
        used = by_owner[members[0]]
        count = sum(kernels[kernel].n_nodes() for kernel in used)
        types.append(ComponentType(name, len(members), len(set(used)), count))
    return tuple(types), len({call.kernel for call in routine.calls}), len(routine.calls)


def _cell_types(engine: NestedEngine, derivative: Routine) -> tuple[tuple[ComponentType, ...], int, int]:
    """The types of cells of a large model, each under the name of the component it is."""
    counts = np.bincount(engine.placed.types)
    types = []
    for code, cell, count in zip(engine.codes(posed=False), engine.examples, counts, strict=True):
        used = [part.kernel for part in (code.move, code.condense, code.resolve) if part is not None]
        nodes = sum(engine.kernels[kernel].n_nodes() for kernel in used)
        owner = common_owner(engine.model, [link.carrier for link in cell.links])
        types.append(ComponentType(type(owner).__name__, int(count), len(used), nodes))
    calls = derivative.counts()
    return tuple(types), len(calls), sum(calls.values())
