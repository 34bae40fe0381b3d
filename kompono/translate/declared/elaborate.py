"""Walk the hierarchy once: every element with its path, sorted by kind; ports, laws, expressions and ownership checked.

The product is plain lists of declarations in order, and whose symbols their expressions use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kompono.errors import ModelError, ModelWarning, warn
from kompono.given import shown
from kompono.model.body import Body, Frame, Ground, MassProperties, check_origin
from kompono.model.connection import Connection
from kompono.model.constraint import Constraint, Coupling
from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Event, Mode, check_samples
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.model.law import Law, PairLaw
from kompono.model.load_cell import LoadCell
from kompono.model.lumped import Lump
from kompono.model.sensor import Sensor
from kompono.model.signal import Input, Output, Parameter
from kompono.model.state import State, check_states
from kompono.model.subsystem import Subsystem, relative_path
from kompono.sealed.element import Sealed
from kompono.translate.declared.law_checks import check_laws
from kompono.translate.declared.network_checks import check_networks
from kompono.translate.declared.networks import Network, find_networks, gather, uses_of
from kompono.translate.declared.ownership import check_ownership
from kompono.translate.declared.ports import check_pins, check_ports, check_reading
from kompono.translate.declared.signal_loops import check_signal_loops
from kompono.translate.declared.uses import find_uses
from kompono.translate.numbers import OpenNumbers


@dataclass(frozen=True)
class Elaborated:
    """The elements of a model by kind, in order of declaration."""

    model: Subsystem
    subsystems: tuple[Subsystem, ...]
    bodies: tuple[Body, ...]
    grounds: tuple[Ground, ...]
    joints: tuple[Joint, ...]
    constraints: tuple[Constraint, ...]
    couplings: tuple[Coupling, ...]
    forces: tuple[Force, ...]
    efforts: tuple[Effort, ...]
    fields: tuple[Field, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    parameters: tuple[Parameter, ...]
    modes: tuple[Mode, ...]
    events: tuple[Event, ...]
    sensors: tuple[Sensor, ...] = ()
    cells: tuple[LoadCell, ...] = ()
    laws: tuple[Law, ...] = ()
    soft: tuple[Any, ...] = ()  # laws that are forces, see `translate/laws/soft.py`
    states: tuple[State, ...] = ()
    connections: tuple[Connection, ...] = ()
    controllers: tuple[Controller, ...] = ()
    fed: tuple[Input, ...] = ()  # inputs that connections feed; they are not among `inputs`
    networks: tuple[Network, ...] = ()
    lumps: tuple[Lump, ...] = ()  # see `lumps.py`
    uses: Mapping[Element, tuple[Element | Frame, ...]] = field(default_factory=dict, repr=False)  # see `uses.py`
    numbers: OpenNumbers | None = field(default=None, repr=False)  # symbols in the place of numbers, see `numbers.py`
    worked_out: dict[Any, Any] = field(default_factory=dict, repr=False)  # what whoever traces it need not do twice

    def solid(self, body: Body) -> MassProperties:
        """Mass and inertia of a body, perhaps as symbols of numbers."""
        return self.numbers.solids.get(body, body.solid) if self.numbers is not None else body.solid

    def law(self, element: Element) -> Any:
        """A force, effort, field, coupling, law or signal, perhaps with symbols of numbers in its expressions."""
        return element if self.numbers is None else self.numbers.laws.get(element, element)

    def pair(self, element: Any, turned: Any = None) -> Any:
        """A joint or constraint, or what it is in other axes, perhaps with symbols of numbers in its expressions."""
        if self.numbers is None or self.numbers.pairs is None:
            return element if turned is None else turned
        return self.numbers.pairs(element, turned)

    @property
    def memory(self) -> tuple[Mode | State, ...]:
        """What a state has behind coordinates and speeds: modes, then states of one's own."""
        return (*self.modes, *self.states)

    @property
    def sampled(self) -> tuple[Mode, ...]:
        """Modes that are sampled."""
        return tuple(mode for mode in self.modes if mode.every is not None)

    def path(self, element: Element) -> str:
        """Dotted path from the model."""
        return relative_path(element, self.model)


