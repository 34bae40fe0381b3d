"""Samples in runs whose steps are made in Python: instants and routines are those of the native loops (`sampling`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kompono.compile.sampling import CLOSE


class Ticker:
    """The instants of a run; `counts` are those of each rate that lie behind it, and change with it; `asking` knows its
    Python controllers, if it has some.
    """

    def __init__(self, kernel: Any, asking: Any, counts: Any) -> None:
        self._kernel, self._asking, self._counts = kernel, asking, counts
        self._rates: Sequence[tuple[float, float]] = kernel.program.rates

    @property
    def next(self) -> float:
        """The next instant [s]."""
        return min(map(self._instant, range(len(self._rates))), default=math.inf)

    def _instant(self, number: int) -> float:
        every, offset = self._rates[number]
        return float(self._counts[number]) * every + offset

    def due(self, time: float) -> bool:
        """Whether something is sampled at a time [s], or was to be."""
        return any(self._instant(k) <= time + CLOSE * every for k, (every, _) in enumerate(self._rates))

    def end(self, time: float) -> float:
        """The next instant if that is before a time [s], else that."""
        instants = ((self._instant(k), every) for k, (every, _) in enumerate(self._rates))
        return min([time, *(instant for instant, every in instants if instant < time - CLOSE * every)])

    def sample(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray | None:
        """The state behind all that is due at a time [s]; None if a controller failed."""
        rates = enumerate(self._rates)
        due = tuple(k for k, (every, _) in rates if self._instant(k) <= time + CLOSE * every)
        if not due:
            return state
        for k in due:
            self._counts[k] += 1
        number = self._kernel.program.ticks.index(due)
        after, *reads = self._kernel.evaluate(f"tick_{number}", time, state, inputs, parameters)
        if reads and self._asking is not None:
            self._asking.listen(np.ascontiguousarray(reads[0]), after)
            if self._asking.native(number, time):
                return None
        return after
