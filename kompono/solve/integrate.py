"""Run a kernel from a start state to an end time: native chunks, sampled inputs, and a status instead of an
exception.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile.block import ChunkEnd
from kompono.compile.evaluator import Unanswered
from kompono.ending import Ending
from kompono.errors import NoForces, RunError
from kompono.interruption import calls_users
from kompono.solve.course import GROWN, AdaptiveCourse, FixedCourse
from kompono.solve.endings import reason
from kompono.solve.inputs import Feed, PresentState
from kompono.solve.methods import METHODS, Family
from kompono.solve.progress import Progress
from kompono.solve.records import Recorder
from kompono.solve.scipy_methods import integrate_scipy
from kompono.solve.settings import Settings, check_events, check_periods, check_settings, check_stages
from kompono.translate.program import Program

if TYPE_CHECKING:
    from kompono.compile.run_lanes import LanesRun
    from kompono.solve.journal import Journal

CHUNK_SECONDS = 0.1
LARGEST_CHUNK = 1 << 40  # steps; chunks cut short by sampled inputs say little about how many would fit
TOGETHER = 1000  # rows taken from a run at once


@dataclass
class Trajectory:
    """Recorded rows (time, state..., inputs...) and how the run ended."""

    rows: np.ndarray
    ended: Ending = Ending.DONE
    message: str = ""
    time: float = 0.0
    statistics: dict[str, Any] = field(default_factory=dict)
    lost: np.ndarray = field(default_factory=lambda: np.full(1, np.inf))  # when lanes ceased to be finite [s]
    cause: BaseException | None = None  # what a callable raised
    table: np.ndarray | None = None  # channels at the rows, where they were computed as the run went on
    each_lane: list[dict[str, int]] | None = None  # what runs on lanes counted that choose their own steps
    on_lanes: LanesRun | None = None  # the runs of several lanes, if each has events and an end of its own
    fed: np.ndarray | None = None  # inputs (2, n) at its end and a step later
    tied: tuple[float, str] | None = None  # since when [s] forces may be rounding, and why
    last: np.ndarray | None = None  # (time, state..., inputs...) where it ended, if the last row is before that


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
    filled: int | None = None  # lanes that have a run; None: all
    watch: Callable[[float, np.ndarray], None] | None = None  # told time and state about ten times a second
    started: Callable[[float, np.ndarray], None] | None = None  # told time and inputs before anything moves
    is_open: Callable[[float, np.ndarray], bool] | None = None  # whether conditions are violated, asked as often
    journal: Journal | None = None  # where the run writes itself down as it goes, and goes on from
    jam: str = ""  # where no forces of laws fit at the start, and why
    held: Mapping[str, float] | None = None  # what callables told last, if this goes on with another run
    columns: int = 0  # channels that will be computed from each row
    report: Callable[[np.ndarray], np.ndarray | None] | None = None  # computes them at once, if they cannot wait


def _choose_modes(problem: Problem, time: float, step: float) -> None:
    """Choose the modes of laws at the start, now that callables have told the inputs and parts elsewhere have begun."""
    if getattr(problem.kernel, "settle", None) is not None and problem.lanes == 1:
        start = problem.kernel.settle.start
        try:
            problem.state = start(time, problem.state, problem.feed.at(time), problem.parameters, step)
        except NoForces as found:  # the run ends at once
            problem.jam = found.message


def integrate(problem: Problem, settings: Settings, progress: Progress | bool | None) -> Trajectory:
    """Run with the method asked for; progress is told to who is given, or shown if asked for (None: on terminals)."""
    check_settings(settings)
    method = METHODS[settings.method]
    if method.native and not hasattr(problem.kernel, "fixed"):
        raise RunError(
            f"{settings.method} runs in native code only.", fix="Use native=True, or a SciPy method such as 'DOP853'."
        )
    if settings.guard_checks > 1 and not method.guard_checks:
        fix = "Its steps are tiny; leave it out."
        raise RunError(f"guard_checks goes with other methods than {method.name}.", fix=fix)
    check_events(problem.kernel.program, settings.method)
    check_stages(problem.kernel.program, settings.method)
    check_periods(problem.kernel.program, problem.feed, settings)
    if problem.journal is None or problem.journal.resumed is None:
        begin = settings.begin
        problem.feed.begin(begin, problem.held)
        told = problem.feed.sample(begin, _reader(problem, begin, problem.state))
        if (told or problem.kernel.program.opaque) and problem.feed.stop is None:
            _choose_modes(problem, begin, 0.0 if method.chooses_steps else settings.step)
        if problem.started is not None and problem.feed.stop is None:
            problem.started(begin, problem.feed.at(begin))
    given = (
        nullcontext(progress)
        if isinstance(progress, Progress)
        else Progress(settings.until, progress, tell=not problem.feed.paced, begin=settings.begin)
    )
    with given as watcher, problem.journal or nullcontext():
        if problem.kernel.program.opaque and not method.native:
            names = ", ".join(name for name, _ in problem.kernel.program.opaque)
            raise RunError(
                f"{settings.method} looks at all numbers of the state, and those of {names} are elsewhere.",
                fix="Use rk2, rk4, adams or dopri5.",
            )  # fmt: skip
        return _RUNS[method.family](problem, settings, watcher)


def _fixed(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    recorder, feed = Recorder(settings.keep, problem.columns, problem.report), problem.feed
    run = problem.kernel.fixed(
        settings.method, settings.begin, problem.state, step=settings.step, parameters=problem.parameters,
        inputs=feed.table(), every=settings.every, project=settings.stabilize, lanes=problem.lanes,
        filled=problem.filled, guard_checks=settings.guard_checks, each=settings.each,
    )  # fmt: skip
    _listen(problem, run)
    course = FixedCourse(run, feed, settings.step, settings.until, lambda: recorder.take(run), settings.begin)
    _recall(problem, course, recorder)
    return _finish(problem, settings, run, recorder, _chunks(problem, course, recorder, progress))


def _adaptive(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    recorder, feed = Recorder(settings.keep, problem.columns, problem.report), problem.feed
    interval = settings.step * settings.every
    if problem.lanes > 1:
        run = problem.kernel.adaptive_on_lanes(
            settings.begin, problem.state, lanes=problem.lanes, until=settings.until, interval=interval,
            rtol=settings.rtol, atol=settings.atol, parameters=problem.parameters, inputs=feed.table(),
            project=settings.stabilize, method=settings.method,
        )  # fmt: skip
        course = AdaptiveCourse(run, feed, settings.until, settings.max_steps)
        ended = _chunks(problem, course, recorder, progress)
        if ended is Ending.HOPELESS:  # alone they say why
            run.give_up()
            recorder.take(run)
            ended = Ending.DONE
        if ended is not Ending.DONE:
            run.end_early()
            recorder.take(run)
        return _finish(problem, settings, run, recorder, ended)
    longest = interval if problem.kernel.program.laws else math.inf  # what rests has no error, and may break loose
    run = problem.kernel.adaptive(
        settings.begin, problem.state, until=min(settings.until, feed.next_due), interval=interval, max_step=longest,
        rtol=settings.rtol, atol=settings.atol, parameters=problem.parameters, inputs=feed.table(),
        project=settings.stabilize, guard_checks=settings.guard_checks, method=settings.method, each=settings.each,
    )  # fmt: skip
    _listen(problem, run)
    course = AdaptiveCourse(run, feed, settings.until, settings.max_steps)
    _recall(problem, course, recorder)
    return _finish(problem, settings, run, recorder, _chunks(problem, course, recorder, progress))


def _listen(problem: Problem, run: Any) -> None:
    """Let the feed know its run, and the native loop ask the controllers."""
    problem.feed.attach(run)
    if problem.feed.controllers:
        from kompono.compile.listening import listen
        from kompono.solve.asking import Asking

        functions: list[Any] = [one.function for one in problem.feed.controllers]
        listen(run, Asking(problem.kernel.program, functions, problem.feed))


def _scipy(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    rows, ended, message, reached, statistics = integrate_scipy(problem, settings, progress)
    fed, cause = _fed(problem, settings, reached), problem.feed.cause
    return Trajectory(rows, _named(ended, problem.feed), message, reached, statistics, cause=cause, fed=fed)


_RUNS = {Family.FIXED: _fixed, Family.ADAPTIVE: _adaptive, Family.SCIPY: _scipy}


def _chunks(problem: Problem, course: Any, recorder: Recorder, progress: Progress) -> Ending:
    """Advance chunk by chunk until the run is done or cannot go on."""
    run = course.run
    try:
        ended = _advance(problem, course, recorder, progress)
        while ended is Ending.DONE and run.advance(0) is ChunkEnd.BUFFER_FULL:
            recorder.take(run)
        recorder.take(run)
    except Unanswered:
        recorder.take(run)
        ended = Ending.ELSEWHERE
    except MemoryError:
        recorder.thin()
        recorder.take(run)
        return Ending.NO_ROOM
    if problem.journal is not None and ended is Ending.ELSEWHERE:
        problem.journal.go_back(recorder.parts)
    if problem.journal is not None and ended is Ending.INTERRUPTED:
        problem.journal.keep(recorder.parts, *_memory(problem, course))
    return ended


def _memory(problem: Problem, course: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
    """Where a run is, as plain data: words, numbers, and all events so far."""
    from kompono.compile.snapshot import snapshot
    from kompono.elsewhere.filed import filed

    fields, vectors = snapshot(course.run)
    words = {"run": fields, "course": course.memory(), "feed": problem.feed.memory(), "tied": course.run.tied}
    arrays = {"vectors": vectors}
    if problem.kernel.program.opaque:
        elsewhere, numbers = filed(problem.kernel.keep(course.run.state))
        words, arrays = {**words, **elsewhere}, {**arrays, **numbers}
    return words, arrays, course.run.events


def _recall(problem: Problem, course: Any, recorder: Recorder) -> None:
    """Go on where the run in a file was, if this is to be its continuation; its feed is there already."""
    stored = problem.journal.resumed if problem.journal else None
    if stored is not None:
        from kompono.compile.snapshot import recall

        events = np.concatenate(stored.events) if stored.events else np.zeros((0, 2))
        recall(course.run, stored.words["run"], stored.arrays["vectors"], events)
        course.recall(stored.words["course"])
        course.run.tied = stored.words.get("tied")
        recorder.parts.append(stored.take_rows())


def _write_down(problem: Problem, course: Any, recorder: Recorder) -> None:
    """About once a second to the file; where parts may be lost, it is remembered more often where the run was."""
    journal, away = problem.journal, getattr(problem.kernel, "may_lose_parts", False)
    if journal is not None and (away or journal.due):
        recorder.take(course.run)
        where = _memory(problem, course)
        if away:
            journal.remember(recorder.parts, *where)
        if journal.due:
            journal.write(recorder.parts, *where)


def _advance(problem: Problem, course: Any, recorder: Recorder, progress: Progress) -> Ending:
    run, feed = course.run, problem.feed
    run.shall_end = lambda: progress.interrupted
    walked = run.takeover is not None  # and may be slow: native code is taken over between chunks
    size = 1 if problem.report else 8 if walked else 256  # parts elsewhere may take long, and a link loses a chunk
    looked = clock.perf_counter()
    if problem.jam:
        run.advance(0)
        return Ending.NO_FORCES
    program, calls = problem.kernel.program, any(source.is_callable for source in feed.sources)
    alone = calls and problem.watch is None and not (problem.report or feed.paced or program.away or program.opaque)
    while not course.done:
        _sample(problem, run)
        if feed.stop is not None:
            return Ending.STOPPED if feed.stop else Ending.ENDED
        begun = clock.perf_counter()
        status = course.move(max(1, size))
        while alone and status is ChunkEnd.OK and not course.done and clock.perf_counter() - begun < CHUNK_SECONDS:
            if progress.interrupted or not _sample(problem, run) or feed.stop is not None:
                break
            if problem.journal and problem.journal.due:
                break  # who only samples is not looked after at each instant
            status = course.move(max(1, size))
        now = clock.perf_counter()
        progress.update(run.time)
        if problem.watch is not None:
            _show(problem, run)
        if progress.interrupted:
            return Ending.INTERRUPTED
        recorder.take(run, 1 if status is ChunkEnd.BUFFER_FULL or problem.report else TOGETHER)
        if recorder.full:
            return Ending.NO_ROOM
        if status is ChunkEnd.BUFFER_FULL:
            continue
        if status is not ChunkEnd.OK:
            return status.ending
        if run.unanswered:
            return Ending.ELSEWHERE
        if course.hopeless:
            return Ending.HOPELESS
        _write_down(problem, course, recorder)
        if problem.lanes == 1 and now - looked > CHUNK_SECONDS:
            looked = now
            if np.abs(run.state).max(initial=0.0) > GROWN:
                return Ending.GROWN
            if problem.is_open is not None and problem.is_open(run.time, run.state):
                return Ending.OPEN
        size = min(int(size * min(4.0, max(0.25, CHUNK_SECONDS / max(now - begun, 1e-9)))) + 1, LARGEST_CHUNK)
    return Ending.DONE


def _sample(problem: Problem, run: Any) -> bool:
    """Ask callables that are due; whether some were."""
    feed = problem.feed
    asked = feed.sample(run.time, _reader(problem, run.time, run.state))
    if asked:
        run.hold(feed.held) if feed.holds else run.set_inputs(feed.table())
    return asked


@calls_users
def _show(problem: Problem, run: Any) -> None:
    """Let who watches look; one that fails ends the run, which keeps its results."""
    assert problem.watch is not None
    try:
        problem.watch(run.time, run.state)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        problem.feed.stop = f"the watcher raised {type(error).__name__}: {error}"
        problem.feed.cause = error


def _reader(problem: Problem, time: float, state: np.ndarray) -> PresentState:
    feed, read = problem.feed, problem.read
    if feed.holds:
        return PresentState(state, lambda name: read(time, state, feed.held, name))
    return PresentState(state, lambda name: read(time, state, feed.at(time), name))


def _counts(run: Any) -> dict[str, int]:
    counts = {"steps": run.accepted, "evaluations": run.evaluations, "rejected": run.rejected}
    if not getattr(run, "implicit", False):
        return counts
    return {**counts, "implicit_steps": run.implicit_steps, "jacobians": run.jacobians}


def _named(ended: Ending, feed: Feed) -> Ending:
    """The end, by its own name if it was the user who ended a callable; such a run cannot be resumed all the same."""
    return Ending.INTERRUPTED if ended is Ending.STOPPED and isinstance(feed.cause, KeyboardInterrupt) else ended


def _finish(problem: Problem, settings: Settings, run: Any, recorder: Recorder, ended: Ending) -> Trajectory:
    if ended is Ending.DONE:
        problem.feed.finish(run.time, _reader(problem, run.time, run.state))
        ended = Ending.STOPPED if problem.feed.stop else Ending.DONE
    last = np.concatenate([[run.time], run.state, problem.feed.at(run.time)])
    rows, table = recorder.finish(last), None
    if problem.report is not None:
        rows, table = rows[:, : len(last)], rows[:, len(last) :]
    if ended is Ending.DONE and recorder.every > 1:
        ended = Ending.NO_ROOM
    return Trajectory(
        rows,
        _named(ended, problem.feed),
        f"{recorder.remark}{reason(ended, problem, settings, run)}",
        float(run.time),
        statistics_of(problem.kernel.program, run),
        run.lost,
        problem.feed.cause,
        table,
        run.counts if problem.lanes > 1 and METHODS[settings.method].chooses_steps else None,
        run if getattr(run, "on_lanes", False) else None,
        _fed(problem, settings, float(run.time)),
        run.tied,
        last if ended is Ending.UNMET else None,
    )


def _fed(problem: Problem, settings: Settings, time: float) -> np.ndarray:
    """Inputs (2, n) at a time and a step later, as far as they are known then."""
    return np.array([problem.feed.at(time), problem.feed.at(time + settings.step)])


def statistics_of(program: Program, run: Any) -> dict[str, Any]:
    """What a run counted, and its events."""
    statistics: dict[str, Any] = _counts(run)
    if run.takeover is not None:
        statistics["walked"] = run.takeover.walked
    names = program.events
    if names:
        if run.leaps:
            statistics["fallback"] = list(run.leaps)
        statistics["events"] = [(float(time), names[int(guard)]) for time, guard in run.events]
    return statistics
