"""The façade: model -> translate -> compile -> assemble -> integrate -> result."""

from __future__ import annotations

import functools
import time as clock
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from kompono.compile import Interpreter, compile_program
from kompono.compile.cache import Shelf
from kompono.errors import ModelWarning, RunError, nearest
from kompono.model.subsystem import Subsystem
from kompono.notice import Notice
from kompono.result import Result, Status, matching
from kompono.result.unwrap import with_companions
from kompono.scene.record import scenery
from kompono.solve.assemble import Assembly, assemble
from kompono.solve.inputs import Feed, Source, feed_of
from kompono.solve.integrate import Problem, Settings, check_settings, integrate
from kompono.solve.outcome import Outcome, Outputs, conclude
from kompono.solve.outcome import channels as channels_of
from kompono.solve.scipy_methods import SCIPY_METHODS
from kompono.translate import NESTED_FROM, Translation, assembly_program, translate
from kompono.translate.diagnose import diagnose
from kompono.translate.start import check_tuned_bodies, placed_state, start_state


def select_outputs(translation: Translation, patterns: str | Iterable[str]) -> Outputs:
    """The channels a run shall give, and those computed with them because they are needed to make them continuous."""
    channels = translation.program.channels
    columns, drift = matching(patterns, channels), matching("drift.position", channels)
    needed = with_companions(channels, [*columns, *drift])
    places = {column: place for place, column in enumerate(needed)}
    return Outputs(
        translation.select(needed),
        tuple(channels[i] for i in needed),
        tuple(places[i] for i in columns),
        places[drift[0]],
    )


class Watcher(Protocol):
    """Who looks on while a run is going, about ten times a second: a live view, a recorder."""

    channels: tuple[str, ...]

    def update(self, time: float, values: np.ndarray, /) -> None:
        """The values of its channels at a time [s]."""
        ...


