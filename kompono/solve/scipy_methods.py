"""SciPy's integrators by name, stepped one by one so that loops stay closed and results survive an interruption.

The implicit ones (Radau, BDF, LSODA) get the exact Jacobian of the model, compiled before the run and sparse where it
is (LSODA wants it dense); of models with sealed parts, which nobody can differentiate, SciPy takes differences. After
each step the state is projected back on the loop conditions, a change of the order of the tolerance (not for LSODA,
whose history cannot be reached).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile.evaluator import Unanswered
from kompono.compile.sampling import CLOSE, counted_until
from kompono.ending import Ending
from kompono.solve import endings
from kompono.solve.course import GROWN, Outlook
from kompono.solve.endings import blamed, stalled
from kompono.solve.methods import METHODS

if TYPE_CHECKING:
    from kompono.compile.ticker import Ticker

LEAST = 1e-300  # absolute tolerance: of nothing, SciPy makes a step that is not a number, and tries it forever
SPARSE_FROM, SPARSE = 50, 0.2  # numbers of a state, and share of entries that may not be zero, of a sparse Jacobian
LOOKED = 100  # steps from one look at the size of the state to the next

Ran = tuple[np.ndarray, Ending, str, float, dict[str, Any]]


def routines_of(method: str, known: Any) -> list[str]:
    """The routines a method of SciPy calls, of those known; none for a native method."""
    if METHODS[method].native:
        return []
    import scipy.integrate  # noqa: F401 (so that a run does not wait for it)

    names = ("derivative", "project", "gap", *(("jacobian",) if METHODS[method].implicit else ()))
    return [name for name in names if name in known]


class _Watched:
    """The model as SciPy wants it; remembers whether the last rate was finite."""

    def __init__(self, problem: Any, projects: bool) -> None:
        self.kernel, self.feed, self.parameters, self.projects = (
            problem.kernel,
            problem.feed,
            problem.parameters,
            projects,
        )
        self.finite = True
        self.unanswered, self._losses = "", problem.kernel.places.losses  # which part elsewhere was lost, and why
        self.strays = False  # whether a stage was ever far off the conditions; then all are projected from there on
        self.near = 1.0  # smallest pivot where the state was last on the conditions

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        from kompono.compile.staying import NEAR

        if self.projects and "gap" in self.kernel.program.routines:
            self.strays = self.strays or self._evaluate("gap", t, y)[0] > 1
            y = self.project(t, y) if self.strays or self.near < NEAR else y
        rate = self._evaluate("derivative", t, y)
        self.finite = bool(np.all(np.isfinite(rate)))
        return rate

    @property
    def ending(self) -> Ending:
        """The kind of an end that the last evaluation means."""
        return Ending.ELSEWHERE if self.unanswered else Ending.DONE if self.finite else Ending.NOT_FINITE

    def _evaluate(self, routine: str, t: float, y: np.ndarray) -> np.ndarray:
        return self._all(routine, t, y)[0]

    def _all(self, routine: str, t: float, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """All outputs of a routine; not numbers from where a part elsewhere gave no answer."""
        if not self.unanswered:
            try:
                return self.kernel.evaluate(routine, t, y, self.feed.at(t), self.parameters)
            except Unanswered:
                pass
            finally:
                if self.kernel.places.losses != self._losses:
                    self.unanswered = self.kernel.places.last_trouble
        return tuple(np.full(size, np.nan) for _, size in self.kernel.program.routines[routine].outputs)

    def jacobian(self, t: float, y: np.ndarray) -> Any:
        return self._pattern(self._evaluate("jacobian", t, y)) if self._pattern else self.full_jacobian(t, y)

    def full_jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        return self._evaluate("jacobian", t, y).reshape(len(y), len(y)).T

    @functools.cached_property
    def _pattern(self) -> Callable[[np.ndarray], Any] | None:
        """Makes a sparse matrix of the entries of a Jacobian, where most of them are always zero."""
        import scipy.sparse

        (slots,) = self.kernel.program.routines["jacobian"].result
        size, kept = self.kernel.program.state_size, [k for k, slot in enumerate(slots) if slot != 0.0]
        if size < SPARSE_FROM or len(kept) > SPARSE * len(slots):
            return None
        starts = np.searchsorted(kept, np.arange(size + 1) * size)
        rows = np.array(kept) % size
        return lambda entries: scipy.sparse.csc_matrix((entries[kept], rows, starts), shape=(size, size))

    def project(self, t: float, y: np.ndarray) -> np.ndarray:
        if not self.projects:
            return y
        projected, *near = self._all("project", t, y)
        self.near = float(near[0][0]) if near else 1.0
        return projected


def integrate_scipy(problem: Any, settings: Any, progress: Any) -> Ran:
    """Rows (time, state..., inputs...) at multiples of the recording interval, the kind of its end, the reason, the
    time reached [s] and statistics.
    """
    import scipy.integrate

    feed, times = problem.feed, _instants(settings)
    model = _Watched(problem, settings.stabilize and "project" in problem.kernel.program.routines)
    method = getattr(scipy.integrate, settings.method)
    needed = routines_of(settings.method, problem.kernel.program.routines)
    slopes = model.full_jacobian if settings.method == "LSODA" else model.jacobian
    options = {"jac": slopes} if "jacobian" in needed else {}
    statistics = {"steps": 0, "evaluations": 0, "rejected": 0}
    state, time = problem.state.copy(), settings.begin
    rows: list[np.ndarray] = []
    diary = _Diary(problem.journal, model, statistics)
    if diary.resumed is not None:
        rows, time, state = diary.recall()
    pace, ticker = Outlook(settings.until, settings.max_steps, time), _ticker(problem, time)
    while time < settings.until or not rows:
        feed.sample(time, lambda name, t=time, y=state: problem.read(t, y, feed.at(t), name))
        rows, state = _sampled(problem, ticker, time, state, rows, times)
        if feed.stop is not None:
            return _until(rows, time, state, feed), Ending.STOPPED, feed.stop, time, statistics
        if not len(state):  # nothing moves, but time goes on
            rows += [np.concatenate([[t], feed.at(t)]) for t in times[len(rows) :] if t <= feed.next_due]
            time = min(settings.until, feed.next_due)
            continue
        model.rate(time, state)
        if not model.ending.ok:
            return np.array(rows), model.ending, model.unanswered or endings.NOT_FINITE, time, statistics
        if time >= settings.until:
            break
        end = ticker.end(min(settings.until, feed.next_due))
        tolerances = {"rtol": max(settings.rtol, 1e-13), "atol": max(settings.atol, LEAST)}
        solver = diary.started(method(model.rate, time, state, end, **tolerances, **options))
        good = state
        while solver.status == "running":
            ended, message, recorded = _moved(solver, model, _before(ticker, times[len(rows) :]), feed)
            if not ended.ok:
                if message == solver.TOO_SMALL_STEP:
                    message = endings.STEP_TOO_SMALL + blamed(problem, settings, time, good)
                return _until(rows, time, good, feed), ended, message, time, statistics
            rows += recorded
            time = float(solver.t)
            statistics["steps"] += 1
            good = solver.y.copy()
            progress.update(time)
            diary.write(rows, solver, feed)
            if progress.interrupted:
                diary.keep(rows, solver, feed)
                return _until(rows, time, solver.y, feed), Ending.INTERRUPTED, endings.INTERRUPTED, time, statistics
            ended, message = _stuck(problem, settings, solver, pace, statistics["steps"])
            if not ended.ok:
                return _until(rows, time, solver.y, feed), ended, message, time, statistics
        state = solver.y.copy()
        statistics["evaluations"] += solver.nfev
    rows, state = _sampled(problem, ticker, time, state, rows, times)
    return np.array(rows), Ending.DONE, "", float(time), statistics


def _ticker(problem: Any, time: float) -> Ticker:
    """What is sampled from a time [s] on."""
    from kompono.compile.ticker import Ticker
    from kompono.solve.asking import Asking

    program, feed = problem.kernel.program, problem.feed
    functions: list[Any] = [one.function for one in feed.controllers]
    asking = Asking(program, functions, feed) if functions else None
    return Ticker(problem.kernel, asking, counted_until(program.rates, time))


def _sampled(
    problem: Any, ticker: Ticker, time: float, state: np.ndarray, rows: list[np.ndarray], times: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows and state behind samples at a time [s]; the row of that time, if it has one, shows what is behind them."""
    feed = problem.feed
    if ticker.due(time) and feed.stop is None:
        found = ticker.sample(time, state, feed.at(time), problem.parameters)
        state = state if found is None else found
        if len(rows) < len(times) and times[len(rows)] <= time * (1 + CLOSE):
            rows = [*rows, np.concatenate([[times[len(rows)]], state, feed.at(time)])]
    return rows or [np.concatenate([[time], state, feed.at(time)])], state