def elaborate(model: Subsystem, *, part: bool = False) -> Elaborated:
    """Sort and check the elements of a model, or of a `part` whose pins an owner will connect."""
    if not isinstance(model, Subsystem):
        fix = "Pass an instance, e.g. simulate(Car(), until=1.0)."
        raise ModelError(f"{shown(model)} is not a Subsystem.", fix=fix)
    check_origin()
    elements = list(model.walk())

    def kind(cls: type) -> Any:
        return tuple(element for element in elements if isinstance(element, cls))

    result = Elaborated(
        model,
        (model, *kind(Subsystem)),
        *(kind(cls) for cls in (Body, Ground, Joint, Constraint, Coupling)),
        *(kind(cls) for cls in (Force, Effort, Field, Input, Output, Parameter, Mode, Event, Sensor, LoadCell, Law)),
    )
    inner = tuple(mode for law in result.laws for modes in law._modes for mode in modes.values())
    held = tuple(mode for one in kind(Controller) for mode in one._held)
    result = replace(result, modes=(*result.modes, *held, *inner), states=kind(State), controllers=kind(Controller))
    result = _connected(result)
    if not result.bodies and not result.states and not part:
        raise ModelError(
            "the model has no bodies, and no states of its own.", path=type(model).__name__,
            fix="Assign a Body to self in __init__.",
        )  # fmt: skip
    _check_vain(result, (*result.bodies, *result.joints, *result.modes, *result.states))
    check_ports(result)
    check_laws(result)
    check_states(result.states, result.path)
    check_samples(result.modes, result.path)
    exposed = model.exposed if part else ()
    junctions, equations = gather(result.subsystems, elements)
    result = replace(result, networks=find_networks(model, elements, junctions, equations, exposed))
    uses = find_uses(model, [*elements, *result.connections, *equations])
    result = replace(result, uses={**uses, **uses_of(result.networks, uses)})
    check_reading(result, equations)
    check_pins(result, junctions)
    check_signal_loops(result)
    check_networks(result)
    check_ownership(model, result.subsystems, (*result.bodies, *result.grounds, *result.joints))
    _warn_about_loose_bodies(result)
    _warn_about_fields(result)
    return result


def _connected(model: Elaborated) -> Elaborated:
    """The model with its connections, and with the inputs these feed apart from the others."""
    made = tuple(one for subsystem in model.subsystems for one in subsystem._connections)
    made += tuple(wire for controller in model.controllers for wire in _written(controller))
    if not made:
        return model
    for one in made:
        if not model.model.contains(one.target):
            fix = "Take the connection away as well: build the model without it."
            raise ModelError("it feeds an input that is no part of the model any more.", path=one.label, fix=fix)
    fed: set[Input] = set()
    for one in made:
        if one.target in fed or one.target._has_source:
            fix = "Feed it once: by its own value, a connection or a controller."
            raise ModelError("it is fed twice.", path=model.path(one.target), fix=fix)
        fed.add(one.target)
    inputs, others = (tuple(i for i in model.inputs if (i in fed) is among) for among in (False, True))
    return replace(model, connections=made, inputs=inputs, fed=others)


def _written(controller: Controller) -> list[Connection]:
    """What a controller holds, as connections to the inputs it writes."""
    owner = controller.owner
    assert owner is not None
    return [Connection(owner, mode, target) for mode, target in zip(controller._held, controller.writes, strict=True)]


def _check_vain(model: Elaborated, elements: tuple[Element, ...]) -> None:
    """Raise ModelError for an attribute of an element of ours that somebody set and that means nothing."""
    for element in elements:
        if type(element).__module__.startswith("kompono."):
            vain = element._vain()
            for name in vars(element).keys() & vain.keys():
                message = f"{name} was set to {shown(vars(element)[name])}, which does nothing."
                raise ModelError(message, path=model.path(element), fix=vain[name])


def _warn_about_loose_bodies(model: Elaborated) -> None:
    touched = set()
    pairs = (law for law in model.laws if isinstance(law, PairLaw))
    for element in (*model.joints, *model.constraints, *model.forces, *pairs):
        touched |= {frame.body for frame in (element.first, element.second) if frame is not None}
    for body in model.bodies:
        if body not in touched and len(model.bodies) > 1 and not isinstance(body.owner, Sealed):
            warn(f"{model.path(body)}: no joint, constraint or force touches this body; it moves freely.", ModelWarning)


def _warn_about_fields(model: Elaborated) -> None:
    """Fields add up: a body between two of gravity falls twice as fast, which few mean (decision 277)."""
    fields = [each for each in model.fields if each.usually_one]
    first = {each.owner: each for each in reversed(fields)}
    for one in fields:
        owner: Element | None = one.owner
        while owner is not None:
            other = first.get(owner, one)
            if other is not one and type(other) is type(one):
                what = f"{model.path(other)} and {model.path(one)} act on the same bodies, and add up."
                warn(f"{what} Leave one out, or write the sum as one {type(one).__name__}.", ModelWarning)
                return
            owner = None if owner is model.model else owner.owner
