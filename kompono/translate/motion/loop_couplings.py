"""Couplings of joints that close loops, as rows on the tree joints between their bodies."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.model.constraint import Coupling
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist, twist_matrix
from kompono.translate.motion.conditions import Closure, carry_back, trace_coupling
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import effort_wrench
from kompono.translate.symbolic import Matrix, Vector


def trace_loop_coupling(kinematics: Kinematics, coupling: Coupling) -> Closure[Joint]:
    """A coupling's rows where some of its joints close loops: their speeds are those of the tree joints between their
    bodies, as far as they can follow.
    """
    inner = trace_coupling(kinematics, coupling)
    call, path = kinematics.tracer.call, kinematics.model.path(coupling)
    bias, columns = inner.bias, {}

    def add(joint: Joint, block: Matrix) -> None:
        before = columns.get(joint)
        columns[joint] = block if before is None else call(lambda a, b: a + b, before, block, path=path)

    for joint, block in inner.columns.items():
        if joint in kinematics.q:
            add(joint, block)
            continue
        q, v = kinematics.joint_state(joint)
        relative = kinematics.relative(joint.first.body, joint.second.body)
        frame, law = kinematics.frames.locate(joint.second), kinematics.model.pair(joint)

        def trace(
            row: Matrix, q: Vector, v: Vector, a: Vector, joint: Joint = joint, frame: Pose = frame, law: Any = law
        ) -> tuple[Matrix, ...]:
            picked = row @ effort_wrench(joint, law.subspace(q), ca.SX.eye(joint.freedoms)).T
            return picked @ (carry_twist(frame, a) - law.subspace_rate(q, v)), picked @ twist_matrix(frame)

        u, row = call(trace, block, q, v, relative.bias, path=path)
        bias = call(lambda a, b: a + b, bias, u, path=path)
        for moved, carried in carry_back(kinematics, joint, row)[0].items():
            add(moved, carried)
    return Closure(coupling, inner.groups, inner.residual, inner.rate, bias, columns, direct=inner.columns)