def _before(ticker: Ticker, times: np.ndarray) -> np.ndarray:
    """Of recording times those before the next samples."""
    return times[
        : np.searchsorted(times, ticker.next * (1 - 1e-14) - CLOSE * (times[1] - times[0] if len(times) > 1 else 0))
    ]


def _instants(settings: Any) -> np.ndarray:
    """When rows are recorded [s]: at multiples of the interval, and at the end."""
    interval = settings.step * settings.every
    times = settings.begin + np.arange(int(np.floor(settings.span / interval + 1e-9)) + 1) * interval
    return np.append(times, settings.until) if settings.until - times[-1] > 1e-9 * interval else times


class _Diary:
    """What a run of SciPy's writes down as it goes, if it does. A method of one step goes on as if nothing had
    been; one that remembers more begins anew with the step it had.
    """

    def __init__(self, journal: Any, model: _Watched, statistics: dict[str, Any]) -> None:
        self._journal, self._model, self._statistics = journal, model, statistics
        self.resumed: Any = journal.resumed if journal is not None else None
        self._step: float | None = None  # [s] to begin with
        self._parts: list[np.ndarray] = []
        self._count = 0  # of rows in parts

    def recall(self) -> tuple[list[np.ndarray], float, np.ndarray]:
        """Rows, time [s] and state where the run in the file was."""
        words = self.resumed.words["scipy"]
        rows = self.resumed.take_rows()
        self._parts, self._count = [rows], len(rows)
        self._statistics.update(words["statistics"])
        self._model.strays, self._model.near, self._step = words["strays"], words["near"], words["step"]
        return list(rows), float(words["time"]), np.array(words["state"], dtype=float)

    def started(self, solver: Any) -> Any:
        """A new solver, with the step of the one before if it takes its place."""
        if self._step is not None:
            self._statistics["evaluations"] -= solver.nfev
            if hasattr(solver, "h_abs"):
                solver.h_abs = self._step
            self._step = None
        return solver

    def write(self, rows: list[np.ndarray], solver: Any, feed: Any) -> None:
        """Write down where the run is, if it is time to."""
        if self._journal is not None and self._journal.due:
            self._journal.write(self._all(rows), *self._memory(solver, feed))

    def keep(self, rows: list[np.ndarray], solver: Any, feed: Any) -> None:
        """The run ends here because it was asked to."""
        if self._journal is not None:
            self._journal.keep(self._all(rows), *self._memory(solver, feed))

    def _all(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        if len(rows) > self._count:
            self._parts.append(np.array(rows[self._count :]))
            self._count = len(rows)
        return self._parts

    def _memory(self, solver: Any, feed: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
        counts = {**self._statistics, "evaluations": self._statistics["evaluations"] + solver.nfev}
        step = float(solver.h_abs) if solver.status == "running" and hasattr(solver, "h_abs") else None
        words = {
            "time": float(solver.t), "state": solver.y.tolist(), "step": step, "strays": bool(self._model.strays),
            "near": float(self._model.near), "statistics": counts,
        }  # fmt: skip
        return {"scipy": words, "feed": feed.memory()}, {}, np.zeros((0, 2))


def _stuck(problem: Any, settings: Any, solver: Any, pace: Outlook, made: int) -> tuple[Ending, str]:
    """The kind of an end before the end, and why: steps that lead nowhere, a motion without bound."""
    time = float(solver.t)
    if pace.look(made, time, float(solver.step_size or 0.0)):
        why = stalled(made, time, float(solver.step_size or 0.0), settings)
        return Ending.HOPELESS, why + blamed(problem, settings, time, solver.y)
    if made % LOOKED == 0 and np.abs(solver.y).max(initial=0.0) > GROWN:
        return Ending.GROWN, endings.GROWN
    return Ending.DONE, ""


def _until(rows: list[np.ndarray], time: float, state: np.ndarray, feed: Any) -> np.ndarray:
    """All rows, and one at the last good state."""
    last = [np.concatenate([[time], state, feed.at(time)])] if time > rows[-1][0] else []
    return np.array([*rows, *last])


def _moved(solver: Any, model: _Watched, times: np.ndarray, feed: Any) -> tuple[Ending, str, list[np.ndarray]]:
    """One step, back on the conditions: the kind of its failure and why, or nothing, and the rows it passed."""
    (ended, message), recorded = _step(solver, model), []
    if ended.ok:
        recorded = _recorded(solver, model, times, feed)
        if model.projects:
            _replace(solver, model.project(float(solver.t), solver.y))
    if model.unanswered:
        return Ending.ELSEWHERE, model.unanswered, []
    return ended, message, recorded


def _step(solver: Any, model: _Watched) -> tuple[Ending, str]:
    """One step; the kind of its failure and SciPy's words for it, if it failed."""
    try:
        message = solver.step() or ""
    except (ValueError, np.linalg.LinAlgError) as error:
        message = str(error)
    else:
        if solver.status != "failed" and np.all(np.isfinite(solver.y)):
            return Ending.DONE, ""
    if not model.finite or not message:
        return Ending.NOT_FINITE, endings.NOT_FINITE
    return Ending.STEP_TOO_SMALL, message


def _recorded(solver: Any, model: _Watched, times: np.ndarray, feed: Any) -> list[np.ndarray]:
    """Rows at the recording times the last step passed."""
    due = times[: np.searchsorted(times, solver.t * (1 + 1e-14), side="right")]
    if not len(due):
        return []
    dense = solver.dense_output()
    states = [model.project(t, solver.y if t >= solver.t else dense(t)) for t in due]
    return [np.concatenate([[t], y, feed.at(t)]) for t, y in zip(due, states, strict=True)]


def _replace(solver: Any, state: np.ndarray) -> None:
    """Put a slightly corrected state into a solver between two steps."""
    name = type(solver).__name__
    if name == "LSODA":
        return
    if name == "BDF":
        solver.D[0] = state
    else:
        solver.f = solver.fun(solver.t, state)
    solver.y = state
