"""The façade: model -> translate -> compile -> assemble -> integrate -> result."""

from __future__ import annotations

import functools
import time as clock
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import compile_program
from kompono.compile.cache import DiskShelf
from kompono.elsewhere.which import remote_hosts
from kompono.errors import AssemblyError, RunError
from kompono.explain import Explainer, check_guards
from kompono.given import number
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.notice import Notice
from kompono.options import Watcher, check_known, checked, overridden, typed, with_kinds
from kompono.ready import completed, started
from kompono.request import IMPACTS, STEPS, Request
from kompono.result import Result, Status
from kompono.run_end import RunEnd
from kompono.running import run
from kompono.solve.assemble import Assembly
from kompono.solve.estimate import Before
from kompono.solve.inputs import Feed, feed_of
from kompono.solve.integrate import Problem, Settings
from kompono.solve.outcome import Outcome, Outputs, opening, reporter
from kompono.solve.reading import ChannelReader, column_finder
from kompono.solve.scipy_methods import routines_of
from kompono.solve.settings import check_events, check_stages
from kompono.solve.settling import Settler, settler_of
from kompono.starting import (
    check_followed,
    check_unfed,
    closed_start,
    declared_controllers,
    declared_sources,
    find_start,
    more_independent,
    unlocked,
)
from kompono.translate import Translation, assembly_program, away_translation, translated
from kompono.translate.engines.registry import check_options, engine_named
from kompono.translate.starts.start import check_tuned_bodies

if TYPE_CHECKING:
    from kompono.elsewhere.hosts import Host
    from kompono.realtime import RealTime
    from kompono.solve.linked import Linking
    from kompono.solve.stiffness import Given
    from kompono.translate.engines.judging import Close


