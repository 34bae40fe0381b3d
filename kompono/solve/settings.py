"""How a run is integrated: what was asked for, completed by what the engine is best run with, and checked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import numpy as np

from kompono.errors import RunError, RunWarning, nearest, warn
from kompono.given import shown
from kompono.request import Request
from kompono.solve.inputs import Feed
from kompono.solve.methods import METHODS
from kompono.translate.engines.registry import EngineEntry, engine_named
from kompono.translate.program import Program, TableRoutine

MOST = 1 << 53  # steps that can be counted in a double


@dataclass(frozen=True)
class Settings:
    """How to run: method, end [s], step [s] (recording interval of adaptive methods), record every n-th step,
    tolerances; `begin` [s] is when it begins.
    """

    method: str
    until: float
    step: float
    every: int = 1
    rtol: float = 1e-8
    atol: float = 1e-8
    stabilize: bool = True
    guard_checks: int = 1  # looks at the guards of events in each step
    max_steps: int | None = None  # attempts of methods that choose their steps; None: as many as lead anywhere
    keep: float = np.inf  # simulated seconds whose rows are kept, the last ones (native methods)
    begin: float = 0.0
    each: bool = False  # record each step of dopri5 and esdirk4 where it ends, and events, not at distances of `step`

    @property
    def span(self) -> float:
        """How long it runs [s]."""
        return self.until - self.begin


def settings_of(request: Request) -> Settings:
    """Settings as asked for, with what the engine is best run with where nothing is said."""
    entry, until, begin = engine_named(request.engine), request.until, begin_of(request)
    size, every = entry.step, request.every
    if isinstance(until, Real) and 0 < float(until) - begin < size:  # a run shorter than the usual step is one step
        size = float(until) - begin
    if every is None:
        every = entry.every if request.step is None else 1
    return Settings(
        request.method or entry.method, until, size if request.step is None else request.step, every,
        *request.tolerances, request.stabilize, request.guard_checks, request.max_steps, begin=begin,
    )  # fmt: skip


def told_unused(request: Request, settings: Settings) -> Settings:
    """The settings, with a warning of what equal steps make no use of."""
    if settings.method not in METHODS or METHODS[settings.method].chooses_steps:
        return settings
    given = ["rtol"] if request.rtol != Request.rtol else []
    given += [name for name in ("atol", "max_steps") if getattr(request, name) is not None]
    if given:
        entry = engine_named(request.engine)
        other = "" if entry.steps != "derivative" else ", or let dopri5 choose them: method='dopri5'"
        warn(
            f"{' and '.join(given)}: {settings.method} takes equal steps, which follow no tolerance. "
            f"Give step=[s]{other}.",
            RunWarning,
        )
    return settings


def begin_of(request: Request) -> float:
    """When a run begins [s]: as asked, where the one it goes on from ended, or at 0."""
    if request.begin is not None:
        return request.begin
    return 0.0 if request.start is None else request.start.time


def check_method(entry: EngineEntry, method: str) -> None:
    """Raise for a method that cannot step the programs of an engine."""
    if METHODS[method].steps != entry.steps:
        able = ", ".join(name for name, known in METHODS.items() if known.steps == entry.steps)
        fix = f"The {entry.name} engine steps with {able}; its default is method={entry.method!r}."
        raise RunError(f"method {method!r} does not go with engine {entry.name!r}.", fix=fix)


def check_events(program: Program, method: str) -> None:
    """Raise for a method that cannot locate events, or changes of laws, if there may be any."""
    if program.events and not METHODS[method].native:
        solved = unsolvable(program) is None
        fix = METHODS[method].instead(lambda other: other.native and (solved or not other.implicit))
        raise RunError(f"{method} cannot locate events.", fix=fix)


def check_stages(program: Program, method: str) -> None:
    """Raise for a native method that solves for its stages where the model has no slopes for that."""
    if METHODS[method].native and METHODS[method].implicit:
        refused = unsolvable(program)
        if refused is not None:
            path, why, fix = refused
            raise RunError(f"{why}, and {method} needs the exact slopes of the whole model.", path=path, fix=fix)


def check_periods(program: Program, feed: Feed, settings: Settings) -> None:
    """Raise for a sampling period so short that instants do not follow each other in time: nothing would go on."""
    known = [(program.sampled[number], every) for number, (every, _) in enumerate(program.rates)]
    known += [(one.name, one.period) for one in feed.sources if one.is_callable]
    for path, period in known:
        if settings.until > 2**53 * period:
            raise RunError(
                f"a sampling period of {period:g} s cannot be told from nothing at {float(settings.until):g} s.",
                path=path, fix="Sample less often.",
            )  # fmt: skip


def unsolvable(program: Program) -> tuple[str, str, str] | None:
    """The component that implicit stages cannot be solved with, why, and what to do; None where all is well."""
    explicit = "Use dopri5 or an equal step."
    if program.opaque or program.away:
        first = program.opaque[0][0] if program.opaque else next(iter(program.away.values()))[0]
        return first, "this part runs elsewhere", explicit
    if program.groups:
        return "", "with errors='parts' closed parts tell only the level of their error", "Leave errors= out."
    if program.spread is not None or isinstance(program.routines["derivative"], TableRoutine):
        return "", "a large model is translated by types of components, one by one", explicit
    return None


def check_settings(settings: Settings) -> None:
    """Raise RunError for a method that does not exist or numbers that make no sense."""
    if settings.method not in METHODS:
        raise RunError(
            f"there is no method {settings.method!r}.",
            fix=nearest(str(settings.method), METHODS) or f"Methods: {', '.join(METHODS)}.",
        )
    for name in ("begin", "until", "step", "rtol", "atol"):
        value: Any = getattr(settings, name)
        if not isinstance(value, Real) or not 0 <= cast(Any, value) <= sys.float_info.max:
            what = "tolerances must be positive numbers" if name.endswith("tol") else "that is no time to run with"
            raise RunError(f"{name} = {shown(value)}: {what}.", fix=f"Give {name} as a positive number.")
    if settings.step == 0:
        raise RunError("step = 0 s is not positive.", fix="Use e.g. step=1e-3.")
    if settings.until > 2**53 * settings.step:
        fix = "Take a longer step or an earlier end."
        raise RunError(
            f"step = {float(settings.step):g} s cannot be told from nothing at {float(settings.until):g} s.", fix=fix
        )
    if not isinstance(settings.every, int | np.integer) or settings.every < 1:
        raise RunError(f"every = {settings.every!r} is not a count of steps.", fix="Use every=1 to record all.")
    if settings.span < 0:
        fix = "`until` is a time, not a length: give a later one."
        raise RunError(
            f"the run would end (until = {float(settings.until):g} s) before it begins, "
            f"at {float(settings.begin):g} s.",
            fix=fix,
        )
    if 0 < settings.span < settings.step * (1 - 1e-9):
        raise RunError(
            f"step = {float(settings.step):g} s is longer than the run (until = {float(settings.until):g} s).",
            fix=f"Use e.g. step={float(settings.span) / 100:g}.",
        )
    if settings.every > MOST or settings.until / settings.step > MOST:
        name, value = ("every", settings.every) if settings.every > MOST else ("until / step", float(settings.until))
        raise RunError(f"{name} = {value:g} is more steps than can be counted.", fix="Use fewer.")
    for name, least in (("guard_checks", 1), ("max_steps", 1)):
        value = getattr(settings, name)
        if value is None and name == "max_steps":
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= MOST:
            raise RunError(
                f"{name} = {shown(value)} is not a count.", fix=f"Give {name} as a whole number from {least} on."
            )
    if settings.rtol + settings.atol <= 0:
        raise RunError("tolerances must be positive.", fix="Use e.g. rtol=1e-8.")
