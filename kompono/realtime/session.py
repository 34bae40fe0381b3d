"""A live run: a feed of inputs that meets the clock and the observers at every frame.

To the solver a frame is a sampling time like that of any callable input: native code runs alone until it is due,
whatever the engine and method. There the feed waits for the clock, shows the observers the present and takes the inputs
they write.
"""

from __future__ import annotations

import math
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from kompono.errors import RunError, RunWarning, warn
from kompono.given import listed, number, plain, shown
from kompono.interruption import calls_users
from kompono.realtime.clock import Clock, WallClock
from kompono.realtime.frame import Live, LiveFrame
from kompono.realtime.pace import POLICIES, Pace
from kompono.result import Result
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Settings
from kompono.solve.methods import METHODS

SHORTEST = 1e-6  # s: of a frame
FOREVER = 1e9  # s: what a run without end is given
Observer = Callable[[LiveFrame], Any]
Evaluate = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # time, state, inputs -> all channels


@dataclass(frozen=True)
class RealTime:
    """How a run keeps step with the clock. `simulate(model, until=10, realtime=RealTime(frame=0.005))`.

    frame: distance of frames [s]; speed: simulated seconds per second, `inf` without waiting. on_frame: observers
    called with each `LiveFrame`; one that has `open(live)` and `close()` gets these before and after the run. behind:
    `catch up` or `slip`. keep: only the rows of the last so many simulated seconds are in the result. clock: instead of
    the wall clock, which spins for the last `spin` seconds [s] of a wait.
    """

    frame: float = 0.01
    speed: float = 1.0
    on_frame: Observer | Sequence[Observer] = ()
    behind: str = "catch up"
    keep: float = math.inf
    spin: float = 5e-4
    clock: Clock | None = None

    def __post_init__(self) -> None:
        for name in ("frame", "speed", "keep"):
            fix, value = f"Use e.g. {name}={EXAMPLES[name]}.", getattr(self, name)
            endless = name != "frame" and plain(value) == math.inf
            value = number(value, f"{name} =", error=RunError, positive=True, finite=not endless, fix=fix)
            object.__setattr__(self, name, value)
        if self.frame < SHORTEST:
            raise RunError(f"frame = {self.frame:g} s is shorter than a clock can keep.", fix="Use e.g. frame=0.01.")
        fix = "Use e.g. spin=5e-4, or 0 for sleep alone."
        object.__setattr__(self, "spin", number(self.spin, "spin =", error=RunError, fix=fix))
        if self.spin < 0:
            raise RunError(f"spin = {self.spin!r} is no time to spin.", fix=fix)
        if not isinstance(self.behind, str) or self.behind not in POLICIES:
            raise RunError(f"there is no policy {shown(self.behind)}.", fix=f"Use {' or '.join(map(repr, POLICIES))}.")
        fix = "Give a function of one frame, or a list of them."
        observers = (
            [self.on_frame] if callable(self.on_frame) else listed(self.on_frame, "on_frame", error=RunError, fix=fix)
        )
        wrong = [observer for observer in observers if not callable(observer)]
        if wrong:
            raise RunError(f"on_frame {shown(wrong[0])} cannot be called.", fix=fix)
        object.__setattr__(self, "on_frame", tuple(observers))
        if self.clock is not None and not (hasattr(self.clock, "now") and hasattr(self.clock, "wait")):
            raise RunError(f"clock {shown(self.clock)} is no clock.", fix="Give an object with now() and wait(until).")

    @property
    def observers(self) -> tuple[Observer, ...]:
        """Whoever is called each frame."""
        return (self.on_frame,) if callable(self.on_frame) else tuple(self.on_frame)

    def settings(self, settings: Settings) -> Settings:
        """Settings of a run in real time: an end, and how much is kept."""
        method = METHODS.get(settings.method)  # one that does not exist is refused by who checks the settings
        if method is not None and not method.native:
            fix = method.instead(lambda other: other.native)
            raise RunError(f"{method.name} does not run in real time.", fix=fix)
        return replace(settings, until=min(settings.until, FOREVER), keep=self.keep)


EXAMPLES = {"frame": 0.01, "speed": 1.0, "keep": 60}
ACCOUNT = {"realtime.load": "", "realtime.delay": "s"}  # channels of the account, with units


