"""The laws users write, asked once before anything is derived from them, or looked for in them.

A law is a method that gives expressions: wrench, effort, acceleration, pose, conditions, ... Whatever is wrong with one
(it raises, decides by `if` on a symbol, returns another kind or size, calls what cannot be compiled) is said here with
the path of its element. Elements of the library get their expressions checked when they are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.errors import KomponoError, TranslationError
from kompono.given import check_expression, numbers, shown
from kompono.model.declared import CHOICE, decides_by_a_symbol
from kompono.model.element import Element
from kompono.model.force import Effort
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose, Wrench
from kompono.translate.declared.laws import MOTION, PLACE, POSE, ask_holds

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

_OWN = "kompono."  # classes of this package: their laws are checked by tests, what they are given when declared


def check_laws(model: Elaborated) -> None:
    """Raise for the first law that cannot be used, one element of each class and set of plain numbers asked."""
    for joint in filter(is_users, different(model.joints)):
        _check_joint(Law(joint, model.path(joint)), joint)
    for constraint in filter(is_users, different(model.constraints)):
        law = Law(constraint, model.path(constraint))
        law.some([*law.groups("conditions", POSE), *law.groups("velocity_conditions", MOTION)])
        law.maybe("holds", POSE)
    for coupling in filter(is_users, model.couplings):
        law = Law(coupling, model.path(coupling))
        law.some(law.groups("conditions"))
    for force in filter(is_users, different(model.forces)):
        _check_force(Law(force, model.path(force)))
    for effort in filter(is_users, different(model.efforts)):
        law, joint = Law(effort, model.path(effort)), effort.joint
        law.column("effort", (joint.freedoms, 1), joint.q, joint.v)
        law.column("potential", (1, 1), joint.q)
    for field in filter(is_users, model.fields):
        law = Law(field, model.path(field))
        law.column("acceleration", (3, 1), PLACE)
        law.column("potential", (1, 1), PLACE)


def is_users(element: Element) -> bool:
    """Whether a class was written by a user."""
    return not type(element).__module__.startswith(_OWN)


def different(elements: Iterable[Any]) -> list[Any]:
    """One element of each class and set of plain numbers, and all that have anything else as attributes."""
    found: dict[Any, Any] = {}
    for element in elements:
        found.setdefault(likeness(element), element)
    return list(found.values())


def likeness(element: Element) -> tuple[Any, ...]:
    """Equal for elements of one class whose attributes, where they are connected apart, are the same numbers."""
    key: list[Any] = [type(element)]
    for name, value in vars(element).items():
        if name in ("first", "second", "joint", "q", "v", "start", "_owner", "_name", "_taken_away", "_users"):
            key.append(value is None)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            key.append((name, value.shape, value.tobytes()))
        else:
            key.append((name, value if isinstance(value, int | float | str) else id(element)))
    if isinstance(element, Effort):
        key.append(type(element.joint))
    return tuple(key)


class Law:
    """The laws of one element; what they give is checked."""

    def __init__(self, element: Element, path: str) -> None:
        self.element, self.path = element, path

    def call(self, name: str, *arguments: Any) -> Any:
        """What a law gives, whatever it is; exceptions get the path."""
        law: Callable[..., Any] = partial(ask_holds, self.element) if name == "holds" else getattr(self.element, name)
        try:
            return law(*arguments)
        except KomponoError as error:
            raise error.at(self.path) from None
        except Exception as error:
            what = self.called(name)
            if decides_by_a_symbol(error):
                message = f"{what} decides by `if`, `and`, `min`, ... on a symbol, which has no value yet."
                raise TranslationError(message, path=self.path, fix=CHOICE) from error
            text = " ".join(str(error).split())[:200]
            raise TranslationError(
                f"{what} raised {type(error).__name__}: {text}.",
                path=self.path,
                fix="It is called with CasADi SX symbols: write it with their operators and ca.sin, ca.vertcat, ...",
            ) from error

    def called(self, name: str) -> str:
        """The law in words."""
        return f"{type(self.element).__name__}.{name}"

    def expression(self, name: str, value: Any) -> ca.SX:
        """A returned value as SX."""
        try:
            found = ca.SX(value)
        except Exception:
            fix = "Return numbers or CasADi SX expressions, columns as ca.vertcat(a, b, c)."
            raise TranslationError(
                f"{self.called(name)} returned {shown(value)}, which is no expression.", path=self.path, fix=fix
            ) from None
        check_expression(ca.densify(found), f"what {self.called(name)} returned,", self.path, TranslationError)
        return found

    def sized(self, name: str, value: Any, shape: tuple[int, int]) -> ca.SX:
        """A returned value of a shape."""
        found = self.expression(name, value)
        if found.shape != shape:
            raise TranslationError(
                f"what {self.called(name)} returned is {found.shape[0]} by {found.shape[1]}, not {shape[0]} by "
                f"{shape[1]}.",
                path=self.path,
                fix="Return a column with one entry per component.",
            )
        return found

    def column(self, name: str, shape: tuple[int, int], *arguments: Any) -> ca.SX:
        """What a law gives, of a shape."""
        return self.sized(name, self.call(name, *arguments), shape)

    def maybe(self, name: str, *arguments: Any) -> ca.SX | None:
        """What a law gives that need not give anything."""
        given = self.call(name, *arguments)
        return None if given is None else self.expression(name, given)

    def groups(self, name: str, *arguments: Any) -> list[ca.SX]:
        """What a law of conditions gives: a list of columns; a joint that cannot close a loop has none."""
        given = self.call(name, *arguments)
        if given is None and name == "conditions" and isinstance(self.element, Joint):
            return []
        if not isinstance(given, list | tuple):
            fix = "Return a list of columns, e.g. [pose.position], each a group of like conditions."
            message = f"{self.called(name)} returned {shown(given)}, which is no list."
            raise TranslationError(message, path=self.path, fix=fix)
        return [self.expression(name, group) for group in given]

    def some(self, groups: Iterable[ca.SX]) -> None:
        """Raise if there is no condition at all."""
        if not sum(group.numel() for group in groups):
            message = f"{self.called('conditions')} gives no condition."
            raise TranslationError(message, path=self.path, fix="Return at least one, or leave the element out.")

    def kind(self, name: str, value: Any, wanted: type) -> Any:
        """A returned value of a class."""
        if not isinstance(value, wanted):
            fix = f"Return a {'numpy' if wanted is np.ndarray else 'kompono'}.{wanted.__name__}."
            message = f"{self.called(name)} returned {shown(value)}, not a {wanted.__name__}."
            raise TranslationError(message, path=self.path, fix=fix)
        return value


def _check_force(law: Law) -> None:
    load = law.kind("wrench", law.call("wrench", MOTION), Wrench)
    law.sized("wrench(motion).force", load.force, (3, 1))
    law.sized("wrench(motion).torque", load.torque, (3, 1))
    law.column("potential", (1, 1), MOTION)
    readings = law.call("readings", MOTION)
    pairs = list(readings.items()) if isinstance(readings, Mapping) else [("", None)]
    for name, pair in pairs:
        if not isinstance(name, str) or not isinstance(pair, tuple | list) or [type(p) for p in pair[1:]] != [str]:
            message = f"{law.called('readings')} returned {shown(readings)}, which is no values and units by name."
            raise TranslationError(message, path=law.path, fix='Return {"name": (expression, "unit")}.')
        law.sized(f"readings(motion)[{name!r}]", pair[0], (1, 1))


def _check_joint(law: Law, joint: Joint) -> None:
    nq, nv = len(joint.coordinates), joint.freedoms
    pose = law.kind("pose", law.call("pose", joint.q), Pose)
    law.sized("pose(q).position", pose.position, (3, 1))
    law.sized("pose(q).rotation", pose.rotation, (3, 3))
    law.column("rate", (nq, 1), joint.q, joint.v)
    law.column("subspace", (6, nv), joint.q)
    law.column("subspace_rate", (6, 1), joint.q, joint.v)
    law.column("normalize", (nq, 1), joint.q)
    law.groups("conditions", POSE)
    law.groups("velocity_conditions", MOTION)
    measured = law.call("measure", POSE)
    if measured is not None:
        law.sized("measure", measured, (nq, 1))
    law.maybe("holds", POSE)
    fix = f"Return np.array([...]) with {nq} finite numbers."
    neutral = law.kind("neutral", law.call("neutral"), np.ndarray)
    numbers(neutral, (nq,), law.called("neutral"), law.path, error=TranslationError, fix=fix)
