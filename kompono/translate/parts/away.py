"""The engine of a run some of whose closed parts are kept elsewhere.

It is that of the model with closed parts, with another state: what is inside such a part is not in it, only a handle of
it at the end. All decisions were made before, by the engine that has the parts here (`near`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import casadi as ca

from kompono.errors import ModelError
from kompono.model.signal import time
from kompono.sealed.kept import Gives, gives, place_of_x, tells
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.traced import Present
from kompono.translate.far_calls import far_function
from kompono.translate.laws.naming import is_solver
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.parts.compartment import Compartment
from kompono.translate.parts.far import function_number, group_sizes
from kompono.translate.parts.inside import Part, PartFunction
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.owner import PartedEngine, SolvedByParts
from kompono.translate.parts.sealed import SealedPart
from kompono.translate.program import Channel, Routine
from kompono.translate.tracer import InlineTracer, Tracer


class AwayInside:
    """What is known here of the inside of a part that is kept elsewhere; x is its handle."""

    def __init__(self, part: Part, number: int) -> None:
        inside = part.inside
        self.handed, self.laws = inside.handed, inside.laws
        self.whole, self.settles, self.keeps = inside.whole, inside.settles, inside.keeps
        self.sample_rates, self.ticks = inside.sample_rates, inside.ticks
        self.parts: tuple[Part, ...] = ()
        self.size, self._number = 1, number

    def places(self, _: Any) -> list[int]:
        """Behind all others: the number of the handle, counted from -1 downwards."""
        return [-1 - self._number]


def is_identity(closed: PartFunction) -> bool:
    """Whether a function of x gives x."""
    function = closed.function
    if closed.groups != ("x",) or closed.signals or function.nnz_in() != function.nnz_out():
        return False
    registers: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op, given, taken = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_INPUT:
            registers[taken[0]] = given[1]
        elif op != ca.OP_OUTPUT or registers[given[0]] != taken[1]:
            return False
    return True


def is_constant(function: ca.Function) -> bool:
    """Whether anybody can say what a function always gives: solvers are native code alone."""
    return not function.nnz_in() and not any(is_solver(inner.name()) for inner in function.find_functions())


class AwayPart(Part):
    """A closed part with its state elsewhere."""

    opens = False
    elsewhere = True

    def __init__(self, near: Part, number: int) -> None:
        self.near, self.number = near, number
        self.part, self.path, self.border = near.part, near.path, near.border
        self.inside = cast(Any, AwayInside(near, number))
        self._made: dict[str, PartFunction] = {}
        self.first = ca.SX.sym("handle")  # of the state that routines are given

    def closed(self, name: str) -> PartFunction:
        if name not in self._made:
            near, size = self.near.numbered(name), self.near.inside.size
            values = tells(gives(name))
            if values and (not near.function.nnz_out() or is_constant(near.function)):
                return self.near.closed(name)  # its numbers are put in like others
            takes, before = place_of_x(near.groups, group_sizes(self.near))
            arguments = 1 + near.function.nnz_in() - (size if takes else 0)
            results = near.function.nnz_out() if values else 1
            function = far_function(function_number(self.near, name), values, before, arguments, results)
            groups = near.groups if takes else (*near.groups, "x")  # the same order: the same code around it
            self._made[name] = PartFunction(function, groups, near.signals)
        return self._made[name]

    def ask(
        self, kinematics: Kinematics, name: str, x: Any, *, base: Any = None, fields: Any = None, given: Any = None,
        forces: Any = None,
    ) -> Any:  # fmt: skip
        what = gives(name)
        idle = not self.near.inside.size or (name == "normalize" and not self.turns)
        if idle and what in (Gives.STATE, Gives.SAMPLED, Gives.MODES):
            return x
        if tells(what) and "x" not in self.near.closed(name).groups:
            x = self.first  # what does not depend on x is asked once
        return super().ask(kinematics, name, x, base=base, fields=fields, given=given, forces=forces)

    @cached_property
    def turns(self) -> bool:
        """Whether anything has to be kept of unit length."""
        if isinstance(self.near, SealedPart):
            return self.near.turns
        return self.near.inside.size > 0 and not is_identity(self.near.numbered("normalize"))

    def channels(self) -> tuple[Channel, ...]:
        return self.near.channels()

    @property
    def shown(self) -> list[Any]:  # type: ignore[override]
        return self.near.shown

    @property
    def network_symbols(self) -> list[Any]:
        return self.near.network_symbols

    @property
    def unreported(self) -> Sequence[Any]:  # type: ignore[override]
        return self.near.unreported


def _without(compartment: Compartment, parts: dict[Part, AwayPart]) -> Compartment:
    """The same compartment with some parts away."""
    shown = copy.copy(compartment)
    shown.twin  # noqa: B018  shared: decisions are made once
    shown.parts = tuple(parts.get(part, part) for part in compartment.parts)
    for name in ("size", "symbols", "settles", "keeps"):
        shown.__dict__.pop(name, None)
    return shown


class AwayEngine(SolvedByParts):
    """The engine `near`, with some parts away."""

    here = False

    @property
    def looks_inside(self) -> bool:
        return False

    def __init__(self, near: PartedEngine, paths: Sequence[str]) -> None:
        self.near, self.model, self.topology = near, near.model, near.topology
        self.kernels, self.shared = near.kernels, False
        self._stack(near.compartment, by_rows=True)
        self.sample_rates, self.ticks = near.sample_rates, near.ticks
        chosen = [part for part in near.compartment.parts if part.path in paths]
        for path in set(paths) - {part.path for part in chosen}:
            raise ModelError(
                "it is inside another closed part, so it cannot be elsewhere by itself.", path=path,
                fix="Place the part around it, or leave that one open.",
            )  # fmt: skip
        self.parts = tuple(AwayPart(part, number) for number, part in enumerate(chosen))
        self.compartment = _without(near.compartment, {part.near: part for part in self.parts})
        self.inner = [part.near.inside.places(near) for part in self.parts]  # of x in the state of `near`
        gone = {place for places in self.inner for place in places}
        size = near.nq + near.nv + len(near.model.memory)
        self.kept = [place for place in range(size) if place not in gone]
        known = {place: k for k, place in enumerate(self.kept)}
        own = len(self.kept)
        self.places = [known[p] if p >= 0 else own - 1 - p for p in self.compartment.places(near)]
        modes, first = {mode: k for k, mode in enumerate(near.model.modes)}, near.nq + near.nv
        self.modes_here = [place - first for place in self.kept if 0 <= place - first < len(modes)]
        self.modes_away = [[modes[m] for unit in p.laws.modes for m in unit] for p in self.parts]  # those of laws

    @property
    def kept_away(self) -> dict[str, Any]:
        """What a program says of parts elsewhere."""
        parts = tuple((part.path, part.near.inside.size) for part in self.parts)
        modes = tuple(map(tuple, self.modes_away))
        return {"opaque": parts, "modes_here": tuple(self.modes_here), "modes_away": modes}

    @property
    def projects(self) -> bool:
        return self.near.projects or any(part.turns for part in self.parts)

    @property
    def ties(self) -> bool:  # type: ignore[override]
        return self.near.ties

    @property
    def straying(self) -> tuple[Any, ...]:
        return self.near.straying

    def coordinate_names(self) -> tuple[str, ...]:
        return self._names_of(self.near.coordinate_names(), 0)

    def speed_names(self) -> tuple[str, ...]:
        return self._names_of(self.near.speed_names(), self.near.nq)

    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes that are here."""
        return self._names_of(tuple(map(self.model.path, self.model.modes)), self.near.nq + self.near.nv)

    def state_names(self) -> tuple[str, ...]:
        """Names of the states of one's own that are here."""
        first = self.near.nq + self.near.nv + len(self.model.modes)
        return self._names_of(tuple(map(self.model.path, self.model.states)), first)

    def _names_of(self, names: tuple[str, ...], first: int) -> tuple[str, ...]:
        return tuple(names[place - first] for place in self.kept if 0 <= place - first < len(names))

    def _speeds(self, rates: Any) -> Any:
        """Own speeds in their order, then what parts elsewhere keep."""
        places = {place: k for k, place in enumerate(self.places)}
        first, own = len(self.coordinate_names()), len(self.kept)
        here = range(first, first + len(self.speed_names()))
        return ca.vertcat(ca.SX(0, 1), *[rates[places[k]] for k in (*here, *range(own, own + len(self.parts)))])

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places of each closed part."""
        known = {place: k for k, place in enumerate(self.kept)}
        found = []
        for part in self.compartment.parts:
            away = isinstance(part, AwayPart)
            places = part.near.inside.places(self.near) if away else part.inside.places(self.near)
            if places:
                found.append((len(self.kept) + part.number,) if away else tuple(known[p] for p in places))
        return tuple(found)

    def _symbols(self) -> list[tuple[str, Any]]:
        near, model = self.near, self.model
        whole = ca.vertcat(
            *[joint.q for joint in (*near.joints, *near.counted)], *[joint.v for joint in near.joints],
            *map(ca.SX, model.memory),
        )  # fmt: skip
        state = ca.vertcat(*[whole[place] for place in self.kept], *[part.first for part in self.parts])
        inputs, parameters = (ca.vertcat(ca.SX(0, 1), *map(ca.SX, kind)) for kind in (model.inputs, model.parameters))
        return [("time", time), ("state", state), ("inputs", inputs), ("parameters", parameters)]

    def _moment(self) -> tuple[Tracer, Moment]:
        tracer = InlineTracer(self._symbols(), self.kernels)
        tracer.numbers = self.model.numbers
        state = ca.SX(tracer.values["state"])
        x = ca.vertcat(ca.SX(0, 1), *[state[place, :] for place in self.places])
        return tracer, Moment(self.compartment, tracer, self.compartment.unpack(x))

    def switch(self, number: int) -> Routine:
        tracer, _, now = self._settled
        event = self.model.events[number]
        for part in self.parts:
            for k, known in enumerate(part.inside.whole.events):
                if known is event:
                    moment = now.at(now.values)
                    state = ca.SX(tracer.values["state"])
                    state[len(self.kept) + part.number] = moment._ask(part, f"switch_{k}")
                    return tracer.routine(f"switch_{number}", [("state", state)])
        state, memory = ca.SX(tracer.values["state"]), (*self.mode_names(), *self.state_names())
        first = len(self.kept) - len(memory)
        for changed, value in now.at(now.values).switched(event):
            state[first + memory.index(self.model.path(changed))] = value
        return tracer.routine(f"switch_{number}", [("state", state)])

    # -- asked of `near` alone

    @cached_property
    def present(self) -> Present:
        raise AssertionError("what is elsewhere cannot be traced")

    @cached_property
    def posed(self) -> Posed:
        raise AssertionError("what is elsewhere cannot be traced")

    def speed_rates(self, solution: Any) -> Any:
        raise AssertionError("what is elsewhere cannot be traced")
