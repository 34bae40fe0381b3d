"""What joints do at any coordinates and speeds, asked of each kind of joint once (see `patterns`)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import twist_matrix
from kompono.translate.declared.ours import is_ours
from kompono.translate.patterns import Instance
from kompono.translate.symbolic import Matrix, Vector

_KINDS = ("kompono.library.joints", "kompono.model.pairs", "kompono.model.free")  # that do not look at their frames
_BESIDE = frozenset(("first", "second", "q", "v", "start", "limits", "_stops", "_owner", "_name", "_taken_away"))
_PLAIN = (float, int, str, bool)


class JointSteps:
    """Of the joints of one model: `of` gives functions of q (nq) and v (nv)."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Instance] = {}
        self._ours: dict[type, bool] = {}

    def of(self, joint: Joint, reverse: bool) -> Instance:
        """Position and rotation of the child's joint frame in the parent's, S, S v, S_dot v and q_dot."""
        key = ("step", self._kind(joint), reverse)
        if key not in self._made:
            q, v = ca.SX.sym("q", len(joint.coordinates)), ca.SX.sym("v", joint.freedoms)
            pose, subspace = joint_motion(joint, q, reverse), joint_subspace(joint, q, reverse)
            along = rate_along(joint, reverse, q, v)
            outputs = (pose.position, pose.rotation, subspace, subspace @ v, along, joint.rate(q, v))
            self._made[key] = Instance((q, v), outputs)
        return self._made[key]

    def rates(self, joint: Joint) -> Instance:
        """q_dot and its rate, as a function of q, v and v_dot."""
        key = ("rates", self._kind(joint))
        if key not in self._made:
            q, v, v_dot = (
                ca.SX.sym(name, size)
                for name, size in (("q", len(joint.coordinates)), ("v", joint.freedoms), ("a", joint.freedoms))
            )
            rate = ca.densify(ca.SX(joint.rate(q, v)))
            self._made[key] = Instance((q, v, v_dot), (rate, ca.jtimes(rate, q, rate) + ca.jacobian(rate, v) @ v_dot))
        return self._made[key]

    def _kind(self, joint: Joint) -> Hashable:
        """Equal for joints that do the same: those of ours with equal numbers; else the joint itself."""
        kind = type(joint)
        if kind not in self._ours:
            self._ours[kind] = kind.__module__ in _KINDS and is_ours(kind)
        held = [_plain(name, value) for name, value in vars(joint).items() if name not in _BESIDE]
        return (kind, *held) if self._ours[kind] and None not in held else joint


def _plain(name: str, value: Any) -> Hashable:
    """An attribute that is a number, a word or an array of numbers; None if it is something else."""
    if type(value) is np.ndarray and value.dtype == float:
        return name, value.shape, value.tobytes()
    return (name, value) if type(value) in _PLAIN else None


def joint_motion(joint: Joint, q: Vector, reverse: bool) -> Pose:
    """Pose of the child's joint frame in the parent's."""
    pose = joint.pose(q)
    pose = Pose(ca.SX(pose.position), ca.SX(pose.rotation))
    return pose.inverse() if reverse else pose


def joint_subspace(joint: Joint, q: Vector, reverse: bool) -> Matrix:
    """S (6 x nv) in the child's joint frame."""
    subspace = ca.SX(joint.subspace(q))
    if reverse:
        subspace = -twist_matrix(joint_motion(joint, q, True)) @ subspace
    return ca.sparsify(subspace)


def rate_along(joint: Joint, reverse: bool, q: Vector, v: Vector) -> Vector:
    """S_dot v, by differentiating S(q) v along q_dot at constant v."""
    if joint.freedoms == 0:
        return ca.SX(6, 1)
    if not reverse:
        return joint.subspace_rate(q, v)
    x, s = ca.SX.sym("x", len(joint.coordinates)), ca.SX.sym("s", joint.freedoms)
    twist = ca.densify(joint_subspace(joint, x, reverse) @ s)
    along = ca.jtimes(twist, x, ca.densify(ca.SX(joint.rate(x, s))))
    return ca.substitute(along, ca.vertcat(x, s), ca.densify(ca.vertcat(ca.SX(q), ca.SX(v))))
