"""Rows of a native run, taken out of its buffer as it goes on; where memory ends, it ends the run, not them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.room import free_memory

LOOK = 1 << 26  # bytes of rows after which it is asked how much memory is left


class Recorder:
    """Rows of a run; older ones than `keep` seconds before the last are dropped as it goes on.

    It is `full` when what is left of the memory is what its rows need to be put together and to have `columns` of
    channels computed from them. Rows that do not fit even then are thinned: only each n-th (`every`) is left.

    What `report` computes from rows at once, because that may not be possible later, stands behind each of them; rows
    of which it can tell nothing (None) are not kept.
    """

    def __init__(
        self, keep: float = np.inf, columns: int = 0, report: Callable[[np.ndarray], np.ndarray | None] | None = None
    ) -> None:
        self.parts: list[np.ndarray] = []
        self.keep, self.columns, self._report = keep, columns, report
        self.full, self.every = False, 1
        self._bytes = self._looked = 0

    def take(self, run: Any, least: int = 1) -> None:
        """Take the rows a run has, if there are so many at least."""
        if run.rows < least:
            return
        self._add(run.take())
        while self.parts and self.parts[0][-1, 0] < self.parts[-1][-1, 0] - self.keep:
            self._bytes -= self.parts.pop(0).nbytes
        if self.parts and self._bytes > self._looked + LOOK:
            self._looked = self._bytes
            width = self.parts[-1].shape[1]
            self.full = self._bytes * (1 + 2 * self.columns / width) > free_memory()

    def _add(self, part: np.ndarray) -> None:
        if self._report is not None:
            told = self._report(part)
            if told is None:
                return
            part = np.hstack([part, told])
        self.parts.append(part)
        self._bytes += part.nbytes

    def finish(self, last: np.ndarray) -> np.ndarray:
        """All rows, the last state among them."""
        if not self.parts or self.parts[-1][-1, 0] < last[0]:
            self._add(last[None, :])
        if not self.parts:
            self.parts.append(np.hstack([last[None, :], np.full((1, self.columns), np.nan)]))
        while True:
            try:
                rows = np.concatenate(self.parts)
            except MemoryError:
                self.thin()
                continue
            self.parts.clear()
            return rows[np.searchsorted(rows[:, 0], rows[-1, 0] - self.keep) :]

    def thin(self) -> None:
        """Let go of each second row, but not of the last; MemoryError if there is nothing to let go of."""
        if not self.parts or (len(self.parts) == 1 and len(self.parts[0]) < 3):
            raise MemoryError
        self.every *= 2
        last = self.parts[-1][-1:].copy()
        for i, part in enumerate(self.parts):
            self.parts[i] = part[:-1:2].copy() if i + 1 == len(self.parts) else part[::2].copy()
        self.parts = [part for part in self.parts if len(part)] + [last]
        self._bytes = sum(part.nbytes for part in self.parts)

    @property
    def remark(self) -> str:
        """What became of rows that did not fit."""
        return "" if self.every == 1 else f"of the rows only each {self.every}th fits into memory; "
