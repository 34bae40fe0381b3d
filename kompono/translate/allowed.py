"""What conditions, joints and grounds may depend on: only what can be differentiated along the motion.

Conditions are differentiated twice with respect to coordinates and time. An input is known only at an instant, so it
may drive forces but not conditions. A coupling may use the coordinates of any joint: those it did not name are added
here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.model.constraint import Coupling
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.spatial.pose import symbolic_pose
from kompono.translate.elaborate import Elaborated


def check_conditions(model: Elaborated) -> None:
    """Raise TranslationError where a condition, pose or ground motion uses what it cannot be differentiated by."""
    constant = _hashes([time, *model.parameters, *model.modes])
    for coupling in model.couplings:
        _complete(model, coupling, constant)
    joints = _different(model.joints)
    for element in (*joints, *model.constraints):
        pose = symbolic_pose()
        own = _hashes([pose.position, pose.rotation])
        _check(model, element, element.conditions(pose) or [], constant | own, "conditions(pose)")
    constant_in_time = constant - _hashes([time])
    for joint in joints:
        pose = joint.pose(joint.q)
        allowed = constant_in_time | _hashes([joint.q])
        _check(model, joint, [pose.position, pose.rotation], allowed, "pose(q)")
    for ground in model.grounds:
        _check(model, ground, [ground.motion.position, ground.motion.rotation], constant, "the motion of a ground")


def _different(joints: Iterable[Joint]) -> list[Joint]:
    """One joint of each class and set of plain numbers, and all that have anything else as attributes."""
    found: dict[Any, Joint] = {}
    for joint in joints:
        key: list[Any] = [type(joint)]
        for name, value in vars(joint).items():
            if name in ("first", "second", "q", "v", "start", "_owner", "_name", "_taken_away", "_users"):
                continue
            if isinstance(value, np.ndarray) and value.dtype != object:
                key.append((name, value.shape, value.tobytes()))
            else:
                key.append((name, value if isinstance(value, int | float | str) else id(joint)))
        found.setdefault(tuple(key), joint)
    return list(found.values())


def _complete(model: Elaborated, coupling: Coupling, constant: set[int]) -> None:
    """Add joints whose coordinates a coupling uses; everything else it uses must be constant or time."""
    used = _hashes(ca.symvar(ca.vertcat(*[ca.vec(ca.SX(group)) for group in coupling.conditions()])))
    named: list[Joint] = list({id(joint): joint for joint in coupling.joints}.values())
    coordinates: set[int] = set()
    for joint in model.joints:
        mine = _hashes([joint.q])
        coordinates |= mine
        if mine & used and all(joint is not known for known in named):
            named.append(joint)
    coupling.joints = tuple(named)
    _check(model, coupling, coupling.conditions(), constant | coordinates, "conditions()")


def _check(model: Elaborated, element: Any, expressions: Iterable[Any], allowed: set[int], what: str) -> None:
    columns = [ca.vec(ca.SX(expression)) for expression in expressions]
    for symbol in ca.symvar(ca.vertcat(*columns)) if columns else []:
        if symbol.element_hash() not in allowed:
            raise TranslationError(
                f"{what} uses {symbol.name()!r}, by which it cannot be differentiated along the motion.",
                path=model.path(element),
                fix="Use coordinates, time, parameters and modes; inputs, speeds and body motion belong in forces.",
            )


def _hashes(columns: Iterable[Any]) -> set[int]:
    entries = [entry for column in columns for entry in ca.symvar(ca.vec(ca.SX(column)))]
    return {entry.element_hash() for entry in entries}