class Session:
    """One live run: `feed` for the solver, a context that opens and closes the observers, the account afterwards."""

    def __init__(self, options: RealTime, feed: Feed, live: Live, evaluate: Evaluate) -> None:
        self.options, self.live = options, live
        clock = options.clock if options.clock is not None else WallClock(options.spin)
        self.pace = Pace(clock, speed=options.speed, behind=options.behind, keep=options.keep)
        self.feed = LiveFeed(feed, options, live, self.pace, evaluate)
        self._opened: list[Any] = []

    def __enter__(self) -> Self:
        try:
            for observer in self.options.observers:
                if hasattr(observer, "open"):
                    observer.open(self.live)  # type: ignore[attr-defined]
                self._opened.append(observer)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        while self._opened:
            observer = self._opened.pop()
            try:
                if hasattr(observer, "close"):
                    observer.close()
            except Exception as error:  # the results are worth more
                warnings.warn(f"{_name(observer)} could not be closed: {error!r}", RuntimeWarning, stacklevel=2)

    def complete(self, result: Result) -> Result:
        """The result with the account of the frames: channels `realtime.load` and `realtime.delay`, and statistics."""
        account = self.pace.account()
        table = np.full((len(result.time), 2), np.nan)
        if len(account):
            frame = np.searchsorted(account[:, 0] * (1 + 1e-12), result.time)
            table = account[np.minimum(frame, len(account) - 1), 1:]
        reports = [o.report() for o in self.options.observers if hasattr(o, "report")]  # type: ignore[attr-defined]
        statistics = {"frame": self.options.frame, **self.pace.statistics(), **({"links": reports} if reports else {})}
        if not METHODS[result.statistics["method"]].chooses_steps:  # equal steps can be counted
            statistics["late_steps"] = round(self.pace.late_time / result.statistics["step"])
        result.statistics["realtime"] = statistics
        try:
            return Result(
                result.time,
                [*result.names, *ACCOUNT],
                np.column_stack([result.table, table]),
                units={**result.units, **ACCOUNT},
                status=result.status,
                statistics=result.statistics,
                model=result.model,
            )
        except MemoryError:
            warn(f"memory has no room for {' and '.join(ACCOUNT)}: the result goes without", RunWarning)
            return result


def _name(observer: Any) -> str:
    return getattr(observer, "__name__", type(observer).__name__)


class LiveFeed(Feed):
    """Inputs of a live run: held values that observers may write, tables and callables as in any run."""

    paced = True

    def __init__(self, feed: Feed, options: RealTime, live: Live, pace: Pace, evaluate: Evaluate) -> None:
        super().__init__(feed.sources, feed.controllers)
        self.followed = feed.followed
        self.live, self.pace = live, pace
        self._observers, self._period, self._evaluate = options.observers, options.frame, evaluate
        self._places = [i for i, source in enumerate(self.sources) if source.name in live.inputs]
        self._met = 0

    def sample(self, time: float, read: Any) -> bool:
        """Meet the clock and the observers if a frame is over; whether an input changed."""
        if self._met:
            self.pace.begin()  # the first frame is met before the run exists, so that no preparation is on the clock
        before = self.held.copy()
        if time < (self._met - 1e-9) * self._period:
            self._guarded(lambda: Feed.sample(self, time, read))
        elif self.stop is None:
            if self._met:
                self.pace.arrive(time)
            self._guarded(lambda: Feed.sample(self, time, read))
            self._meet(time, read)
            if self._met > 1:
                self.keep_followed(before)
        return not np.array_equal(before, self.held)

    def finish(self, time: float, read: Any) -> None:
        """The run reached its end: be there in time, and show it."""
        self.pace.arrive(time)
        self._meet(time, read, final=True)

    @property
    def next_due(self) -> float:
        """The next time a callable or a frame is due [s]."""
        return min(super().next_due, self._met * self._period)

    def _meet(self, time: float, read: Any, final: bool = False) -> None:
        state = np.array(read.state)
        frame = LiveFrame(
            self.live, self._met, time, state, self.held, self._places,
            lambda: self._evaluate(time, state, self.at(time)), load=self.pace.load, delay=self.pace.delay, final=final,
        )  # fmt: skip
        for observer in self._observers:
            self._guarded(lambda observer=observer: observer(frame), observer)
        if self.stop is None and frame.stopped is not None:
            self.stop = frame.stopped
        self._met += 1

    @calls_users
    def _guarded(self, action: Callable[[], Any], observer: Any = None) -> None:
        """Whatever fails before the run began is raised; later it ends the run, which keeps its results."""
        try:
            action()
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if not self._met:
                raise
            who = "an input" if observer is None else _name(observer)
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            self.stop = self.stop or f"{who} raised {type(error).__name__}: {error} ({where})"


def start(
    given: RealTime | bool, feed: Feed, channels: Sequence[tuple[str, str]], evaluate: Evaluate, model: str = ""
) -> Session:
    """A session for a run with these inputs and channels (name, unit)."""
    options = as_options(given)
    names = tuple(name for name, _ in channels)
    for name in ACCOUNT:
        if name in names:
            raise RunError(f"the channel {name!r} is one of the account of frames.", fix="Rename the component.")
    free = tuple(source.name for source in feed.sources if source.table is None and source.function is None)
    live = Live(names, dict(channels), free, options.frame, options.speed, model)
    return Session(options, feed, live, evaluate)


def as_options(given: RealTime | bool) -> RealTime:
    """Options from what `realtime=` may be."""
    if given is True:
        return RealTime()
    if not isinstance(given, RealTime):
        raise RunError(f"realtime = {given!r} is not understood.", fix="Use realtime=True or RealTime(frame=0.01).")
    return given
