"""A run of equal steps, whose grid stays whatever happens within a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from kompono.compile.block import Block, ChunkEnd
from kompono.compile.law_state import look
from kompono.compile.run import FAR, Run, vector
from kompono.compile.slow_slip import finest
from kompono.errors import RunError


class FixedRun(Run):
    """Equal steps; records at every `every`-th, or at `each`, also where they are divided."""

    on_lanes = False  # whether it is several, each with events and an end of its own

    def __init__(self, *base: Any, step: float, every: int, guard_checks: int = 1, each: bool = False) -> None:
        super().__init__(*base)
        self._block.guard_checks, self._block.dense = guard_checks, int(each)
        if not (step > 0 and math.isfinite(step)):
            raise RunError(f"the step must be positive, not {step}.", fix="Use e.g. step=1e-3.")
        if every < 1:
            raise RunError(f"`every` counts steps, it cannot be {every}.", fix="Use every=1 to record all.")
        self._block.step_size, self._block.every = step, every
        self._whole_step, self._block.finest = step, finest(step)

    @property
    def step(self) -> int:
        """The number of the next step, 0 at the start; time = start + step * h."""
        return self._block.step

    @property
    def _equal_steps(self) -> float:
        return self._whole_step

    def restart(self, time: float, state: ArrayLike) -> None:
        """Go on from another state: forget the past and count steps and records from here (records one at once)."""
        self.state[:] = vector("state", state, self.state.size)
        self._block.start, self._block.time, self._block.step, self._block.recorded = time, time, 0, 0
        look(self)
        self._forget()

    def part(self, end: float, take: Callable[[], object]) -> ChunkEnd:
        """A part of the present step, from here to the time `end` inside it or at its end, without a record.

        The grid of steps and records stays; whoever has come to the end of the step calls `join`. `take` empties the
        buffer of records (events write there).
        """
        block, begun = self._block, self._block.time
        kept = [(each, each.start, each.step, each.step_size, each.recorded) for each in self._blocks()]
        for each in self._blocks():
            each.start, each.step, each.step_size, each.recorded = begun, 0, end - begun, FAR
            each.history = 0
        try:
            status = self.advance(1)
            while status is ChunkEnd.BUFFER_FULL:
                take()
                status = self.advance(1 - block.step)
        finally:
            for each, *before in kept:
                each.start, each.step, each.step_size, each.recorded = before
                each.history = 0
        if status is ChunkEnd.OK:
            block.time = end
        return status

    def _blocks(self) -> list[Block]:
        """All blocks that know of the grid of steps."""
        return [self._block]

    def join(self) -> None:
        """The parts of the present step are made: go on with the next one of the grid."""
        block = self._block
        block.step += 1
        block.time = block.start + block.step * block.step_size

    @property
    def _taken(self) -> int:
        return self._block.step

    @property
    def _usual_step(self) -> float:
        return self._block.step_size

    def _next_end(self) -> float:
        return self._block.start + (self._block.step + 1) * self._block.step_size

    def _arrive(self, end: float) -> None:
        super()._arrive(end)
        if end < self._next_end():  # a sample is due
            self._block.inside = 1
            return
        self._block.step += 1
        self._block.inside = self._block.event_count = 0
