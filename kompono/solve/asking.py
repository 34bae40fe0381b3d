"""Python callables that the native loop calls at their instants.

The loop computes what they read, calls back with the number of the tick, and finds their answers in the state behind
it. What goes wrong in a callable ends the run: the loop is told, and the feed knows why.
"""

from __future__ import annotations

import ctypes
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.interruption import calls_users
from kompono.solve.inputs import number_like, place_of
from kompono.translate.program import Program

Ask = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_double)


class Asking:
    """The callables of one run; `functions` in the order of the program's controllers."""

    def __init__(self, program: Program, functions: Sequence[Callable[..., Any]], feed: Any) -> None:
        self.feed, self.functions = feed, functions
        first = len(program.coordinates) + len(program.speeds)
        self._due = [[c for c, one in enumerate(program.controllers) if one.rate in t] for t in program.ticks]
        self._units = program.controllers
        for one, function in zip(program.controllers, functions, strict=True):
            _check_arguments(function, one.reads, one.path)
        self._places = [[first + mode for mode in one.modes] for one in program.controllers]
        self.native = Ask(self._ask)

    def listen(self, reads: np.ndarray, writes: np.ndarray) -> None:
        """Where the loop leaves what is read, and expects the answers: the state behind the tick."""
        ends = np.cumsum([one.reads for one in self._units])
        self._reads = np.split(reads, ends[:-1])
        self._writes = writes

    def _ask(self, tick: int, time: float) -> int:
        """Ask all that are due; 1 if one of them failed."""
        number = -1
        try:
            for number in self._due[tick]:
                self._call(number, time)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if isinstance(error, KeyboardInterrupt):
                self._fail(number, f"interrupted by the user{place_of(error)}", error)
            else:
                self._fail(number, f"the callable raised {type(error).__name__}: {error}{place_of(error)}", error)
        return 0 if self.feed.stop is None else 1

    @calls_users
    def _call(self, number: int, time: float) -> None:
        answer = self.functions[number](time, *self._reads[number].tolist())
        places = self._places[number]
        if len(places) == 1:
            answer = (answer,)
        try:
            values = [float(number_like(value)) for value in answer]
        except (TypeError, ValueError):
            values = []
        if len(values) != len(places):
            wanted = "a number" if len(places) == 1 else f"{len(places)} numbers"
            self._fail(
                number, f"the callable returned {answer[0] if len(places) == 1 else answer!r} instead of {wanted}"
            )
            return
        for place, value in zip(places, values, strict=True):
            if not math.isfinite(value):
                self._fail(number, f"the callable returned {value}")
                return
            self._writes[place] = value

    def _fail(self, number: int, message: str, cause: BaseException | None = None) -> None:
        self.feed.stop, self.feed.cause = f"{self._units[number].path}: {message}", cause


def _check_arguments(function: Callable[..., Any], reads: int, path: str) -> None:
    """Raise RunError for a callable that does not take the time and what it reads."""
    try:
        taken = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        taken.bind(*[0.0] * (1 + reads))
    except TypeError:
        fix = f"It is called with the time and {reads} number{'s' * (reads != 1)} that it reads."
        raise RunError(f"the callable takes {taken}.", path=path, fix=fix) from None
