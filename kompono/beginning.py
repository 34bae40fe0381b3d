"""Where a run begins: with the loops of its model closed from declared and given values, or where another run ended.

A run that goes on has the state of the other to the last bit, modes and sampled values included. Only if inputs or
parameters are others than at that end are modes of laws chosen anew, and the strengths of links of the discrete engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.elsewhere.which import refuse_elsewhere
from kompono.errors import NoForces, RunError
from kompono.ready import settle
from kompono.request import Request
from kompono.run_end import RunEnd
from kompono.solve.assemble import remarks
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Problem
from kompono.solve.settings import Settings
from kompono.starting import unlocked

OPEN = "the loops of the machine are not closed where the other run ended."
CLOSE = "Go on with the same parameters, or give coordinates as `initial` values: from these, loops are closed."


def begins(simulation: Any, settings: Settings, request: Request, parameters: np.ndarray, feed: Feed) -> FreshBegin:
    """The state a run begins with; RunError for a start and initial values at once, and for real time later than 0."""
    if request.realtime and settings.begin:
        raise RunError("a run in real time begins at 0 s.", fix="Give begin=0, with `start` if it shall go on.")
    if request.start is None:
        assembly = simulation.assemble(request.initial, parameters=parameters, feed=feed, time=settings.begin)
        facts = {"degrees_of_freedom": assembly.degrees_of_freedom, "redundant": list(assembly.redundant)}
        begun = FreshBegin(simulation, settings, parameters, feed, assembly.state, facts, assembly.gap)
        begun.remarks = list(remarks(assembly))
        return begun
    if request.initial:
        fix = "Leave one of them out."
        raise RunError("`start` says where the run begins, and `initial` too.", fix=fix)
    refuse_elsewhere(simulation.program, "to go on from another run", bool(simulation.program.opaque))
    return GoingOn(simulation, settings, parameters, feed, end=request.start, request=request)


class FreshBegin:
    """A consistent state at the begin of a run, what is known of it (`facts`), and how wide loops stay open (`gap`)."""

    def __init__(
        self, simulation: Any, settings: Settings, parameters: np.ndarray, feed: Feed, state: np.ndarray,
        facts: dict[str, Any], gap: float = 0.0,
    ) -> None:  # fmt: skip
        self.simulation, self.settings, self.parameters, self.feed = simulation, settings, parameters, feed
        self.state, self.facts, self.gap = state, facts, gap
        self.remarks: list[str] = []

    def settled(self) -> tuple[np.ndarray, np.ndarray, str]:
        """The state with modes of laws and deflections of links, all parameters, and why no forces fit (or nothing)."""
        states, values, failed = settle(
            self.simulation, self.settings, self.parameters[None], self.feed, self.state[None]
        )
        if failed and not isinstance(failed[0], NoForces):
            raise failed[0]
        return states[0], values[0], failed[0].message if failed else ""  # without forces the run ends at once

    def gives(self, state: np.ndarray, parameters: np.ndarray) -> np.ndarray | None:
        """How far conditions (rows,) may be off on the discrete engine, from the state and all parameters."""
        links, begin = self.simulation.links, self.settings.begin
        return links and links.gives_at(np.concatenate([[begin], state, self.feed.at(begin)]), parameters)

    def go_on(self, problem: Problem) -> None:
        """What a problem must know of a run before this one: nothing."""


class GoingOn(FreshBegin):
    """The state in which another run ended."""

    def __init__(
        self, simulation: Any, settings: Settings, parameters: np.ndarray, feed: Feed, *, end: RunEnd, request: Request
    ) -> None:
        state = end.state(simulation.program, simulation.engine)
        if unlocked(simulation, state):
            simulation._make(None)
        super().__init__(simulation, settings, parameters, feed, state, dict(end.facts))
        self._held = end.inputs if settings.begin == end.time else None  # else callables are asked
        feed.begin(settings.begin, self._held)
        program = simulation.program
        given = dict(zip(program.parameters, parameters.tolist(), strict=False))
        inputs = dict(zip(program.inputs, feed.at(settings.begin).tolist(), strict=True))
        others = [name for name, value in given.items() if end.parameters.get(name) != value]
        fed = [name for name, value in inputs.items() if end.inputs.get(name) != value]
        self._known = None if others or fed else [end.parameters[name] for name in program.parameters]
        steady = {source.name for source in feed.sources if source.table is None and not source.is_callable}
        silent = [name for name in others if name not in (request.parameters or {})]
        silent += [name for name in fed if name in steady and name not in (request.inputs or {})]
        before = {**end.inputs, **end.parameters}
        self.remarks = [_other(name, before.get(name), {**inputs, **given}[name]) for name in silent]

    def settled(self) -> tuple[np.ndarray, np.ndarray, str]:
        """As it was, if inputs and parameters are the same."""
        return super().settled() if self._known is None else (self.state, np.array(self._known, dtype=float), "")

    def go_on(self, problem: Problem) -> None:
        """What callables told last; RunError if the loops of this machine, with its parameters, are open there."""
        problem.held = self._held
        if problem.is_open is not None and problem.is_open(self.settings.begin, problem.state):
            raise RunError(OPEN, fix=CLOSE)


def _other(name: str, before: float | None, now: float) -> str:
    """That something is not what it was in the run before, though nobody asked for that."""
    return (
        f"{name} was {before} in the run this one goes on from, and is {now} now, as declared; give it again to keep it"
    )
