"""Channels for callable inputs: only those a callable reads are computed.

Which these are shows at the first sampling time, where each is taken from a routine that has it anyway, or has one
made. From the next time on a single routine gives all that were read. Runs of the same simulation share what is known.
"""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kompono.errors import RunError, suggest

Evaluate = Callable[[float, np.ndarray, np.ndarray, str], float]  # time, state, inputs, channel


class ChannelReader:
    """Values of channels by name. `find` gives the column of a name, `select` a routine for columns."""

    def __init__(self, kernel: Any, find: Callable[[str], int], select: Callable[[Sequence[int]], str]) -> None:
        self._kernel, self._find, self._select = kernel, find, select
        self._columns: dict[str, int] = {}  # all names that were ever read
        self._known: tuple[str, dict[str, int]] = ("", {})  # a routine and the places of names in it
        self._lock = threading.Lock()
        self.seconds = 0.0  # spent on making routines

    def run(self, parameters: np.ndarray) -> Evaluate:
        """A function for one run that reads channels with its parameters, each instant computed once."""
        present: Any = None  # time, inputs and routine
        values: list[float] = []
        first: Any = None  # the instant at which names are still being collected

        def read(time: float, state: np.ndarray, inputs: np.ndarray, name: str) -> float:
            nonlocal present, values, first
            routine, places = self._known
            if name not in places:
                if first is None or first == time:
                    first = time
                    return self._alone(name, time, state, inputs, parameters)
                routine, places = self._together(name)
            instant = time, inputs.tobytes(), routine
            if present != instant:
                values = self._kernel.evaluate(routine, time, state, inputs, parameters)[0].tolist()
                present = instant
            return values[places[name]]

        return read

    def _alone(self, name: str, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> float:
        """One channel that was not read before: from all channels if these are compiled, else by itself."""
        with self._lock:
            begun = clock.perf_counter()
            column = self._column(name)
            routine, place = ("outputs", column) if self._kernel.has("outputs") else (self._select([column]), 0)
            (values, *_) = self._kernel.evaluate(routine, time, state, inputs, parameters)
            self.seconds += clock.perf_counter() - begun
        return float(values[place])

    def _together(self, name: str) -> tuple[str, dict[str, int]]:
        """A routine for all names read so far."""
        with self._lock:
            begun = clock.perf_counter()
            self._column(name)
            columns = sorted(set(self._columns.values()))
            routine = self._select(columns)
            places = columns if routine != "outputs" else list(range(max(columns) + 1))
            self._known = routine, {name: places.index(column) for name, column in self._columns.items()}
            if hasattr(self._kernel, "prepare"):
                self._kernel.prepare(routine=routine)
            self.seconds += clock.perf_counter() - begun
            return self._known

    def _column(self, name: str) -> int:
        if name not in self._columns:
            self._columns[name] = self._find(name)
        return self._columns[name]


def column_finder(channels: Any) -> Callable[[str], int]:
    """A function from the name of a channel to its column."""
    if not isinstance(channels, tuple):  # a list too long to be made

        def search(name: str) -> int:
            found = channels.matching(name) if isinstance(name, str) else []
            if len(found) != 1:
                raise RunError(f"there is no channel {name!r}.", fix="Give its whole name, without globs.")
            return found[0]

        return search
    columns: dict[Any, int] = {}

    def find(name: str) -> int:
        if not columns:
            columns.update((channel.name, i) for i, channel in enumerate(channels))
        if name not in columns:
            raise RunError(f"there is no channel {name!r}.", fix=suggest(str(name), columns))
        return columns[name]

    return find
