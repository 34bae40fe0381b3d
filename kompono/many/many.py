"""The façade of ensembles: model -> translate -> compile -> all starts -> all runs -> ensemble."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile import loop_routines, native_lanes
from kompono.compile.host import processors
from kompono.elsewhere.which import refuse_elsewhere
from kompono.ending import Ending
from kompono.errors import RunError, RunWarning, warn
from kompono.explain import TRACED, check_guards
from kompono.heavy import lost_digits
from kompono.interruption import asked, heeded
from kompono.many.spread import run_on_cluster
from kompono.many.start import Starts, start_all
from kompono.many.vary import Variation, parameter_table, vary
from kompono.model.subsystem import Subsystem
from kompono.options import check_known, checked, with_kinds
from kompono.request import IMPACTS, OF_CONCERN, STEPS, Concern, Request
from kompono.result import Ensemble, Status
from kompono.selection import select_outputs
from kompono.simulation import Simulation
from kompono.solve.controllers import copies
from kompono.solve.endings import INTERRUPTED
from kompono.solve.estimate import announce, check_runs, estimate
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Settings
from kompono.solve.many import AHEAD, Batch, at_times, fits_lanes, prepare, record_times, run_batch
from kompono.solve.outcome import Outcome, Outputs, check_step
from kompono.solve.progress import Progress
from kompono.solve.scipy_methods import routines_of
from kompono.solve.settings import check_method, check_settings, settings_of, told_unused
from kompono.solve.verify import Samples
from kompono.translate.engines.registry import Feature, engine_named
from kompono.translate.program import TIED

EXPLAINED = 5  # failures that are traced to a component; to trace one takes longer than to run it
CHECKED = 16  # runs that are asked first whether their step was short enough
LANES = (1, 2, 4, 8, 16)


@heeded
@with_kinds
def simulate_many(
    model: Subsystem,
    *,
    until: float,
    step: float | None = None,
    method: str | None = None,
    engine: str = "relative",
    parameters: Mapping[str, ArrayLike] | None = None,
    initial: Mapping[str, ArrayLike] | None = None,
    runs: int | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    every: int | None = None,
    guard_checks: int = 1,
    max_steps: int | None = None,
    channels: str | Iterable[str] = "*",
    inputs: Mapping[str, Any] | None = None,
    stabilize: bool = True,
    threads: int | None = None,
    lanes: int | None = None,
    client: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> Ensemble:
    """Simulate a model many times from time 0 to `until` [s], with other parameters or from other starts.

    `parameters` and `initial` map paths to arrays of one value per run, or one value for all; `runs` says how many runs
    there are if no array does. A run that fails does not disturb the others (see `Ensemble.failed`).

    `threads` (default: one per core) each take `lanes` runs at a time (default: as many as a register of the processor
    holds). Models with callable inputs, and methods that choose their own steps, run one by one. `client`, a
    `dask.distributed.Client`, spreads the runs over its workers instead. `options` are further ones of `simulate`: cut,
    independent, closed, isolate, projection, metric, baumgarte, contact, errors, native, cache.
    """
    check_known(options, OF_CONCERN[Concern.SOLUTION], "argument")
    request = Request.of({**locals(), **options})
    settings = _settings(request)
    variation = vary(parameters, initial, runs)
    check_runs(settings, variation.runs)
    spread = _Spread(_threads(threads), _lanes(lanes), client)
    simulation = Simulation.of(model, request)
    refuse_elsewhere(simulation.program, "a cluster", client is not None)
    if client is not None and request.contact in (IMPACTS, STEPS) and simulation.program.laws:
        raise RunError(f"contact={request.contact!r} is made here only.", fix="Leave out client=, or contact=.")
    outputs = select_outputs(simulation.translation, request.channels)
    held = AHEAD * spread.threads * (spread.lanes or native_lanes())  # groups that wait count, too
    size = estimate(settings, outputs, simulation.program, variation.runs, held)
    announce(simulation.name, size, settings.every)
    table = parameter_table(simulation, variation)
    begun = clock.perf_counter()
    feed = simulation.feed(request.inputs)
    starts = start_all(simulation, variation, table, feed, settings)
    _look_at_first(simulation, starts, feed)
    seconds_start = clock.perf_counter() - begun
    gather = _Gather(simulation, settings, outputs, variation, starts)
    _run(gather, spread, request)
    gather.statistics |= {"seconds_translate": simulation.seconds_translate, "seconds_start": seconds_start}
    return _told(gather.ensemble())


def _settings(request: Request) -> Settings:
    """Settings of runs that go with the engine, which can make many."""
    entry = engine_named(request.engine)
    refused = entry.refusal(Feature.MANY_RUNS)
    if refused is not None:
        reason, fix = refused
        fix = f"{fix}, or call simulate once for each run."
        raise RunError(f"many runs side by side do not go with engine={request.engine!r}: {reason}.", fix=fix)
    settings = told_unused(request, settings_of(request))
    check_settings(settings)
    check_method(entry, settings.method)
    return settings


def _look_at_first(simulation: Simulation, starts: Starts, feed: Feed) -> None:
    """Look at the first run: at digits that are lost, and at guards, unless they may depend on what callables will
    say.
    """
    table = starts.parameters
    first = next((i for i in range(len(table)) if i not in starts.failed), None)
    if first is None:
        return
    if remark := lost_digits(simulation, 0.0, starts.states[first], feed.at(0.0), table[first]):
        warn(f"run {first}: {remark}", RunWarning)
    if not any(source.is_callable for source in feed.sources):
        with simulation.kernel.begun(starts.states[first]) as state:
            check_guards(simulation.kernel, state, table[first], 0.0, feed.at(0.0))


def _told(ensemble: Ensemble) -> Ensemble:
    """An ensemble, with a warning if some of its runs did not end as planned."""
    if ensemble.failed:
        first, count = ensemble.failed[0], len(ensemble.failed)
        text = f"{count} of {ensemble.runs} runs of {ensemble.model} did not run as planned; run {first}: "
        warn(text + ensemble.status[first].message, RunWarning)
    elif asked():
        warn("interrupted by the user when all runs were over: the ensemble is complete", RunWarning)
    return ensemble


@dataclass(frozen=True)
class _Spread:
    """What the runs are spread over; lanes None are those of the machine."""

    threads: int
    lanes: int | None
    client: Any


class _Gather:
    """Puts the outcomes of runs, in whatever order they come, into the table of an ensemble."""

    def __init__(
        self,
        simulation: Simulation,
        settings: Settings,
        outputs: Outputs,
        variation: Variation,
        starts: Starts,
    ) -> None:
        self.simulation, self.settings, self.outputs, self.variation = simulation, settings, outputs, variation
        self.starts, self.parameters = starts, starts.parameters
        self.times = record_times(settings)
        self.table = np.full((variation.runs, len(self.times), len(outputs.wanted)), np.nan)
        self.status = [Status(False, INTERRUPTED, 0.0, Ending.INTERRUPTED)] * variation.runs
        for i, reason in starts.failed.items():
            self.status[i] = Status(False, reason, 0.0, Ending.NOT_ASSEMBLED)
        self.good = np.array([i for i in range(variation.runs) if i not in starts.failed])
        self.counts = dict.fromkeys(("steps", "steps_on_lanes", "evaluations", "rejected"), 0)
        self.events: dict[int, list[Any]] = {}
        self.leaps: dict[int, list[Any]] = {}
        self.statistics: dict[str, Any] = {}

    def batch(self, lanes: int) -> Batch:
        """The runs that have a start."""
        states, parameters = self.starts.states, self.parameters
        if len(self.good) < len(states):  # else these need not be there twice
            states, parameters = states[self.good], parameters[self.good]
        gives = None if self.starts.gives is None else self.starts.gives[self.good]
        return Batch(self.settings, self.outputs, states, parameters, lanes, gives)

    def take(self, parts: Iterable[tuple[np.ndarray, list[Outcome]]]) -> None:
        """All outcomes."""
        explained: list[int] = []
        through: dict[int, Samples | None] = {}
        for runs, outcomes in parts:
            for run, outcome in zip(self.good[runs], outcomes, strict=True):
                self.table[run] = at_times(outcome, self.times, 1e-9 * self.settings.step)
                explain = len(explained) < EXPLAINED
                status = self.simulation.status(outcome, self.settings, self.parameters[run], explain)
                if explain and not status.ok:
                    explained.append(int(run))
                elif status.kind in TRACED:
                    seen = f"; who is to blame was looked for in runs {', '.join(map(str, explained))}"
                    status = replace(status, message=status.message + seen)
                self.status[run] = status
                for name in self.counts:
                    self.counts[name] += outcome.statistics.get(name, 0)
                if "events" in outcome.statistics:
                    self.events[run] = outcome.statistics["events"]
                if leaps := outcome.statistics.get("fallback"):
                    self.leaps[int(run)] = leaps
                elif outcome.ok:
                    through[int(run)] = outcome.samples
        self._check_steps(through)

    def _check_steps(self, through: Mapping[int, Samples | None]) -> None:
        """Ask some of the runs that came through whether their step was short enough, and all others if it was not."""
        runs = list(through) if not self.simulation.program.opaque else []  # parts elsewhere are not there any more
        first = dict.fromkeys(runs[:: -(-len(runs) // CHECKED)] if runs else [])
        for several in (first, [run for run in runs if run not in first]):
            fine = True
            for run in several:
                outcome = Outcome(np.zeros(0), np.zeros((0, 0)), time=self.status[run].time, samples=through[run])
                check_step(self.simulation.kernel, outcome, self.settings, self.parameters[run])
                if not outcome.ok:
                    fine = False
                    self.status[run] = self.simulation.status(outcome, self.settings, self.parameters[run], False)
            if fine:
                return

    def ensemble(self) -> Ensemble:
        """What was gathered."""
        program, chosen = self.simulation.program, [self.outputs.computed[i] for i in self.outputs.wanted]
        about = {"method": self.settings.method, "engine": self.simulation.engine, "step": self.settings.step}
        events = {"events": [self.events.get(i, []) for i in range(len(self.status))]} if program.events else {}
        leaps = {"fallback": dict(sorted(self.leaps.items()))} if self.leaps else {}
        return Ensemble(
            self.times,
            [channel.name for channel in chosen],
            self.table,
            status=self.status,
            varied=self.variation.varied,
            units={channel.name: channel.unit for channel in chosen},
            statistics={
                **about,
                **self.counts,
                "steps_alone": self.counts["steps"] - self.counts["steps_on_lanes"],
                "degrees_of_freedom": self.starts.degrees_of_freedom,
                "redundant": list(self.starts.redundant),
                "bytes": self.table.nbytes,
                **self.statistics,
                **events,
                **leaps,
            },
            model=self.simulation.name,
        )


def _run(gather: _Gather, spread: _Spread, request: Request) -> None:
    """Make all runs, here or on the workers of a cluster."""
    simulation, settings = gather.simulation, gather.settings
    feed = simulation.feed(request.inputs)
    several = fits_lanes(simulation.kernel, settings, feed) and len(gather.good) > 1
    lanes = (spread.lanes or native_lanes()) if several else 1
    batch, compiled, begun = gather.batch(lanes), 0.0, clock.perf_counter()
    if spread.client is None:
        prepare(simulation.kernel, batch)
        compiled, begun = clock.perf_counter() - begun, clock.perf_counter()
    with copies(feed.callables) as fresh, Progress(len(gather.good) * settings.until, request.progress) as progress:
        if spread.client is None:
            parts = run_batch(
                simulation.kernel, batch, lambda: feed.fresh(fresh()), simulation.reader.run, spread.threads, progress
            )
        else:
            if feed.controllers:
                name = feed.controllers[0].name
                raise RunError("Python controllers run here only.", path=name, fix="Leave client= out.")
            program = simulation.program.only(_needed(simulation, settings, gather.outputs.routine))
            own = several and spread.lanes is None
            parts = run_on_cluster(spread.client, program, batch, feed.sources, own, progress)
        gather.take(parts)
    gather.statistics |= {"lanes": lanes, "seconds_compile": compiled, "seconds_run": clock.perf_counter() - begun}
    gather.statistics |= {"threads": spread.threads} if spread.client is None else {"cluster": repr(spread.client)}


def _needed(simulation: Simulation, settings: Settings, outputs: str) -> list[str]:
    """The routines a run calls."""
    names = [routine.name for routine in loop_routines(simulation.program)]
    if simulation.program.laws:  # what they are settled with
        names += [name for name in simulation.program.routines if name.startswith("law_") or name == "rates"]
    names += [name for name in (outputs, f"{TIED}{outputs}") if name in simulation.program.routines]
    return list(dict.fromkeys([*names, *routines_of(settings.method, simulation.program.routines)]))


def _threads(given: int | None) -> int:
    (count,) = checked(threads=given)
    return processors() if count is None else count


def _lanes(given: int | None) -> int | None:
    (given,) = checked(lanes=given)
    if given is not None and given not in LANES:
        fix = f"Use one of {', '.join(map(str, LANES))}, or leave it out to use the width of the processor."
        raise RunError(f"lanes = {given!r} is not a width of registers.", fix=fix)
    return given
