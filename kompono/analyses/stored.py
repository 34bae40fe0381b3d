"""Runs whose steps are stored, for whoever goes back along them: rows of time, kind and state from step to step.

Steps that are chosen (dopri5) are chosen for one column of derivatives beside the motion, along all parameters at once:
a motion may be smooth where those next to it are not. Of long runs of equal steps only some states are kept, and the
steps between them are made again. What contact and friction do on the way is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kompono.analyses.law_jumps import LawChange
from kompono.analyses.law_pulls import NotingSettler
from kompono.analyses.sensitivities import unread
from kompono.compile import compile_program
from kompono.errors import RunError
from kompono.simulation import Simulation
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Problem, Trajectory, integrate
from kompono.solve.settings import Settings
from kompono.translate.program import LAW_EVENTS, Program
from kompono.translate.variation import SumVariation

MOST = 1 << 25  # numbers of stored equal steps at most (256 MB); longer runs are cut into pieces
SAME = 1e-6  # of a step: what is nearer to its end is there
Piece = tuple[np.ndarray, LawChange | None]  # rows (time, kind, state), and what laws did before the first of them


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run with values of parameters and inputs; each `stride`-th of its steps is in the rows of `trajectory`."""

    trajectory: Trajectory
    changes: list[LawChange]
    stride: int
    values: np.ndarray
    feed: Feed

    def shown(self, settings: Settings) -> Trajectory:
        """The run as others see it: without the ends of pieces into which equal steps were divided."""
        if settings.method == "dopri5":
            return self.trajectory
        times = self.trajectory.rows[:, 0]
        steps = (times - settings.begin) / settings.step
        twice = times[1:] == times[:-1]  # before an event and behind it
        kept = np.abs(steps - np.round(steps)) < SAME
        kept[1:] |= twice
        kept[:-1] |= twice
        kept[-1] = True
        return replace(self.trajectory, rows=self.trajectory.rows[kept])


class Storing:
    """Runs of a simulation, with derivatives by `names` of sizes `scales` in mind."""

    def __init__(self, simulation: Simulation, names: Sequence[str], scales: np.ndarray) -> None:
        self._simulation, self._names, self._scales = simulation, names, scales

    @cached_property
    def _beside(self) -> tuple[SumVariation, Any]:
        """The model with one column of derivatives."""
        program = self._simulation.program
        known, sizes = program.parameters, zip(self._names, self._scales.tolist(), strict=True)
        variation = SumVariation(program, together=tuple((known.index(n), s) for n, s in sizes if n in known))
        return variation, compile_program(variation.program(), cache=self._simulation.request.cache)

    def run(
        self, start: np.ndarray, slopes: np.ndarray, values: np.ndarray, feed: Feed, settings: Settings
    ) -> StoredRun:
        """A run from a start with derivatives `slopes` (state, names)."""
        if settings.method == "dopri5":
            kept, changes = self._chosen(start, slopes @ self._scales, values, feed, settings)
            return StoredRun(kept, changes, 1, values, feed)
        stride = max(1, int(np.ceil(settings.span / settings.step * (2 + len(start)) / MOST)))
        return StoredRun(*self._equal(start, values, feed, replace(settings, every=stride)), stride, values, feed)

    def pieces(self, run: StoredRun, settings: Settings) -> Iterator[Piece]:
        """Stored rows of a run, piece by piece from its end on."""
        program = self._simulation.program
        if run.stride == 1:
            yield from _marked(run.trajectory, run.changes, program)
            return
        rows = run.trajectory.rows
        for first, last in reversed(list(pairwise(rows))):
            if last[0] > first[0]:
                piece = replace(settings, begin=float(first[0]), until=float(last[0]), every=1)
                again = self._equal(first[1 : 1 + program.state_size].copy(), run.values, run.feed, piece)
                yield from _marked(*again, program)

    def _equal(
        self, start: np.ndarray, values: np.ndarray, feed: Feed, settings: Settings
    ) -> tuple[Trajectory, list[LawChange]]:
        kernel, nobody = self._simulation.kernel, np.zeros((len(values), 0))
        return self._noted(Problem(kernel, start, values, feed, unread), nobody, replace(settings, each=True))

    def _chosen(
        self, start: np.ndarray, column: np.ndarray, values: np.ndarray, feed: Feed, settings: Settings
    ) -> tuple[Trajectory, list[LawChange]]:
        variation, kernel = self._beside
        problem = Problem(kernel, np.concatenate([start, column]), values, feed, unread)
        kept, changes = self._noted(problem, variation.directions(), replace(settings, every=1, each=True))
        size = 1 + len(start)
        return replace(kept, rows=np.hstack([kept.rows[:, :size], kept.rows[:, size + len(start) :]])), changes

    def _noted(
        self, problem: Problem, units: np.ndarray, settings: Settings
    ) -> tuple[Trajectory, list[LawChange]]:  # fmt: skip
        """A run, and what its laws did."""
        kernel, settler = problem.kernel, self._simulation.settler
        if settler is None:
            return integrate(problem, settings, None), []
        before, kernel.settle = kernel.settle, NotingSettler(settler, units, problem.feed.at)
        try:
            return integrate(problem, settings, None), kernel.settle.changes
        finally:
            kernel.settle = before


def _marked(kept: Trajectory, changes: list[LawChange], program: Program) -> Iterator[Piece]:
    """Rows with their kinds, -1 behind a piece of a step, the number of the event behind one; from the last on, piece
    by piece between changes of laws.
    """
    rows = kept.rows[:, : 1 + program.state_size]
    jumps = (np.flatnonzero(np.diff(rows[:, 0]) == 0.0) + 1).tolist()
    laws = {change.at[0]: change for change in changes}
    names = program.events[: len(program.events) - len(LAW_EVENTS) * len(program.laws)]
    events = [name for _, name in kept.statistics.get("events", []) if name in names]
    if len(jumps) != len(events) + len(laws):
        raise RunError(
            f"{len(events) + len(laws)} events, and {len(jumps)} stored: some happen together.",
            fix="Use gradient='forward'.",
        )
    own = [jump for jump in jumps if rows[jump, 0] not in laws]
    kinds = np.full(len(rows), -1.0)
    kinds[own] = [names.index(name) for name in events]
    marked, end = np.column_stack([rows[:, :1], kinds, rows[:, 1:]]), len(rows)
    for jump in reversed(jumps):
        if jump not in own:
            yield marked[jump:end], laws[rows[jump, 0]]
            end = jump
    yield marked[:end], None