class Simulation:
    """A translated and compiled model, ready to run; `simulate` makes one for a single run.

    A tree of at least `nested_from` bodies is translated by types of components; then up to `threads` threads work on
    one run (None: as many as pay). `elsewhere` are hosts that keep the state of closed parts, by path.
    """

    @heeded
    @with_kinds
    def __init__(
        self,
        model: Subsystem,
        *,
        engine: str = "relative",
        cut: Iterable[str] = (),
        independent: Iterable[str] = (),
        closed: Iterable[str] = (),
        isolate: Iterable[str] = (),
        elsewhere: Mapping[str, Host] | None = None,
        projection: str | None = None,
        metric: str | None = None,
        baumgarte: tuple[float, float] = (20.0, 20.0),
        contact: str = "events",
        errors: str = "whole",
        native: bool = True,
        cache: bool = True,
        threads: int | None = None,
        nested_from: int = 1000,
        stiffness: Given = None,
        damping: Given = None,
    ) -> None:
        self._begin(model, Request.of(locals()))

    @classmethod
    def of(cls, model: Subsystem, request: Request) -> Simulation:
        """The simulation a request asks for."""
        made = cls.__new__(cls)
        made._begin(model, request)
        return made

    def _begin(self, model: Subsystem, request: Request) -> None:
        begun = clock.perf_counter()
        check_options(request)
        self._hosts = dict(request.elsewhere or {})
        request = replace(request, closed=(*request.closed, *self._hosts))
        self.request, self.engine, self.entry = request, request.engine, engine_named(request.engine)
        self._model, self._shelf = model, DiskShelf() if request.cache else None
        self._make(closed_start)
        self.links: Linking | None = None
        if self.entry.links:
            from kompono.solve.linked import Linking  # others start without it

            self.links = Linking(self.kernel, self.translation.engine, request.stiffness, request.damping)
        self.seconds_translate = clock.perf_counter() - begun

    def _make(self, close: Close | None) -> None:
        """Translate, with redundant conditions judged at the start `close` finds, or else by pivots at run time."""
        asked = self.request
        with Notice("translating"):
            self.near: Translation = translated(self._model, asked, shelf=self._shelf, close=close)  # all parts here
        self.remote = remote_hosts(self.near.model)
        hosts = self._hosts | self.remote
        self.translation = away_translation(self.near, list(hosts)) if hosts else self.near
        self.program = self.translation.program
        make = functools.partial(compile_program, native=asked.native, cache=asked.cache, threads=asked.threads)
        self.kernel: Any = _away(self.translation, hosts, make) if hosts else make(self.program)
        self.settler: Settler | None = settler_of(self.kernel, asked.contact == STEPS, asked.contact == IMPACTS)

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
        check_unfed(self.translation.model, given or {})
        check_known(given or {}, declared, "input")
        feed = feed_of(declared, given or {}, declared_controllers(self.translation.model))
        if self.translation.program.laws:
            check_followed(self.translation.model, feed)
        return feed

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
        (initial,) = checked(initial=initial)
        time = number(time, "the time", error=RunError, fix="Give seconds.")
        values = self.parameters() if parameters is None else parameters
        try:
            with self.near.kept_together():
                found = find_start(self, initial, values, feed, native, time)
            if not more_independent(self, found) and not unlocked(self, found.state):
                return found
        except AssemblyError:
            if not self.program.slips or not (initial or np.any(values != self.parameters())):
                raise
        self._make(None)  # conditions that are implied at the declared start are not so here, or not locked
        return find_start(self, initial, values, feed, native, time)

    @functools.cached_property
    def placing(self) -> Translation:
        """The model in joint coordinates, for the start of engines that place every body."""
        around = getattr(self.translation.engine, "by_joints", None)
        return assembly_program(
            self.translation.model, cut=self.request.cut, independent=self.request.independent, shelf=self._shelf,
            around=around,
        )  # fmt: skip

    @functools.cached_property
    def placing_kernel(self) -> Any:
        """The same in native code."""
        return compile_program(self.placing.program, cache=self.request.cache)

    @functools.cached_property
    def reader(self) -> ChannelReader:
        """Channels by name for callable inputs; what it has learned serves all runs."""
        return ChannelReader(self.kernel, column_finder(self.program.channels), self.translation.select)

    def channel(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, name: str) -> float:
        """One channel at one state."""
        return self.reader.run(parameters)(time, state, inputs, name)

    @heeded
    @with_kinds
    def run(
        self,
        settings: Settings,
        *,
        channels: str | Iterable[str] = "*",
        inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        initial: Mapping[str, float] | None = None,
        start: Result | RunEnd | None = None,
        progress: bool | None = None,
        realtime: RealTime | bool = False,
        watcher: Watcher | None = None,
        hdf5: str | Path | None = None,
        resume: str | Path | None = None,
        request: Mapping[str, Any] | None = None,
        before: Before | None = None,
    ) -> Result:
        """Assemble and run; a run that fails returns its reason and all results up to it. `hdf5`, `resume` and `start`
        as of `simulate` (`settings.begin`, if it is not 0, says when); `request` are the options a file shall remember
        the run by.
        """
        asked, settings = Request.of(locals(), self.request), typed(settings)
        if asked.start is not None and not settings.begin:
            settings = replace(settings, begin=asked.start.time)
        return run(self, settings, asked, request)

    def completed(
        self, parameters: np.ndarray, state: np.ndarray, feed: Feed, step: float, time: float = 0.0
    ) -> np.ndarray:
        """All parameters of the program: those of the model and, on the discrete engine, those of the links, which
        depend on the step [s] and the start; whatever runs or evaluates the program wants these.
        """
        values, failed = completed(self, parameters[None], state[None], feed, step, time)
        if failed:
            raise failed[0]
        return values[0]

    def started(
        self, state: np.ndarray, parameters: np.ndarray, feed: Feed, time: float = 0.0, step: float = 0.0
    ) -> np.ndarray:
        """The state a run (with steps of `step` s, if they are equal) begins with: with the modes of its laws, on the
        discrete engine with the deflections that carry the loads there. Modes of a model with parts elsewhere are
        chosen when these have begun (`integrate`).
        """
        states, jammed = started(self, state[None], parameters[None], feed, time, step)
        if jammed:
            raise jammed[0]
        return states[0]

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
        """What `integrate` wants, from a consistent state; with `outputs`, `settings` it looks at guards and drift."""
        problem = Problem(self.kernel, state, parameters, feed, self.reader.run(parameters))
        if outputs is not None and settings is not None:
            problem.columns = len(outputs.computed)
            problem.started = functools.partial(check_guards, self.kernel, state, parameters)
            problem.report = reporter(self.kernel, outputs, parameters)
            problem.is_open = opening(self.kernel, outputs, settings, feed, parameters)
        return problem

    def prepare(self, method: str, outputs: str, soon: bool = True) -> float:
        """Have code made (or found in the cache) before the clock of the run starts; seconds it took. What is not
        wanted `soon` is native from the start.
        """
        begun = clock.perf_counter()
        check_events(self.program, method)
        check_stages(self.program, method)
        if hasattr(self.kernel, "prepare"):
            needed = routines_of(method, self.program.routines)
            with self.near.kept_together():
                self.kernel.prepare(routine=outputs, routines=needed, method="" if needed else method, soon=soon)
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


def _away(translation: Translation, hosts: Mapping[str, Host], compiled: Any) -> Any:
    from kompono.elsewhere.kernel import away_kernel  # others start without it

    return away_kernel(translation, hosts, compiled)
