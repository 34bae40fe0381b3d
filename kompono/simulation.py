"""The façade: model -> translate -> compile -> assemble -> integrate -> result."""

from __future__ import annotations

import functools
import time as clock
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import compile_program
from kompono.compile.cache import Shelf
from kompono.errors import AssemblyError, ModelWarning, RunWarning, warn
from kompono.explain import Explainer, check_guards
from kompono.model.subsystem import Subsystem
from kompono.notice import Notice
from kompono.options import Watcher, check_known, check_method, check_options, checked, overridden, typed, with_kinds
from kompono.result import Result, Status, matching
from kompono.selection import select_outputs
from kompono.solve.assemble import Assembly, remarks
from kompono.solve.controllers import at_work
from kompono.solve.inputs import Feed, feed_of
from kompono.solve.integrate import Problem, Settings, Trajectory, check_settings, integrate, settings_for
from kompono.solve.outcome import OPEN, Outcome, Outputs, check_step, conclude
from kompono.solve.outcome import channels as channels_of
from kompono.solve.reading import ChannelReader, column_finder
from kompono.solve.scipy_methods import routines_of
from kompono.starting import closed_start, declared_sources, find_start, more_independent
from kompono.translate import NESTED_FROM, Translation, assembly_program, translate
from kompono.translate.start import check_tuned_bodies

if TYPE_CHECKING:
    from kompono.realtime import RealTime
    from kompono.realtime.session import Session
    from kompono.solve.linked import Linking
    from kompono.solve.stiffness import Given
    from kompono.translate.relative import Close


