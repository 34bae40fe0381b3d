"""A progress bar for runs that take more than a second, on a terminal only; Ctrl-C asks a run to end and keep its
results.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """Shows the simulated time. Needs tqdm (`pip install kompono[progress]`); without it, it stays silent."""

    def __init__(self, until: float, show: bool | None) -> None:
        self.until = until
        self.show = sys.stderr.isatty() if show is None else show
        self.interrupted = False
        self._bar: Any = None
        self._begun = time.perf_counter()
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def _interrupt(self, *_: Any) -> None:
        self.interrupted = True

    def update(self, reached: float) -> None:
        """Tell the time reached [s]."""
        if not self.show or (self._bar is None and time.perf_counter() - self._begun < 1.0):
            return
        if self._bar is None:
            try:
                from tqdm import tqdm
            except ImportError:
                self.show = False
                return
            form = "{l_bar}{bar}| {n:.3g}/{total:.3g} s simulated [{elapsed}<{remaining}]"
            self._bar = tqdm(total=self.until, bar_format=form, file=sys.stderr, leave=False)
        self._bar.n = min(reached, self.until)
        self._bar.refresh()

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self._bar is not None:
            self._bar.close()