class Simulation:
    """A translated and compiled model, ready to run; `simulate` makes one for a single run.

    A tree of at least `nested_from` bodies is translated by types of components; then up to `threads` threads work on
    one run (None: as many as pay).
    """

    def __init__(
        self,
        model: Subsystem,
        *,
        engine: str = "relative",
        cut: Iterable[str] = (),
        independent: Iterable[str] = (),
        projection: str | None = None,
        metric: str | None = None,
        baumgarte: tuple[float, float] = (20.0, 20.0),
        native: bool = True,
        cache: bool = True,
        threads: int | None = None,
        nested_from: int = NESTED_FROM,
    ) -> None:
        begun = clock.perf_counter()
        for name, value in (("projection", projection), ("metric", metric)):
            if value is not None and engine == "relative":
                raise RunError(
                    f"{name} {value!r} belongs to engine='absolute'.",
                    fix="The relative engine keeps its loops closed by itself; stabilize=False switches that off.",
                )
        self._cut, self._independent, self._cache = tuple(cut), tuple(independent), cache
        self._shelf = Shelf() if cache else None
        with Notice(f"translating {type(model).__name__}"):
            self.translation: Translation = translate(
                model,
                engine=engine,
                cut=self._cut,
                independent=self._independent,
                projection=projection or "distributed",
                metric=metric or "mass",
                baumgarte=baumgarte,
                nested_from=nested_from,
                shelf=self._shelf,
            )
        self.program = self.translation.program
        self.kernel: Any = compile_program(self.program, native=native, cache=cache, threads=threads)
        self.engine = engine
        self.seconds_translate = clock.perf_counter() - begun

    def parameters(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Values of all tunable parameters, some replaced by path."""
        values = {self.translation.model.path(p): p.value for p in self.translation.model.parameters}
        check_known(given or {}, values, "tunable parameter")
        result = np.array([float({**values, **(given or {})}[name]) for name in values])
        if not np.all(np.isfinite(result)):
            bad = [name for name, value in zip(values, result, strict=True) if not np.isfinite(value)]
            raise RunError("the value is not finite.", path=bad[0], fix="Give a number.")
        check_tuned_bodies(self.translation.model, result)
        return result

    def feed(self, given: Mapping[str, Any] | None = None) -> Feed:
        """What feeds the inputs, some replaced by path."""
        declared = {}
        for signal in self.translation.model.inputs:
            name = self.translation.model.path(signal)
            if signal.table is not None:
                declared[name] = Source(name, table=signal.table)
            elif callable(signal.value):
                declared[name] = Source(name, function=signal.value, period=float(signal.period or 0))
            else:
                declared[name] = Source(name, value=float(signal.value))
        check_known(given or {}, declared, "input")
        return feed_of(declared, given or {})

    def assemble(
        self,
        initial: Mapping[str, float] | None = None,
        *,
        parameters: np.ndarray | None = None,
        feed: Feed | None = None,
        native: bool = False,
    ) -> Assembly:
        """The consistent start state, and which coordinates had to move; `native` pays if it is asked for often."""
        feed = feed or self.feed()
        values = self.parameters() if parameters is None else parameters
        if self.engine == "absolute":
            return self._assemble_by_joints(initial, values, feed, native)
        start = start_state(self.translation.engine, initial or {})
        return assemble(
            self.kernel if native else Interpreter(self.program), 0.0, start.state, feed.at(0.0), values,
            given_coordinates=start.given_coordinates, given_speeds=start.given_speeds,
            rows=self.translation.engine.row_labels(),
        )  # fmt: skip

    @functools.cached_property
    def placing(self) -> Translation:
        """The model in joint coordinates, for the start of the absolute engine."""
        return assembly_program(self.translation.model, cut=self._cut, independent=self._independent, shelf=self._shelf)

    @functools.cached_property
    def _placing_kernel(self) -> Any:
        return compile_program(self.placing.program, cache=self._cache)

    def _assemble_by_joints(
        self, initial: Mapping[str, float] | None, parameters: np.ndarray, feed: Feed, native: bool
    ) -> Assembly:
        """Start values are joint coordinates on every engine: assemble the tree, then place the bodies."""
        program = self.placing
        start = start_state(program.engine, initial or {})
        kernel = self._placing_kernel if native else Interpreter(program.program)
        assembly = assemble(
            kernel, 0.0, start.state, feed.at(0.0), parameters,
            given_coordinates=start.given_coordinates, given_speeds=start.given_speeds,
            rows=program.engine.row_labels(),
        )  # fmt: skip
        (values,) = kernel.evaluate("placement", 0.0, assembly.state, feed.at(0.0), parameters)
        return replace(assembly, state=placed_state(self.translation.engine, values))

    def channel(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, name: str) -> float:
        """One channel at one state."""
        channels = self.program.channels
        if not isinstance(channels, tuple):
            routine = self.translation.select(matching(name, channels))
            return float(self.kernel.evaluate(routine, time, state, inputs, parameters)[0][0])
        names = [channel.name for channel in channels]
        check_known([name], names, "channel")
        return float(self.kernel.evaluate("outputs", time, state, inputs, parameters)[0][names.index(name)])

    def run(
        self,
        settings: Settings,
        *,
        channels: str | Iterable[str] = "*",
        inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        initial: Mapping[str, float] | None = None,
        progress: bool | None = None,
        watcher: Watcher | None = None,
    ) -> Result:
        """Assemble and run; a run that fails returns its reason and all results up to it."""
        check_settings(settings)
        outputs = select_outputs(self.translation, channels)
        values, feed = self.parameters(parameters), self.feed(inputs)
        assembly = self.assemble(initial, parameters=values, feed=feed)
        _tell_moves(assembly)
        seconds_compile = self.prepare(settings.method, outputs.routine)
        begun = clock.perf_counter()
        problem = self.problem(assembly.state, values, feed)
        if watcher is not None:
            problem.watch = self.watch(watcher, values, feed)
            problem.watch(0.0, assembly.state)
        trajectory = integrate(problem, settings, progress)
        trajectory.statistics.update(
            degrees_of_freedom=assembly.degrees_of_freedom,
            redundant=list(assembly.redundant),
            seconds_translate=self.seconds_translate,
            seconds_compile=seconds_compile,
            seconds_run=clock.perf_counter() - begun,
        )
        table = channels_of(self.kernel, outputs, trajectory.rows, values)
        outcome = conclude(self.kernel, trajectory, outputs, table, settings)
        chosen = [outputs.computed[i] for i in outputs.wanted]
        return Result(
            outcome.times,
            [channel.name for channel in chosen],
            outcome.table,
            units={channel.name: channel.unit for channel in chosen},
            status=self.status(outcome, settings, values),
            statistics={
                "method": settings.method,
                "engine": self.engine,
                "step": settings.step,
                **outcome.statistics,
            },
            model=self.name,
            scene=functools.partial(scenery, self.translation.model.model, parameters),
        )

    @property
    def name(self) -> str:
        """The class of the model."""
        return type(self.translation.model.model).__name__

    def problem(self, state: np.ndarray, parameters: np.ndarray, feed: Feed) -> Problem:
        """What `integrate` wants, from a consistent state."""
        return Problem(
            self.kernel, state, parameters, feed, lambda t, y, u, name: self.channel(t, y, u, parameters, name)
        )

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
            self.kernel.prepare(routine=outputs, method=method if method not in SCIPY_METHODS else "")
        return clock.perf_counter() - begun

    def status(self, outcome: Outcome, settings: Settings, parameters: np.ndarray, explain: bool = True) -> Status:
        """How the run ended, with the component to blame if asked for and where one can be found."""
        row, end = outcome.blame, 1 + self.program.state_size
        if row is None:
            return Status(outcome.ok, outcome.message, outcome.time)
        if not outcome.ok:
            message = outcome.message
            if "not a number" in message and explain:
                where = diagnose(self.translation, outcome.time, row[1:end], row[end:], parameters, settings.step)
                hint = "; if the motion grew without bound, take a smaller step or method='dopri5',"
                message = f"{where}: {message}" if where else message + hint
            return Status(False, f"{message} at t = {outcome.time:.9g} s", outcome.time)
        kernel = Interpreter(self.program)
        g = kernel.evaluate("conditions", row[0], row[1:end], row[end:], parameters)[0]
        where = self.translation.engine.row_labels()[int(np.argmax(np.abs(g)))]
        reason = "its conditions cannot be kept; drives or constraints contradict, or the position cannot be reached,"
        return Status(False, f"{where}: {reason} from t = {row[0]:.9g} s", float(row[0]))


def simulate(
    model: Subsystem,
    *,
    until: float,
    step: float = 1e-3,
    method: str = "rk4",
    engine: str = "relative",
    rtol: float = 1e-8,
    atol: float | None = None,
    every: int = 1,
    channels: str | Iterable[str] = "*",
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    stabilize: bool = True,
    cut: Iterable[str] = (),
    independent: Iterable[str] = (),
    projection: str | None = None,
    metric: str | None = None,
    baumgarte: tuple[float, float] = (20.0, 20.0),
    native: bool = True,
    cache: bool = True,
    threads: int | None = None,
    progress: bool | None = None,
    watcher: Watcher | None = None,
) -> Result:
    """Simulate a model from time 0 to `until` [s] and return its named channels.

    method: rk2, rk4, adams (fixed `step` [s]); dopri5 and SciPy's RK23, RK45, DOP853, Radau, BDF, LSODA (tolerances
    `rtol`, `atol`, recording every `step`). `every` records each n-th step, `channels` are globs of what to keep.
    `inputs`, `parameters` and `initial` replace declared values by path. `stabilize=False` lets loop conditions drift.
    `cut` names joints that shall close loops, `independent` bodies that shall be roots of the tree. `threads` may work
    on one run of a large model (None: as many as pay). `watcher` looks on while the run is going (a `LiveView`).
    """
    settings = Settings(method, until, step, every, rtol, 1e-3 * rtol if atol is None else atol, stabilize)
    check_settings(settings)
    simulation = Simulation(
        model,
        engine=engine,
        cut=cut,
        independent=independent,
        projection=projection,
        metric=metric,
        baumgarte=baumgarte,
        native=native,
        cache=cache,
        threads=threads,
    )
    return simulation.run(
        settings, channels=channels, inputs=inputs, parameters=parameters, initial=initial, progress=progress,
        watcher=watcher,
    )  # fmt: skip


def check_known(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise for the first name given that is not known."""
    for name in given:
        if name not in known:
            raise RunError(
                f"there is no {what} {name!r}.", fix=nearest(name, known) or f"There are {', '.join(known) or 'none'}."
            )


def _tell_moves(assembly: Assembly) -> None:
    moved = moves(assembly)
    if moved:
        warnings.warn(f"assembly moved {moved} to close the loops.", ModelWarning, stacklevel=4)


def moves(assembly: Assembly) -> str:
    """What assembly had to move, in words; empty if nothing by much."""
    large = {name: change for name, change in assembly.moved.items() if abs(change) > 1e-6}
    listed = ", ".join(f"{name} by {change:+.6g}" for name, change in list(large.items())[:6])
    return listed + (f" and {len(large) - 6} more" if len(large) > 6 else "")
