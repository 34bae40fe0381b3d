"""How easily rows of laws move the bodies they touch, as if those were free: stiffness of soft contact follows from it.

Joints and loops make bodies less mobile, never more, so what is stable for a free body is so in a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import casadi as ca
import numpy as np

from kompono.model.body import Body, Frame
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw
from kompono.spatial.pose import Motion
from kompono.spatial.vectors import inertia_matrix
from kompono.translate.symbolic import Matrix, Scalar, Vector

Put = Callable[[str, Any], ca.SX]  # what stands for a matrix of numbers with a name


class Side(NamedTuple):
    """A body that a pair touches: which end of the pair it is, its centre (3) seen from the frame there, how that frame
    is turned on it (3, 3), its mass, and 1/J (3, 3).
    """

    second: bool
    centre: Vector
    turn: Matrix
    mass: Scalar
    inverse: Matrix


def sides_of(law: PairLaw, put: Put) -> list[Side]:
    """Those of a law; `put` says what stands for their numbers."""
    found = []
    for frame, second in ((law.second, True), (law.first, False)):
        if isinstance(frame.body, Body):
            name, solid, turn = ("second" if second else "first"), frame.body.solid, ca.SX(frame.pose.rotation)
            parts = {
                "centre": -(turn.T @ frame.pose.position), "turn": turn, "mass": solid.mass,
                "1/J": _inverse(solid.inertia),
            }  # fmt: skip
            found.append(Side(second, *[put(f"{name} {part}", value) for part, value in parts.items()]))
    return found


def pair_mobility(sides: Sequence[Side], motion: Motion, gamma: Matrix) -> Vector:
    """Mobility (rows) [1/kg, 1/(kg m^2)] of rows (rows, 6) on the relative twist, in the axes of the first frame."""
    total = ca.SX.zeros(gamma.shape[0])
    p, turn = ca.SX(motion.position), ca.SX(motion.rotation)
    for side in sides:
        lever = -(turn @ side.centre) if side.second else p - side.centre
        back = side.turn @ (turn.T if side.second else ca.SX.eye(3))
        for k in range(gamma.shape[0]):
            n = ca.densify(gamma[k, :3].T)
            torque = back @ (ca.densify(gamma[k, 3:].T) + ca.cross(lever, n))
            total[k] += ca.sumsqr(n) / side.mass + ca.dot(torque, side.inverse @ torque)
    return total


def felt_by(law: JointLaw, put: Put) -> list[tuple[Joint, Matrix]]:
    """The joints of a law, with how easily their speeds move (nv, nv); `put` says what stands for their numbers."""
    found = []
    for k, joint in enumerate(law.joints):
        own = sum((_inverse(_felt(joint, frame)) for frame in _moving(joint)), ca.SX(0))
        found.append((joint, put(f"joint {k}", own)))
    return found


def joint_mobility(felt: Sequence[tuple[Joint, Matrix]], rows: dict[Joint, Matrix]) -> Vector:
    """Mobility (rows) of rows on the speeds of joints, each of which moves its two bodies alone."""
    size = next(iter(rows.values())).shape[0]
    total = ca.SX.zeros(size)
    for joint, own in felt:
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
