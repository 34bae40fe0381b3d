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
from kompono.spatial.conditions import across, aligned, on_axis, turn_about
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import (
    Axis,
    about,
    matrix_quaternion,
    quaternion_rate,
    rotation_of,
    unit_axis,
    unskew,
)


def _columns(*pairs: tuple[Any, Any]) -> Any:
    """A subspace from (linear, angular) pairs."""
    return ca.horzcat(*[ca.vertcat(ca.SX(ca.DM(a)), ca.SX(ca.DM(b))) for a, b in pairs])


__all__ = ["Cylindrical", "Free", "Planar", "Prismatic", "Revolute", "Screw", "Spherical", "Universal", "Weld"]


class _AxisJoint(Joint):
    def __init__(
        self, first: Frame, second: Frame, *, axis: Axis = "z", limits: Any = None, restitution: Any = 0.0,
        **start: float | None,
    ) -> None:  # fmt: skip
        super().__init__(first, second, start=dotted(start), limits=limits, restitution=restitution)
        self.axis = unit_axis(axis)


def dotted(start: dict[str, float | None]) -> dict[str, float | None]:
    """Start keywords with `angle_rate` written `angle.rate`."""
    return {name.removesuffix("_rate") + ".rate" if name.endswith("_rate") else name: x for name, x in start.items()}


_ZERO = np.zeros(3)


class Weld(Rigid):
    """No freedom: the two frames are one."""


class Revolute(_AxisJoint):
    """Turns by `angle` [rad] about `axis`."""

    coordinates = ("angle",)
    units = ("rad",)

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=about(self.axis, q[0]))

    def subspace(self, q: Any) -> Any:
        return _columns((_ZERO, self.axis))

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, aligned(pose, self.axis)]

    def measure(self, pose: Pose) -> Any:
        return turn_about(pose, self.axis)


class Prismatic(_AxisJoint):
    """Slides by `displacement` [m] along `axis`."""

    coordinates = ("displacement",)
    units = ("m",)

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.DM(self.axis) * q[0])

    def subspace(self, q: Any) -> Any:
        return _columns((self.axis, _ZERO))

    def conditions(self, pose: Pose) -> list[Any]:
        return [on_axis(pose, self.axis), unskew(pose.rotation)]

    def measure(self, pose: Pose) -> Any:
        return ca.dot(ca.DM(self.axis), pose.position)


class Cylindrical(_AxisJoint):
    """Slides by `displacement` [m] along `axis` and turns by `angle` [rad] about it."""

    coordinates = ("displacement", "angle")
    units = ("m", "rad")

    def pose(self, q: Any) -> Pose:
        return Pose(ca.DM(self.axis) * q[0], about(self.axis, q[1]))

    def subspace(self, q: Any) -> Any:
        return _columns((self.axis, _ZERO), (_ZERO, self.axis))

    def conditions(self, pose: Pose) -> list[Any]:
        return [on_axis(pose, self.axis), aligned(pose, self.axis)]

    def measure(self, pose: Pose) -> Any:
        return ca.vertcat(ca.dot(ca.DM(self.axis), pose.position), turn_about(pose, self.axis))


class Screw(_AxisJoint):
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
        return _columns((self.pitch * self.axis, self.axis))

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
        c = np.cross(a, b)
        turned, back = pose.rotation @ ca.DM(b), pose.rotation.T @ ca.DM(a)
        return ca.vertcat(
            ca.atan2(ca.dot(ca.DM(c), turned), ca.dot(ca.DM(b), turned)),
            ca.atan2(ca.dot(ca.DM(c), back), ca.dot(ca.DM(a), back)),
        )


class Spherical(Joint):
    """Turns freely about a point: unit quaternion e0..e3, speeds wx, wy, wz [rad/s] in second-frame axes."""

    coordinates = ("e0", "e1", "e2", "e3")
    units = ("", "", "", "")
    speeds = ("wx", "wy", "wz")

    def __init__(
        self, first: Frame, second: Frame, *, limits: Any = None, restitution: Any = 0.0, **start: float | None
    ) -> None:
        super().__init__(first, second, start=start, limits=limits, restitution=restitution)

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=rotation_of(q))

    def rate(self, q: Any, v: Any) -> Any:
        return quaternion_rate(q, v)

    def subspace(self, q: Any) -> Any:
        return ca.vertcat(ca.SX(3, 3), ca.SX(ca.DM.eye(3)))

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position]

    def measure(self, pose: Pose) -> Any:
        return matrix_quaternion(pose.rotation)

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def normalize(self, q: Any) -> Any:
        return q / ca.norm_2(q)


class Planar(Joint):
    """Slides by x, y [m] in the plane across `normal` of the first frame and turns by `angle` [rad] about it."""

    coordinates = ("x", "y", "angle")
    units = ("m", "m", "rad")

    def __init__(
        self, first: Frame, second: Frame, *, normal: Axis = "z", limits: Any = None, restitution: Any = 0.0,
        **start: float | None,
    ) -> None:  # fmt: skip
        super().__init__(first, second, start=dotted(start), limits=limits, restitution=restitution)
        self.normal = unit_axis(normal)

    def pose(self, q: Any) -> Pose:
        u, v = across(self.normal)
        return Pose(ca.DM(u) * q[0] + ca.DM(v) * q[1], about(self.normal, q[2]))

    def subspace(self, q: Any) -> Any:
        back = about(self.normal, q[2]).T
        slides = ca.horzcat(*[back @ ca.DM(axis) for axis in across(self.normal)])
        turn = ca.vertcat(ca.SX(3, 1), ca.SX(ca.DM(self.normal)))
        return ca.horzcat(ca.vertcat(slides, ca.SX(3, 2)), turn)

    def conditions(self, pose: Pose) -> list[Any]:
        return [ca.dot(ca.DM(self.normal), pose.position), aligned(pose, self.normal)]

    def measure(self, pose: Pose) -> Any:
        return ca.vertcat(on_axis(pose, self.normal), turn_about(pose, self.normal))
