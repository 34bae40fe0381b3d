"""A run that makes equal steps over contact and friction, without a look for events (`contact="steps"`).

Each step is made by `settle.step`, in Python, so that it takes about a tenth of a millisecond. Events of the model are
looked at after each step.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kompono.compile.block import ChunkEnd
from kompono.compile.law_state import LawStates
from kompono.compile.run_fixed import FixedRun
from kompono.compile.ticker import Ticker
from kompono.errors import NoForces


class SteppedRun(FixedRun):
    """Equal steps, each over all that happens in it."""

    def _advance(self, steps: int) -> ChunkEnd:
        ended = self._steps(self._block.step + steps)
        return self._heard(ended) if self._program.opaque else ended

    def _steps(self, goal: int) -> ChunkEnd:
        """Go on until so many steps are made, or something else happens."""
        block = self._block
        while True:
            k, time = block.step, block.start + block.step * block.step_size
            if not self._sampled(time):
                return ChunkEnd.STOPPED
            if k % block.every == 0 and block.recorded <= k // block.every:
                if block.rows >= block.capacity:
                    return ChunkEnd.BUFFER_FULL
                self._record(time)
            if k >= goal:
                return ChunkEnd.OK
            if self._stop[0]:
                return ChunkEnd.STOPPED
            try:
                ended = self._over(time, block.start + (k + 1) * block.step_size)
                if ended is not ChunkEnd.OK:
                    return ended
            except NoForces as found:
                self.jam = found.message
                return ChunkEnd.NO_FORCES
            block.step += 1
            block.accepted += 1

    @cached_property
    def _states(self) -> LawStates:
        return self.settle.states  # type: ignore[union-attr]

    @cached_property
    def _ticker(self) -> Ticker:
        return Ticker(self.settle.kernel, self.asking, self._vector("counted"))  # type: ignore[union-attr]

    def _sampled(self, time: float) -> bool:
        """Sample what is due; False if a controller failed."""
        if not self._program.rates or not self._ticker.due(time):
            return True
        after = self._ticker.sample(time, self.state, self._inputs_at(time), self._parameters)
        if after is not None:
            self.state[:] = after
            self._shifted(time, self._inputs_at(time))
        return after is not None

    def _record(self, time: float) -> None:
        block = self._block
        state = self._states.lasting(self.state)
        self._buffer[block.rows] = np.concatenate([[time], state, self._inputs_at(time)])
        block.rows += 1
        block.recorded += 1

    def _over(self, time: float, end: float) -> ChunkEnd:
        """A step, in parts if something is sampled within it."""
        while self._program.rates and (goal := self._ticker.end(end)) < end:
            if goal > time and not self._one(time, goal):
                return ChunkEnd.NOT_FINITE
            time = goal
            if not self._sampled(time):
                return ChunkEnd.STOPPED
        return ChunkEnd.OK if self._one(time, end) else ChunkEnd.NOT_FINITE

    def _one(self, time: float, end: float) -> bool:
        """One step; whether it led anywhere."""
        assert self.settle is not None
        state, happened = self.settle.step(time, self.state, self._inputs_at, self._parameters, end - time)  # type: ignore[attr-defined]
        if not np.all(np.isfinite(state)):
            return False
        self._states.check(state)
        self.state[:] = state
        self._block.time, self._block.evaluations = end, self._block.evaluations + 2
        self._log_events([(end, float(number)) for number in happened])
        self._look(end)
        return True

    def _shifted(self, time: float, inputs: np.ndarray) -> None:
        """Choose modes anew where gaps may have become others at an instant."""
        if any(unit.shifts for unit in self._program.laws):
            self.state[:] = self.settle(time, self.state, inputs, self._parameters, ())[0]  # type: ignore[misc]

    def _look(self, time: float) -> None:
        """Apply the switches of events of the model that were passed."""
        own = self._guards - len(self._program.laws)
        if not own:
            return
        armed, kernel = self._vector("armed"), self.settle.kernel  # type: ignore[union-attr]
        inputs = self._inputs_at(time)
        values = kernel.evaluate("guards", time, self.state, inputs, self._parameters)[0]
        for k in np.flatnonzero((armed[:own] > 0) & (values[:own] > 0)):
            self.state[:] = kernel.evaluate(f"switch_{k}", time, self.state, inputs, self._parameters)[0]
            self._log_events([(time, float(k))])
            armed[k] = 0.0
            self._shifted(time, inputs)
        armed[:own] = np.where(values[:own] <= 0, 1.0, armed[:own])
