"""One run of a simulation: assemble, prepare, integrate, and give what came of it a name and an explanation."""

from __future__ import annotations

import functools
import time as clock
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.beginning import begins
from kompono.elsewhere.which import refuse_elsewhere
from kompono.ending import Ending
from kompono.errors import ModelWarning, RunWarning, warn
from kompono.heavy import lost_digits
from kompono.interruption import asked
from kompono.keeping import Keeping, kept, scenery
from kompono.options import Watcher
from kompono.origin import origin_of
from kompono.request import Request
from kompono.result import Result, Status, matching
from kompono.run_end import RunEnd
from kompono.selection import select_outputs
from kompono.singular import singular
from kompono.solve.controllers import at_work
from kompono.solve.estimate import announce, estimate
from kompono.solve.fitting import concluded
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Trajectory, integrate
from kompono.solve.outcome import OPEN, Outputs
from kompono.solve.settings import Settings, check_method, check_settings

LARGE = 10_000  # numbers of a state from which on a result tells only those who ask
Watch = Callable[[float, np.ndarray], None]  # told time and state

if TYPE_CHECKING:
    from kompono.realtime import RealTime
    from kompono.realtime.session import Session


def run(simulation: Any, settings: Settings, request: Request, noted: Mapping[str, Any] | None) -> Result:
    """Assemble and run; a run that fails returns its reason and all results up to it. `noted` are the options by which
    a file shall remember it.
    """
    settings, progress = paced(settings, request)
    check_settings(settings)
    refuse_elsewhere(simulation.program, "a run in real time", bool(request.realtime))
    keeping = kept(simulation, request, noted) if request.hdf5 or request.resume else None
    check_method(simulation.entry, settings.method)
    values, feed = simulation.parameters(request.parameters), simulation.feed(request.inputs)
    with simulation.near.kept_together():
        begun = begins(simulation, settings, request, values, feed)
        outputs = replace(select_outputs(simulation.translation, request.channels), open=OPEN + 10 * begun.gap)
        size = estimate(settings, outputs, simulation.program, paced=bool(request.realtime))
        announce(simulation.name, size, settings.every, request.before)
        for remark in begun.remarks:
            warn(remark, ModelWarning)
        started, values, jam = begun.settled()
        outputs = replace(outputs, gives=begun.gives(started, values))
        if remark := lost_digits(simulation, settings.begin, begun.state, feed.at(settings.begin), values):
            warn(remark, RunWarning)
        seconds_compile = simulation.prepare(settings.method, outputs.routine, soon=not request.realtime)
    known = begun.facts
    scene = functools.partial(scenery, simulation.translation.model.model, request.parameters)
    together = simulation.near.kept_together()  # what events ask for first is looked at once, too
    with together, at_work(feed.callables) as callables, _begun(simulation, started, keeping) as state:
        feed = feed.fresh(callables)
        session = _session(simulation, request.realtime, feed, outputs, values) if request.realtime else None
        with session or nullcontext():
            journal = None
            if keeping and not session and simulation.kernel.lasts:  # else it is written at the end
                journal, values = keeping.journal_of(settings, outputs, state, values, feed, scene, known)
            moment, made = clock.perf_counter(), simulation.reader.seconds
            problem = simulation.problem(state, values, session.feed if session else feed, outputs, settings)
            problem.journal, problem.jam = journal, jam
            begun.go_on(problem)
            if request.watcher is not None:
                problem.watch = _watch(simulation, request.watcher, values, feed)
                if journal is None or journal.resumed is None:
                    problem.watch(settings.begin, state)
            trajectory = integrate(problem, settings, progress)
            made = simulation.reader.seconds - made
            seconds = clock.perf_counter() - moment - made
        trajectory.statistics.update(
            **known,
            **simulation.kernel.counts(state),
            seconds_translate=simulation.seconds_translate,
            seconds_compile=seconds_compile + made,
            seconds_run=seconds + (journal.before if journal else 0.0),
        )
        result = _result(simulation, trajectory, outputs, settings, values, scene)
        row = trajectory.rows[-1].copy()
        origin = functools.partial(origin_of, simulation, request, values, feed, outputs.routine, settings.begin)
        end = functools.partial(RunEnd.of, simulation.program, simulation.engine, row, values, known)
        soon = simulation.program.state_size < LARGE  # else whoever asks waits for it, and the simulation is kept
        result.origin = origin() if soon else lambda _: origin()
        if not simulation.program.opaque:  # parts elsewhere keep what they are
            result.end = end() if soon else lambda _: end()
    result = session.complete(result) if session else result
    return keeping.finish(result) if keeping else result


