"""A part alone, whoever may own it some day: its functions for a choice of base, with what is public as symbols and all
else folded into numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError, nearest
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.event import Event
from kompono.model.pin import Pin
from kompono.model.signal import Input, Output, Parameter
from kompono.model.subsystem import Subsystem
from kompono.sealed.element import Sealed
from kompono.sealed.shape import PLACED, LawShape, LawShapes, NetworkShape, PinShape, Port
from kompono.translate.declared.elaborate import Elaborated, elaborate
from kompono.translate.declared.networks import Terminal
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.inverses import constant_inverse
from kompono.translate.engines.judging import Close
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.laws.changing import check_known
from kompono.translate.laws.softened import softened, steps_of_soft_laws
from kompono.translate.motion.loads import central_inertia
from kompono.translate.motion.signals import outputs_without_results
from kompono.translate.parts.assembling import assembling
from kompono.translate.parts.border import Border
from kompono.translate.parts.enclosed import Enclosed
from kompono.translate.parts.inside import Part
from kompono.translate.parts.moment import Moment
from kompono.translate.program import Channel
from kompono.translate.structure.flying import flying_bodies, held_bodies, touched_bodies
from kompono.translate.structure.mates import mated_pairs
from kompono.translate.symbolic import Scalar, Vector


@dataclass(frozen=True)
class Public:
    """Which names of a part may be seen: patterns for parameters, inputs, outputs and channels; ports in any case."""

    model: Elaborated
    ports: Mapping[str, Frame]
    patterns: tuple[str, ...]

    def allows(self, name: str) -> bool:
        """Whether a name fits a pattern."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def shows(self, channel: Channel) -> bool:
        """Whether a channel may be seen: it fits a pattern, or is motion of a body that is a port itself. Not what
        pins have: that is known outside.
        """
        pins = [f"{self.model.path(pin)}." for pin in self.model.model.exposed if isinstance(pin, Pin)]
        if any(channel.name.startswith(pin) for pin in pins):
            return False
        ports = [f"{name}." for name, port in self.ports.items() if isinstance(port, Body)]
        return self.allows(channel.name) or any(channel.name.startswith(port) for port in ports)

    @cached_property
    def shown(self) -> frozenset[Carrier]:
        """Bodies of ports, which others may hold."""
        return frozenset(frame.body for frame in self.ports.values())

    @cached_property
    def flying(self) -> frozenset[Carrier]:
        """Bodies that nothing inside holds, and that are touched."""
        return flying_bodies(self.model)

    @cached_property
    def held(self) -> set[Carrier]:
        """Bodies that joints inside hold."""
        return held_bodies(self.model, (), mated_pairs(self.model))

    def told_ports(self) -> tuple[Port, ...]:
        """What others must know of the bodies of ports to choose the coordinates of these."""
        first: dict[Carrier, str] = {}
        touched, found = touched_bodies(self.model), []
        for name, frame in self.ports.items():
            on = first.setdefault(frame.body, name)
            joined = frame.body in self.held
            found.append(Port(name, on="" if on == name else on, joined=joined, touched=frame.body in touched))
        return tuple(found)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters that can be set from outside; the step of soft laws always."""
        steps = steps_of_soft_laws(self.model)
        return tuple(p for p in self.model.parameters if self.allows(self.model.path(p)) or self.model.path(p) in steps)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Inputs that can be fed from outside."""
        return tuple(i for i in self.model.inputs if self.allows(self.model.path(i)))

    def folded(self) -> list[tuple[Scalar, float]]:
        """All other parameters and inputs, with their values."""
        shown = {*self.parameters, *self.inputs}
        found: list[Any] = [s for s in (*self.model.parameters, *self.model.inputs) if s not in shown]
        for signal in found:
            if isinstance(signal, Input) and (signal.table is not None or signal.factory or callable(signal.value)):
                path = self.model.path(signal)
                raise ModelError("this input changes and is not public.", path=path, fix=f"Add {path!r} to public.")
        return [(ca.SX(signal), float(signal.value)) for signal in found]

    def check(self, channels: Iterable[str]) -> None:
        """Refuse a pattern that fits nothing."""
        signals = [self.model.path(s) for s in (*self.model.parameters, *self.model.inputs)]
        known = [*signals, *channels]
        for pattern in self.patterns:
            if not any(fnmatchcase(name, pattern) for name in known):
                label = type(self.model.model).__name__
                fix = nearest(pattern, known) or f"Declare it, e.g. self.{pattern} = Parameter(1.0)."
                raise ModelError(f"it has no parameter, input, output or channel {pattern!r}.", path=label, fix=fix)


