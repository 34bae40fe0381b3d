"""Several runs whose steps are chosen by their error, side by side on lanes; each has its own time and step.

Records of all runs lie on common times, so that one table has all of them. It is whole when the last run has arrived.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile.block import ChunkEnd, guard_count, has_slopes, stage_entries
from kompono.compile.lane_numbers import ASKED, CLOCK, ERROR, FRESH, LENGTH, MADE, RECORDED, REFUSED
from kompono.compile.lanes import Lanes
from kompono.compile.newton_stage import IMPLICIT_STEPS, JACOBIANS
from kompono.compile.run import Run
from kompono.translate.program import Program

LARGEST = 40  # unknowns of implicit stages: matrices of eight lanes still fit into the nearest cache but one
_ROWS = 1 << 22  # numbers in the table of a group at most (32 MB)


def no_own_times(program: Program) -> str:
    """Why runs of a model cannot be at different times on lanes; nothing if they can."""
    if guard_count(program) or program.rates or program.laws:
        return "a model with events or samples"
    if program.opaque or program.away or program.groups or program.spread is not None:
        return "a model with parts that only answer"
    if "kick" in program.routines:
        return "the discrete engine"
    return ""


def no_wide_matrix(program: Program) -> str:
    """Why stages of runs cannot be solved for side by side; nothing if they can."""
    if not has_slopes(program):
        return "a model with parts that only answer"
    size = len(program.speeds) + len(program.states)
    return "a matrix that is large" if size > LARGEST or stage_entries(program) else ""


def fits_memory(program: Program, records: float, lanes: int) -> bool:
    """Whether the table of a group is not too large to be there at once."""
    return records * (1 + lanes * program.state_size + len(program.inputs)) <= _ROWS


class AdaptiveLanesRun(Run):
    """Steps of several runs towards `until`, of dopri5 or (`implicit`) esdirk4; records at start + k * interval."""

    def __init__(
        self, program: Program, function: Any, time: float, state: ArrayLike, parameters: ArrayLike, inputs: Any,
        project: bool, lanes: Lanes, *, until: float, interval: float, rtol: ArrayLike, atol: ArrayLike,
        min_step: float, max_step: float, implicit: bool = False,
    ) -> None:  # fmt: skip
        self.implicit = implicit
        records = math.floor((until - time) / interval + 1e-9) + 1
        super().__init__(program, function, time, state, parameters, inputs, 1, project, lanes)
        block, width = self._block, self._buffer.shape[1]
        self._buffer = np.full((records, width), np.nan)
        block.records, block.capacity, block.record_count = self._buffer.ctypes.data, records, records
        block.until, block.interval, block.min_step, block.max_step = until, interval, min_step, max_step
        self._vector("rtol")[:], self._vector("atol")[:] = rtol, atol
        self._each = self._vector("lane").reshape(-1, lanes.count)
        self._each[CLOCK], self._each[ERROR], self._each[FRESH] = time, 1e-4, 1.0

    @property
    def _going(self) -> np.ndarray:
        """Lanes that are on their way."""
        return np.isinf(self._vector("lost")) & (self._each[CLOCK] < self._block.until)

    @property
    def done(self) -> bool:
        """Whether no lane is on its way."""
        return not self._going.any()

    @property
    def time(self) -> float:
        """Of the lane that is last."""
        return float(self._each[CLOCK][self._going].min()) if not self.done else self._block.until

    @property
    def step_size(self) -> float:
        """The shortest step proposed next."""
        return float(self._each[LENGTH].min())

    @property
    def counts(self) -> list[dict[str, int]]:
        """Steps and evaluations of each lane."""
        names = {"steps": self._each[MADE], "evaluations": self._each[ASKED], "rejected": self._each[REFUSED]}
        if self.implicit:
            newton = self._vector("newton").reshape(-1, self._lanes.count)
            names |= {"implicit_steps": newton[IMPLICIT_STEPS], "jacobians": newton[JACOBIANS]}
        return [{name: int(row[k]) for name, row in names.items()} for k in range(self._lanes.count)]

    @property
    def implicit_steps(self) -> int:
        """How many steps of all lanes were implicit."""
        return sum(one["implicit_steps"] for one in self.counts)

    @property
    def jacobians(self) -> int:
        """How often Jacobians of lanes were evaluated."""
        return sum(one["jacobians"] for one in self.counts)

    def aim(self, until: float) -> None:
        """The end stays where it is: nobody samples here."""

    def end_early(self) -> None:
        """The run is over: rows that all lanes have passed are what there is of it."""
        going = np.isinf(self._vector("lost"))
        self._block.rows = int(self._each[RECORDED][going].min(initial=len(self._buffer)))
        self._block.until = float(self._buffer[self._block.rows - 1, 0]) if self._block.rows else self._block.start

    def give_up(self) -> None:
        """Lanes that are on their way are lost."""
        lost, going = self._vector("lost"), self._going
        lost[going] = self._each[CLOCK][going]
        self._complete()

    def _advance(self, steps: int) -> ChunkEnd:
        ended = super()._advance(steps)
        if self.done:
            self._complete()
        return ended

    def _complete(self) -> None:
        """The table is whole; times of lanes that are lost stand there as well."""
        if self._block.recorded == 0:
            self._block.rows, self._block.recorded = len(self._buffer), 1
            times = self._block.start + np.arange(len(self._buffer)) * self._block.interval
            self._buffer[:, 0] = np.minimum(times, self._block.until)

    @property
    def _taken(self) -> int:
        return self._block.accepted

    @property
    def _usual_step(self) -> float:
        return self._block.interval

    def _next_end(self) -> float:
        return self._block.until
