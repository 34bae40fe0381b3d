"""A run writes itself down as it goes, so that little is lost when its process dies, and another can go on from there.

About once a second the rows recorded since the last time are appended to the file (`kompono.result.unfinished`), with
everything the run needs to go on. A disk that is full ends neither the run nor the file: it is tried again later.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from kompono.errors import RunWarning, warn
from kompono.result import unfinished
from kompono.result.log import Log

FIRST = 0.5  # [s] after which a run is worth a file
PERIOD = 1.0  # [s] from one part to the next
PATIENCE = 30.0  # [s] until a part that is larger than the rows in it is written all the same
SHARE = 20  # times as long as writing a part takes is computed before the next

Words = dict[str, Any]
Arrays = dict[str, np.ndarray]


class Journal:
    """The file of one run, made with the first part; `head` says once what must be known of the run to read it.

    `values` gives the channels of rows. `more` is plain data that goes into each part.
    """

    def __init__(
        self,
        path: Path,
        head: Callable[[np.ndarray, np.ndarray], Mapping[str, Any]],
        values: Callable[[np.ndarray], np.ndarray],
        more: Callable[[], Mapping[str, Any]],
        resumed: unfinished.Stored | None = None,
    ) -> None:
        self.path, self._head, self._values, self._more = path, head, values, more
        self.resumed = resumed
        self.before = float(resumed.words["seconds"]) if resumed else 0.0  # [s] of computing in earlier processes
        self.last: tuple[Words, Arrays] | None = None  # where a run that was interrupted can go on
        self._point: tuple[Words, Arrays, int] | None = None  # where one that loses a part could
        self._log: Log | None = None
        self._written = 0  # parts of the recorder that are in the file
        self._events = 0  # that are in the file
        self._begun = clock.perf_counter()
        self._due, self._late = self._begun + FIRST, self._begun + PATIENCE
        self._failed = False
        if resumed is not None and resumed.state == "running":
            self._log, self._written = unfinished.go_on(path), 1  # rows of the file are the first part of the recorder
            self._events = sum(map(len, resumed.events))

    @property
    def seconds(self) -> float:
        """Time spent on the run so far, in all processes [s]."""
        return self.before + clock.perf_counter() - self._begun

    @property
    def due(self) -> bool:
        """Whether it is time for a part."""
        return clock.perf_counter() >= self._due

    def write(self, parts: list[np.ndarray], words: Words, arrays: Arrays, events: np.ndarray) -> None:
        """Append the rows that are not in the file yet, and where the run is now."""
        begun = clock.perf_counter()
        rows = _joined(parts[self._written :], parts)
        if self._log is not None and begun < self._late and rows.size < sum(array.size for array in arrays.values()):
            self._due = begun + PERIOD  # a large state and few rows: the file would hold little else
            return
        words = {**words, **self._more(), "seconds": self.seconds}
        arrays = {**arrays, "rows": rows, "values": self._values(rows), "events": events[self._events :]}
        try:
            if self._log is None:
                head = self._head(rows, arrays["values"])
                self._log = unfinished.begin(self.path, head, words, arrays)
            else:
                self._log.append(unfinished.PART, words, arrays)
            self._written, self._events = len(parts), len(events)
        except (OSError, MemoryError) as error:
            self._complain(error)
        now = clock.perf_counter()
        pause = max(PERIOD, SHARE * (now - begun)) * (10 if self._failed else 1)
        self._due, self._late = now + pause, now + max(pause, PATIENCE)

    def remember(self, parts: list[np.ndarray], words: Words, arrays: Arrays, events: np.ndarray) -> None:
        """The run could go on from here, if it cannot from where it comes to next."""
        self._point = {**words, **self._more(), "seconds": self.seconds}, {**arrays, "events": events}, len(parts)

    def go_back(self, parts: list[np.ndarray]) -> None:
        """The run ends, and can go on from where that was remembered last."""
        if self._point is not None:
            words, arrays, count = self._point
            self.last = words, {**arrays, "rows": _joined(parts[:count], parts)}

    def keep(self, parts: list[np.ndarray], words: Words, arrays: Arrays, events: np.ndarray) -> None:
        """The run is interrupted here: remember what is needed to go on, with all rows."""
        words = {**words, **self._more(), "seconds": self.seconds}
        self.last = words, {**arrays, "rows": _joined(parts, parts), "events": events}

    def conclude(self, record: Any) -> None:
        """The file of a run that was interrupted: its result, and behind it what is needed to go on."""
        assert self.last is not None
        words, arrays = self.last
        rows = arrays["rows"]
        head = self._head(rows[:1], self._values(rows[:1]))
        unfinished.conclude(self.path, record, head, words, arrays)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """No more parts, however the run ended."""
        if self._log is not None:
            self._log.close()

    def _complain(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            warn(f"{self.path} cannot be written while the run goes on: {error}; it will be tried again.", RunWarning)


def _joined(parts: list[np.ndarray], all_parts: list[np.ndarray]) -> np.ndarray:
    if parts:
        return np.concatenate(parts)
    return np.zeros((0, all_parts[0].shape[1] if all_parts else 0))
