"""What feeds the inputs of a run: constants, tables over time, callables sampled at a period and held."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from kompono.errors import KomponoError, RunError
from kompono.given import number, numbers
from kompono.interruption import calls_users
from kompono.solve.controllers import takes_reader

Read = Callable[[str], float]
_OURS = re.compile(r"kompono(?!\.examples)(\.|$)")  # names of modules


class PresentState(NamedTuple):
    """The present of a run: the state at a time [s]; called with the name of a channel it gives its value."""

    state: np.ndarray
    channel: Read

    def __call__(self, name: str) -> float:
        """The present value of a channel."""
        return self.channel(name)


@dataclass(frozen=True)
class Source:
    """One input: a constant value, a table (times, values), or a callable with its period [s].

    A `factory`, or a class as `function`, makes the callable of each run.
    """

    name: str
    value: float = 0.0
    table: tuple[np.ndarray, np.ndarray] | None = None
    function: Callable[..., float] | None = None
    period: float = 0.0
    factory: Callable[[], Callable[..., float]] | None = None

    @property
    def is_callable(self) -> bool:
        """Whether Python is asked for its values."""
        return self.function is not None or self.factory is not None

    @property
    def changes(self) -> bool:
        """Whether its value may change in a run."""
        return self.is_callable or (self.table is not None and bool(np.ptp(self.table[1]) > 0.0))


class Feed:
    """All inputs of a run. Callables are asked at whole multiples of their periods; between these the native loop runs
    alone.

    A feed that sets `stop` ends the run: as planned if that is empty, else for that reason; `cause` is the exception of
    a callable that did. A feed that is `paced` keeps step with a clock. Inputs that are `followed` by gaps or slips (of
    a law or part, by path) must stay as they are in a run.
    """

    stop: str | None = None
    paced = False
    cause: BaseException | None = None
    followed: Mapping[str, str] = MappingProxyType({})

    def __init__(self, sources: Sequence[Source], controllers: Sequence[Source] = ()) -> None:
        self.sources, self.controllers = tuple(sources), tuple(controllers)
        self.held = np.array([source.value for source in sources], dtype=float)
        self.due = [0.0 if source.is_callable else np.inf for source in sources]
        self._counts = [0] * len(self.sources)  # instants of each that are over
        self._asked = [False] * len(self.sources)
        self._tables = [source.table for source in sources if source.table is not None]

    def begin(self, time: float, held: Mapping[str, float] | None = None) -> None:
        """A run begins at a time [s]: all are asked there, and then at multiples of their periods. If it goes on, they
        are `held` at what they were, by name, until the next of these.
        """
        for i, source in enumerate(self.sources):
            if not source.is_callable:
                continue
            if held is not None:
                self.held[i], self._asked[i] = held[source.name], True
                self._counts[i] = int(np.ceil(time / source.period - 1e-9))
                self.due[i] = self._counts[i] * source.period
            elif time:
                self._counts[i] = int(np.floor(time / source.period + 1e-9))
                self.due[i] = time

    @property
    def callables(self) -> tuple[Source, ...]:
        """All sources, and controllers that the native loop asks."""
        return (*self.sources, *self.controllers)

    def fresh(self, callables: Sequence[Source]) -> Feed:
        """The same with callables of another run."""
        count = len(self.sources)
        made = Feed(callables[:count], callables[count:])
        made.followed = self.followed
        return made

    @cached_property
    def _readers(self) -> dict[int, bool]:
        """Which callables want to read channels, by place."""
        asked = {i: s for i, s in enumerate(self.sources) if s.function is not None}
        return {i: takes_reader(source.function, source.name) for i, source in asked.items()}  # type: ignore[arg-type]

    def sample(self, time: float, read: Read) -> bool:
        """Ask the callables that are due at `time`; True if any was. One that fails stops the run."""
        asked = False
        for i, source in enumerate(self.sources):
            if self.stop is None and time >= self.due[i] - 1e-9 * source.period:
                try:
                    self.held[i] = self._ask(i, time, read)
                except KomponoError as error:
                    if not self._asked[i]:  # it was never right: a mistake in the request, not in the run
                        raise error.at(source.name) from None
                    said = str(error) if error.named else f"{error.message} {error.fix}".strip()
                    self._fail(source, f"the callable raised {type(error).__name__}: {said}{place_of(error)}", error)
                except KeyboardInterrupt as error:
                    if not self._asked[i]:  # nothing is there to keep
                        raise
                    self._fail(source, f"interrupted by the user{place_of(error)}", error)
                except (Exception, SystemExit) as error:
                    self._fail(source, f"the callable raised {type(error).__name__}: {error}{place_of(error)}", error)
                self._counts[i], self._asked[i] = self._counts[i] + 1, True
                self.due[i] = self._counts[i] * source.period
                asked = True
        return asked

    @calls_users
    def _ask(self, i: int, time: float, read: Read) -> float:
        source = self.sources[i]
        if source.function is None:
            raise AssertionError("a factory makes the callable before a run begins")
        answer: Any = source.function(time, read) if self._readers[i] else source.function(time)
        try:
            value = float(number_like(answer))
        except (TypeError, ValueError):
            self._fail(source, f"the callable returned {answer!r} instead of a number")
            return self.held[i]
        if not math.isfinite(value):
            self._fail(source, f"the callable returned {value}")
            return self.held[i]
        return value

    def _fail(self, source: Source, message: str, cause: BaseException | None = None) -> None:
        self.stop, self.cause = f"{source.name}: {message}", cause

    def attach(self, run: Any) -> None:
        """The run that is fed; it begins now."""

    def memory(self) -> dict[str, Any]:
        """What is held, and who was asked how often, as plain data."""
        return {"held": self.held.tolist(), "counts": list(self._counts)}

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on where another feed of the same sources was."""
        self.held[:], self._counts = memory["held"], [int(count) for count in memory["counts"]]
        self._asked = [True] * len(self.sources)
        self.due = [
            count * source.period if source.is_callable else np.inf
            for count, source in zip(self._counts, self.sources, strict=True)
        ]

    def keep_followed(self, before: np.ndarray) -> None:
        """End the run where somebody has changed an input from what was held `before` that gaps or slips follow."""
        for i, source in enumerate(self.sources) if self.followed else ():
            if source.name in self.followed and self.held[i] != before[i]:
                self.held[i], path = before[i], self.followed[source.name]
                what = f"its gap or slip follows the input {source.name}, which was changed: nobody knows how fast"
                self.stop = self.stop or f"{path}: {what}"

    @property
    def holds(self) -> bool:
        """Whether all inputs are constant until the next sampling time."""
        return not self._tables

    def finish(self, time: float, read: Read) -> None:
        """The run has reached its end at `time`."""

    @property
    def next_due(self) -> float:
        """The next time a callable wants to be asked [s]."""
        return self.due[0] if len(self.due) == 1 else min(self.due, default=np.inf)

    def table(self) -> tuple[np.ndarray, np.ndarray] | None:
        """All inputs as one piecewise linear table (times, values), callables at what they hold; None without
        inputs.
        """
        if not self.sources:
            return None
        if not self._tables:
            return np.zeros(1), self.held[None, :].copy()
        times = np.unique(np.concatenate([t for t, _ in self._tables]))
        columns = [
            np.interp(times, *source.table) if source.table is not None else np.full(len(times), self.held[i])
            for i, source in enumerate(self.sources)
        ]
        return times, np.column_stack(columns)

    def at(self, time: float) -> np.ndarray:
        """The inputs at a time."""
        if not self._tables:
            return self.held.copy()
        table = self.table()
        if table is None:
            return np.zeros(0)
        times, values = table
        if len(times) == 1:
            return values[0]
        return np.array([np.interp(time, times, values[:, i]) for i in range(values.shape[1])])


