"""A model that can be touched while it runs: numbers of its springs and of gravity as parameters, a hand on each body.

A number in a declaration is folded into the code. Here, for as long as somebody plays with the model, numbers of
elements of the library become tunable parameters under the path of their element (`left.damper.spring.k`), and every
body gets a load fed by six inputs (`body.pull.force.x`, ...), which is zero until somebody pulls. The model is as it
was afterwards. What is offered to be changed is thereby what the program really takes from outside: nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from kompono.foreign.element import Fmu
from kompono.library.forces import AppliedLoad, Gravity, RotationalSpringDamper, SpringDamper
from kompono.library.rotors import Rotor
from kompono.model.body import Body
from kompono.model.element import Element
from kompono.model.signal import Input, Parameter
from kompono.model.subsystem import Subsystem, relative_path
from kompono.sealed.element import Sealed

NUMBERS: dict[type, dict[str, str]] = {
    SpringDamper: {"k": "N/m", "c": "N s/m", "rest": "m"},
    RotationalSpringDamper: {"k": "N m/rad", "c": "N m s/rad", "rest": "rad"},
}
PULL = "pull"
AXES = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")  # of a pull: world axes, at the centre
PULLED = 300  # bodies up to which each can be pulled: a load on each costs some instructions
LOOSE = 60  # numbers that become parameters: more sliders than that nobody finds


@dataclass
class Touched:
    """What was made loose: paths of parameters, and of bodies that can be pulled."""

    parameters: list[str] = field(default_factory=list)
    pulled: list[str] = field(default_factory=list)

    def is_hand(self, channel: str) -> bool:
        """Whether a channel or input tells of a pull."""
        head, found, _ = channel.partition(f".{PULL}.")
        return bool(found) and head in self.pulled


@contextmanager
def touchable(model: Subsystem) -> Iterator[Touched]:
    """The model with loose numbers and hands, as long as the context lasts."""
    changes, touched = _Changes(), Touched()
    try:
        members = list(model.walk())
        for element in members:
            for name, unit in NUMBERS.get(type(element), {}).items():
                value = getattr(element, name)
                if _is_number(value) and float(value) != 0.0 and len(touched.parameters) < LOOSE:
                    made = Parameter(float(value), unit=unit)
                    changes.add(element, name, made)
                    changes.replace(element, name, made)
                    touched.parameters.append(relative_path(made, model))
            if type(element) is Gravity and element.vector.is_constant():
                strength = float(ca.norm_2(ca.DM(element.vector)))
                if strength > 0:
                    made = Parameter(strength, unit="m/s^2")
                    changes.add(element, "strength", made)
                    changes.replace(element, "vector", ca.DM(element.vector) / strength * made)
                    touched.parameters.append(relative_path(made, model))
        bodies = [element for element in members if isinstance(element, Body) and not _is_hidden(element)]
        for body in bodies if len(bodies) <= PULLED else ():
            changes.pull(body)
            touched.pulled.append(relative_path(body, model))
        yield touched
    finally:
        changes.undo()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, ca.SX) and value.is_scalar() and value.is_constant())


def _is_hidden(element: Element) -> bool:
    """Whether no hand reaches a body: it is sealed, or no more than the inertia of a rotor on a joint."""
    owner = element.owner
    while owner is not None:
        if isinstance(owner, Sealed | Fmu | Rotor):
            return True
        owner = owner.owner
    return False


class _Changes:
    """What was changed in a model, and how to change it back."""

    def __init__(self) -> None:
        self._undo: list[Any] = []

    def add(self, beside: Element, name: str, element: Element) -> None:
        """Make an element a member under the name of another."""
        owner, path = beside.owner, f"{beside._name}.{name}"
        assert owner is not None
        owner._register(path, element)
        vars(owner)[path] = element  # members are what attributes hold

        def forget() -> None:
            owner._members.pop(path, None)
            vars(owner).pop(path, None)
            element._owner = None

        self._undo.append(forget)

    def replace(self, element: Any, name: str, value: Any) -> None:
        """Give an attribute another value."""
        before = vars(element)[name]
        setattr(element, name, value)
        self._undo.append(lambda: vars(element).__setitem__(name, before))

    def pull(self, body: Body) -> None:
        """A load on a body that inputs say."""
        users = body._users
        self._undo.append(lambda: setattr(body, "_users", users))
        units = ["N"] * 3 + ["N m"] * 3
        inputs = [Input(0.0, unit=unit) for unit in units]
        load = AppliedLoad(body, force=ca.vertcat(*inputs[:3]), torque=ca.vertcat(*inputs[3:]))
        for axis, given in zip(AXES, inputs, strict=True):
            self.add(body, f"{PULL}.{axis}", given)
        self.add(body, f"{PULL}.load", load)

    def undo(self) -> None:
        """All as it was, the last change first."""
        while self._undo:
            self._undo.pop()()
