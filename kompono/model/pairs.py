"""The lower pairs: joints of two surfaces in contact. They live in the model, for the translator makes them of mates.

Each is its pose; `subspace`, `conditions` and `measure` make it shorter or closable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.given import tell_unused
from kompono.model.body import Frame
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


def columns(*pairs: tuple[Any, Any]) -> Any:
    """A subspace from (linear, angular) pairs."""
    return ca.horzcat(*[ca.vertcat(ca.SX(a), ca.SX(b)) for a, b in pairs])


class AxisJoint(Joint):
    """A joint about or along an axis that both frames have."""

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


class Revolute(AxisJoint):
    """Turns by `angle` [rad] about `axis`."""

    coordinates = ("angle",)
    units = ("rad",)

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=about(self.axis, q[0]))

    def subspace(self, q: Any) -> Any:
        return columns((_ZERO, self.axis))

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position, aligned(pose, self.axis)]

    def measure(self, pose: Pose) -> Any:
        return turn_about(pose, self.axis)


class Prismatic(AxisJoint):
    """Slides by `displacement` [m] along `axis`."""

    coordinates = ("displacement",)
    units = ("m",)

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.DM(self.axis) * q[0])

    def subspace(self, q: Any) -> Any:
        return columns((self.axis, _ZERO))

    def conditions(self, pose: Pose) -> list[Any]:
        return [on_axis(pose, self.axis), unskew(pose.rotation)]

    def measure(self, pose: Pose) -> Any:
        return ca.dot(ca.DM(self.axis), pose.position)


class Cylindrical(AxisJoint):
    """Slides by `displacement` [m] along `axis` and turns by `angle` [rad] about it."""

    coordinates = ("displacement", "angle")
    units = ("m", "rad")

    def pose(self, q: Any) -> Pose:
        return Pose(ca.DM(self.axis) * q[0], about(self.axis, q[1]))

    def subspace(self, q: Any) -> Any:
        return columns((self.axis, _ZERO), (_ZERO, self.axis))

    def conditions(self, pose: Pose) -> list[Any]:
        return [on_axis(pose, self.axis), aligned(pose, self.axis)]

    def measure(self, pose: Pose) -> Any:
        return ca.vertcat(ca.dot(ca.DM(self.axis), pose.position), turn_about(pose, self.axis))


class Spherical(Joint):
    """Turns freely about a point: unit quaternion e0..e3, speeds wx, wy, wz [rad/s] in second-frame axes.

    `limits` = {"swing": angle, "twist": (lower, upper), "turn": angle} [rad] keep `axis` ("z"), which both frames have,
    within a cone about itself, the twist about it between two angles, and the whole turn below one; all or some of
    them.
    """

    coordinates = ("e0", "e1", "e2", "e3")
    units = ("", "", "", "")
    speeds = ("wx", "wy", "wz")

    def __init__(
        self, first: Frame, second: Frame, *, axis: Axis | None = None, limits: Any = None, restitution: Any = 0.0,
        **start: float | None,
    ) -> None:  # fmt: skip
        self.axis = unit_axis("z" if axis is None else axis)
        super().__init__(first, second, start=start, limits=limits, restitution=restitution)
        if axis is not None and not (isinstance(limits, Mapping) and {"swing", "twist"} & set(limits)):
            fix = "Leave it out, or give limits of the swing about it, of the twist, or both."
            tell_unused("an axis: a ball joint turns about every one", fix)

    def _limit(self, limits: Any, restitution: Any) -> None:
        from kompono.model.cone import ConeStops  # a law is built on joints
        from kompono.model.stops import fraction

        self.limits = limits
        self._stops = ConeStops(self, self.axis, limits, fraction(restitution, "the restitution"))

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
