"""Which joints have their coordinates used by somebody: efforts, gears, drives, force laws or outputs."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.model.joint import Joint
from kompono.spatial.pose import Motion, symbolic_pose
from kompono.translate.elaborate import Elaborated


def referenced_joints(model: Elaborated) -> tuple[Joint, ...]:
    """Joints whose symbols appear in expressions, in order of declaration."""
    used = {symbol.element_hash() for expression in _expressions(model) for symbol in ca.symvar(expression)}
    named = {id(joint) for coupling in model.couplings for joint in coupling.joints}
    named |= {id(effort.joint) for effort in model.efforts}

    def is_used(joint: Joint) -> bool:
        if not used:
            return id(joint) in named
        symbols = ca.vertsplit(ca.vertcat(joint.q, joint.v)) if joint.coordinates else []
        return id(joint) in named or any(symbol.element_hash() in used for symbol in symbols)

    return tuple(joint for joint in model.joints if is_used(joint))


def _expressions(model: Elaborated) -> list[ca.SX]:
    expressions: list[Any] = [output.expression for output in model.outputs]
    for force in model.forces:
        pose = symbolic_pose()
        motion = Motion(pose.position, pose.rotation, ca.SX.sym("v", 3), ca.SX.sym("w", 3))
        wrench = force.wrench(motion)
        expressions += [wrench.force, wrench.torque]
    for effort in model.efforts:
        expressions.append(effort.effort(effort.joint.q, effort.joint.v))
    for event in model.events:
        expressions += [event.guard, *(value for _, value in event.changes)]
    return [ca.vec(ca.SX(expression)) for expression in expressions]
