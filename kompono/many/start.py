"""Consistent starts of many runs: assembled once for all that differ in nothing the assembly can see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from kompono.errors import AssemblyError, KomponoError, ModelWarning, warn
from kompono.many.vary import Variation
from kompono.notice import Notice
from kompono.ready import settle
from kompono.simulation import Simulation
from kompono.solve.assemble import remarks
from kompono.solve.inputs import Feed
from kompono.solve.settings import Settings
from kompono.translate.program import Program, Routine

T = TypeVar("T")
TOGETHER = 256  # runs that are made ready to begin at once
NATIVE = 8  # different starts from which native code for the assembly pays


@dataclass
class Starts:
    """States (runs, n), all parameters (runs, p), and for runs that cannot be assembled the reason. `gives` says how
    far conditions (runs, rows) may be off on the discrete engine.
    """

    states: np.ndarray
    parameters: np.ndarray
    gives: np.ndarray | None = None
    failed: dict[int, str] = field(default_factory=dict)
    degrees_of_freedom: int | None = None
    redundant: tuple[str, ...] = ()


def start_all(
    simulation: Simulation, variation: Variation, parameters: np.ndarray, feed: Feed, settings: Settings
) -> Starts:
    """The start of each run, with `parameters` (runs, p) of the model."""
    seen = _seen_by_assembly(simulation)
    columns = [*variation.initial.values(), *parameters[:, seen].T]
    keys = np.column_stack(columns) if columns else np.zeros((variation.runs, 0))
    distinct, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    starts = Starts(np.full((variation.runs, simulation.near.program.state_size), np.nan), parameters)
    told: dict[int, list[str]] = {}
    error: KomponoError | None = None
    member = member.reshape(-1)
    alike = np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])
    for run, runs in told_of(zip(first, alike, strict=True), len(first), "starts"):
        try:
            assembly = simulation.assemble(
                variation.initial_of(run), parameters=parameters[run], feed=feed, native=len(distinct) >= NATIVE
            )
        except AssemblyError as cause:
            error = error or cause
            starts.failed.update((int(i), str(cause)) for i in runs)
            continue
        starts.states[runs] = assembly.state
        starts.degrees_of_freedom, starts.redundant = assembly.degrees_of_freedom, assembly.redundant
        said = remarks(assembly)
        told.update((int(i), said) for i in runs if said)
    if simulation.settler is not None or simulation.links is not None or simulation.translation.model.soft:
        error = _begin_all(simulation, starts, feed, settings) or error
    if error and len(starts.failed) == variation.runs:
        raise error
    if told:
        run = min(told)
        text = f"in {len(told)} of {variation.runs} runs assembly changed the start; run {run}: "
        warn(text + " ".join(told[run]), ModelWarning)
    return starts


def told_of(several: Iterable[T], count: int, what: str) -> Iterator[T]:
    """One after the other, while a terminal says how many are done if that takes long."""
    with Notice(what) as notice:
        for number, one in enumerate(several):
            notice.text = f"{what}: {number} of {count}"
            yield one


def _begin_all(simulation: Simulation, starts: Starts, feed: Feed, settings: Settings) -> KomponoError | None:
    """What a single run does before it begins, for all runs that have a start, many at a time; the first error."""
    error: KomponoError | None = None
    given = starts.parameters
    starts.parameters = np.full((len(given), len(simulation.program.parameters)), np.nan)
    good = np.array([run for run in range(len(given)) if run not in starts.failed], dtype=int)
    groups = np.array_split(good, range(TOGETHER, len(good), TOGETHER))
    for runs in told_of(groups, len(groups), f"runs made ready, by {TOGETHER}"):
        states, values, failed = settle(simulation, settings, given[runs], feed, starts.states[runs])
        starts.states[runs], starts.parameters[runs] = states, values
        if simulation.links is not None:
            found = simulation.links.gives
            starts.gives = np.empty((len(given), found.shape[1])) if starts.gives is None else starts.gives
            starts.gives[runs] = found
        error = error or (failed[min(failed)] if failed else None)
        starts.failed.update((int(runs[run]), str(cause)) for run, cause in failed.items())
    return error


def _seen_by_assembly(simulation: Simulation) -> list[int]:
    """The parameters that conditions, or the places of bodies, depend on."""
    translation = simulation.near
    program, names = translation.program, ["conditions"]
    if not simulation.entry.by_joints:
        translation = simulation.placing
        program, names = translation.program, ["conditions", "placement"]
    if translation.topology.closing:
        names.append("measured")
    if translation.engine.whole and any(body.given_start for body in translation.model.bodies):
        names.append("placement")
    found = [parameters_of(program, program.routines[name]) for name in names if name in program.routines]
    return sorted(set().union(*found))


def parameters_of(program: Program, routine: Routine) -> set[int]:
    """The numbers of the parameters that a routine's outputs depend on."""
    first = sum(size for _, size in routine.inputs[:3])
    reach: dict[int, set[int]] = {first + k: {k} for k in range(routine.inputs[3][1])}
    for call in routine.calls if reach else ():
        rows, columns = program.kernels[call.kernel].jac_sparsity(0, 0).get_triplet()
        for row, column in zip(rows, columns, strict=True):
            if call.inputs[column] in reach:
                reach.setdefault(call.outputs[row], set()).update(reach[call.inputs[column]])
    return set().union(*(reach.get(slot, set()) for slots in routine.result for slot in slots if isinstance(slot, int)))
