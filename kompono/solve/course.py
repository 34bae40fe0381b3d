"""How a native run moves from one sampling time to the next, and to its end, whatever the method.

Equal steps lie on the grid k h. A callable that wants to be asked inside a step is asked exactly there: the step is
made in parts, and the grid of steps and records stays. A method that remembers earlier rates begins anew at such a
time, as it does wherever an input changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kompono.solve.inputs import Feed

SAME = 1e-9  # of a step: times closer than this are the same
WINDOW = 200_000  # attempts after which it is asked whether a run that chooses its steps still gets anywhere
HOPELESS = 1e9  # steps a run may take at the pace of the last window


class FixedCourse:
    """A `FixedRun` with steps h [s] to `until` [s], the last one shorter if need be."""

    def __init__(self, run: Any, feed: Feed, h: float, until: float, take: Callable[[], None]) -> None:
        self.run, self.feed, self.h, self.until, self.take = run, feed, h, until, take
        self.whole = math.floor(until / h + SAME)
        self._complete = until - self.whole * h <= SAME * h
        self._parts = False  # whether a part of the present step was made

    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self.run.step >= self.whole and not self._parts and self._complete

    @property
    def hopeless(self) -> bool:
        """Equal steps always get there."""
        return False

    def memory(self) -> dict[str, Any]:
        """Where it is within a step, as plain data."""
        return {"parts": self._parts, "complete": self._complete}

    def recall(self, memory: dict[str, Any]) -> None:
        """Be where another course was."""
        self._parts, self._complete = bool(memory["parts"]), bool(memory["complete"])

    def move(self, size: int) -> Any:
        """Up to `size` steps, not beyond the next sampling time; the status of the native run."""
        run, due = self.run, self.feed.next_due
        ahead = self.whole if due == math.inf else min(self.whole, math.floor(due / self.h + SAME))
        if not self._parts and ahead > run.step:
            return run.advance(min(size, ahead - run.step))
        if not self._parts:
            status = run.advance(0)  # the record at the beginning of the step
            if status.name != "OK":
                return status
        last = run.step >= self.whole
        end = self.until if last else (run.step + 1) * self.h
        inside = due < end - SAME * self.h
        status = run.part(due if inside else end, self.take)
        if status.name == "OK":
            self._parts = inside
            if not inside and last:
                self._complete = True
            elif not inside:
                run.join()
        return status


class AdaptiveCourse:
    """An `AdaptiveRun` to `until` [s], in at most `limit` attempts (None: as many as lead anywhere)."""

    def __init__(self, run: Any, feed: Feed, until: float, limit: int | None) -> None:
        self.run, self.feed, self.until, self.limit = run, feed, until, limit
        self._mark = 0, run.time  # attempts and time [s] at the start of the window
        self.hopeless = False  # whether the end will not be reached

    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self.run.time >= self.until

    def memory(self) -> dict[str, Any]:
        """Where the window began, as plain data."""
        return {"mark": list(self._mark)}

    def recall(self, memory: dict[str, Any]) -> None:
        """Be where another course was."""
        self._mark = int(memory["mark"][0]), float(memory["mark"][1])

    def move(self, size: int) -> Any:
        """Up to `size` attempts, not beyond the next sampling time; the status of the native run."""
        if self.run.done:
            self.run.aim(min(self.until, self.feed.next_due))
        made = self.run.accepted + self.run.rejected
        most = 1 << 30 if self.limit is None else self.limit - made
        status = self.run.advance(max(1, min(size, most)))
        self._judge(self.run.accepted + self.run.rejected)
        return status

    def _judge(self, made: int) -> None:
        if self.done:
            return
        if self.limit is not None:
            self.hopeless = made >= self.limit
            return
        before, since = self._mark
        if made - before >= WINDOW:
            pace = (self.run.time - since) / (made - before)  # [s] a step
            self.hopeless = pace * HOPELESS < self.until - self.run.time
            self._mark = made, self.run.time
