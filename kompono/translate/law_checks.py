"""The laws users write, asked once before anything is derived from them.

A law is a method that gives expressions: wrench, effort, acceleration, pose, conditions, ... Whatever is wrong with one
(it raises, decides by `if` on a symbol, returns another kind or size, calls what cannot be compiled) is said here with
the path of its element. Elements of the library get their expressions checked when they are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import KomponoError, TranslationError
from kompono.given import check_expression, numbers, shown
from kompono.model.declared import CHOICE, decides_by_a_symbol, placed
from kompono.model.element import Element
from kompono.model.force import Effort
from kompono.model.joint import Joint
from kompono.spatial.pose import Motion, Pose, Wrench, symbolic_pose
from kompono.translate.elaborate import Elaborated
from kompono.translate.joint_laws import check_joint

_OWN = "kompono."  # classes of this package: their laws are checked by tests, what they are given when declared


def check_laws(model: Elaborated) -> None:
    """Raise for the first law that cannot be used, one element of each class and set of plain numbers asked."""
    for joint in filter(is_users, different(model.joints)):
        _check_joint(Law(joint, model.path(joint)), joint)
        check_joint(model, joint)
    for constraint in filter(is_users, different(model.constraints)):
        Law(constraint, model.path(constraint)).groups("conditions", symbolic_pose())
    for coupling in filter(is_users, model.couplings):
        Law(coupling, model.path(coupling)).groups("conditions")
    for force in filter(is_users, different(model.forces)):
        _check_force(Law(force, model.path(force)))
    for effort in filter(is_users, different(model.efforts)):
        law, joint = Law(effort, model.path(effort)), effort.joint
        law.column("effort", (joint.freedoms, 1), joint.q, joint.v)
        law.column("potential", (1, 1), joint.q)
    for field in filter(is_users, model.fields):
        law, position = Law(field, model.path(field)), ca.SX.sym("x", 3)
        law.column("acceleration", (3, 1), position)
        law.column("potential", (1, 1), position)


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
        law: Callable[..., Any] = getattr(self.element, name)
        try:
            return law(*arguments)
        except KomponoError as error:
            if error.path:
                raise
            raise placed(error, self.path) from None
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

    def groups(self, name: str, *arguments: Any) -> list[ca.SX] | None:
        """What a law of conditions gives: a list of columns, or None."""
        given = self.call(name, *arguments)
        if given is None and isinstance(self.element, Joint):
            return None
        if not isinstance(given, list | tuple):
            fix = "Return a list of columns, e.g. [pose.position], each a group of like conditions."
            message = f"{self.called(name)} returned {shown(given)}, which is no list."
            raise TranslationError(message, path=self.path, fix=fix)
        groups = [self.expression(name, group) for group in given]
        if not isinstance(self.element, Joint) and not sum(group.numel() for group in groups):
            message = f"{self.called(name)} gives no condition."
            raise TranslationError(message, path=self.path, fix="Return at least one, or leave the element out.")
        return groups

    def kind(self, name: str, value: Any, wanted: type) -> Any:
        """A returned value of a class."""
        if not isinstance(value, wanted):
            fix = f"Return a {'numpy' if wanted is np.ndarray else 'kompono'}.{wanted.__name__}."
            message = f"{self.called(name)} returned {shown(value)}, not a {wanted.__name__}."
            raise TranslationError(message, path=self.path, fix=fix)
        return value


def _check_force(law: Law) -> None:
    pose = symbolic_pose()
    motion = Motion(pose.position, pose.rotation, ca.SX.sym("v", 3), ca.SX.sym("w", 3))
    load = law.kind("wrench", law.call("wrench", motion), Wrench)
    law.sized("wrench(motion).force", load.force, (3, 1))
    law.sized("wrench(motion).torque", load.torque, (3, 1))
    law.column("potential", (1, 1), motion)


def _check_joint(law: Law, joint: Joint) -> None:
    nq, nv = len(joint.coordinates), joint.freedoms
    pose = law.kind("pose", law.call("pose", joint.q), Pose)
    law.sized("pose(q).position", pose.position, (3, 1))
    law.sized("pose(q).rotation", pose.rotation, (3, 3))
    law.column("rate", (nq, 1), joint.q, joint.v)
    law.column("subspace", (6, nv), joint.q)
    law.column("subspace_rate", (6, 1), joint.q, joint.v)
    law.column("normalize", (nq, 1), joint.q)
    law.groups("conditions", symbolic_pose())
    measured = law.call("measure", symbolic_pose())
    if measured is not None:
        law.sized("measure", measured, (nq, 1))
    fix = f"Return np.array([...]) with {nq} finite numbers."
    neutral = law.kind("neutral", law.call("neutral"), np.ndarray)
    numbers(neutral, (nq,), law.called("neutral"), law.path, error=TranslationError, fix=fix)
