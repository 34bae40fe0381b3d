"""Whether events of a unit of a law crowd: more than so many within the time of a few steps.

Between hard stops a light thing may strike a thousand times in a millisecond, and a run that follows each of them gets
nowhere. Who sees a crowd makes one step over all of it and looks again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

EVENTS = 200
STEPS = 10


class Crowd:
    """Times [s] of the last events of each unit."""

    def __init__(self) -> None:
        self._times: dict[int, deque[float]] = {}

    def count(self, time: float, step: float, units: Iterable[int]) -> int:
        """Note an event of some units; a unit whose events crowd, or -1. `step` is what a user asked for."""
        crowded = -1
        for unit in units:
            times = self._times.setdefault(unit, deque(maxlen=EVENTS + 1))
            times.append(time)
            if len(times) > EVENTS and time - times[0] < STEPS * step:
                crowded = unit
        return crowded