class Alone(Part):
    """A part entered by the port called `base`, or, with None, one that stands on a ground of its own, or with all its
    bodies `PLACED` one by one; `placed` is that, if it is another. Other ports may be `flying`.
    """

    def __init__(
        self, public: Public, base: str | None, close: Close | None, placed: Alone | None = None,
        flying: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.public, self.model, self.base, self.placed = public, public.model, base, placed
        self.flying = tuple(flying)
        self.port_names = tuple(sorted(public.ports, key=lambda name: name != base))  # the base first
        border = Border(tuple(public.ports[name] for name in self.port_names), base in public.ports)
        super().__init__(
            _enclosed(public.model, public.ports), (), border, (), close, Ground(), base == PLACED, apart=True,
            flying=public.flying.difference(public.shown).union(public.ports[name].body for name in flying),
        )  # fmt: skip

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Other ports whose bodies nothing inside holds, so that each is placed in the world by a joint of its own."""
        links = {link.carrier: link for link in self.inside.topology.links}
        ports = {self.public.ports[name].body: name for name in reversed(self.port_names)}
        return tuple(
            name for body, name in reversed(ports.items())
            if links[body].independent and links[body].joint is not None and body not in self.public.held
        )  # fmt: skip

    @cached_property
    def _functions(self) -> dict[str, Callable[..., Vector]]:
        made = Part._functions.func(self)  # type: ignore[attr-defined]
        made |= assembling(self.inside, self.placed and self.placed.inside)
        for k, event in enumerate(self.model.events):
            made[f"switch_{k}"] = lambda now, _, e=event: self._switched(now, e)
        return {name: lambda now, *given, name=name, f=f: self._shown(name, f(now, *given)) for name, f in made.items()}

    @cached_property
    def shown(self) -> list[Output]:
        """Public outputs, those that are no results first, so that `signal_k` is the k-th of a file's outputs."""
        return [o for o in outputs_without_results(self.model) if self.public.allows(self.model.path(o))]

    def _shown(self, name: str, output: Vector) -> Vector:
        output = ca.densify(ca.vec(ca.SX(output)))
        if name in ("report", "tied_report"):
            energies = range(output.numel() - 2, output.numel())
            kept = [k for k, channel in enumerate(self._channels) if self.public.shows(channel)]
            output = ca.vertcat(*[output[k] for k in (*kept, *energies)])
        for symbol, value in self.public.folded():
            output = ca.substitute(output, symbol, ca.SX(value))
        return output

    def _switched(self, now: Moment, event: Event) -> Vector:
        """All modes and states after an event."""
        changed: dict[Any, Scalar] = dict(now.switched(event))
        memory = [changed.get(kept, now.values.memory[k, :]) for k, kept in enumerate(self.model.memory)]
        return ca.vertcat(ca.SX(0, 1), *memory)

    def told_laws(self) -> LawShapes:
        """Units of laws inside; only those that are public have a name."""
        laws = self.laws
        units = tuple(
            LawShape(
                u.path if self.public.allows(u.path) else "", u.kind, u.row, u.contact, u.first, u.count, u.modes,
                u.level, u.impact,
            )
            for u in laws.units
        )  # fmt: skip
        return LawShapes(units, laws.size, laws.measures, self.handed.spans)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all its functions."""
        return tuple(self._functions)

    def reported(self) -> tuple[tuple[Channel, ...], tuple[Channel, ...]]:
        """All channels of the inside, and those that are public."""
        self.closed("report")
        return self._channels, tuple(channel for channel in self._channels if self.public.shows(channel))

    def signals(self, name: str) -> tuple[str, ...]:
        """Names of the signals from outside that a function takes, in its order."""
        known = {ca.SX(s).element_hash(): self.model.path(s) for s in (*self.public.parameters, *self.public.inputs)}
        known |= {t.given.element_hash(): t._name for network in self._networks for t in network.terminals}
        return tuple(known[symbol.element_hash()] for symbol in self.closed(name).signals)

    def told_networks(self) -> tuple[NetworkShape, ...]:
        """Networks that reach the border."""
        return tuple(
            NetworkShape(tuple(_pin(self.model, t) for t in network.terminals), network.border.entries)
            for network in self._networks
        )

    def engine(self) -> RelativeEngine:
        """The part with its base as a free body: where its start is assembled."""
        return RelativeEngine(self.model, self.inside.twin_topology, {}, shared=False)

    def pick(self, state: np.ndarray, engine: Engine) -> np.ndarray:
        """x out of a state of that."""
        return np.asarray(state)[self.inside.places(engine)]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many coordinates, speeds and angles that are counted x has."""
        joints, counted = self.inside.joints, self.inside.counted
        coordinates, angles = (sum(len(joint.coordinates) for joint in those) for those in (joints, counted))
        return coordinates, sum(joint.freedoms for joint in joints), angles


def _pin(model: Elaborated, terminal: Terminal) -> PinShape:
    kind, names = terminal.pin, tuple(model.path(pin) for pin in terminal.pins)
    across, through = (kind.across_name, kind.across_unit), (kind.through_name, kind.through_unit)
    return PinShape(names, across, through, terminal.by_through)


def _enclosed(model: Elaborated, ports: Mapping[str, Frame]) -> Enclosed:
    """A model as a closed part with all its ports in use."""
    return Enclosed(model.model, model, tuple(ports.values()), (), "")


def alone(
    part: Subsystem, patterns: Iterable[str], close: Close | None, soft: float | None = None, placed: bool = False
) -> tuple[Public, list[Alone]]:
    """A component by itself: what is public about it, and it for each choice of base, last with its bodies `placed` one
    by one; `soft`: its laws are forces, for steps [s] as long as this if nobody says otherwise.
    """
    model = elaborate(part, part=True)
    for inner in model.subsystems:
        if isinstance(inner, Sealed):
            path = model.path(inner) or type(part).__name__
            fix = "Give its file along, and let the owner connect the two."
            raise ModelError("it is sealed already, and is not sealed again.", path=path, fix=fix)
    for controller in model.controllers:
        fix = "Leave it to the owner: seal inputs and outputs instead."
        raise ModelError("Python cannot be sealed.", path=model.path(controller), fix=fix)
    if soft is not None:
        model = softened(model, soft, linked=False)
    check_known(model)
    ports = _ports(part, model)
    public = Public(model, ports, tuple(patterns))
    bases = [None] if _enclosed(model, ports).stands else list(ports)
    one_by_one = _placed(public, close) if placed else None
    entered = [Alone(public, base, close, one_by_one) for base in bases]
    entered += [Alone(public, one.base, close, one_by_one, one.loose) for one in entered if one.loose]
    return public, [*entered, one_by_one] if one_by_one is not None else entered


def _placed(public: Public, close: Close | None) -> Alone:
    """With bodies placed one by one: all joints need conditions, all bodies inertia."""
    for body in public.model.bodies:
        inertia = central_inertia(body)
        if inertia.is_constant():
            constant_inverse(inertia, public.model.path(body))
    return Alone(public, PLACED, close)


def _ports(part: Subsystem, model: Elaborated) -> dict[str, Frame]:
    """What a component exposes to joints and forces, by name: bodies, and frames of bodies."""
    label = type(part).__name__
    frames = part.exposed_frames
    other = [port for port in part.exposed if not isinstance(port, Body | Pin)]
    name = model.path(other[0]) if other else next((n for n, f in frames.items() if not isinstance(f.body, Body)), "")
    if name:
        fix = "Expose bodies, frames of bodies, and pins."
        raise ModelError(f"it exposes {name}, which is neither a body nor a pin.", path=label, fix=fix)
    ports: dict[str, Frame] = {model.path(port): port for port in part.exposed if isinstance(port, Body)}
    ports |= frames
    if not ports and not any(isinstance(port, Pin) for port in part.exposed):
        raise ModelError("it exposes nothing, so nobody could use it.", path=label, fix="Use self.expose(...).")
    for name, frame in frames.items():
        if not ca.SX(frame.pose.position).is_constant():
            fix = "Place it by numbers."
            raise ModelError(f"the place of its port {name} depends on a parameter.", path=label, fix=fix)
    return ports
