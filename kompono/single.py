"""simulate(model): one run, from a model to its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kompono.errors import RunError
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.options import Watcher, with_kinds
from kompono.request import Request
from kompono.result import Result
from kompono.run_end import RunEnd
from kompono.running import paced, run
from kompono.simulation import Simulation
from kompono.solve.estimate import Before
from kompono.solve.settings import check_settings, settings_of, told_unused

if TYPE_CHECKING:
    from kompono.realtime import RealTime
    from kompono.solve.stiffness import Given


@heeded
@with_kinds
def simulate(
    model: Subsystem,
    *,
    until: float,
    begin: float | None = None,
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
    start: Result | RunEnd | None = None,
    stabilize: bool = True,
    cut: Iterable[str] = (),
    independent: Iterable[str] = (),
    closed: Iterable[str] = (),
    isolate: Iterable[str] = (),
    projection: str | None = None,
    metric: str | None = None,
    baumgarte: tuple[float, float] = (20.0, 20.0),
    contact: str = "events",
    errors: str = "whole",
    native: bool = True,
    cache: bool = True,
    threads: int | None = None,
    stiffness: Given = None,
    damping: Given = None,
    progress: bool | None = None,
    realtime: RealTime | bool = False,
    watcher: Watcher | None = None,
    hdf5: str | Path | None = None,
    resume: str | Path | None = None,
    before: Before | None = None,
    ranks: bool = False,
    place: Mapping[str, int] | None = None,
) -> Result:
    """Simulate a model from time 0, or `begin` [s], to `until` [s] and return its named channels.

    `start`, the result of another run of this model, lets it go on where that one ended: with its time (unless `begin`
    says another), coordinates, speeds, modes and states, to the last bit where the method remembers nothing.

    method: rk2, rk4 (default), adams (fixed `step` [s], default 1 ms); dopri5, esdirk4 (implicit, for stiff motion) and
    SciPy's RK23, RK45, DOP853, Radau, BDF, LSODA (tolerances `rtol`, `atol`, recording every `step`). `every` records
    each n-th step, `channels` are globs to keep. `inputs`, `parameters` and `initial` replace declared values by
    path. `stabilize=False` lets loop conditions drift. `cut` names joints that shall close loops, `independent` bodies
    that shall be roots of the tree, `closed` (globs of paths) components that shall stay closed parts, `isolate` those
    of them that shall run in processes of their own. `threads` may work on one run of a large model (None: as many as
    pay). `realtime=True`, or `realtime.RealTime(...)`, keeps the run in step with the clock, read and driven by others
    meanwhile; `until` may be infinite then. `watcher` looks on while it is going (a `LiveView`).
    `before` is told its size before it begins. `guard_checks` looks so often at the guards of events in each step;
    `max_steps` ends a run that chooses its steps (None: when that leads nowhere).
    `contact` says how contact and dry friction are treated: "events" locates all that changes; "impacts" does, too, and
    stops slip that no forces fit (Painleve), where "events" ends the run; "steps" goes over it in equal steps (Moreau;
    the method does not matter, what happens is right to a step, about 0.2 ms a step); "soft" makes forces of them,
    springs and bristles as stiff as `step` allows or as `Unit.stiffness` says, on all engines, methods and lanes.
    `errors="parts"` lets dopri5 measure errors inside closed parts as it must where parts are elsewhere (docs/ranks.md,
    docs/remote.md): part by part, and coarsely. Steps then have the same bits wherever parts are.
    A run that does not end as planned warns (`RunWarning`), says why in `result.status`, and `result.check()` raises.

    `hdf5` is a file the result is written to, about once a second while the run is going (in real time: at its end);
    when its process dies, all but the last second can be loaded from it, and `resume` of that file with otherwise the
    same call goes on from there, as does `kompono.resume(model, file)`.

    `ranks=True` spreads a large tree over the processes `mpiexec` has started (docs/ranks.md), each of which makes the
    same call and gets the same result; `place` says on which of them components shall be, by path.

    engine="discrete" makes tiny steps (default 1e-5 s, each hundredth recorded) with joints as springs and dampers, as
    stiff as the step allows. `stiffness` and `damping` replace that: a number for all, or a mapping from paths or globs
    to a number or one for each group of conditions (a revolute joint has two: point [N/m] and axis [N m/rad]).
    """
    request = Request.of(locals())
    settings = told_unused(request, settings_of(request))
    check_settings(paced(settings, request)[0])
    if request.ranks:
        from kompono.ranks import run_on_ranks  # others start without it

        return run_on_ranks(model, settings, request)
    if request.place:
        raise RunError("place says on which rank components shall be.", fix="Use it with ranks=True.")
    return run(Simulation.of(model, request), settings, request, request.noted())
