"""Joints the translator adds by itself, and which therefore live in the model, not the library: free ones for
independent bodies, rigid ones for pairs that mates hold firmly, crossings through closed parts.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import matrix_quaternion, orthonormal, quaternion_rate, rotation_of, skew, unskew


class Free(Joint):
    """All six freedoms: position x, y, z [m] in first-frame axes, unit quaternion e0..e3.

    Speeds vx, vy, vz [m/s] and wx, wy, wz [rad/s] are in second-frame axes.
    """

    coordinates = ("x", "y", "z", "e0", "e1", "e2", "e3")
    units = ("m", "m", "m", "", "", "", "")
    speeds = ("vx", "vy", "vz", "wx", "wy", "wz")

    def __init__(
        self, first: Frame, second: Frame, *, limits: Any = None, restitution: Any = 0.0, **start: float | None
    ) -> None:
        super().__init__(first, second, start=start, limits=limits, restitution=restitution)

    def pose(self, q: Any) -> Pose:
        return Pose(q[:3], rotation_of(q[3:]))

    def rate(self, q: Any, v: Any) -> Any:
        return ca.vertcat(rotation_of(q[3:]) @ v[:3], quaternion_rate(q[3:], v[3:]))

    def subspace(self, q: Any) -> Any:
        return ca.SX(ca.DM.eye(6))

    def conditions(self, pose: Pose) -> list[Any]:
        return []

    def measure(self, pose: Pose) -> Any:
        return ca.vertcat(pose.position, matrix_quaternion(pose.rotation))

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def normalize(self, q: Any) -> Any:
        return ca.vertcat(q[:3], q[3:] / ca.norm_2(q[3:]))


class Placed(Free):
    """A free joint with speeds in first-frame (world) axes: how the absolute engine places every body.

    Speeds vx, vy, vz [m/s] and wx, wy, wz [rad/s] are x_dot and Omega of the second frame.
    """

    def rate(self, q: Any, v: Any) -> Any:
        e, w = q[3:], v[3:]
        turning = ca.vertcat(
            -e[1] * w[0] - e[2] * w[1] - e[3] * w[2],
            e[0] * w[0] + e[3] * w[1] - e[2] * w[2],
            -e[3] * w[0] + e[0] * w[1] + e[1] * w[2],
            e[2] * w[0] - e[1] * w[1] + e[0] * w[2],
        )
        return ca.vertcat(v[:3], turning / 2)

    def subspace(self, q: Any) -> Any:
        back = rotation_of(q[3:]).T
        return ca.diagcat(back, back)

    def subspace_rate(self, q: Any, v: Any) -> Any:
        back = rotation_of(q[3:]).T
        return ca.vertcat(-ca.cross(back @ v[3:], back @ v[:3]), ca.SX(3, 1))


class Turned(Free):
    """A free joint whose orientation is the rotation matrix itself, column by column: how the discrete engine places
    every body. Speeds vx, vy, vz [m/s] and wx, wy, wz [rad/s] are in second-frame (body) axes.
    """

    coordinates = ("x", "y", "z", "r11", "r21", "r31", "r12", "r22", "r32", "r13", "r23", "r33")
    units = ("m", "m", "m", "", "", "", "", "", "", "", "", "")

    def pose(self, q: Any) -> Pose:
        return Pose(q[:3], ca.reshape(q[3:], 3, 3))

    def rate(self, q: Any, v: Any) -> Any:
        rotation = self.pose(q).rotation
        return ca.vertcat(rotation @ v[:3], ca.vec(rotation @ skew(v[3:])))

    def measure(self, pose: Pose) -> Any:
        return ca.vertcat(pose.position, ca.vec(pose.rotation))

    def neutral(self) -> np.ndarray:
        return np.concatenate([np.zeros(3), np.eye(3).ravel()])

    def normalize(self, q: Any) -> Any:
        return ca.vertcat(q[:3], ca.vec(orthonormal(self.pose(q).rotation)))


class Rigid(Joint):
    """No freedom: the two frames are one."""

    def pose(self, q: Any) -> Pose:
        return Pose.constant()

    def subspace(self, q: Any) -> Any:
        return ca.SX(6, 0)

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, unskew(pose.rotation)]

    def measure(self, pose: Pose) -> Any:
        return ca.SX(0, 1)


class Crossing(Joint):
    """From one port of a closed part to another, as its owner sees it: six freedoms that the part moves from inside, so
    it has no coordinates of its own. Speeds and accelerations are in second-frame axes.
    """

    speeds = ("vx", "vy", "vz", "wx", "wy", "wz")

    def subspace(self, q: Any) -> Any:
        return ca.SX(ca.DM.eye(6))
