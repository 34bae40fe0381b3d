"""Ports: elements reach only what lies on their own level, or what every component in between exposes.

The rule is the same for frames that joints, forces and sensors connect, for joints that couplings and efforts act on,
and for coordinates, motion, sensors, states and modes in expressions. Parameters, inputs and outputs are public: they
may be read anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kompono.errors import ModelError, ModelWarning, warn
from kompono.model.body import Frame, Ground
from kompono.model.constraint import Constraint
from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Next
from kompono.model.force import Force
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law, PairLaw
from kompono.model.signal import Input, Output, Parameter
from kompono.model.subsystem import relative_path

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated


def check_ports(model: Elaborated) -> None:
    """Raise ModelError for whoever connects to, acts on or changes what lies inside a part or outside the model."""
    for law in model.laws:
        _check_law(model, law)
    for element in (*model.joints, *model.constraints, *model.forces):
        _check_connection(model, element)
    for sensor in model.sensors:
        _check_frames(model, sensor, sensor.frames)
    for cell in model.cells:
        _check_reached(model, cell, (cell.element,))
        _check_frames(model, cell, cell.frames)
    for coupling in model.couplings:
        _check_reached(model, coupling, coupling.joints)
    for effort in model.efforts:
        _check_reached(model, effort, (effort.joint,))
    for event in model.events:
        _check_reached(model, event, [mode for mode, _ in event.changes])


def check_reading(model: Elaborated, equations: Iterable[Element] = ()) -> None:
    """Raise ModelError for expressions, and `equations` of pins, that read what lies inside a component."""
    for element in (*model.joints, *model.constraints, *model.couplings, *model.forces, *model.efforts, *model.fields,
                    *model.grounds, *model.bodies, *model.outputs, *model.events, *model.laws,
                    *model.states, *model.connections, *model.sampled, *model.controllers, *equations):  # fmt: skip
        for used in model.uses.get(element, ()):
            if not isinstance(used, Parameter | Input | Output):
                _check_exposed(model, element, used.mode if isinstance(used, Next) else used)


def check_pins(model: Elaborated, junctions: Iterable[Any]) -> None:
    """Raise ModelError for pins that are connected by who may not see them."""
    for junction in junctions:
        _check_reached(model, junction, junction.pins)


def _check_connection(model: Elaborated, element: Any) -> None:
    frames: list[Frame] = [frame for frame in (element.first, element.second) if frame is not None]
    one = len(frames) == 2 and frames[0].body is frames[1].body
    if one and isinstance(element, Joint | Constraint | PairLaw):
        raise ModelError("both frames are on the same body.", path=model.path(element), fix="Connect two bodies.")
    if one:
        warn(f"{model.path(element)}: both its frames are on the same body: it moves nothing.", ModelWarning)
    elif isinstance(element, Force) and all(isinstance(frame.body, Ground) for frame in frames):
        warn(f"{model.path(element)}: it acts on what no force moves.", ModelWarning)
    _check_frames(model, element, frames)


def _check_law(model: Elaborated, law: Law) -> None:
    if isinstance(law, PairLaw):
        _check_connection(model, law)
    elif isinstance(law, JointLaw):
        _check_reached(model, law, law.joints)
    _check_reached(model, law, [unit.reaction for unit in law._shapes() if unit.reaction is not None])


def _check_frames(model: Elaborated, element: Element, frames: Iterable[Frame]) -> None:
    for frame in frames:
        _check_member(model, element, frame.body)
        level = element.owner
        if level is not None and not level.contains(frame.body):
            raise ModelError(
                f"{model.path(frame.body)} lies outside the subsystem that declares this.",
                path=model.path(element),
                fix="Declare it in the common owner of both bodies.",
            )
        _check_exposed(model, element, frame)


def _check_reached(model: Elaborated, user: Element, used: Iterable[Element]) -> None:
    for element in used:
        _check_member(model, user, element)
        _check_exposed(model, user, element)


def _check_member(model: Elaborated, user: Element, used: Element) -> None:
    if used is not model.model and not model.model.contains(used):
        raise ModelError(
            f"it uses {type(used).__name__} {used.label!r}, which is not part of this model.",
            path=model.path(user),
            fix="Assign it to self before connecting it, or simulate the subsystem that contains both.",
        )


def _check_exposed(model: Elaborated, user: Element, used: Element | Frame) -> None:
    """Every component around an element or frame, up to one that holds the user too, must expose it."""
    element = used.body if isinstance(used, Frame) else used
    level, owner = user.owner, element.owner
    if isinstance(owner, Controller):  # what it holds is its own
        owner = owner.owner
    if level is owner:
        return
    while owner is not None and owner is not level and not owner.contains(user):
        if not owner.exposes(used):
            inner, where = relative_path(element, owner), model.path(owner) or type(owner).__name__
            shown = [name for name, frame in owner.exposed_frames.items() if frame.body is element]
            fix = f"Add self.expose(self.{inner}) in {type(owner).__name__}.__init__."
            if shown:
                fix = f"Use {where}.{shown[0]}, the frame of it that is exposed, or a" + fix[1:]
            raise ModelError(f"{model.path(element)} is not exposed by {where}.", path=model.path(user), fix=fix)
        owner = owner.owner
