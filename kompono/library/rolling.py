"""Rolling without slipping: a ball, or a thin wheel or disc, on a plane.

A nonholonomic joint: it has three speeds (it may turn any way) but five freedoms of position, because where it is
depends on the way it rolled. The tree moves its child by `rate` alone, so nothing slips, exactly. Where every body is
placed by itself, or a second wheel closes a loop, the point of contact is held in the plane by one condition on the
pose and at rest by two on velocities.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import number
from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.spatial.conditions import across
from kompono.spatial.pose import Motion, Pose
from kompono.spatial.rotation import (
    Axis,
    matrix_quaternion,
    quaternion_matrix,
    quaternion_rate,
    rotation_of,
    skew,
    unit_axis,
)
from kompono.spatial.turns import constant_quaternion, rotation


class Rolling(Joint):
    """The second body rolls without slipping on the plane across `normal` through the first frame's origin.

    Without `axis` it is a ball of `radius` [m] about the second origin; with one, a thin disc or wheel of that radius
    about `axis` of the second frame, which may lean but not lie flat
    (where nothing is given it stands upright). x, y [m] are where the second origin is above the
    plane, in the directions that follow `normal`; e0..e3 is its orientation (`orientation=` takes a quaternion or
    matrix for the start). Speeds wx, wy, wz [rad/s] are in second-frame axes.
    """

    coordinates = ("x", "y", "e0", "e1", "e2", "e3")
    units = ("m", "m", "", "", "", "")
    speeds = ("wx", "wy", "wz")
    speed_units = ("rad/s", "rad/s", "rad/s")

    def __init__(
        self,
        first: Frame,
        second: Frame,
        *,
        radius: float,
        normal: Axis = "z",
        axis: Axis | None = None,
        orientation: Any = None,
        limits: Any = None,
        restitution: Any = 0.0,
        **start: float | None,
    ) -> None:
        turned = constant_quaternion(orientation)
        if orientation is not None:
            start = {**{f"e{k}": float(turned[k]) for k in range(4)}, **start}
        super().__init__(first, second, start=start, limits=limits, restitution=restitution)
        self.radius = number(radius, "the radius", positive=True, fix="Give a positive number [m].")
        self.normal = unit_axis(normal)
        self.axis = None if axis is None else unit_axis(axis)
        if orientation is not None and self.axis is not None:
            leaning = np.cross(self.normal, np.asarray(ca.DM(quaternion_matrix(turned))) @ self.axis)
            if np.linalg.norm(leaning) < 1e-9:
                raise ModelError("the wheel lies flat.", fix="Give an orientation that turns its axis off the normal.")

    def pose(self, q: Any) -> Pose:
        u, v = across(self.normal)
        turned = rotation_of(q[2:])
        height = ca.dot(ca.DM(self.normal), turned @ self._up(turned))
        return Pose(ca.DM(u) * q[0] + ca.DM(v) * q[1] + ca.DM(self.normal) * height, turned)

    def rate(self, q: Any, v: Any) -> Any:
        turned = rotation_of(q[2:])
        moved = turned @ ca.cross(v, self._up(turned))
        along = [ca.dot(ca.DM(axis), moved) for axis in across(self.normal)]
        return ca.vertcat(*along, quaternion_rate(q[2:], v))

    def subspace(self, q: Any) -> Any:
        return ca.vertcat(-skew(self._up(rotation_of(q[2:]))), ca.SX(ca.DM.eye(3)))

    def conditions(self, pose: Pose) -> list[Any]:
        return [ca.dot(ca.DM(self.normal), pose.position - pose.rotation @ self._up(pose.rotation))]

    def velocity_conditions(self, motion: Motion) -> list[Any]:
        arm = motion.rotation @ self._up(motion.rotation)
        slip = motion.velocity - ca.cross(motion.angular_velocity, arm)
        return [ca.vertcat(*[ca.dot(ca.DM(axis), slip) for axis in across(self.normal)])]

    def measure(self, pose: Pose) -> Any:
        along = [ca.dot(ca.DM(axis), pose.position) for axis in across(self.normal)]
        return ca.vertcat(*along, matrix_quaternion(pose.rotation))

    def neutral(self) -> np.ndarray:
        if self.axis is None or abs(self.axis @ self.normal) < 0.9:
            return np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        return np.concatenate([[0.0, 0.0], rotation(across(self.normal)[0], np.pi / 2)])  # upright, not flat

    def normalize(self, q: Any) -> Any:
        return ca.vertcat(q[:2], q[2:] / ca.norm_2(q[2:]))

    def _up(self, turned: Any) -> Any:
        """From the point of contact to the second origin (3) [m], in second-frame axes."""
        normal = turned.T @ ca.DM(self.normal)
        if self.axis is None:
            return self.radius * normal
        upright = normal - ca.DM(self.axis) * ca.dot(ca.DM(self.axis), normal)
        return self.radius * upright / ca.norm_2(upright)
