"""Walk the hierarchy once: every element with its path, sorted by kind, ports checked.

The product is plain lists of declarations in order. Nothing is computed here; what is wrong with the connections of a
model is said here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kompono.errors import ModelError, ModelWarning
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.model.sensor import Sensor
from kompono.model.signal import Input, Output, Parameter
from kompono.model.subsystem import Subsystem, relative_path
from kompono.translate.ownership import check_ownership


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

    def path(self, element: Element) -> str:
        """Dotted path from the model."""
        return relative_path(element, self.model)


def elaborate(model: Subsystem) -> Elaborated:
    """Sort and check the elements of a model."""
    if not isinstance(model, Subsystem):
        raise ModelError(f"{model!r} is not a Subsystem.", fix="Pass an instance, e.g. simulate(Car(), until=1.0).")
    elements = list(model.walk())

    def kind(cls: type) -> Any:
        return tuple(element for element in elements if isinstance(element, cls))

    result = Elaborated(
        model,
        (model, *kind(Subsystem)),
        *(kind(cls) for cls in (Body, Ground, Joint, Constraint, Coupling)),
        *(kind(cls) for cls in (Force, Effort, Field, Input, Output, Parameter, Mode, Event, Sensor)),
    )
    if not result.bodies:
        raise ModelError(
            "the model has no bodies.", path=type(model).__name__, fix="Assign a Body to self in __init__."
        )
    for element in (*result.joints, *result.constraints, *result.forces):
        _check_ports(result, element)
    for sensor in result.sensors:
        _check_frames(result, sensor, sensor.frames)
    for coupling in result.couplings:
        for joint in coupling.joints:
            _check_member(result, coupling, joint)
    for effort in result.efforts:
        _check_member(result, effort, effort.joint)
    for event in result.events:
        for mode, _ in event.changes:
            _check_member(result, event, mode)
    check_ownership(model, result.subsystems, (*result.bodies, *result.grounds, *result.joints))
    _warn_about_loose_bodies(result)
    return result


def _check_ports(model: Elaborated, element: Any) -> None:
    frames: list[Frame] = [frame for frame in (element.first, element.second) if frame is not None]
    if isinstance(element, Joint | Constraint) and frames[0].body is frames[1].body:
        raise ModelError("both frames are on the same body.", path=model.path(element), fix="Connect two bodies.")
    _check_frames(model, element, frames)


def _check_frames(model: Elaborated, element: Element, frames: Iterable[Frame]) -> None:
    for frame in frames:
        _check_member(model, element, frame.body)
        _check_visible(model, element, frame.body)


def _check_member(model: Elaborated, user: Element, used: Element) -> None:
    if used is not model.model and not model.model.contains(used):
        raise ModelError(
            f"it uses {type(used).__name__} {used.label!r}, which is not part of this model.",
            path=model.path(user),
            fix="Assign it to self before connecting it, or simulate the subsystem that contains both.",
        )


def _check_visible(model: Elaborated, user: Element, body: Carrier) -> None:
    """Every subsystem between the body and the user's level must expose the body."""
    level, owner = user.owner, body.owner
    if level is not None and not level.contains(body):
        raise ModelError(
            f"{model.path(body)} lies outside the subsystem that declares this.",
            path=model.path(user),
            fix="Declare it in the common owner of both bodies.",
        )
    while owner is not None and owner is not level:
        if not owner.exposes(body):
            inner = relative_path(body, owner)
            raise ModelError(
                f"{model.path(body)} is not exposed by {model.path(owner) or type(owner).__name__}.",
                path=model.path(user),
                fix=f"Add self.expose(self.{inner}) in {type(owner).__name__}.__init__.",
            )
        owner = owner.owner


def _warn_about_loose_bodies(model: Elaborated) -> None:
    touched = set()
    for element in (*model.joints, *model.constraints, *model.forces):
        touched |= {id(frame.body) for frame in (element.first, element.second) if frame is not None}
    for body in model.bodies:
        if id(body) not in touched and len(model.bodies) > 1:
            warnings.warn(
                f"{model.path(body)}: no joint, constraint or force touches this body; it moves freely.",
                ModelWarning,
                stacklevel=4,
            )
