"""The clock a run keeps step with: the wall clock, or one of your own (a test's, or one that hardware ticks)."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What a run needs of a clock."""

    def now(self) -> float:
        """Seconds since some instant."""
        ...

    def wait(self, until: float) -> None:
        """Return at `until` [s], or as soon after as possible."""
        ...


class WallClock:
    """The clock of this computer: sleeps, and spins for the last `spin` seconds, which no system sleeps precisely."""

    def __init__(self, spin: float = 5e-4) -> None:
        self.spin = spin

    def now(self) -> float:
        """Seconds since some instant."""
        return time.perf_counter()

    def wait(self, until: float) -> None:
        """Return at `until` [s]."""
        rest = until - time.perf_counter() - self.spin
        if rest > 0:
            time.sleep(rest)
        while time.perf_counter() < until:
            pass
