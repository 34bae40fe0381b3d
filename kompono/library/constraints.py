"""Constraints: rods, points on lines and planes, the CAD mate, parallel axes, gears and drives."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError, nearest
from kompono.library.conditions import aligned, on_axis
from kompono.model.body import Frame
from kompono.model.constraint import Constraint, Coupling
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import Axis, unit_axis


class Distance(Constraint):
    """A massless rod: the two origins stay `length` [m] apart (a number, or an expression of time and parameters)."""

    def __init__(self, first: Frame, second: Frame, *, length: Any) -> None:
        super().__init__(first, second)
        if not isinstance(length, ca.SX) and not length > 0:
            raise ModelError(f"a rod of length {length!r} m.", fix="Give a positive length, or use Spherical for none.")
        self.length = length

    def conditions(self, pose: Pose) -> list[Any]:
        return [(ca.sumsqr(pose.position) - self.length**2) / (2 * self.length)]


class _Directed(Constraint, abstract=True):
    def __init__(self, first: Frame, second: Frame, *, axis: Axis = "z") -> None:
        super().__init__(first, second)
        self.axis = unit_axis(axis)


class PointOnLine(_Directed):
    """The second origin stays on the line through the first origin along `axis` of the first frame."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [on_axis(pose, self.axis)]


class PointInPlane(_Directed):
    """The second origin stays in the plane through the first origin across `axis` (its normal) of the first frame."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [ca.dot(ca.DM(self.axis), pose.position)]


class PlaneToPlane(_Directed):
    """The CAD mate: planes across `axis` of both frames coincide (3 conditions)."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [ca.dot(ca.DM(self.axis), pose.position), aligned(pose, self.axis)]


class ParallelAxes(_Directed):
    """`axis` of both frames stays parallel (2 conditions)."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [aligned(pose, self.axis)]


def coordinate_of(joint: Joint, name: str | None) -> Any:
    """The symbol of a joint's only or named coordinate."""
    if not isinstance(joint, Joint):
        raise ModelError(f"{joint!r} is not a joint.", fix="Give the joint whose coordinate is meant.")
    if name is None:
        if len(joint.coordinates) != 1:
            raise ModelError(
                f"{type(joint).__name__} has coordinates {joint.coordinates}.", fix='Say which: coordinate="angle".'
            )
        return joint.q[0]
    if name not in joint.coordinates:
        raise ModelError(f"{type(joint).__name__} has no coordinate {name!r}.", fix=nearest(name, joint.coordinates))
    return joint.q[joint.coordinates.index(name)]


class Gear(Coupling):
    """second = ratio * first + offset, for a coordinate of each of two joints (gears, racks, differentials)."""

    def __init__(
        self,
        first: Joint,
        second: Joint,
        *,
        ratio: Any,
        offset: Any = 0.0,
        first_coordinate: str | None = None,
        second_coordinate: str | None = None,
    ) -> None:
        super().__init__(first, second)
        a, b = coordinate_of(first, first_coordinate), coordinate_of(second, second_coordinate)
        self.residual = b - ratio * a - offset

    def conditions(self) -> list[Any]:
        return [self.residual]


class Drive(Coupling):
    """Prescribes a joint coordinate as an expression of `time`: `Drive(self.pin, 2 * time)`."""

    def __init__(self, joint: Joint, motion: Any, *, coordinate: str | None = None) -> None:
        super().__init__(joint)
        self.residual = coordinate_of(joint, coordinate) - motion

    def conditions(self) -> list[Any]:
        return [self.residual]
