"""sensitivities(model, parameters, ...) -> Result: exact derivatives of a whole run by parameters and starts.

The variational equations run beside the motion in the native loop, through projections, samples and events (see
`translate/variation`). Each column is scaled by the size of its parameter, so that tolerances mean the same for all.
Only the start is differenced: how loops close depends on parameters through an iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from kompono.analyses import lanes
from kompono.analyses.law_jumps import JumpingSettler, one_by_one
from kompono.analyses.point import listed
from kompono.compile import compile_program
from kompono.ending import Ending
from kompono.errors import ModelWarning, RunError, RunWarning, suggest, warn
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.options import with_kinds
from kompono.request import Request
from kompono.result import Result, Status, matching
from kompono.result.unwrap import unwrap
from kompono.simulation import Simulation
from kompono.solve.integrate import Problem, integrate
from kompono.solve.settings import Settings, check_method, check_settings, settings_of
from kompono.translate.slopes import symbolic
from kompono.translate.variation import ModelVariation, no_variation

METHODS = ("rk2", "rk4", "adams", "dopri5")
STENCIL = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))  # of a first derivative, sixth order
STRIDE = 1e-3  # of the size of a parameter, from one start to the next
GROWN = 1e30  # a derivative above this, in any unit, tells nothing: the last digit of what it is by changes all
TOGETHER = 1e-11  # [s] events closer than this are one, whose order decides


@dataclass(frozen=True, eq=False)
class Varied:
    """A simulation with derivatives by `names` of parameters and start values."""

    simulation: Simulation
    names: tuple[str, ...]
    values: Mapping[str, float]  # of parameters that are not as declared
    initial: Mapping[str, float]

    def __post_init__(self) -> None:
        path, why = no_variation(self.simulation.program)
        if why:
            raise RunError(f"{why}, so a run has no derivatives.", path=path, fix="Leave it out, or vary by runs.")
        known = (*self.simulation.program.parameters, *self._starts)
        for name in self.names:
            if name not in known:
                raise RunError(f"there is no parameter or start value {name!r}.", fix=suggest(name, known))

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        program = self.simulation.program
        return (*program.coordinates, *program.speeds, *program.states)

    def at(self, values: Mapping[str, float], forward: bool = True) -> Varied:
        """The same at other values of the names; only what runs `forward` with its derivatives is compiled."""
        parameters = {name: float(v) for name, v in values.items() if name in self.simulation.program.parameters}
        starts = {name: float(v) for name, v in values.items() if name not in parameters}
        other = Varied(self.simulation, self.names, {**self.values, **parameters}, {**self.initial, **starts})
        if forward:  # scales stay: what is compiled serves all values
            other.__dict__["_compiled"] = self._compiled
            other.__dict__["_side_by_side"] = self._side_by_side
        return other

    @cached_property
    def present(self) -> dict[str, float]:
        """Values of the names as they are now."""
        program = self.simulation.program
        parameters = dict(zip(program.parameters, self.simulation.parameters(dict(self.values)), strict=True))
        state = self._start(self.values, self.initial)
        starts = dict(zip(self._starts, np.delete(state, _modes(program)), strict=True))
        return {name: float(parameters.get(name, starts.get(name, 0.0))) for name in self.names}

    @property
    def _given(self) -> dict[str, float]:
        """Start values that are given, and those of the names: what is varied is given, not found by assembly."""
        parameters = self.simulation.program.parameters
        return {**self.initial, **{n: value for n, value in self.present.items() if n not in parameters}}

    @cached_property
    def _compiled(self) -> tuple[ModelVariation, Any, tuple[float, ...]]:
        scales = tuple(abs(value) or 1.0 for value in self.present.values())
        variation = ModelVariation(self.simulation.program, self._places, scales)
        return variation, compile_program(variation.program(), cache=self.simulation.request.cache), scales

    @property
    def _places(self) -> tuple[int | None, ...]:
        known = self.simulation.program.parameters
        return tuple(known.index(name) if name in known else None for name in self.names)

    @cached_property
    def _side_by_side(self) -> lanes.LaneColumns:
        cache = self.simulation.request.cache
        return lanes.LaneColumns(self.simulation.program, self._places, self._compiled[2], cache)

    def _start(self, parameters: Mapping[str, float], initial: Mapping[str, float]) -> np.ndarray:
        simulation = self.simulation
        values, feed = simulation.parameters(dict(parameters)), simulation.feed()
        state = simulation.assemble(dict(initial), parameters=values, feed=feed).state
        return simulation.started(state, values, feed)

    @cached_property
    def _still(self) -> frozenset[str]:
        """Parameters that neither conditions of loops nor projections depend on, so that the start does not."""
        program = self.simulation.program
        parameters = [name for name in self.names if name in program.parameters]
        if self.simulation.links is not None or not self.simulation.entry.by_joints or program.laws:
            return frozenset()
        routines = [program.routines[name] for name in ("conditions", "project") if name in program.routines]
        x = ca.SX.sym("x", sum(size for _, size in routines[0].inputs))
        first = x.numel() - len(program.parameters)
        found = ca.vertcat(*(part for routine in routines for part in symbolic(program.kernels, routine, x)))
        depends = ca.which_depends(found, x[first:], 1) if len(program.parameters) else []
        return frozenset(n for n in parameters if not depends[program.parameters.index(n)])

    def start(self) -> np.ndarray:
        """The state the run begins with."""
        return self._start(self.values, self._given)

    def start_slopes(self) -> np.ndarray:
        """Derivatives of the start (state, names)."""
        scales = tuple(abs(value) or 1.0 for value in self.present.values())
        return self._columns(scales) / np.array(scales)

    def _columns(self, scales: tuple[float, ...]) -> np.ndarray:
        """Derivatives of the start (state, names), each times its scale."""
        found = []
        still = self._still
        for name, scale in zip(self.names, scales, strict=True):
            if name in still:
                found.append(np.zeros(self.simulation.program.state_size))
                continue
            given = (self.values, self._given)
            which = 0 if name in self.simulation.program.parameters else 1
            total: Any = 0.0
            for times, weight in STENCIL:
                for sign in (1.0, -1.0):
                    moved = {**given[which], name: self.present[name] + sign * times * STRIDE * scale}
                    pair = (moved, given[1]) if which == 0 else (given[0], moved)
                    total = total + sign * weight * self._start(*pair)
            total[_modes(self.simulation.program)] = 0.0
            found.append(total / STRIDE)
        return np.array(found).reshape(len(self.names), -1).T

    def run(
        self, settings: Settings, channels: str | Iterable[str] = "*", inputs: Mapping[str, Any] | None = None
    ) -> Result:
        """The run with derivatives as channels `channel/name`."""
        if settings.method not in METHODS:
            raise RunError(f"{settings.method} does not step derivatives.", fix=f"Use {', '.join(METHODS)}.")
        simulation, (variation, kernel, scales) = self.simulation, self._compiled
        program, feed = simulation.program, simulation.feed(inputs)
        if any(source.is_callable for source in feed.sources):
            raise RunError("callable inputs have no derivatives.", fix="Give numbers or tables.")
        values = simulation.parameters(dict(self.values))
        known = program.channels
        chosen = [k for k in matching(channels, known) if not known[k].name.startswith("drift.")]  # zero, without slope
        selected = simulation.translation.select(chosen)
        begun = self.start(), self._columns(scales)
        parts = None
        if lanes.pays(program, settings, len(self.names)):
            columns = self._side_by_side
            trajectory, given = columns.run(*begun, values, feed, settings, unread)
            if not np.isfinite(trajectory.lost).any():  # else one lane says what is wrong
                parts = columns.channels(trajectory.rows, given, selected)
        if parts is None:
            start = np.concatenate([begun[0], begun[1].T.ravel()])
            if program.laws:
                assert simulation.settler is not None
                if simulation.settler.steps:
                    fix = "Leave contact= out: events have derivatives."
                    raise RunError("contact='steps' makes its steps over everything that happens.", fix=fix)
                kernel.settle = JumpingSettler(simulation.settler, variation.directions(), feed.at)
            trajectory = integrate(Problem(kernel, start, values, feed, unread), settings, None)
            check_events(one_by_one(trajectory.statistics.get("events", []), program))
            routine, width, rows = variation.add_channels(kernel.program, selected), len(start), trajectory.rows
            table = kernel.map(routine, rows[:, 0], rows[:, 1 : 1 + width], rows[:, 1 + width :], values)
            parts = table.reshape(len(rows), 1 + len(self.names), -1)
        rows = trajectory.rows
        if trajectory.ended is Ending.ENDED:
            parts[-1, 1:, timed(program, selected)] = np.nan
        parts = parts[:, :, chosen] if selected == "outputs" and parts.shape[2] != len(chosen) else parts
        base = unwrap(rows[:, 0], parts[:, 0], [known[k] for k in chosen])
        moved = parts[:, 1:] / np.array(scales)[None, :, None]
        return self._result(trajectory, settings, [known[k] for k in chosen], base, moved)

    def _result(self, trajectory: Any, settings: Settings, channels: Any, base: Any, moved: np.ndarray) -> Result:
        names, units = [c.name for c in channels], {c.name: c.unit for c in channels}
        labels = [f"{c.name}/{name}" for name in self.names for c in channels]
        bad = ~np.isfinite(moved).all(axis=0).ravel()
        if bad.any():
            warn(f"{labels[int(np.argmax(bad))]}: not a finite number all the way.", ModelWarning)
        table = np.hstack([base, moved.reshape(len(base), -1)])
        status = Status(trajectory.ended.ok, trajectory.message, trajectory.time, trajectory.ended)
        grown = np.argwhere(np.abs(moved.reshape(len(base), -1)) > GROWN)
        if status.ok and len(grown):
            name, time = labels[grown[0, 1]], float(trajectory.rows[grown[0, 0], 0])
            why = "the derivative grew without bound; take a smaller step, or end the run earlier,"
            status = Status(False, f"{name}: {why} from t = {time:g} s on", time, Ending.GROWN)
        if not status.ok:
            warn(f"{self.simulation.name} did not run as planned: {status.message}", RunWarning)
        about = {"method": settings.method, "engine": self.simulation.engine, "step": settings.step}
        return Result(
            trajectory.rows[:, 0], [*names, *labels], table, units={**units, **dict.fromkeys(labels, "")},
            status=status, statistics={**about, **trajectory.statistics}, model=self.simulation.name,
        )  # fmt: skip


def unread(*_: Any) -> float:
    """Nothing reads channels in runs with derivatives."""
    raise RunError("nothing reads channels here.")


def timed(program: Any, selected: str) -> list[int]:
    """Channels of a routine that depend on time or inputs themselves: where an event ends a run, and its end moves,
    derivatives of the state do not tell theirs.
    """
    routine = program.routines[selected]
    x = ca.SX.sym("x", sum(size for _, size in routine.inputs))
    first = 1 + program.state_size
    found = symbolic(program.kernels, routine, x)[0]
    given = ca.vertcat(x[0], x[first : first + len(program.inputs)])
    return sorted(set(ca.jacobian_sparsity(found, given).row()))


def _modes(program: Any) -> list[int]:
    first = len(program.coordinates) + len(program.speeds)
    return list(range(first, first + len(program.modes)))


def check_events(events: list[tuple[float, str]]) -> None:
    """Refuse two events at one instant."""
    for (earlier, one), (later, two) in pairwise(events):
        if later - earlier < TOGETHER:
            raise RunError(
                f"{one} and {two} happen together at {later:g} s: which comes first decides, so nothing is smooth.",
                fix="Ask until a time before, or let one event do both.",
            )


def varied(
    model: Subsystem | Simulation,
    names: Iterable[str],
    parameters: Mapping[str, float] | None,
    initial: Mapping[str, float] | None,
    options: Mapping[str, Any],
) -> Varied:
    """A model with derivatives by names, translated if it is not."""
    simulation = model if isinstance(model, Simulation) else Simulation(model, **options)
    asked = tuple(dict.fromkeys(listed(names)))
    if not asked:
        raise RunError("nothing is varied.", fix="Name tunable parameters and start values.")
    return Varied(simulation, asked, dict(parameters or {}), dict(initial or {}))


def settings_for(
    simulation: Simulation, until: float, step: Any, method: Any, rtol: float, atol: Any, every: Any
) -> Settings:
    """Settings of a run with derivatives."""
    steps = {"until": until, "step": step, "method": method, "rtol": rtol, "atol": atol, "every": every}
    settings = settings_of(Request(engine=simulation.engine, **steps))
    check_settings(settings)
    check_method(simulation.entry, settings.method)
    return settings


@heeded
@with_kinds
def sensitivities(
    model: Subsystem | Simulation,
    names: Iterable[str],
    *,
    until: float,
    step: float | None = None,
    method: str | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    every: int | None = None,
    channels: str | Iterable[str] = "*",
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    **options: Any,
) -> Result:
    """A run with exact derivatives of its channels by tunable parameters and start values (coordinates, speeds, own
    states), by name.

    The result has each channel and `channel/name`, its derivative [SI units of one by the other] at the same time.
    Method rk4 (default), rk2, adams or dopri5; other options as of `simulate` and `Simulation`. Derivatives pass
    through closed loops, sampled modes and events; at an event they jump, since its time depends on the parameters. At
    an event that ends the run (`Event(stop=True)`) the last ones are those of what it ends with, whenever that is.
    """
    asked = varied(model, names, parameters, initial, options)
    settings = settings_for(asked.simulation, until, step, method, rtol, atol, every)
    return asked.run(settings, channels, inputs)