class Simulation:
    """A translated and compiled model, ready to run; `simulate` makes one for a single run.

    A tree of at least `nested_from` bodies is translated by types of components; then up to `threads` threads work on
    one run (None: as many as pay).
    """

    @with_kinds
    def __init__(
        self,
        model: Subsystem,
        *,
        engine: str = "relative",
        cut: Iterable[str] = (),
        independent: Iterable[str] = (),
        closed: Iterable[str] = (),
        projection: str | None = None,
        metric: str | None = None,
        baumgarte: tuple[float, float] = (20.0, 20.0),
        native: bool = True,
        cache: bool = True,
        threads: int | None = None,
        nested_from: int = NESTED_FROM,
        stiffness: Given = None,
        damping: Given = None,
    ) -> None:
        begun = clock.perf_counter()
        check_options(
            engine, {"projection": projection, "metric": metric}, {"stiffness": stiffness, "damping": damping}
        )
        self._cut, self._independent, self._cache = tuple(cut), tuple(independent), cache
        self._shelf = Shelf() if cache else None
        self._translate = functools.partial(
            translate, model, engine=engine, cut=self._cut, independent=self._independent, baumgarte=baumgarte,
            projection=projection or "distributed", metric=metric or "mass", nested_from=nested_from, shelf=self._shelf,
            closed=tuple(closed),
        )  # fmt: skip
        self._compile = functools.partial(compile_program, native=native, cache=cache, threads=threads)
        self._make(closed_start)
        self.engine = engine
        self.links: Linking | None = None
        if engine == "discrete":
            from kompono.solve.linked import Linking  # others start without it

            self.links = Linking(self.kernel, self.translation.engine, stiffness, damping)
        self.seconds_translate = clock.perf_counter() - begun

    def _make(self, close: Close | None) -> None:
        """Translate, with redundant conditions judged at the start `close` finds, or else by pivots at run time."""
        with Notice("translating"):
            self.translation: Translation = self._translate(close=close)
        self.program = self.translation.program
        self.kernel: Any = self._compile(self.program)

    def parameters(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Values of all tunable parameters, some replaced by path."""
        declared = {self.translation.model.path(p): p.value for p in self.translation.model.parameters}
        result = np.array(overridden(declared, given), dtype=float)
        check_tuned_bodies(self.translation.model, result)
        return result

    def feed(self, given: Mapping[str, Any] | None = None) -> Feed:
        """What feeds the inputs, some replaced by path."""
        (given,) = checked(inputs=given)
        declared = declared_sources(self.translation.model)
        check_known(given or {}, declared, "input")
        return feed_of(declared, given or {})

    def assemble(
        self,
        initial: Mapping[str, float] | None = None,
        *,
        parameters: np.ndarray | None = None,
        feed: Feed | None = None,
        native: bool = False,
        time: float = 0.0,
    ) -> Assembly:
        """The consistent state at the start, or another `time` [s], and which coordinates had to move; `native` pays if
        it is asked for often.
        """
        feed = feed or self.feed()
        values = self.parameters() if parameters is None else parameters
        try:
            found = find_start(self, initial, values, feed, native, time)
            if not more_independent(self, found):
                return found
        except AssemblyError:
            if not self.program.slips or not (initial or np.any(values != self.parameters())):
                raise
        self._make(None)  # conditions that are implied at the declared start are not so here
        return find_start(self, initial, values, feed, native, time)

    @functools.cached_property
    def placing(self) -> Translation:
        """The model in joint coordinates, for the start of engines that place every body."""
        return assembly_program(self.translation.model, cut=self._cut, independent=self._independent, shelf=self._shelf)

    @functools.cached_property
    def placing_kernel(self) -> Any:
        """The same in native code."""
        return compile_program(self.placing.program, cache=self._cache)

    @functools.cached_property
    def reader(self) -> ChannelReader:
        """Channels by name for callable inputs; what it has learned serves all runs."""
        return ChannelReader(self.kernel, column_finder(self.program.channels), self.translation.select)

    def channel(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, name: str) -> float:
        """One channel at one state."""
        return self.reader.run(parameters)(time, state, inputs, name)

    @with_kinds
    def run(
        self,
        settings: Settings,
        *,
        channels: str | Iterable[str] = "*",
        inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        initial: Mapping[str, float] | None = None,
        progress: bool | None = None,
        realtime: RealTime | bool = False,
        watcher: Watcher | None = None,
    ) -> Result:
        """Assemble and run; a run that fails returns its reason and all results up to it."""
        settings, progress = _paced(typed(settings), progress, realtime)
        check_settings(settings)
        check_method(self.engine, settings.method)
        values, feed = self.parameters(parameters), self.feed(inputs)
        assembly = self.assemble(initial, parameters=values, feed=feed)
        outputs = replace(select_outputs(self.translation, channels), open=OPEN + 10 * assembly.gap)
        for remark in remarks(assembly):
            warn(remark, ModelWarning)
        values = self.completed(values, assembly.state, feed, settings.step)
        state = self.started(assembly.state, values, feed)
        seconds_compile = self.prepare(settings.method, outputs.routine)
        with at_work(feed.sources) as sources:
            feed = Feed(sources)
            session = self._session(realtime, feed, outputs, values) if realtime else None
            with session or nullcontext():
                begun, made = clock.perf_counter(), self.reader.seconds
                problem = self.problem(state, values, session.feed if session else feed, outputs, settings)
                problem.started = functools.partial(check_guards, self.program, state, values)
                if watcher is not None:
                    problem.watch = self.watch(watcher, values, feed)
                    problem.watch(0.0, state)
                trajectory = integrate(problem, settings, progress)
                made = self.reader.seconds - made
                seconds = clock.perf_counter() - begun - made
        trajectory.statistics.update(
            degrees_of_freedom=assembly.degrees_of_freedom,
            redundant=list(assembly.redundant),
            seconds_translate=self.seconds_translate,
            seconds_compile=seconds_compile + made,
            seconds_run=seconds,
        )
        scene = functools.partial(_scenery, self.translation.model.model, parameters)
        result = self._result(trajectory, outputs, settings, values, scene)
        return session.complete(result) if session else result

    def _result(
        self, trajectory: Trajectory, outputs: Outputs, settings: Settings, parameters: np.ndarray, scene: Any
    ) -> Result:
        """Channels and status of a run that is over; one that did not end as planned warns."""
        table = channels_of(self.kernel, outputs, trajectory.rows, parameters)
        outcome = conclude(self.kernel, trajectory, outputs, table, settings, parameters)
        check_step(self.kernel, outcome, settings, parameters)
        chosen = [outputs.computed[i] for i in outputs.wanted]
        status = self.status(outcome, settings, parameters, records=trajectory.rows)
        if not status.ok:
            warn(f"{self.name} did not run as planned: {status.message}", RunWarning)
        about = {"method": settings.method, "engine": self.engine, "step": settings.step}
        return Result(
            outcome.times,
            [channel.name for channel in chosen],
            outcome.table,
            units={channel.name: channel.unit for channel in chosen},
            status=status,
            statistics={**about, **outcome.statistics},
            model=self.name,
            scene=scene,
        )

    def _session(self, realtime: RealTime | bool, feed: Feed, outputs: Outputs, parameters: np.ndarray) -> Session:
        """What keeps a run in step with the clock; observers read the channels that are recorded."""
        from kompono.realtime import session

        wanted = list(outputs.wanted)
        channels = [(outputs.computed[i].name, outputs.computed[i].unit) for i in wanted]

        def evaluate(time: float, state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
            return self.kernel.evaluate(outputs.routine, time, state, inputs, parameters)[0][wanted]

        return session.start(realtime, feed, channels, evaluate, self.name)

    def completed(
        self, parameters: np.ndarray, state: np.ndarray, feed: Feed, step: float, time: float = 0.0
    ) -> np.ndarray:
        """All parameters of the program: those of the model and, on the discrete engine, those of the links, which
        depend on the step [s] and the start; whatever runs or evaluates the program wants these.
        """
        return parameters if self.links is None else self.links.complete(state, feed.at(time), parameters, step, time)

    def started(self, state: np.ndarray, parameters: np.ndarray, feed: Feed, time: float = 0.0) -> np.ndarray:
        """The state a run begins with: on the discrete engine with the deflections that carry the loads there."""
        return state if self.links is None else self.links.loaded(state, feed.at(time), parameters, time)

    @property
    def name(self) -> str:
        """The class of the model."""
        return type(self.translation.model.model).__name__

    def problem(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        feed: Feed,
        outputs: Outputs | None = None,
        settings: Settings | None = None,
    ) -> Problem:
        """What `integrate` wants, from a consistent state; with `outputs` and `settings` it looks at the drift, too."""
        problem = Problem(self.kernel, state, parameters, feed, self.reader.run(parameters))
        if outputs is not None and settings is not None and settings.stabilize and "project" in self.program.routines:

            def is_open(time: float, now: np.ndarray) -> bool:
                (values, *_) = self.kernel.evaluate(outputs.routine, time, now, feed.at(time), parameters)
                return bool(values[outputs.drift] > outputs.open)

            problem.is_open = is_open
        return problem

    def watch(self, watcher: Watcher, parameters: np.ndarray, feed: Feed) -> Callable[[float, np.ndarray], None]:
        """A function of time and state that tells a watcher the channels it wants, in its order."""
        columns = [matching(name, self.program.channels)[0] for name in watcher.channels]
        chosen = sorted(set(columns))
        routine, order = self.translation.select(chosen), [chosen.index(column) for column in columns]

        def tell(time: float, state: np.ndarray) -> None:
            (values,) = self.kernel.evaluate(routine, time, state, feed.at(time), parameters)
            watcher.update(time, np.asarray(values)[order])

        return tell

    def prepare(self, method: str, outputs: str) -> float:
        """Have native code made (or found in the cache) before the clock of the run starts; seconds it took."""
        begun = clock.perf_counter()
        if hasattr(self.kernel, "prepare"):
            needed = routines_of(method, self.program.routines)
            self.kernel.prepare(routine=outputs, routines=needed, method="" if needed else method)
        return clock.perf_counter() - begun

    def status(
        self,
        outcome: Outcome,
        settings: Settings,
        parameters: np.ndarray,
        explain: bool = True,
        records: np.ndarray | None = None,
    ) -> Status:
        """How the run ended, with the component to blame if asked for and where it can be found (in `records`)."""
        return Explainer(self.translation, self.kernel, self.links).status(
            outcome, settings, parameters, explain, records
        )


@with_kinds
def simulate(
    model: Subsystem,
    *,
    until: float,
    step: float | None = None,
    method: str | None = None,
    engine: str = "relative",
    rtol: float = 1e-8,
    atol: float | None = None,
    every: int | None = None,
    guard_checks: int = 1,
    max_steps: int | None = None,
    channels: str | Iterable[str] = "*",
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    stabilize: bool = True,
    cut: Iterable[str] = (),
    independent: Iterable[str] = (),
    closed: Iterable[str] = (),
    projection: str | None = None,
    metric: str | None = None,
    baumgarte: tuple[float, float] = (20.0, 20.0),
    native: bool = True,
    cache: bool = True,
    threads: int | None = None,
    stiffness: Given = None,
    damping: Given = None,
    progress: bool | None = None,
    realtime: RealTime | bool = False,
    watcher: Watcher | None = None,
) -> Result:
    """Simulate a model from time 0 to `until` [s] and return its named channels.

    method: rk2, rk4 (default), adams (fixed `step` [s], default 1 ms); dopri5 and SciPy's RK23, RK45, DOP853, Radau,
    BDF, LSODA (tolerances `rtol`, `atol`, recording every `step`). `every` records each n-th step, `channels` are globs
    of what to keep. `inputs`, `parameters` and `initial` replace declared values by path. `stabilize=False` lets loop
    conditions drift. `cut` names joints that shall close loops, `independent` bodies that shall be roots of the tree,
    `closed` (globs of paths) components that shall be solved as closed parts. `threads` may work on one run of a large
    model (None: as many as pay). `realtime=True`, or a `kompono.realtime.RealTime`, keeps the run in step with the
    clock and lets others read channels and write inputs meanwhile; `until` may be infinite then. `watcher` looks on (a
    `LiveView`). `guard_checks` looks so often at the guards in each step; `max_steps` ends a run that chooses its steps
    (None: if they lead nowhere). A run that fails warns (`RunWarning`), `result.status` says why, `check()` raises.

    engine="discrete" makes tiny steps (default 1e-5 s, each hundredth recorded) with joints as springs and dampers, as
    stiff as the step allows. `stiffness` and `damping` replace that: a number for all, or a mapping from paths or globs
    to a number or one for each group of conditions (a revolute joint has two: point [N/m] and axis [N m/rad]).
    """
    tolerances = rtol, 1e-3 * rtol if atol is None else atol
    settings = settings_for(engine, until, step, method, every, tolerances, stabilize)
    settings = replace(settings, guard_checks=guard_checks, max_steps=max_steps)
    check_settings(_paced(settings, progress, realtime)[0])
    simulation = Simulation(
        model, engine=engine, cut=cut, independent=independent, closed=closed, projection=projection, metric=metric,
        baumgarte=baumgarte, native=native, cache=cache, threads=threads, stiffness=stiffness, damping=damping,
    )  # fmt: skip
    return simulation.run(
        settings, channels=channels, inputs=inputs, parameters=parameters, initial=initial, progress=progress,
        realtime=realtime, watcher=watcher,
    )  # fmt: skip


def _paced(settings: Settings, progress: bool | None, realtime: RealTime | bool) -> tuple[Settings, bool | None]:
    """Settings and progress of a run; one in real time shows no bar by itself, for drawing it takes long."""
    if not realtime:
        return settings, progress
    from kompono.realtime.session import as_options

    return as_options(realtime).settings(settings), bool(progress)


def _scenery(*arguments: Any) -> Any:
    """The scene of a run, made when it is asked for; most runs are not looked at in 3D."""
    from kompono.scene.record import scenery

    return scenery(*arguments)
