"""How easily rows of laws move the bodies they touch, as if those were free: stiffness of soft contact follows from it.

Joints and loops make bodies less mobile, never more, so what is stable for a free body is so in a machine.
"""

from __future__ import annotations

from typing import Any, cast

import casadi as ca
import numpy as np

from kompono.model.body import Body, Frame
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw
from kompono.spatial.pose import Motion
from kompono.spatial.vectors import inertia_matrix
from kompono.translate.symbolic import Matrix, Vector


def pair_mobility(law: PairLaw, motion: Motion, gamma: Matrix) -> Vector:
    """Mobility (rows) [1/kg, 1/(kg m^2)] of rows (rows, 6) on the relative twist, in the axes of the first frame."""
    total = ca.SX.zeros(gamma.shape[0])
    p, turn = ca.SX(motion.position), ca.SX(motion.rotation)
    for frame, second in ((law.second, True), (law.first, False)):
        if not isinstance(frame.body, Body):
            continue
        centre = -(frame.pose.rotation.T @ frame.pose.position)
        lever = -(turn @ centre) if second else p - centre
        back = frame.pose.rotation @ (turn.T if second else ca.SX.eye(3))
        inverse = _inverse(frame.body.solid.inertia)
        for k in range(gamma.shape[0]):
            n = ca.densify(gamma[k, :3].T)
            torque = back @ (ca.densify(gamma[k, 3:].T) + ca.cross(lever, n))
            total[k] += ca.sumsqr(n) / frame.body.solid.mass + ca.dot(torque, inverse @ torque)
    return total


def joint_mobility(law: JointLaw, rows: dict[Joint, Matrix]) -> Vector:
    """Mobility (rows) of rows on the speeds of joints, each of which moves its two bodies alone."""
    size = next(iter(rows.values())).shape[0]
    total = ca.SX.zeros(size)
    for joint in law.joints:
        own = sum((_inverse(_felt(joint, frame)) for frame in _moving(joint)), ca.SX(0))
        for k in range(size):
            row = ca.SX(rows[joint][k, :])
            total[k] += ca.sum1(ca.vec(row @ own @ row.T))
    return total


def _moving(joint: Joint) -> list[Frame]:
    return [frame for frame in (joint.second, joint.first) if isinstance(frame.body, Body)]


def _felt(joint: Joint, frame: Frame) -> Matrix:
    """Inertia (nv, nv) of a body about its frame of a joint, for the speeds of that joint where it starts."""
    solid = cast(Body, frame.body).solid
    subspace = ca.evalf(ca.substitute(ca.SX(joint.subspace(joint.q)), joint.q, ca.DM(np.asarray(joint.neutral()))))
    centre, turn = -(frame.pose.rotation.T @ frame.pose.position), frame.pose.rotation
    tensor = turn.T @ ca.SX(solid.inertia) @ turn
    return subspace.T @ ca.SX(inertia_matrix(solid.mass, centre, tensor)) @ subspace


def _inverse(matrix: Any) -> Matrix:
    """Inverse of an inertia, zero where there is none."""
    matrix = ca.SX(matrix)
    return ca.SX(ca.DM(np.linalg.pinv(ca.DM(matrix).full(), 1e-9))) if matrix.is_constant() else ca.inv(matrix)
