"""Several runs of a model with events, side by side on lanes; each of them is alone where it has to be.

Every run is a `FixedRun` of its own, with its log of events and its end; the loop on lanes (`loop_lanes`) makes the
steps of all that have nothing of their own to do, and lets the others make theirs by native code for one run. Only what
native code leaves to Python, such as an impact, comes here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.compile.block import ChunkEnd, guard_count
from kompono.compile.lane_moves import ALONE, OVER, SAME_TIME
from kompono.compile.run import FAR
from kompono.compile.run_fixed import FixedRun
from kompono.translate.program import TableRoutine

ROOM_ALONE = 1 << 15  # numbers in records of one step with events, none of which is kept

MakeRun = Callable[[np.ndarray, np.ndarray], FixedRun]  # of a state and parameters


class LanesRun(FixedRun):
    """Runs on lanes, of which the first ones are `filled`."""

    on_lanes = True

    def __init__(self, *base: Any, filled: int, alone: MakeRun, **steps: Any) -> None:
        super().__init__(*base, **steps)
        width = self._lanes.count
        states, parameters = (values.reshape(-1, width) for values in (self.state, self._parameters))
        self.runs = [alone(states[:, i], parameters[:, i]) for i in range(filled)]
        self.ends: list[ChunkEnd | None] = [None] * filled  # how runs ended that are over
        self._vector("away")[filled:] = OVER
        states[:, filled:] = np.nan
        for run in self.runs:
            run._block.recorded = FAR
        self._others = np.array([run._address for run in self.runs], dtype=np.int64)
        self._block.others = self._others.ctypes.data
        self._block.alone = ctypes.cast(self.runs[0]._function, ctypes.c_void_p).value
        self._block.acting = max(run._block.acting for run in self.runs)

    @property
    def state(self) -> np.ndarray:
        """The states of all runs, those that are alone or over among them."""
        states = self._vector("state")
        if not hasattr(self, "runs") or not self._vector("away").any():
            return states
        whole = states.reshape(-1, self._lanes.count).copy()
        for lane in np.flatnonzero(self._vector("away")[: len(self.runs)]):
            whole[:, lane] = self.runs[lane].state
        return whole.ravel()

    @property
    def taken(self) -> np.ndarray:
        """Steps that each run made on its lane."""
        return self._vector("taken")[: len(self.runs)].astype(int)

    @property
    def over(self) -> bool:
        """Whether no run goes on."""
        return bool((self._vector("away") == OVER).all())

    def _advance(self, steps: int) -> ChunkEnd:
        goal = self._taken + steps
        while not self.over:
            self._block.budget = goal - self._taken
            status = ChunkEnd(self._function(self._address))
            if status is ChunkEnd.LONG and not self.shall_end():
                continue
            if status is not ChunkEnd.ALONE:
                return ChunkEnd.STOPPED if status is ChunkEnd.LONG else status
            self._serve()
        return ChunkEnd.HALTED

    def _serve(self) -> None:
        """Bring runs to the present step that native code could not bring there."""
        away, told = self._vector("away"), self._vector("told")
        for lane in np.flatnonzero(away == ALONE):
            run = self.runs[lane]
            run.shall_end = self.shall_end
            status = run._after(ChunkEnd(int(told[lane])))
            while run.step < self.step:
                if status is ChunkEnd.BUFFER_FULL:
                    self._make_room(run)
                elif status not in (None, ChunkEnd.OK):
                    away[lane], self.ends[lane] = OVER, status
                    break
                status = run.advance(self.step - run.step)
            told[lane] = ChunkEnd.OK

    def _make_room(self, run: FixedRun) -> None:
        """Let the records of a run go that is alone, but the last one at the beginning of its step, which counts."""
        begun = self._block.start + (self.step - 1) * self._block.step_size
        rows = run.take()
        first = rows[rows[:, 0] <= begun + SAME_TIME * self._block.step_size][-1:]
        run._buffer[: len(first)] = first
        run._block.rows = len(first)

    def _blocks(self) -> list[Any]:
        return [self._block, *(run._block for run in self.runs)]


def one_lane(kernel: Any) -> str:
    """What of a model cannot run on several lanes; empty if all of it can."""
    program = kernel.program
    if program.controllers:
        return "a model with controllers in Python"
    if "kick" not in program.routines and isinstance(program.outline("derivative"), TableRoutine):
        return "a model with lanes of its own"
    if not guard_count(program):
        return ""
    if program.opaque or program.away:
        return "a model with events and parts elsewhere"
    if (program.catching and program.laws) or any(unit.shifts & 2 for unit in program.laws):
        return "a model whose samples change what holds"
    return "contact='steps'" if getattr(kernel.settle, "steps", False) else ""
