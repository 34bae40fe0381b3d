"""Run a kernel from a start state to an end time: native chunks, sampled inputs, and a status instead of an
exception.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from kompono.compile.snapshot import recall, snapshot
from kompono.errors import RunError, nearest
from kompono.given import shown
from kompono.interruption import calls_users
from kompono.solve.course import GROWN, AdaptiveCourse, FixedCourse
from kompono.solve.endings import reason
from kompono.solve.inputs import Feed, Present
from kompono.solve.journal import Journal
from kompono.solve.progress import Progress
from kompono.solve.records import Recorder
from kompono.solve.scipy_methods import SCIPY_METHODS, integrate_scipy

FIXED = ("rk2", "rk4", "adams", "leapfrog")
METHODS = (*FIXED, "dopri5", *SCIPY_METHODS)
CHUNK_SECONDS = 0.1
LARGEST_CHUNK = 1 << 40  # steps; chunks cut short by sampled inputs say little about how many would fit
MOST = 1 << 53  # steps that can be counted in a double
TOGETHER = 1000  # rows taken from a run at once


@dataclass(frozen=True)
class Settings:
    """How to run: method, end [s], step [s] (recording interval of adaptive methods), record every n-th step,
    tolerances.
    """

    method: str
    until: float
    step: float
    every: int = 1
    rtol: float = 1e-8
    atol: float = 1e-8
    stabilize: bool = True
    guard_checks: int = 1  # looks at the guards of events in each step
    max_steps: int | None = None  # attempts of methods that choose their steps; None: as many as lead anywhere
    keep: float = np.inf  # simulated seconds whose rows are kept, the last ones (native methods)


@dataclass
class Trajectory:
    """Recorded rows (time, state..., inputs...) and how the run ended."""

    rows: np.ndarray
    ok: bool = True
    message: str = ""
    time: float = 0.0
    statistics: dict[str, Any] = field(default_factory=dict)
    lost: np.ndarray = field(default_factory=lambda: np.full(1, np.inf))  # when lanes ceased to be finite [s]
    ended: str = ""  # the kind of an early end, such as NOT_FINITE
    cause: BaseException | None = None  # what a callable raised


@dataclass
class Problem:
    """A kernel with a consistent start, its parameters and what feeds its inputs.

    With several `lanes`, state (n, lanes) and parameters (p, lanes) of as many runs, row by row.
    """

    kernel: Any
    state: np.ndarray
    parameters: np.ndarray
    feed: Feed
    read: Callable[[float, np.ndarray, np.ndarray, str], float]  # time, state, inputs, channel name
    lanes: int = 1
    watch: Callable[[float, np.ndarray], None] | None = None  # told time and state about ten times a second
    started: Callable[[np.ndarray], None] | None = None  # told the inputs at the start, before anything moves
    is_open: Callable[[float, np.ndarray], bool] | None = None  # whether conditions are violated, asked as often
    journal: Journal | None = None  # where the run writes itself down as it goes, and goes on from
    columns: int = 0  # channels that will be computed from each row


def settings_for(
    engine: str,
    until: float,
    step: float | None = None,
    method: str | None = None,
    every: int | None = None,
    tolerances: tuple[float, float] = (1e-8, 1e-11),
    stabilize: bool = True,
) -> Settings:
    """Settings with what an engine is best run with where nothing is given: rk4 with 1 ms, leapfrog with 10 us."""
    usual, size, records = ("leapfrog", 1e-5, 100) if engine == "discrete" else ("rk4", 1e-3, 1)
    if isinstance(until, Real) and 0 < float(until) < size:  # a run shorter than the usual step is one step
        size = float(until)
    if every is None:
        every = records if step is None else 1
    return Settings(method or usual, until, size if step is None else step, every, *tolerances, stabilize)


def check_settings(settings: Settings) -> None:
    """Raise RunError for a method that does not exist or numbers that make no sense."""
    if settings.method not in METHODS:
        raise RunError(
            f"there is no method {settings.method!r}.",
            fix=nearest(str(settings.method), METHODS) or f"Methods: {', '.join(METHODS)}.",
        )
    for name in ("until", "step", "rtol", "atol"):
        value = getattr(settings, name)
        if not isinstance(value, Real) or not np.isfinite(float(value)) or value < 0:
            what = "tolerances must be positive numbers" if name.endswith("tol") else "that is no time to run with"
            raise RunError(f"{name} = {value!r}: {what}.", fix=f"Give {name} as a positive number.")
    if settings.step == 0:
        raise RunError("step = 0 s is not positive.", fix="Use e.g. step=1e-3.")
    if settings.until > 2**53 * settings.step:
        fix = "Take a longer step or an earlier end."
        raise RunError(f"step = {settings.step:g} s cannot be told from nothing at {settings.until:g} s.", fix=fix)
    if not isinstance(settings.every, int | np.integer) or settings.every < 1:
        raise RunError(f"every = {settings.every!r} is not a count of steps.", fix="Use every=1 to record all.")
    if 0 < settings.until < settings.step * (1 - 1e-9):
        raise RunError(
            f"step = {settings.step:g} s is longer than the run (until = {settings.until:g} s).",
            fix=f"Use e.g. step={settings.until / 100:g}.",
        )
    if settings.every > MOST or settings.until / settings.step > MOST:
        name, value = ("every", settings.every) if settings.every > MOST else ("until / step", settings.until)
        raise RunError(f"{name} = {value:g} is more steps than can be counted.", fix="Use fewer.")
    for name, least in (("guard_checks", 1), ("max_steps", 1)):
        value = getattr(settings, name)
        if value is None and name == "max_steps":
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= MOST:
            raise RunError(
                f"{name} = {shown(value)} is not a count.", fix=f"Give {name} as a whole number from {least} on."
            )
    if settings.rtol + settings.atol <= 0:
        raise RunError("tolerances must be positive.", fix="Use e.g. rtol=1e-8.")


def integrate(problem: Problem, settings: Settings, progress: Progress | bool | None) -> Trajectory:
    """Run with the method asked for; progress is told to who is given, or shown if asked for (None: on terminals)."""
    check_settings(settings)
    if settings.method not in SCIPY_METHODS and not hasattr(problem.kernel, "fixed"):
        raise RunError(
            f"{settings.method} runs in native code only.", fix="Use native=True, or a SciPy method such as 'DOP853'."
        )
    if settings.guard_checks > 1 and settings.method == "leapfrog":
        raise RunError("guard_checks goes with other methods than leapfrog.", fix="Its steps are tiny; leave it out.")
    if problem.journal is None or problem.journal.resumed is None:
        problem.feed.sample(0.0, _reader(problem, 0.0, problem.state))
        if problem.started is not None and problem.feed.stop is None:
            problem.started(problem.feed.at(0.0))
    given = (
        nullcontext(progress)
        if isinstance(progress, Progress)
        else Progress(settings.until, progress, tell=not problem.feed.paced)
    )
    with given as watcher, problem.journal or nullcontext():
        if settings.method in FIXED:
            return _fixed(problem, settings, watcher)
        if settings.method == "dopri5":
            return _adaptive(problem, settings, watcher)
        if problem.kernel.program.events:
            raise RunError(f"{settings.method} cannot locate events.", fix="Use rk2, rk4, adams or dopri5.")
        rows, ended, message, reached, statistics = integrate_scipy(problem, settings, watcher)
        done = ended in ("", "ENDED")
        return Trajectory(rows, done, message, reached, statistics, ended=ended, cause=problem.feed.cause)


def _fixed(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    recorder, feed = Recorder(settings.keep, problem.columns), problem.feed
    run = problem.kernel.fixed(
        settings.method, 0.0, problem.state, step=settings.step, parameters=problem.parameters, inputs=feed.table(),
        every=settings.every, project=settings.stabilize, lanes=problem.lanes, guard_checks=settings.guard_checks,
    )  # fmt: skip
    course = FixedCourse(run, feed, settings.step, settings.until, lambda: recorder.take(run))
    _recall(problem, course, recorder)
    return _finish(problem, settings, run, recorder, _chunks(problem, course, recorder, progress))


def _adaptive(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    recorder, feed = Recorder(settings.keep, problem.columns), problem.feed
    run = problem.kernel.adaptive(
        0.0, problem.state, until=min(settings.until, feed.next_due), interval=settings.step * settings.every,
        rtol=settings.rtol, atol=settings.atol, parameters=problem.parameters, inputs=feed.table(),
        project=settings.stabilize, guard_checks=settings.guard_checks,
    )  # fmt: skip
    course = AdaptiveCourse(run, feed, settings.until, settings.max_steps)
    _recall(problem, course, recorder)
    return _finish(problem, settings, run, recorder, _chunks(problem, course, recorder, progress))


def _chunks(problem: Problem, course: Any, recorder: Recorder, progress: Progress) -> str:
    """Advance chunk by chunk until done; returns why it ended early, or nothing."""
    run = course.run
    try:
        ended = _advance(problem, course, recorder, progress)
        while ended == "" and run.advance(0).name == "BUFFER_FULL":
            recorder.take(run)
        recorder.take(run)
    except MemoryError:
        recorder.thin()
        recorder.take(run)
        return "NO_ROOM"
    if problem.journal is not None and ended == "INTERRUPTED":
        problem.journal.keep(recorder.parts, *_memory(problem, course))
    return ended


def _memory(problem: Problem, course: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
    """Where a run is, as plain data: words, numbers, and all events so far."""
    fields, vectors = snapshot(course.run)
    words = {"run": fields, "course": course.memory(), "feed": problem.feed.memory()}
    return words, {"vectors": vectors}, course.run.events


def _recall(problem: Problem, course: Any, recorder: Recorder) -> None:
    """Go on where the run in a file was, if this is to be its continuation; its feed is there already."""
    stored = problem.journal.resumed if problem.journal else None
    if stored is not None:
        events = np.concatenate(stored.events) if stored.events else np.zeros((0, 2))
        recall(course.run, stored.words["run"], stored.arrays["vectors"], events)
        course.recall(stored.words["course"])
        recorder.parts.append(stored.take_rows())


def _write_down(problem: Problem, course: Any, recorder: Recorder) -> None:
    journal = problem.journal
    if journal is not None and journal.due:
        recorder.take(course.run)
        journal.write(recorder.parts, *_memory(problem, course))


def _advance(problem: Problem, course: Any, recorder: Recorder, progress: Progress) -> str:
    size, run, feed = 256, course.run, problem.feed
    looked = clock.perf_counter()
    while not course.done:
        if feed.sample(run.time, _reader(problem, run.time, run.state)):
            run.hold(feed.held) if feed.holds else run.set_inputs(feed.table())
        if feed.stop is not None:
            return "STOPPED" if feed.stop else "ENDED"
        begun = clock.perf_counter()
        status = course.move(max(1, size))
        now = clock.perf_counter()
        progress.update(run.time)
        if problem.watch is not None:
            _show(problem, run)
        if progress.interrupted:
            return "INTERRUPTED"
        recorder.take(run, 1 if status.name == "BUFFER_FULL" else TOGETHER)
        if recorder.full:
            return "NO_ROOM"
        if status.name == "BUFFER_FULL":
            continue
        if status.name != "OK":
            return status.name
        if course.hopeless:
            return "HOPELESS"
        _write_down(problem, course, recorder)
        if problem.lanes == 1 and now - looked > CHUNK_SECONDS:
            looked = now
            if np.abs(run.state).max(initial=0.0) > GROWN:
                return "GROWN"
            if problem.is_open is not None and problem.is_open(run.time, run.state):
                return "OPEN"
        size = min(int(size * min(4.0, max(0.25, CHUNK_SECONDS / max(now - begun, 1e-9)))) + 1, LARGEST_CHUNK)
    return ""


@calls_users
def _show(problem: Problem, run: Any) -> None:
    """Let who watches look; one that fails ends the run, which keeps its results."""
    assert problem.watch is not None
    try:
        problem.watch(run.time, run.state)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        problem.feed.stop = f"the watcher raised {type(error).__name__}: {error}"
        problem.feed.cause = error


def _reader(problem: Problem, time: float, state: np.ndarray) -> Present:
    return Present(state, lambda name: problem.read(time, state, problem.feed.at(time), name))


def _counts(run: Any) -> dict[str, int]:
    return {"steps": run.accepted, "evaluations": run.evaluations, "rejected": run.rejected}


def _finish(problem: Problem, settings: Settings, run: Any, recorder: Recorder, ended: str) -> Trajectory:
    if ended == "":
        problem.feed.finish(run.time, _reader(problem, run.time, run.state))
        ended = "STOPPED" if problem.feed.stop else ""
    last = np.concatenate([[run.time], run.state, problem.feed.at(run.time)])
    rows = recorder.finish(last)
    if ended == "" and recorder.every > 1:
        ended = "NO_ROOM"
    statistics: dict[str, Any] = _counts(run)
    names = problem.kernel.program.events
    if names:
        statistics["events"] = [(float(time), names[int(guard)]) for time, guard in run.events]
    return Trajectory(
        rows,
        ended in ("", "ENDED"),
        f"{recorder.remark}{reason(ended, problem, settings, run)}",
        float(run.time),
        statistics,
        run.lost,
        ended,
        problem.feed.cause,
    )
