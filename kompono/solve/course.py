"""How a native run moves from one sampling time to the next, and to its end, whatever the method.

Equal steps lie on the grid begin + k h. A callable that wants to be asked inside a step is asked exactly there: the
step is made in parts, and the grid of steps and records stays. A method that remembers earlier rates begins anew at
such a time, as it does wherever an input changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kompono.compile.block import ChunkEnd
from kompono.solve.inputs import Feed

SAME = 1e-9  # of a step: times closer than this are the same
FIRST, WINDOW = 2_000, 200_000  # attempts after which it is asked whether a run still gets anywhere: first, and later
HOPELESS = 1e9  # steps a run may take at the pace of a whole window; of a shorter one, by its square more
GROWN = 1e15  # a coordinate or speed above this, in any unit, is no motion any more
MAX_STEPS = 10**10  # attempts of a run without a limit of its own: hours of the quickest motion there is


class FixedCourse:
    """A `FixedRun` with steps h [s] from `begin` to `until` [s], the last one shorter if need be."""

    def __init__(
        self, run: Any, feed: Feed, h: float, until: float, take: Callable[[], None], begin: float = 0.0
    ) -> None:
        self.run, self.feed, self.h, self.until, self.take, self.begin = run, feed, h, until, take, begin
        self.whole = math.floor((until - begin) / h + SAME)
        self._complete = until - begin - self.whole * h <= SAME * h
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

    def move(self, size: int) -> ChunkEnd:
        """Up to `size` steps, not beyond the next sampling time; the status of the native run."""
        run, due = self.run, self.feed.next_due
        ahead = self.whole if due == math.inf else min(self.whole, math.floor((due - self.begin) / self.h + SAME))
        if not self._parts and ahead > run.step:
            return run.advance(min(size, ahead - run.step))
        if not self._parts:
            status = run.advance(0)  # the record at the beginning of the step
            if status is not ChunkEnd.OK:
                return status
        last = run.step >= self.whole
        end = self.until if last else self.begin + (run.step + 1) * self.h
        inside = due < end - SAME * self.h
        status = run.part(due if inside else end, self.take)
        if status is ChunkEnd.OK:
            self._parts = inside
            if not inside and last:
                self._complete = True
            elif not inside:
                run.join()
        return status


class Outlook:
    """Whether a run that chooses its steps will reach `until` [s]: within `limit` attempts, or (None) at its pace.

    The pace is looked at over windows that grow, for a short one may fall into a moment of haste. A run is given up if
    it would take absurdly many steps more, the shorter the window the more, and neither the last step nor the pace
    since the window before says that it recovers.
    """

    def __init__(self, until: float, limit: int | None, time: float = 0.0) -> None:
        self.until, self.limit = until, limit
        self.mark = 0, time, FIRST, math.inf  # attempts and time [s] where the window began, its size, the pace before
        self.hopeless = False

    def look(self, made: int, time: float, step: float) -> bool:
        """Whether to give up after so many attempts at a time [s], with a step [s] proposed next."""
        if time >= self.until:
            return False
        begun, since, window, before = self.mark
        if made >= (MAX_STEPS if self.limit is None else self.limit):
            self.hopeless = True
        elif self.limit is None and made - begun >= min(window, WINDOW) and self.until < math.inf:
            pace = (time - since) / (made - begun)  # [s] a step
            most = HOPELESS * (WINDOW / min(made - begun, WINDOW)) ** 2
            self.hopeless = max(pace, step) * most < self.until - time and pace <= 2 * before
            self.mark = made, time, 2 * window, pace
        return self.hopeless

    def memory(self) -> list[float | None]:
        """The present window, as plain data."""
        return [*self.mark[:3], self.mark[3] if math.isfinite(self.mark[3]) else None]

    def recall(self, memory: list[Any]) -> None:
        """Go on with the window of another."""
        begun, since, window, before = memory
        self.mark = int(begun), float(since), int(window), math.inf if before is None else float(before)


class AdaptiveCourse:
    """An `AdaptiveRun` to `until` [s], in at most `limit` attempts (None: as many as lead anywhere)."""

    def __init__(self, run: Any, feed: Feed, until: float, limit: int | None) -> None:
        self.run, self.feed, self.until, self.limit = run, feed, until, limit
        self._pace = Outlook(math.inf if feed.paced else until, limit, run.time)

    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self.run.time >= self.until

    def memory(self) -> dict[str, Any]:
        """How the run has got on, as plain data."""
        return {"pace": self._pace.memory()}

    def recall(self, memory: dict[str, Any]) -> None:
        """Be where another course was."""
        self._pace.recall(memory["pace"])

    @property
    def hopeless(self) -> bool:
        """Whether the end will not be reached."""
        return self._pace.hopeless

    def move(self, size: int) -> ChunkEnd:
        """Up to `size` attempts, not beyond the next sampling time; the status of the native run."""
        run = self.run
        if run.done:
            run.aim(min(self.until, self.feed.next_due))
        most = (MAX_STEPS if self.limit is None else self.limit) - (run.accepted + run.rejected)
        status = run.advance(max(1, min(size, most)))
        self._pace.look(run.accepted + run.rejected, run.time, run.step_size)
        return status
