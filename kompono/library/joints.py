"""The joints. Each is its pose; `subspace`, `conditions` and `measure` are written where they make it shorter or
closable.

Frames coincide at coordinates zero. Start values are keywords named as the coordinates, rates with the suffix `_rate`:
`Revolute(a, b, axis="y", angle=0.3, angle_rate=2.0)`. Stops at the ends of the way are `limits=(lower, upper)` with a
`restitution` from 0 to 1; `limits={"angle": (lower, upper)}` where there are several coordinates.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import number
from kompono.model.body import Frame
from kompono.model.free import Free, Rigid
from kompono.model.joint import Joint
from kompono.model.pairs import AxisJoint, Cylindrical, Planar, Prismatic, Revolute, Spherical, columns, dotted
from kompono.spatial.conditions import across, aligned, on_axis
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import Axis, about, snap, unit_axis

__all__ = ["Cylindrical", "Free", "Planar", "Prismatic", "Revolute", "Screw", "Spherical", "Universal", "Weld"]


class Weld(Rigid):
    """No freedom: the two frames are one."""


class Screw(AxisJoint):
    """Turns by `angle` [rad] about `axis` and advances `pitch` [m/rad] times that along it."""

    coordinates = ("angle",)
    units = ("rad",)

    def __init__(
        self, first: Frame, second: Frame, *, pitch: float, axis: Axis = "z", limits: Any = None,
        restitution: Any = 0.0, **start: float | None,
    ) -> None:  # fmt: skip
        super().__init__(first, second, axis=axis, limits=limits, restitution=restitution, **start)
        self.pitch = number(pitch, "the pitch [m/rad]", fix="Give a number that is not zero.")
        if self.pitch == 0:
            raise ModelError("a screw needs a pitch [m/rad], not 0.", fix="Use Revolute for no advance.")

    def pose(self, q: Any) -> Pose:
        return Pose(ca.DM(self.axis) * (self.pitch * q[0]), about(self.axis, q[0]))

    def subspace(self, q: Any) -> Any:
        return columns((self.pitch * self.axis, self.axis))

    def conditions(self, pose: Pose) -> list[Any]:
        turned_back = Pose(rotation=about(self.axis, -self.measure(pose)) @ pose.rotation)
        u, v = across(self.axis)
        slip = ca.dot(ca.DM(v), turned_back.rotation @ ca.DM(u))
        return [on_axis(pose, self.axis), ca.vertcat(aligned(pose, self.axis), slip)]

    def measure(self, pose: Pose) -> Any:
        return ca.dot(ca.DM(self.axis), pose.position) / self.pitch


class Universal(Joint):
    """Turns by `angle1` [rad] about `first_axis`, fixed in the first frame, then `angle2` about `second_axis`, fixed
    in the second.
    """

    coordinates = ("angle1", "angle2")
    units = ("rad", "rad")

    def __init__(
        self, first: Frame, second: Frame, *, first_axis: Axis = "x", second_axis: Axis = "y", limits: Any = None,
        restitution: Any = 0.0, **start: float | None,
    ) -> None:  # fmt: skip
        super().__init__(first, second, start=dotted(start), limits=limits, restitution=restitution)
        self.first_axis, self.second_axis = unit_axis(first_axis), unit_axis(second_axis)
        if abs(self.first_axis @ self.second_axis) > 1e-9:
            raise ModelError("the axes of a universal joint must be perpendicular.", fix='Use "x" and "y".')

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=about(self.first_axis, q[0]) @ about(self.second_axis, q[1]))

    def subspace(self, q: Any) -> Any:
        first = about(self.second_axis, q[1]).T @ ca.DM(self.first_axis)
        return ca.vertcat(ca.SX(3, 2), ca.horzcat(first, ca.SX(ca.DM(self.second_axis))))

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, ca.dot(ca.DM(self.first_axis), pose.rotation @ ca.DM(self.second_axis))]

    def measure(self, pose: Pose) -> Any:
        a, b = self.first_axis, self.second_axis
        c = snap(np.cross(a, b))
        turned, back = pose.rotation @ ca.DM(b), pose.rotation.T @ ca.DM(a)
        return ca.vertcat(
            ca.atan2(ca.dot(ca.DM(c), turned), ca.dot(ca.DM(b), turned)),
            ca.atan2(ca.dot(ca.DM(c), back), ca.dot(ca.DM(a), back)),
        )