def _begun(simulation: Any, started: np.ndarray, keeping: Keeping | None) -> Any:
    """The state a run begins with; parts elsewhere go on where they were, if it is resumed."""
    count = len(simulation.program.opaque)
    if keeping is None or keeping.stored is None or not count:
        return simulation.kernel.begun(started)
    from kompono.elsewhere.filed import unfiled

    kept = unfiled(keeping.stored.words, keeping.stored.arrays, count)
    return simulation.kernel.begun(started, kept=kept)


def paced(settings: Settings, request: Request) -> tuple[Settings, bool | None]:
    """Settings and progress of a run; one in real time shows no bar by itself, for drawing it takes long."""
    if not request.realtime:
        return settings, request.progress
    from kompono.realtime.session import as_options

    return as_options(request.realtime).settings(settings), bool(request.progress)


def _watch(
    simulation: Any, watcher: Watcher, parameters: np.ndarray, feed: Feed
) -> Callable[[float, np.ndarray], None]:
    """A function of time and state that tells a watcher the channels it wants, in its order; one with `open` is told
    their names before, and all others behind them.
    """
    columns = [matching(name, simulation.program.channels)[0] for name in watcher.channels]
    hear = getattr(watcher, "open", None)
    if hear is not None:
        known = set(columns)
        columns += [k for k in range(len(simulation.program.channels)) if k not in known]
        hear([simulation.program.channels[k] for k in columns])
    chosen = sorted(set(columns))
    routine, order = simulation.translation.select(chosen), [chosen.index(column) for column in columns]

    def tell(time: float, state: np.ndarray) -> None:
        (values,) = simulation.kernel.evaluate(routine, time, state, feed.at(time), parameters)
        watcher.update(time, np.asarray(values)[order])

    return tell


def _session(
    simulation: Any, realtime: RealTime | bool, feed: Feed, outputs: Outputs, parameters: np.ndarray
) -> Session:
    """What keeps a run in step with the clock; observers read the channels that are recorded."""
    from kompono.realtime import session

    wanted = list(outputs.wanted)
    channels = [(outputs.computed[i].name, outputs.computed[i].unit) for i in wanted]

    def evaluate(time: float, state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        return simulation.kernel.evaluate(outputs.routine, time, state, inputs, parameters)[0][wanted]

    return session.start(realtime, feed, channels, evaluate, simulation.name)


def _result(
    simulation: Any, trajectory: Trajectory, outputs: Outputs, settings: Settings, parameters: np.ndarray, scene: Any
) -> Result:
    """Channels and status of a run that is over; one that did not end as planned warns."""
    outcome, columns = concluded(simulation.kernel, trajectory, outputs, settings, parameters)
    chosen = [outputs.computed[i] for i in columns]
    status = simulation.status(outcome, settings, parameters, records=trajectory.rows)
    passed = None
    if status.ok:
        events = outcome.statistics.get("events", ())
        passed = singular(simulation.translation, trajectory.rows, parameters, events)
    if passed is not None:
        message, since = passed
        status = Status(False, f"{message} from t = {since:.9g} s", float(since), Ending.NOT_FINITE)
    if not status.ok:
        warn(f"{simulation.name} did not run as planned: {status.message}", RunWarning)
    elif asked():
        warn("interrupted by the user when the run was over: the result is complete", RunWarning)
    about = {"method": settings.method, "engine": simulation.engine, "step": settings.step}
    return Result(
        outcome.times,
        [channel.name for channel in chosen],
        outcome.table,
        units={channel.name: channel.unit for channel in chosen},
        status=status,
        statistics={**about, "events": [], **outcome.statistics},
        model=simulation.name,
        scene=scene,
    )
