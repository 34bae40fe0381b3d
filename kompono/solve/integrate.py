"""Run a kernel from a start state to an end time: native chunks, sampled inputs, and a status instead of an
exception.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from kompono.errors import RunError, nearest
from kompono.solve.inputs import Feed, Present
from kompono.solve.progress import Progress
from kompono.solve.scipy_methods import SCIPY_METHODS, integrate_scipy

FIXED = ("rk2", "rk4", "adams", "leapfrog")
METHODS = (*FIXED, "dopri5", *SCIPY_METHODS)
CHUNK_SECONDS = 0.1
LARGEST_CHUNK = 1 << 40  # steps; chunks cut short by sampled inputs say little about how many would fit
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
    if every is None:
        every = records if step is None else 1
    return Settings(method or usual, until, size if step is None else step, every, *tolerances, stabilize)


def check_settings(settings: Settings) -> None:
    """Raise RunError for a method that does not exist or numbers that make no sense."""
    if settings.method not in METHODS:
        raise RunError(
            f"there is no method {settings.method!r}.",
            fix=nearest(settings.method, METHODS) or f"Methods: {', '.join(METHODS)}.",
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
    if settings.rtol + settings.atol <= 0:
        raise RunError("tolerances must be positive.", fix="Use e.g. rtol=1e-8.")


def integrate(problem: Problem, settings: Settings, progress: Progress | bool | None) -> Trajectory:
    """Run with the method asked for; progress is told to who is given, or shown if asked for (None: on terminals)."""
    check_settings(settings)
    if settings.method not in SCIPY_METHODS and not hasattr(problem.kernel, "fixed"):
        raise RunError(
            f"{settings.method} runs in native code only.", fix="Use native=True, or a SciPy method such as 'DOP853'."
        )
    given = nullcontext(progress) if isinstance(progress, Progress) else Progress(settings.until, progress)
    with given as watcher:
        if settings.method in FIXED:
            return _fixed(problem, settings, watcher)
        if settings.method == "dopri5":
            return _adaptive(problem, settings, watcher)
        if problem.kernel.program.events:
            raise RunError(f"{settings.method} cannot locate events.", fix="Use rk2, rk4, adams or dopri5.")
        rows, ok, message, reached, statistics = integrate_scipy(problem, settings, watcher)
        return Trajectory(rows, ok, message, reached, statistics)


class _Recorder:
    """Rows of a run; older ones than `keep` seconds before the last are dropped as it goes on."""

    def __init__(self, keep: float = np.inf) -> None:
        self.parts: list[np.ndarray] = []
        self.keep = keep

    def take(self, run: Any, least: int = 1) -> None:
        """Take the rows a run has, if there are so many at least."""
        if run.rows >= least:
            self.parts.append(run.take())
            while self.parts[0][-1, 0] < self.parts[-1][-1, 0] - self.keep:
                del self.parts[0]

    def finish(self, last: np.ndarray) -> np.ndarray:
        """All rows, the last state among them."""
        rows = np.concatenate(self.parts) if self.parts else last[None, :]
        rows = rows[np.searchsorted(rows[:, 0], last[0] - self.keep) :]
        return rows if len(rows) and rows[-1, 0] >= last[0] else np.vstack([rows, last])


def _fixed(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    h = settings.step
    whole = int(np.floor(settings.until / h + 1e-9))
    rest = settings.until - whole * h
    recorder = _Recorder(settings.keep)
    feed = problem.feed
    feed.sample(0.0, _reader(problem, 0.0, problem.state))
    run = problem.kernel.fixed(
        settings.method, 0.0, problem.state, step=h, parameters=problem.parameters, inputs=feed.table(),
        every=settings.every, project=settings.stabilize, lanes=problem.lanes,
    )  # fmt: skip
    ended = _chunks(
        problem, run, recorder, progress, lambda: _next_sample(feed, h, whole) - run.step, lambda: run.step >= whole
    )
    if ended == "" and rest > 1e-9 * h:
        before, lost = _counts(run), run.lost
        run = problem.kernel.fixed(
            last_step_method(settings), whole * h, run.state.copy(), step=rest, parameters=problem.parameters,
            inputs=feed.table(), project=settings.stabilize, lanes=problem.lanes,
        )  # fmt: skip
        ended = _chunks(problem, run, _Recorder(), progress, lambda: 1, lambda: run.step >= 1)
        finished = _finish(problem, run, recorder, ended, before)
        return replace(finished, lost=np.minimum(lost, finished.lost))
    return _finish(problem, run, recorder, ended)


def last_step_method(settings: Settings) -> str:
    """The method of a last, shorter step: one that needs no past."""
    return "rk4" if settings.method == "adams" else settings.method


def _next_sample(feed: Feed, h: float, whole: int) -> int:
    """Number of the step at or after which a callable must be asked, at most the last."""
    due = feed.next_due
    return whole if due == np.inf else min(whole, int(np.ceil(due / h - 1e-9)))


def _adaptive(problem: Problem, settings: Settings, progress: Progress) -> Trajectory:
    recorder = _Recorder(settings.keep)
    feed = problem.feed
    feed.sample(0.0, _reader(problem, 0.0, problem.state))
    run = problem.kernel.adaptive(
        0.0, problem.state, until=min(settings.until, feed.next_due), interval=settings.step * settings.every,
        rtol=settings.rtol, atol=settings.atol, parameters=problem.parameters, inputs=feed.table(),
        project=settings.stabilize,
    )  # fmt: skip

    def budget() -> int:
        if run.done:
            run.aim(min(settings.until, feed.next_due))
        return 1 << 30

    ended = _chunks(problem, run, recorder, progress, budget, lambda: run.time >= settings.until)
    return _finish(problem, run, recorder, ended)


def _chunks(
    problem: Problem,
    run: Any,
    recorder: _Recorder,
    progress: Progress,
    budget: Callable[[], int],
    done: Callable[[], bool],
) -> str:
    """Advance chunk by chunk until done; returns why it ended early, or nothing."""
    ended = _advance(problem, run, recorder, progress, budget, done)
    while ended == "" and run.advance(0).name == "BUFFER_FULL":
        recorder.take(run)
    recorder.take(run)
    return ended


def _advance(
    problem: Problem,
    run: Any,
    recorder: _Recorder,
    progress: Progress,
    budget: Callable[[], int],
    done: Callable[[], bool],
) -> str:
    size = 256
    feed = problem.feed
    while not done():
        if feed.sample(run.time, _reader(problem, run.time, run.state)):
            run.set_inputs(feed.table())
        if feed.stop is not None:
            return "STOPPED" if feed.stop else "ENDED"
        begun = clock.perf_counter()
        status = run.advance(max(1, min(size, budget())))
        spent = clock.perf_counter() - begun
        progress.update(run.time)
        if problem.watch is not None:
            problem.watch(run.time, run.state)
        if progress.interrupted:
            return "INTERRUPTED"
        recorder.take(run, 1 if status.name == "BUFFER_FULL" else TOGETHER)
        if status.name == "BUFFER_FULL":
            continue
        if status.name != "OK":
            return status.name
        size = min(int(size * min(4.0, max(0.25, CHUNK_SECONDS / max(spent, 1e-9)))) + 1, LARGEST_CHUNK)
    return ""


def _reader(problem: Problem, time: float, state: np.ndarray) -> Present:
    return Present(state, lambda name: problem.read(time, state, problem.feed.at(time), name))


def _counts(run: Any) -> dict[str, int]:
    return {"steps": run.accepted, "evaluations": run.evaluations, "rejected": run.rejected}


def _finish(
    problem: Problem, run: Any, recorder: _Recorder, ended: str, before: dict[str, int] | None = None
) -> Trajectory:
    if ended == "":
        problem.feed.finish(run.time, _reader(problem, run.time, run.state))
        ended = "STOPPED" if problem.feed.stop else ""
    last = np.concatenate([[run.time], run.state, problem.feed.at(run.time)])
    messages = {
        "": "",
        "ENDED": "",
        "INTERRUPTED": "interrupted by the user",
        "STOPPED": problem.feed.stop or "stopped",
        "TOO_MANY_EVENTS": "more than a hundred events in one step; a guard may chatter",
        "NOT_FINITE": "a value became infinite or not a number",
        "OFF_CONSTRAINTS": "a step went so far off the joints that no projection leads back; it is too long for the "
        "speeds reached (try a smaller step, or method='dopri5')",
        "TOO_FAST": "a body turns by more than a radian in one step; the step is unstable, or too long for the speeds "
        "reached",
        "STEP_TOO_SMALL": "the step size fell below what the time can resolve; the model may be stiff or discontinuous "
        "(try method='Radau')",
    }
    statistics: dict[str, Any] = {name: count + (before or {}).get(name, 0) for name, count in _counts(run).items()}
    names = problem.kernel.program.events
    if names:
        statistics["events"] = [(float(time), names[int(guard)]) for time, guard in run.events]
    ok = ended in ("", "ENDED")
    return Trajectory(recorder.finish(last), ok, messages[ended], float(run.time), statistics, run.lost)
