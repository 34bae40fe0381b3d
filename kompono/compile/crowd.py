"""Whether events of a unit of a law crowd: more than so many within the time of a few steps.

Between hard stops a light thing may strike a thousand times in a millisecond, and a run that follows each of them gets
nowhere. Who sees a crowd makes one step over all of it and looks again. Most crowds soon end by themselves (a ball that
gives back 0.99 of its speed comes to rest, a light thing is let out from between heavy ones), so a run first bears some
thousand events of crowds, one by one. Native code that settles events writes into the same rings of times, and leaves
crowds to Python (see `law_settle`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

EVENTS = 200
STEPS = 10
RING = EVENTS + 1
CALM = 6  # events of a unit within a step; with each more, slip in a plane leans below twice the speed (`instant.py`)
BORNE = 5000  # events of crowds that a run follows one by one: seconds at most, once


class Crowd:
    """Times [s] of the last events of each unit, in rings, their counts, and how many of crowds are still borne."""

    def __init__(self, units: int) -> None:
        self.borne = BORNE
        self.times, self.counts = np.zeros((units, RING)), np.zeros(units, dtype=np.int64)

    def recent(self, time: float, step: float, units: Iterable[int]) -> int:
        """How many events one of some units had within a step [s] before."""
        rings = (self.times[unit, : min(int(self.counts[unit]), RING)] for unit in units)
        return max((int(np.count_nonzero(ring > time - step)) for ring in rings), default=0)

    def count(self, time: float, step: float, units: Iterable[int]) -> int:
        """Note an event of some units; a unit whose events crowd, or -1. `step` is what a user asked for."""
        crowded = -1
        for unit in units:
            self.times[unit, self.counts[unit] % RING] = time
            self.counts[unit] += 1
            if self.counts[unit] > EVENTS and time - self.times[unit, self.counts[unit] % RING] < STEPS * step:
                crowded = unit
        if crowded >= 0 and self.borne > 0:
            self.borne -= 1
            return -1
        return crowded