def number_like(answer: Any) -> Any:
    """What a callable returned; a text of digits is no number, though `float` takes it."""
    if isinstance(answer, str | bytes):
        raise TypeError("a text is no number")
    return answer


def place_of(error: BaseException) -> str:
    """Where an exception was raised: file, line, function and text."""
    lines = traceback.extract_tb(error.__traceback__)
    if not lines:
        return ""
    last = lines[-1]
    if isinstance(error, KomponoError):  # the user's line, not the one of ours that refused it
        modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
        users = [line for line, name in zip(lines, modules, strict=True) if not _OURS.match(name)]
        last = users[-1] if users else last
    text = f": {last.line}" if last.line else ""
    return f" ({Path(last.filename).name}:{last.lineno} in {last.name}{text})"


def make_source(name: str, given: Any, period: float | None = None) -> Source:
    """A source from what a user gives: a number, a (times, values) pair, or a callable with a period."""
    value: Any = given
    if callable(value):
        fix = "Use (function, period)."
        if period is None:
            raise RunError("a callable input needs a sampling period.", path=name, fix=fix)
        number(period, "the sampling period", name, error=RunError, positive=True, fix=fix)
        return Source(name, function=value, period=float(period))  # type: ignore[reportArgumentType]
    if isinstance(given, tuple) and len(given) == 2 and callable(given[0]):
        return make_source(name, given[0], given[1])
    if isinstance(given, tuple) and len(given) == 2:
        fix = "Use ([0, 1], [0, 5])."
        times, values = (
            numbers(part, (-1,), "the table", name, error=RunError, finite=False, fix=fix) for part in given
        )
        if times.shape != values.shape or not len(times) or np.any(np.diff(times) <= 0):
            raise RunError("a table needs rising times and as many values.", path=name, fix="Sort it by time.")
        if not np.all(np.isfinite(times)) or not np.all(np.isfinite(values)):
            raise RunError("the table has entries that are not finite.", path=name, fix="Leave these rows out.")
        return Source(name, table=(times, values))
    fix = "Give a number, a pair (times, values), or a pair (function, period)."
    return Source(name, value=number(value, "the value", name, error=RunError, truth=True, fix=fix))


def feed_of(declared: Mapping[str, Source], overrides: Mapping[str, Any], controllers: Sequence[Source] = ()) -> Feed:
    """The declared sources with some replaced, and controllers."""
    chosen = dict(declared)
    for name, given in overrides.items():
        chosen[name] = make_source(name, given, declared[name].period or None)
    return Feed(list(chosen.values()), controllers)
