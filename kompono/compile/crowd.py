"""Whether events of a unit of a law crowd: more than so many within the time of a few steps.

Between hard stops a light thing may strike a thousand times in a millisecond, and a run that follows each of them gets
nowhere. Who sees a crowd makes one step over all of it and looks again. Native code that settles events writes into the
same rings of times (see `law_settle`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

EVENTS = 200
STEPS = 10
RING = EVENTS + 1


class Crowd:
    """Times [s] of the last events of each unit, in rings, and how many there were."""

    def __init__(self, units: int) -> None:
        self.times, self.counts = np.zeros((units, RING)), np.zeros(units, dtype=np.int64)

    def count(self, time: float, step: float, units: Iterable[int]) -> int:
        """Note an event of some units; a unit whose events crowd, or -1. `step` is what a user asked for."""
        crowded = -1
        for unit in units:
            self.times[unit, self.counts[unit] % RING] = time
            self.counts[unit] += 1
            if self.counts[unit] > EVENTS and time - self.times[unit, self.counts[unit] % RING] < STEPS * step:
                crowded = unit
        return crowded
