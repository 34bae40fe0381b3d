"""simulate(model): one run, from a model to its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kompono.interruption import heeded
from kompono.keeping import NOT_OF_A_RUN
from kompono.model.subsystem import Subsystem
from kompono.options import Watcher, with_kinds
from kompono.result import Result
from kompono.simulation import Simulation, paced
from kompono.solve.estimate import Before
from kompono.solve.integrate import check_settings, settings_for

if TYPE_CHECKING:
    from kompono.realtime import RealTime
    from kompono.solve.stiffness import Given


@heeded
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
    hdf5: str | Path | None = None,
    resume: str | Path | None = None,
    before: Before | None = None,
) -> Result:
    """Simulate a model from time 0 to `until` [s] and return its named channels.

    method: rk2, rk4 (default), adams (fixed `step` [s], default 1 ms); dopri5 and SciPy's RK23, RK45, DOP853, Radau,
    BDF, LSODA (tolerances `rtol`, `atol`, recording every `step`). `every` records each n-th step, `channels` are globs
    of what to keep. `inputs`, `parameters` and `initial` replace declared values by path. `stabilize=False` lets loop
    conditions drift. `cut` names joints that shall close loops, `independent` bodies that shall be roots of the tree,
    `closed` (globs of paths) components that shall stay closed parts. `threads` may work on one run of a large model
    (None: as many as pay). `realtime=True`, or `realtime.RealTime(...)`, keeps the run in step with the clock, read and
    driven by others meanwhile; `until` may be infinite then. `watcher` looks on while it is going (a `LiveView`).
    `before` is told its size before it begins. `guard_checks` looks so often at the guards of events in each step;
    `max_steps` ends a run that chooses its steps (None: when that leads nowhere).
    A run that does not end as planned warns (`RunWarning`), says why in `result.status`, and `result.check()` raises.

    `hdf5` is a file the result is written to, about once a second while the run is going (in real time: at its end);
    when its process dies, all but the last second can be loaded from it, and `resume` of that file with otherwise the
    same call goes on from there, as does `kompono.resume(model, file)`.

    engine="discrete" makes tiny steps (default 1e-5 s, each hundredth recorded) with joints as springs and dampers, as
    stiff as the step allows. `stiffness` and `damping` replace that: a number for all, or a mapping from paths or globs
    to a number or one for each group of conditions (a revolute joint has two: point [N/m] and axis [N m/rad]).
    """
    given = {name: value for name, value in locals().items() if name not in NOT_OF_A_RUN}
    tolerances = rtol, 1e-3 * rtol if atol is None else atol
    settings = settings_for(engine, until, step, method, every, tolerances, stabilize)
    settings = replace(settings, guard_checks=guard_checks, max_steps=max_steps)
    check_settings(paced(settings, progress, realtime)[0])
    simulation = Simulation(
        model, engine=engine, cut=cut, independent=independent, closed=closed, projection=projection, metric=metric,
        baumgarte=baumgarte, native=native, cache=cache, threads=threads, stiffness=stiffness, damping=damping,
    )  # fmt: skip
    return simulation.run(
        settings, channels=channels, inputs=inputs, parameters=parameters, initial=initial, progress=progress,
        realtime=realtime, watcher=watcher, before=before, hdf5=hdf5, resume=resume, request=given,
    )  # fmt: skip
