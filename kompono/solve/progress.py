"""A progress bar for runs that take more than a second, on a terminal only; Ctrl-C asks a run to end and keep its
results.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from kompono.interruption import Listener, listening
from kompono.notice import tell

LONG = 3600.0  # s: what takes longer is told to everybody, on a terminal or not
LOOK = 1.0  # s of wall time over which speed is measured


class _Pace:
    """How long the rest will take [s], as the quicker of two seconds says that follow each other: compilation, the
    first events and a crowd of them say nothing of it.
    """

    def __init__(self) -> None:
        self._mark: tuple[float, float] | None = None
        self._first: float | None = None  # what the second before says

    def rest(self, now: float, made: float, total: float) -> float | None:
        """The same at a wall time [s], with so much made of a total; None if it is too early to say."""
        if self._mark is None:
            self._mark = now, made
        elapsed, done = now - self._mark[0], made - self._mark[1]
        if elapsed < LOOK or done <= 0:
            return None
        rest, before = elapsed * (total - made) / done, self._first
        self._mark, self._first = (now, made), rest
        return None if before is None else min(rest, before)


class Progress:
    """Shows the simulated time. Needs tqdm (`pip install kompono[progress]`); without it, it stays silent."""

    def __init__(self, until: float, show: bool | None, tell: bool = True, begin: float = 0.0) -> None:
        self.until, self.begin = until, begin
        self.show = sys.stderr.isatty() if show is None else show
        self._tells = tell  # whether to say how long it will take
        self._bar: Any = None
        self._begun, self._pace = time.perf_counter(), _Pace()
        self._ended = False
        self._listening, self._heard = listening(), Listener()

    def __enter__(self) -> Self:
        self._heard = self._listening.__enter__()
        try:
            self._heard.keep()
        except BaseException:
            self._listening.__exit__(None, None, None)
            raise
        return self

    @property
    def interrupted(self) -> bool:
        """Whether somebody wants it to end."""
        return self._ended or self._heard.asked > 0

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self._ended = value

    def update(self, reached: float) -> None:
        """Tell the time reached [s]."""
        now = time.perf_counter()
        elapsed, made, total = now - self._begun, reached - self.begin, self.until - self.begin
        if self._tells and (rest := self._pace.rest(now, made, total)) is not None:
            self._tells = False
            _tell(elapsed + rest, made, total)
        if not self.show or (self._bar is None and elapsed < 1.0):
            return
        if self._bar is None:
            try:
                from tqdm import tqdm
            except ImportError:
                self.show = False
                return
            form = "{l_bar}{bar}| {n:.3g}/{total:.3g} s simulated [{elapsed}<{remaining}]"
            self._bar = tqdm(total=total, bar_format=form, file=sys.stderr, leave=False)
        self._bar.n = min(made, total)
        self._bar.refresh()

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._listening.__exit__(kind, value, trace)
        if self._bar is not None:
            self._bar.close()


def _tell(total: float, reached: float, until: float) -> None:
    """Say how long something will take [s] at the speed measured, if that is long."""
    if total > 10.0:
        text = f"this will take about {duration(total)} ({reached:.3g} of {until:.3g} s are simulated)"
        tell(f"{text}; Ctrl-C ends it and keeps what there is", urgent=total > LONG)


def duration(seconds: float) -> str:
    """A time for people: 40 s, 12 min, 3.5 h, 11 days."""
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h"), (1e9, 86_400, "days")):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}" if seconds / size < 10 else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 31_557_600:.3g} years"
