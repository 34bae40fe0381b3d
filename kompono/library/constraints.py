"""Constraints: rods, CAD mates of points, lines, planes and angles, parallel axes and drives."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError, nearest
from kompono.given import flag, number, scalar, shown, text
from kompono.model.body import Frame
from kompono.model.constraint import Constraint, Coupling
from kompono.model.joint import Joint
from kompono.spatial.conditions import aligned, on_axis
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import Axis, unit_axis


class Distance(Constraint):
    """A massless rod: the two origins stay `length` [m] apart (a number, or an expression of time and parameters)."""

    def __init__(self, first: Frame, second: Frame, *, length: Any) -> None:
        super().__init__(first, second)
        self.length = scalar(length, "the length [m]", fix="Give a number or an expression of time and parameters.")
        if not isinstance(self.length, ca.SX) and not self.length > 0:
            raise ModelError(f"a rod of length {length!r} m.", fix="Give a positive length, or use Spherical for none.")

    def conditions(self, pose: Pose) -> list[Any]:
        return [(ca.sumsqr(pose.position) - self.length**2) / (2 * self.length)]


class _Directed(Constraint):
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


class PointOnPoint(Constraint):
    """The two origins coincide (3 conditions)."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position]


class PointAroundLine(_Directed):
    """The second origin stays `radius` [m] from the line through the first origin along `axis` of the first frame: a
    ball that touches a cylinder.
    """

    def __init__(self, first: Frame, second: Frame, *, radius: Any, axis: Axis = "z") -> None:
        super().__init__(first, second, axis=axis)
        self.radius = number(radius, "the radius [m]", positive=True, fix="Use PointOnLine for none.")

    def conditions(self, pose: Pose) -> list[Any]:
        return [(ca.sumsqr(on_axis(pose, self.axis)) - self.radius**2) / (2 * self.radius)]


class LineInPlane(Constraint):
    """The line through the second origin along its `line` stays in the plane through the first origin across `normal`
    of the first frame (2 conditions).
    """

    def __init__(self, first: Frame, second: Frame, *, normal: Axis = "z", line: Axis = "x") -> None:
        super().__init__(first, second)
        self.normal, self.line = unit_axis(normal), unit_axis(line)

    def conditions(self, pose: Pose) -> list[Any]:
        normal = ca.DM(self.normal)
        return [ca.dot(normal, pose.position), ca.dot(normal, pose.rotation @ ca.DM(self.line))]


class AngleBetween(_Directed):
    """`axis` of both frames form an `angle` [rad], between 0 and pi (1 condition); of either end use `ParallelAxes`."""

    def __init__(self, first: Frame, second: Frame, *, angle: Any, axis: Axis = "z") -> None:
        super().__init__(first, second, axis=axis)
        self.angle = number(angle, "the angle [rad]", fix="Give an angle between 0 and pi.")
        if not 1e-6 < self.angle < np.pi - 1e-6:
            raise ModelError(f"an angle of {shown(angle)} rad is none to keep.", fix="Use ParallelAxes for 0 and pi.")

    def conditions(self, pose: Pose) -> list[Any]:
        along = ca.dot(ca.DM(self.axis), pose.rotation @ ca.DM(self.axis))
        return [(ca.cos(self.angle) - along) / ca.sin(self.angle)]


class _Facing(_Directed):
    """Conditions on two directions that would be fulfilled half a turn off as well."""

    def __init__(self, first: Frame, second: Frame, *, axis: Axis = "z", opposed: bool = False) -> None:
        super().__init__(first, second, axis=axis)
        self.opposed = flag(opposed, "opposed =")

    def holds(self, pose: Pose) -> Any:
        along = ca.dot(ca.DM(self.axis), pose.rotation @ ca.DM(self.axis))
        return -along if self.opposed else along


class LineOnLine(_Facing):
    """The CAD mate of two cylinders: lines along `axis` of both frames coincide (4 conditions).

    They point the same way, or, `opposed`, against each other.
    """

    def conditions(self, pose: Pose) -> list[Any]:
        return [on_axis(pose, self.axis), aligned(pose, self.axis)]


class PlaneToPlane(_Facing):
    """The CAD mate: planes across `axis` of both frames coincide (3 conditions).

    Their normals point the same way, or, `opposed`, against each other.
    """

    def conditions(self, pose: Pose) -> list[Any]:
        return [ca.dot(ca.DM(self.axis), pose.position), aligned(pose, self.axis)]


class ParallelAxes(_Facing):
    """`axis` of both frames points the same way, or, `opposed`, the opposite way (2 conditions)."""

    def conditions(self, pose: Pose) -> list[Any]:
        return [aligned(pose, self.axis)]


def coordinate_of(joint: Joint, name: str | None, keyword: str = "coordinate") -> Any:
    """The symbol of a joint's only or named coordinate."""
    if not isinstance(joint, Joint):
        raise ModelError(f"{shown(joint)} is not a joint.", fix="Give the joint whose coordinate is meant.")
    return joint.q[chosen(joint, joint.coordinates, name, keyword)]


def speed_names(joint: Any) -> tuple[str, ...]:
    """Names of the speeds of what must be a joint."""
    if not isinstance(joint, Joint):
        raise ModelError(f"{shown(joint)} is no joint.", fix="Give a joint, e.g. self.pin.")
    return joint.coordinates if joint.speeds is None else joint.speeds


def chosen(joint: Joint, names: tuple[str, ...], name: str | None, keyword: str = "coordinate") -> int:
    """The place of `name` among the coordinates or speeds of a joint, or of the only one."""
    kind = type(joint).__name__
    if not names:
        raise ModelError(f"{kind} leaves nothing to move, so it has no coordinate.", fix="Name another joint.")
    if name is None and len(names) != 1:
        which = " or ".join(f'{keyword}="{known}"' for known in names)
        raise ModelError(f"{kind} has coordinates {names}.", fix=f"Say which: {which}.")
    if name is not None and text(name, "coordinate", fix=f"It has {', '.join(names)}.") not in names:
        fix = nearest(name, names) or f"It has {', '.join(names)}."
        raise ModelError(f"{kind} has no coordinate {name!r}.", fix=fix)
    return 0 if name is None else names.index(name)


def unit_of(joint: Joint, name: str | None) -> str:
    """The unit of a joint's only or named coordinate."""
    return (joint.units or ("",) * len(joint.coordinates))[joint.coordinates.index(name) if name else 0]


class Drive(Coupling):
    """Prescribes a joint coordinate as an expression of `time`: `Drive(self.pin, 2 * time)`."""

    def __init__(self, joint: Joint, motion: Any, *, coordinate: str | None = None) -> None:
        super().__init__(joint)
        fix = "Give a number or an expression of time and parameters."
        driven, motion = coordinate_of(joint, coordinate), ca.SX(scalar(motion, "the motion", fix=fix))
        if ca.depends_on(motion, driven):
            raise ModelError("the motion depends on the coordinate it prescribes.", fix=fix)
        self.residual = driven - motion
        self.units = (unit_of(joint, coordinate),)

    def conditions(self) -> list[Any]:
        return [self.residual]
