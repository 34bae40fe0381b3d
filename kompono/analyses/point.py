"""A model at one consistent state, with everything analyses ask of it there.

Analyses work in joint coordinates: coordinates q, speeds v, states of one's own s, with modes as they are. Models are
evaluated by CasADi, without waiting for a compiler, except where laws and parts need native code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kompono.analyses.held_laws import held_gaps
from kompono.beginning import CLOSE, OPEN, GoingOn
from kompono.compile import Interpreter
from kompono.errors import ModelWarning, RunError, warn
from kompono.given import number, texts
from kompono.kinds import end
from kompono.model.subsystem import Subsystem
from kompono.options import check_known
from kompono.request import OF_CONCERN, Concern, Request
from kompono.result import Result
from kompono.run_end import RunEnd
from kompono.simulation import Simulation
from kompono.solve.assemble import remarks
from kompono.solve.inputs import Feed
from kompono.solve.laws.straight import usual
from kompono.solve.settings import Settings

OPEN_AT = 1e-7  # violation of a condition from which on a loop counts as open
CLOSED = 1e-12  # how well loops are closed where a state is moved, in the units of their conditions


@dataclass(frozen=True)
class Place:
    """Where in a state (q, v, modes, s) its parts are."""

    q: slice
    v: slice
    modes: slice
    s: slice

    @classmethod
    def of(cls, program: Any) -> Place:
        ends = np.cumsum([0, *map(len, (program.coordinates, program.speeds, program.modes, program.states))])
        return cls(*(slice(int(a), int(b)) for a, b in pairwise(ends)))


@dataclass(frozen=True)
class Point:
    """A simulation at a time [s], a state, values of inputs and of parameters; `moved` says what assembly moved."""

    simulation: Simulation
    time: float
    state: np.ndarray
    inputs: np.ndarray
    parameters: np.ndarray
    moved: Mapping[str, float]
    compiled: bool = False  # whether someone keeps the simulation, to ask more than once
    memo: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # made once for all states

    @cached_property
    def place(self) -> Place:
        """Where the parts of the state are."""
        return Place.of(self.simulation.program)

    @property
    def kernel(self) -> Any:
        """What evaluates: CasADi, if nobody compiles the model anyway and it can."""
        if "kernel" not in self.memo:
            program = self.simulation.program
            needs_code = program.laws or program.away or program.opaque
            self.memo["kernel"] = self.simulation.kernel if self.compiled or needs_code else Interpreter(program)
        return self.memo["kernel"]

    def with_state(self, state: np.ndarray) -> Point:
        """The same at another state."""
        return replace(self, state=state)

    def with_inputs(self, inputs: np.ndarray) -> Point:
        """The same with other inputs."""
        return replace(self, inputs=inputs)

    def with_parameters(self, parameters: np.ndarray) -> Point:
        """The same with other parameters."""
        return replace(self, parameters=parameters)

    def evaluate(self, routine: str) -> tuple[np.ndarray, ...]:
        """The outputs of a routine here."""
        settler = self.simulation.settler if self.simulation.program.opaque else None
        with self.kernel.begun(self.state) as state:  # parts elsewhere begin there
            if settler is not None:  # laws of others have settled before
                state = settler.start(self.time, state, self.inputs, self.parameters)
            return self.kernel.evaluate(routine, self.time, state, self.inputs, self.parameters)

    # -- what routines tell

    @property
    def rate(self) -> np.ndarray:
        """d state / dt."""
        return self.evaluate("derivative")[0]

    def conditions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """g, g_dot, G (rows, speeds) and u of what closes loops: g_ddot = G v_dot + u."""
        g, g_dot, matrix, bias = self.evaluate("conditions")
        return g, g_dot, matrix.reshape(len(self.simulation.program.speeds), len(g)).T, bias

    def coordinate_rates(self) -> np.ndarray:
        """N (coordinates, speeds): q_dot = N v."""
        count = len(self.simulation.program.speeds)
        columns = []
        for unit in np.eye(count):
            state = self.state.copy()
            state[self.place.v] = unit
            columns.append(self.with_state(state).evaluate("rates")[0])
        return np.array(columns).reshape(count, len(self.simulation.program.coordinates)).T

    # -- moving

    def normalized(self) -> Point:
        """The same with quaternions of unit length."""
        (q,) = self.evaluate("normalize")
        state = self.state.copy()
        state[: len(q)] = q
        return self.with_state(state)

    def closed(self) -> Point:
        """The same with loops closed, from nearby, and speeds that fit."""
        if "project" not in self.simulation.program.routines:
            return self.normalized()
        point = self
        for _ in range(20):
            point = point.with_state(point.evaluate("project")[0])
            off = np.concatenate([point.conditions()[0], held_gaps(point)])
            if np.abs(off).max(initial=0.0) < CLOSED:
                return point
        return point

    def at_rest(self) -> Point:
        """The same at rest: the smallest speeds that prescribed motions allow."""
        state = self.state.copy()
        state[self.place.v] = 0.0
        still = self.with_state(state)
        _, g_dot, matrix, _ = still.conditions()
        if not np.abs(g_dot).max(initial=0.0):
            return still
        state[self.place.v] = -np.linalg.pinv(matrix, rcond=1e-9) @ g_dot
        return self.with_state(state)

    def start_values(self) -> dict[str, float]:
        """Coordinates, speeds and own states by the names that `initial` of a run takes."""
        program, named, free = self.simulation.program, {}, {}
        for names, part in ((program.coordinates, self.place.q), (program.speeds, self.place.v)):
            for name, value in zip(names, self.state[part], strict=True):
                path, inside, _ = name.rpartition(".free.")
                if inside:
                    free[path] = None
                else:
                    named[name] = float(value)
        named.update(zip(program.states, map(float, self.state[self.place.s]), strict=True))
        wanted = [f"{path}.{kind}.{axis}" for path in free for kind, axes in _FREE.items() for axis in axes]
        return self.channels(wanted) | named

    def channels(self, names: Sequence[str]) -> dict[str, float]:
        """Some channels by name."""
        known = {channel.name: k for k, channel in enumerate(self.simulation.program.channels)} if names else {}
        columns = sorted({known[name] for name in names})
        if not columns:
            return {}
        routine = self.simulation.translation.select(columns)
        (values,) = self.evaluate(routine)
        values = values if routine != "outputs" else np.asarray(values)[columns]
        found = dict(zip(columns, values, strict=True))
        return {name: float(found[known[name]]) for name in names}


_FREE = {"position": "xyz", "orientation": ("e0", "e1", "e2", "e3"), "velocity": "xyz", "angular_velocity": "xyz"}


def find_point(
    model: Subsystem | Simulation,
    at: Any,
    time: float,
    inputs: Mapping[str, Any] | None,
    parameters: Mapping[str, float] | None,
    options: Mapping[str, Any],
) -> Point:
    """A model where it is asked for: at its declared start (None), at given coordinates and speeds by name, where
    another analysis ended (`at.point`), or where a run did (`result.end`).
    """
    time = number(time, "the time", error=RunError, fix="Give seconds.")
    known = getattr(at, "point", None)
    known = known if isinstance(known, Point) else None
    if known is not None and known.simulation.translation.model.model is model and not options:
        if not inputs and not parameters and time in (0.0, known.time):
            return known
        model, at = known.simulation, known.start_values()
    elif known is not None:
        at = known.start_values()
    simulation = _simulation(model, options)
    values, feed = simulation.parameters(parameters), simulation.feed(inputs)
    if isinstance(at, RunEnd | Result):
        asked = Request(inputs=inputs, parameters=parameters)
        return _ended(simulation, end("at", at), time, values, feed, asked, isinstance(model, Simulation))
    assembly = simulation.assemble(at, parameters=values, feed=feed, time=time)
    for remark in remarks(assembly):
        warn(remark, ModelWarning)
    values = simulation.completed(values, assembly.state, feed, simulation.entry.step, time)
    state = simulation.started(assembly.state, values, feed, time)
    with simulation.kernel.begun(state) as begun:
        feed.sample(time, lambda name: simulation.channel(time, begun, feed.at(time), values, name))
    compiled = isinstance(model, Simulation) and model.request.native
    return Point(simulation, time, state, feed.at(time), values, assembly.moved, compiled)


def _ended(
    simulation: Simulation, end: RunEnd, time: float, values: np.ndarray, feed: Feed, asked: Request, kept: bool
) -> Point:
    """Where a run ended, at its time unless another is given; RunError where loops are open there."""
    time, entry = time or end.time, simulation.entry
    settings = Settings(entry.method, time, entry.step, begin=time)
    begun = GoingOn(simulation, settings, values, feed, end=end, request=asked)
    for remark in begun.remarks:
        warn(remark, ModelWarning)
    state, values, jam = begun.settled()
    if jam:
        raise RunError(jam)
    state = usual(simulation.program, state)
    feed.sample(time, lambda name: simulation.channel(time, state, feed.at(time), values, name))
    point = Point(simulation, time, state, feed.at(time), values, {}, kept and simulation.request.native)
    if "conditions" in simulation.program.routines and np.abs(point.conditions()[0]).max(initial=0.0) > OPEN_AT:
        raise RunError(OPEN, fix=CLOSE)
    return point


def _simulation(model: Subsystem | Simulation, options: Mapping[str, Any]) -> Simulation:
    if not isinstance(model, Simulation):
        check_known(dict(options), OF_CONCERN[Concern.SOLUTION], "argument")
        return Simulation.of(model, Request.of(dict(options)))
    if options and dict(options) != {"engine": model.engine}:
        raise RunError("engine and its options were chosen when the Simulation was made.", fix="Leave them out.")
    return model


def listed(names: Iterable[str]) -> tuple[str, ...]:
    """Names, whether one or several were given."""
    return texts(names, "what is named,", error=RunError, fix='Give a name, or several: ["pin.angle", "k"].')


def in_joint_coordinates(point: Point) -> Point:
    """The point itself; RunError where every body is placed by itself."""
    if not point.simulation.entry.by_joints:
        raise RunError("this analysis works in joint coordinates.", fix="Use engine='relative'.")
    return point
