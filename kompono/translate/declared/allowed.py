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

from kompono.errors import ModelError, TranslationError
from kompono.model.body import Ground
from kompono.model.constraint import Coupling
from kompono.model.event import Mode
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.spatial.pose import Motion, symbolic_motion, symbolic_pose
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.law_checks import different

TIMES = (0.0, 0.137, 1.0, 3.7, 31.0)  # [s], where the orientation of a ground is looked at
ROTATION = 1e-9  # what R^T R may differ from 1 by


def check_conditions(model: Elaborated) -> None:
    """Raise TranslationError where a condition, pose or ground motion uses what it cannot be differentiated by."""
    constant = _hashes([time, *model.parameters, *model.modes])
    coordinates = [(joint, _hashes([joint.q])) for joint in model.joints] if model.couplings else []
    for coupling in model.couplings:
        _complete(model, coupling, constant, coordinates)
    joints = different(model.joints)
    for element in (*joints, *model.constraints):
        pose = symbolic_pose()
        own = _hashes([pose.position, pose.rotation])
        _check(model, element, element.conditions(pose) or [], constant | own, "conditions(pose)")
        motion = symbolic_motion()
        own = _hashes([motion.position, motion.rotation, motion.velocity, motion.angular_velocity])
        slips = element.velocity_conditions(motion)
        _check(model, element, slips, constant | own, "velocity_conditions(motion)")
        _check_linear(model, element, motion, slips)
    constant_in_time = constant - _hashes([time])
    for joint in joints:
        pose = joint.pose(joint.q)
        allowed = constant_in_time | _hashes([joint.q])
        _check(model, joint, [pose.position, pose.rotation], allowed, "pose(q)")
    for ground in model.grounds:
        _check(model, ground, [ground.motion.position, ground.motion.rotation], constant, "the motion of a ground")
        if not ground.motion.rotation.is_constant():
            _check_turning(model, ground)


def _check_linear(model: Elaborated, element: Any, motion: Motion, groups: Iterable[Any]) -> None:
    speeds = ca.vertcat(motion.velocity, motion.angular_velocity)
    for group in groups:
        column = ca.vec(ca.SX(group))
        still = ca.substitute(column, speeds, ca.SX.zeros(6))
        if not ca.is_linear(column, speeds) or ca.sparsify(ca.simplify(still)).nnz():
            raise TranslationError(
                "velocity_conditions(motion) are not linear in the velocities, or not zero at rest.",
                path=model.path(element),
                fix="Write them as sums of velocity and angular_velocity, each times what the pose gives.",
            )


def check_constants(model: Elaborated) -> None:
    """Raise TranslationError where what is fixed on a body, or its mass, depends on more than tunable parameters."""
    allowed = _hashes(model.parameters)
    fix = "Use numbers and tunable parameters that are assigned to self; let points move by a joint with a Drive."
    for body in model.bodies:
        for what, value in (("its mass", body.solid.mass), ("its inertia", body.solid.inertia)):
            if isinstance(value, ca.SX):
                _check(model, body, [value], allowed, what, "which is no tunable parameter of this model", fix)
    elements = (*model.joints, *model.constraints, *model.forces)
    pairs = [(element, (element.first, element.second)) for element in elements]
    for element, frames in (*pairs, *((sensor, sensor.frames) for sensor in model.sensors)):
        for frame in frames:
            if frame is not None and isinstance(frame.pose.position, ca.SX):
                why = "which is no tunable parameter of this model"
                _check(model, element, [frame.pose.position], allowed, "the point of a frame", why, fix)


def _check_turning(model: Elaborated, ground: Ground) -> None:
    """Raise if the orientation of a ground is no rotation at some times."""
    signals = [*model.parameters, *model.modes]
    values = [signal.start if isinstance(signal, Mode) else signal.value for signal in signals]
    turn = ca.densify(ground.motion.rotation)
    law = ca.Function("turn", [time, ca.vertcat(ca.SX(0, 1), *signals)], [turn.T @ turn])
    for instant in TIMES:
        error = np.abs(np.asarray(law(instant, values)) - np.eye(3)).max()
        if error > ROTATION:  # false where it is not a number
            raise ModelError(
                f"its orientation is no rotation: R^T R differs from 1 by {error:.3g} at t = {instant:g} s.",
                path=model.path(ground),
                fix="Give a quaternion of unit length at all times: e / ca.norm_2(e).",
            )


def _complete(
    model: Elaborated, coupling: Coupling, constant: set[int], coordinates: list[tuple[Joint, set[int]]]
) -> None:  # fmt: skip
    """Add joints whose `coordinates` a coupling uses; everything else it uses must be constant or time."""
    used = _hashes(ca.symvar(ca.vertcat(*[ca.vec(ca.SX(group)) for group in coupling.conditions()])))
    named = list(dict.fromkeys(coupling.joints))
    for joint, mine in coordinates:
        if mine & used and all(joint is not known for known in named):
            named.append(joint)
    coupling.joints = tuple(named)
    _check(model, coupling, coupling.conditions(), constant.union(*[mine for _, mine in coordinates]), "conditions()")


def _check(
    model: Elaborated,
    element: Any,
    expressions: Iterable[Any],
    allowed: set[int],
    what: str,
    why: str = "by which it cannot be differentiated along the motion",
    fix: str = "Use coordinates, time, parameters and modes; inputs, speeds and body motion belong in forces.",
) -> None:
    columns = [ca.vec(ca.SX(expression)) for expression in expressions]
    for symbol in ca.symvar(ca.vertcat(*columns)) if columns else []:
        if symbol.element_hash() not in allowed:
            raise TranslationError(
                f"{what} uses {symbol.name()!r}, {why}.",
                path=model.path(element),
                fix=fix,
            )


def _hashes(columns: Iterable[Any]) -> set[int]:
    entries = [entry for column in columns for entry in ca.symvar(ca.vec(ca.SX(column)))]
    return {entry.element_hash() for entry in entries}
