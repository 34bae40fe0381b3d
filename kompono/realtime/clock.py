"""The clock a run keeps step with: the wall clock, or one of your own (a test's, or one that hardware ticks)."""

from __future__ import annotations

import time
from typing import Protocol

from kompono.interruption import asked

LOOK = 0.1  # [s] of sleep after which it is asked whether somebody wants the run to end


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
        """Return at `until` [s], or soon after somebody asked the run to end."""
        while (rest := until - time.perf_counter() - self.spin) > 0:
            time.sleep(min(rest, LOOK))
            if asked():
                return
        while time.perf_counter() < until:
            pass
