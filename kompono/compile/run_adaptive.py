"""A run whose steps are chosen by their error, with dense records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile.law_bounds import BRIEF
from kompono.compile.law_state import look
from kompono.compile.loop_dopri5 import DOPRI5
from kompono.compile.loop_esdirk4 import ESDIRK4
from kompono.compile.newton_stage import DENSE, IMPLICIT_STEPS, JACOBIANS
from kompono.compile.pairs import Pair
from kompono.compile.run import Run, vector
from kompono.errors import RunError


class AdaptiveRun(Run):
    """Dormand-Prince steps towards `until`; records at start + k * interval, or at every accepted step."""

    def __init__(
        self, *base: Any, until: float, interval: float | None, rtol: ArrayLike, atol: ArrayLike,
        first_step: float | None, min_step: float, max_step: float, guard_checks: int = 1, each: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(*base)
        self._block.guard_checks, self._block.finest = guard_checks, BRIEF
        self._vector("rtol")[:] = rtol
        self._vector("atol")[:] = atol
        if np.any(self._vector("atol") < 0) or np.any(self._vector("atol") + self._vector("rtol") <= 0):
            raise RunError("tolerances must not be negative, nor both zero.", fix="Use e.g. rtol=1e-8.")
        self._interval, self._each = interval, each
        self._block.step_size, self._block.min_step, self._block.max_step = first_step or 0.0, min_step, max_step
        self.aim(until)

    def aim(self, until: float) -> None:
        """Set the end; it may be moved further while running."""
        block = self._block
        if not until >= block.time:
            raise RunError(f"the end {until} lies before the present {block.time}.", fix="Give a later one.")
        block.until = until
        if self._interval is not None:
            if not self._interval > 0:
                raise RunError(f"the record interval must be positive, not {self._interval}.", fix="Use e.g. 1e-3.")
            block.interval = self._interval
        if self._interval is not None and not self._each:
            block.dense = 1
            block.record_count = math.floor((until - block.start) / self._interval + 1e-9) + 1

    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self._block.time >= self._block.until

    @property
    def step_size(self) -> float:
        """The step proposed next."""
        return self._block.step_size

    def restart(self, time: float, state: ArrayLike) -> None:
        """Go on from another state, towards the same end and on the same record times."""
        self.state[:] = vector("state", state, self.state.size)
        self._block.time, self._block.old_error, self._block.step_size = time, 1e-4, 0.0
        look(self)
        self._forget()

    @property
    def _taken(self) -> int:
        return self._block.accepted + self._block.rejected

    @property
    def _equal_steps(self) -> float:
        """The length of the steps [s], 0 if they vary."""
        return 0.0

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._block.step_size, self._block.old_error, self._block.after_rejection = 0.0, 1e-4, 0

    @property
    def _usual_step(self) -> float:
        return self._block.interval if self._interval is not None else self._block.until - self._block.start

    def _next_end(self) -> float:
        block = self._block
        record = block.start + block.recorded * block.interval if self._interval is not None else block.until
        return min(record if record > block.time else block.time + block.interval, block.until)

    def interpolate(self, times: ArrayLike) -> np.ndarray:
        """States (not projected) at times inside the last accepted step, one per row."""
        share = ((np.asarray(times, dtype=float) - self._block.dense_start) / self._block.dense_step).reshape(-1, 1)
        rates = [self._vector(name) for name in ("dense1", *self._pair.rates[1:])]
        return self._vector("dense0") + sum(self._block.dense_step * w * rates[k] for k, w in self._pair.between(share))

    @property
    def _pair(self) -> Pair:
        """What the last step was made by."""
        return DOPRI5


class ImplicitRun(AdaptiveRun):
    """The same with steps of `esdirk4` where they are needed."""

    implicit = True

    @property
    def _pair(self) -> Pair:
        return ESDIRK4 if self._vector("newton")[DENSE] else DOPRI5

    @property
    def implicit_steps(self) -> int:
        """How many steps were implicit."""
        return int(self._vector("newton")[IMPLICIT_STEPS])

    @property
    def jacobians(self) -> int:
        """How often the Jacobian was evaluated."""
        return int(self._vector("newton")[JACOBIANS])
