"""Keep simulated time in step with a clock, frame by frame, and keep account of it.

Frame k ends at simulated time t_k. It is due at `origin + t_k / speed` on the clock. Who arrives early waits; who
arrives late goes on at once, and simulated time is never skipped. What happens to the schedule then is the policy:
`catch up` leaves it, so the next frames are computed without waiting until the run is in step again; `slip` moves it,
so the run stays behind by what it lost but frames keep their distance.

    load   = computing time of a frame / (its simulated time / speed), everything but waiting counted
    delay  = when the frame was over on the clock, waiting included, less when it was due [s]: its jitter
    late   = computing was not done when the frame was due
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kompono.realtime.clock import Clock

POLICIES = ("catch up", "slip")
BLOCK = 4096  # frames kept together


class Pace:
    """The schedule of a run and the account of its frames; those of the last `keep` simulated seconds are kept."""

    def __init__(self, clock: Clock, *, speed: float, behind: str, keep: float = math.inf) -> None:
        self.clock, self.speed, self.behind, self.keep = clock, speed, behind, keep
        self.frames = self.late = 0
        self.load = self.delay = 0.0  # of the last frame
        self.late_time = 0.0  # simulated time of late frames [s]
        self.slipped = 0.0  # how far the schedule was moved [s]
        self._origin: float | None = None
        self._resumed = self._time = 0.0
        self._sums, self._most = np.zeros(2), np.zeros(2)
        self._blocks: list[np.ndarray] = []
        self._filled = BLOCK

    def begin(self) -> None:
        """Start the clock, once."""
        if self._origin is None:
            self._origin = self._resumed = self.clock.now()

    def arrive(self, time: float) -> None:
        """The simulation is at `time` [s]: wait until the clock is there too, and take down how it went."""
        self.begin()
        assert self._origin is not None
        now = self.clock.now()
        paced = math.isfinite(self.speed)
        real = (time - self._time) / (self.speed if paced else 1.0)
        self.load = (now - self._resumed) / real if real > 0 else 0.0
        due = self._origin + time / self.speed if paced else now
        started = now
        if now > due:
            self.late += 1
            self.late_time += time - self._time
            if self.behind == "slip":
                self._origin += now - due
                self.slipped += now - due
        elif now < due:
            self.clock.wait(due)
            started = self.clock.now()
        self.delay = started - due
        self._resumed, self._time = started, time
        self._note(time)

    def _note(self, time: float) -> None:
        self.frames += 1
        pair = np.array([self.load, self.delay])
        self._sums += pair
        np.maximum(self._most, pair, out=self._most)
        if self._filled == BLOCK:
            self._blocks.append(np.empty((BLOCK, 3)))
            self._filled = 0
            while len(self._blocks) > 2 and self._blocks[0][-1, 0] < time - self.keep:
                del self._blocks[0]
        self._blocks[-1][self._filled] = time, self.load, self.delay
        self._filled += 1

    def account(self) -> np.ndarray:
        """Frames as rows: simulated time at the end [s], load, delay [s]; at least those of the last `keep` seconds."""
        if not self._blocks:
            return np.empty((0, 3))
        rows = np.concatenate([*self._blocks[:-1], self._blocks[-1][: self._filled]])
        return rows[rows[:, 0] >= rows[-1, 0] - self.keep]

    def statistics(self) -> dict[str, Any]:
        """Numbers of frames, loads and jitter [s]; means and maxima over all frames, the quantile over those kept."""
        delays = self.account()[:, 2]
        means = self._sums / max(self.frames, 1)
        return {
            "speed": self.speed if math.isfinite(self.speed) else None,
            "frames": self.frames,
            "late": self.late,
            "load_mean": float(means[0]),
            "load_max": float(self._most[0]),
            "jitter_mean": float(means[1]),
            "jitter_99": float(np.quantile(delays, 0.99)) if len(delays) else 0.0,
            "jitter_max": float(self._most[1]),
            "slipped": self.slipped,
        }
