"""Many runs of one kernel: lanes times threads.

Runs are taken in groups as wide as the machine's registers; a group is one run of the native loop on several lanes.
A run with events is alone for steps that hold one (see `compile/lane_moves`); runs that choose their steps have times
of their own (see `compile/loop_adaptive_lanes`). What lanes cannot do (callable inputs, chosen steps with events) runs
one by one, and so does a run that a lane lost: it is repeated alone, which gives what a single run would have given,
failure and all, or goes on where only the lane's sine has a limit. A thread takes one group after the other; native
code runs without the interpreter's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from kompono.compile.block import guard_count
from kompono.compile.host import lanes as native_lanes
from kompono.compile.run_adaptive_lanes import fits_memory, no_own_times, no_wide_matrix
from kompono.compile.run_lanes import one_lane
from kompono.ending import Ending
from kompono.solve.endings import NO_ROOM
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Problem, Settings, Trajectory, integrate
from kompono.solve.lane_ends import each_lane
from kompono.solve.methods import METHODS, Family
from kompono.solve.outcome import Outcome, Outputs, channels, conclude, opening, reporter
from kompono.solve.progress import Progress
from kompono.solve.scipy_methods import routines_of

AHEAD = 4  # groups for each thread that are made or wait for one: enough that no thread waits for the next

MakeFeed = Callable[[], Feed]
MakeReader = Callable[[np.ndarray], Callable[[float, np.ndarray, np.ndarray, str], float]]  # of a run's parameters


@dataclass(frozen=True)
class Batch:
    """Runs to make: consistent start `states` (runs, n) and `parameters` (runs, p), and how to make them. `gives` says
    how far conditions (runs, rows) may be off on the discrete engine.
    """

    settings: Settings
    outputs: Outputs
    states: np.ndarray
    parameters: np.ndarray
    lanes: int
    gives: np.ndarray | None = None

    def part(self, runs: np.ndarray) -> Batch:
        """Some of the runs."""
        gives = None if self.gives is None else self.gives[runs]
        return replace(self, states=self.states[runs], parameters=self.parameters[runs], gives=gives)

    def conclude(self, kernel: Any, trajectory: Trajectory, table: np.ndarray, run: int) -> Outcome:
        """The outcome of a run whose channels are computed."""
        outputs = self.outputs if self.gives is None else replace(self.outputs, gives=self.gives[run])
        return conclude(kernel, trajectory, outputs, table, self.settings, self.parameters[run], False)

    def groups(self) -> list[np.ndarray]:
        """The numbers of the runs that go together."""
        return np.array_split(np.arange(len(self.states)), range(self.lanes, len(self.states), self.lanes))


def fits_lanes(kernel: Any, settings: Settings, feed: Feed) -> bool:
    """Whether runs can go side by side: no inputs that depend on the run, no lanes inside."""
    free = not any(source.is_callable for source in feed.callables) and hasattr(kernel, "fixed")
    if settings.method in ("dopri5", "esdirk4"):
        return free and _fits_own_times(kernel, settings, feed)
    return free and METHODS[settings.method].family is Family.FIXED and not one_lane(kernel)


def _fits_own_times(kernel: Any, settings: Settings, feed: Feed) -> bool:
    """Whether runs that choose their steps can go side by side, each at its own time."""
    table, records = feed.table(), settings.span / (settings.step * settings.every)
    changing = table is not None and len(table[0]) > 1
    if changing or settings.max_steps is not None or one_lane(kernel) or no_own_times(kernel.program):
        return False
    if METHODS[settings.method].implicit and no_wide_matrix(kernel.program):
        return False
    return fits_memory(kernel.program, records, native_lanes())


def record_times(settings: Settings) -> np.ndarray:
    """The times [s] at which every run of these settings has a record, whatever its events."""
    chosen = METHODS[settings.method].chooses_steps  # then `step` times `every` is the distance of records
    h, every = (settings.step * settings.every, 1) if chosen else (settings.step, settings.every)
    whole = int(np.floor(settings.until / h + 1e-9))
    times = np.arange(0, whole + 1, every) * h
    end = settings.until if settings.until - whole * h > 1e-9 * h else whole * h
    return times if end - times[-1] <= 1e-9 * h else np.append(times, end)


def at_times(outcome: Outcome, times: np.ndarray, tolerance: float) -> np.ndarray:
    """The channels (rows, k) of a run at record times; NaN where it has no record. Of two at one time, the later."""
    if len(outcome.times) == len(times) and np.abs(outcome.times - times).max(initial=0.0) <= tolerance:
        return outcome.table
    table = np.full((len(times), outcome.table.shape[1]), np.nan)
    if len(outcome.times):
        place = np.searchsorted(outcome.times, times + tolerance, side="right") - 1
        found = (place >= 0) & (outcome.times[place] >= times - tolerance)
        table[found] = outcome.table[place[found]]
    return table


def prepare(kernel: Any, batch: Batch) -> None:
    """Compile what the batch needs before threads need it."""
    if not hasattr(kernel, "prepare"):
        return
    settings = batch.settings
    kernel.threads = 1  # runs are spread over threads, not the parts of a run
    method = settings.method if METHODS[settings.method].native else ""
    kernel.prepare(routine=batch.outputs.routine, method=method, lanes=batch.lanes)
    if batch.lanes > 1 and guard_count(kernel.program):
        kernel.prepare(method=method)  # for runs that leave their lanes
    kernel.prepare(routines=routines_of(settings.method, kernel.program.routines))


class _Part(Progress):
    """What one group tells of its progress; it ends when the whole does."""

    def __init__(self, whole: Progress, until: float) -> None:
        super().__init__(until, show=False)
        self.whole, self.reached = whole, 0.0

    @property
    def interrupted(self) -> bool:  # type: ignore[override]
        """Whether somebody wants all runs to end."""
        return self.whole.interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        pass

    def update(self, reached: float) -> None:
        """Remember the time reached [s]."""
        self.reached = reached


@dataclass
class _Task:
    """A group under way: the numbers of its runs, what they tell, what comes of them."""

    runs: np.ndarray
    part: _Part
    future: Future[list[Outcome]]

    @property
    def reached(self) -> float:
        """Simulated time [s] of its runs together."""
        return len(self.runs) * (self.part.until if self.future.done() else self.part.reached)


def run_batch(
    kernel: Any, batch: Batch, make_feed: MakeFeed, read: MakeReader, threads: int, progress: Progress
) -> Iterator[tuple[np.ndarray, list[Outcome]]]:
    """Make all runs; gives the numbers of each group's runs and their outcomes, in order.

    Only some groups are under way at a time, so that neither memory nor time grows with the number of those that wait
    or are done. When somebody wants it to end, no further group begins.
    """
    waiting = iter(batch.groups())
    ahead: deque[_Task] = deque()
    done = 0.0  # simulated time [s] of the groups that are over
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            while True:
                for runs in islice(waiting, 0 if progress.interrupted else AHEAD * threads - len(ahead)):
                    part = _Part(progress, batch.settings.until)
                    future = pool.submit(run_group, kernel, batch.part(runs), make_feed, read, part)
                    ahead.append(_Task(runs, part, future))
                if not ahead:
                    return
                task = ahead[0]
                while not task.future.done():
                    wait([task.future for task in ahead], timeout=0.1, return_when=FIRST_EXCEPTION)
                    progress.update(done + sum(task.reached for task in ahead))
                ahead.popleft()
                done += task.reached
                progress.update(done)
                yield task.runs, task.future.result()
        except BaseException:
            progress.interrupted = True
            for task in ahead:
                task.future.cancel()
            raise


def run_group(kernel: Any, batch: Batch, make_feed: MakeFeed, read: MakeReader, progress: Progress) -> list[Outcome]:
    """The runs of one group: side by side if it has lanes, then those alone that were lost on the way.

    A group that memory has no room for is lost, with the reason; the others go on.
    """
    try:
        return _group(kernel, batch, make_feed, read, progress)
    except MemoryError:
        nothing = np.empty((0, len(batch.outputs.wanted)))
        return [Outcome(nothing[:, 0], nothing, Ending.NO_ROOM, NO_ROOM) for _ in batch.states]


def _group(kernel: Any, batch: Batch, make_feed: MakeFeed, read: MakeReader, progress: Progress) -> list[Outcome]:
    count = len(batch.states)
    outcomes: list[Outcome | None] = [None] * count
    if batch.lanes > 1 and count > 1:
        outcomes[:] = _on_lanes(kernel, batch, make_feed(), progress)
    alone = (_alone(kernel, batch, i, make_feed(), read, progress) for i in range(count) if outcomes[i] is None)
    return [outcome or next(alone) for outcome in outcomes]


def _on_lanes(kernel: Any, batch: Batch, feed: Feed, progress: Progress) -> list[Outcome | None]:
    """All runs of a group at once; None for those lost. Lanes to spare repeat the last run, or are empty."""
    lanes, count = batch.lanes, len(batch.states)
    chosen = np.minimum(np.arange(lanes), count - 1)
    states, parameters = (np.ascontiguousarray(values[chosen].T) for values in (batch.states, batch.parameters))
    with kernel.begun(states.ravel(), lanes) as state:
        problem = Problem(kernel, state, parameters.ravel(), feed, _no_reader, lanes, count)
        problem.report, problem.columns = _reporter(kernel, batch, parameters.ravel(), lanes)
        whole = integrate(problem, batch.settings, progress)
        if whole.on_lanes is not None:
            return _each_with_events(kernel, batch, problem, whole)
        if not np.isinf(whole.lost[:count]).any():
            return [None] * count
        tables = channels(kernel, batch.outputs, whole.rows, parameters, lanes, whole.table)
        return _each(kernel, batch, whole, tables)


def _each(kernel: Any, batch: Batch, whole: Trajectory, tables: np.ndarray) -> list[Outcome | None]:
    """The outcome of each lane; None for those lost."""
    lanes, count = batch.lanes, len(batch.states)
    size = kernel.program.state_size
    wide = whole.rows[:, 1 : 1 + lanes * size].reshape(-1, size, lanes)
    outcomes: list[Outcome | None] = []
    for i in range(count):
        if not np.isinf(whole.lost[i]):
            outcomes.append(None)
            continue
        rows = np.hstack([whole.rows[:, :1], wide[:, :, i], whole.rows[:, 1 + lanes * size :]])
        table = tables[i]
        if not np.isfinite(table).all() and not kernel.program.opaque:  # perhaps a sine beyond its limit
            table = channels(kernel, batch.outputs, rows, batch.parameters[i])
        statistics = {**whole.statistics, **(whole.each_lane[i] if whole.each_lane else {})}
        statistics["steps_on_lanes"] = statistics["steps"]
        trajectory = Trajectory(rows, whole.ended, whole.message, whole.time, statistics)
        outcomes.append(batch.conclude(kernel, trajectory, table, i))
    return outcomes


def _each_with_events(kernel: Any, batch: Batch, problem: Problem, whole: Trajectory) -> list[Outcome | None]:
    """The outcome of each lane of a model with events."""
    tables = channels(kernel, batch.outputs, whole.rows, problem.parameters, batch.lanes)
    outcomes: list[Outcome | None] = []
    for i, trajectory in enumerate(each_lane(problem, batch.settings, whole)):
        table, values = tables[i], batch.parameters[i]
        if len(table) != len(trajectory.rows) or not np.isfinite(table).all():
            table = channels(kernel, batch.outputs, trajectory.rows, values)
        outcomes.append(batch.conclude(kernel, trajectory, table, i))
    return outcomes


def _no_reader(*_: Any) -> float:
    raise AssertionError("lanes have no callable inputs")


def _alone(kernel: Any, batch: Batch, i: int, feed: Feed, read: MakeReader, progress: Progress) -> Outcome:
    """One run by itself."""
    values = batch.parameters[i]
    with kernel.begun(batch.states[i]) as state:
        problem = Problem(kernel, state, values, feed, read(values))
        problem.is_open = opening(kernel, batch.outputs, batch.settings, feed, values)
        problem.report, problem.columns = _reporter(kernel, batch, values)
        trajectory = integrate(problem, batch.settings, progress)
        table = channels(kernel, batch.outputs, trajectory.rows, values, known=trajectory.table)
        return batch.conclude(kernel, trajectory, table, i)


def _reporter(kernel: Any, batch: Batch, parameters: np.ndarray, lanes: int = 1) -> tuple[Any, int]:
    """What computes channels as a run goes on, if that cannot wait, and how many columns it gives."""
    report = reporter(kernel, batch.outputs, parameters, lanes)
    return report, lanes * len(batch.outputs.computed) if report else 0
