"""Rods between bodies: a massless one with a hinge and a ball joint, and a telescopic strut with spring and damper."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import flag, number, scalar, shown, tell_unused
from kompono.library import solids
from kompono.library.forces import SpringDamper
from kompono.library.joints import Cylindrical, Prismatic, dotted
from kompono.model.body import Body, Frame, MassProperties
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.spatial.conditions import across
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import Axis, about, matrix_quaternion, quaternion_rate, rotation_of, snap, unit_axis


class Link(Joint):
    """A massless rod of `length` [m] between two bodies: hinged about `axis` at the first origin, a ball joint at the
    second (revolute-spherical).

    The rod turns by `angle` [rad] about `axis`, from `along` (across the axis) at zero; e0..e3 is the orientation of
    the second frame. Speeds are `swing` [rad/s], that of the angle, and wx, wy, wz [rad/s] in second-frame axes. With a
    ball or universal joint at both ends it is a `Distance`.
    """

    coordinates = ("angle", "e0", "e1", "e2", "e3")
    units = ("rad", "", "", "", "")
    speeds = ("swing", "wx", "wy", "wz")
    speed_units = ("rad/s", "rad/s", "rad/s", "rad/s")

    def __init__(
        self,
        first: Frame,
        second: Frame,
        *,
        length: float,
        axis: Axis = "z",
        along: Axis | None = None,
        limits: Any = None,
        restitution: Any = 0.0,
        **start: float | None,
    ) -> None:
        super().__init__(first, second, start=dotted(start), limits=limits, restitution=restitution)
        self.length = number(length, "the length", positive=True, fix="Give a positive length [m].")
        self.axis = unit_axis(axis)
        self.along = across(self.axis)[0] if along is None else unit_axis(along)
        if abs(self.axis @ self.along) > 1e-9:
            raise ModelError("the rod must be perpendicular to its hinge.", fix='Use axis="z", along="x".')

    def pose(self, q: Any) -> Pose:
        return Pose(self.length * (about(self.axis, q[0]) @ ca.DM(self.along)), rotation_of(q[1:]))

    def rate(self, q: Any, v: Any) -> Any:
        return ca.vertcat(v[0], quaternion_rate(q[1:], v[1:]))

    def subspace(self, q: Any) -> Any:
        ahead = self.length * (about(self.axis, q[0]) @ ca.DM(self._ahead()))
        swing = ca.vertcat(rotation_of(q[1:]).T @ ahead, ca.SX(3, 1))
        return ca.horzcat(swing, ca.vertcat(ca.SX(3, 3), ca.SX(ca.DM.eye(3))))

    def conditions(self, pose: Pose) -> list[Any]:
        stretch = (ca.sumsqr(pose.position) - self.length**2) / (2 * self.length)
        return [ca.vertcat(ca.dot(ca.DM(self.axis), pose.position), stretch)]

    def measure(self, pose: Pose) -> Any:
        ahead, p = self._ahead(), pose.position
        angle = ca.atan2(ca.dot(ca.DM(ahead), p), ca.dot(ca.DM(self.along), p))
        return ca.vertcat(angle, matrix_quaternion(pose.rotation))

    def _ahead(self) -> np.ndarray:
        """Where the end of the rod moves at angle zero (3)."""
        return snap(np.cross(self.axis, self.along))

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 1.0, 0.0, 0.0, 0.0])

    def normalize(self, q: Any) -> Any:
        return ca.vertcat(q[0], q[1:] / ca.norm_2(q[1:]))


class Strut(Subsystem):
    """A telescopic strut: a tube and a rod that slide in each other, with a spring and a damper between their ends.

    `length` [m] is that between the ends at the start, `rest` [m] that of the spring without load (default: `length`);
    k [N/m], c [N s/m]. Connect the frames `bottom`, on the `tube`, and `top`, on the `rod`; both bodies have z along
    the strut. They also turn in each other, unless `turns=False`. `mass` (1) [kg] is shared by tube and rod, `radius`
    (0.03) [m] is that of the tube; give `tube` and `rod` for solids of your own, whose middle is then
    `length` / 4 from their end of the strut.
    """

    def __init__(
        self,
        *,
        length: float,
        k: Any = 0.0,
        c: Any = 0.0,
        rest: Any = None,
        mass: Any = None,
        radius: Any = None,
        tube: MassProperties | None = None,
        rod: MassProperties | None = None,
        turns: bool = True,
    ) -> None:
        length = number(length, "the length", positive=True, fix="Give a positive length [m].")
        if not (tube is None or rod is None or mass is radius is None):
            tell_unused("a mass or radius beside two solids", "Give what they follow from, or solids.")
        mass = scalar(1.0 if mass is None else mass, "the mass", fix="Give a positive mass [kg].")
        fix = "Give a positive radius [m]."
        radius = number(0.03 if radius is None else radius, "the radius", positive=True, fix=fix)
        for given in (tube, rod):
            if given is not None and not isinstance(given, MassProperties):
                raise ModelError(f"{shown(given)} is no solid.", fix="Use solids.tube(...), or leave it out.")
        if rest is not None and isinstance(k, int | float) and k == 0:
            tell_unused("a rest length without stiffness", "Give k=, too, or leave rest= out.")
        half = length / 2
        self.tube = Body(
            tube if tube is not None else solids.tube(mass=mass / 2, length=half, radius=radius, wall=radius / 5)
        )
        self.rod = Body(rod if rod is not None else solids.rod(mass=mass / 2, length=half, radius=radius / 2))
        self.bottom, self.top = self.tube.at(0, 0, -half / 2), self.rod.at(0, 0, half / 2)
        joint = Cylindrical if flag(turns, "turns =") else Prismatic
        self.slide = joint(self.bottom, self.top, axis="z", displacement=length)
        self.spring = SpringDamper(self.bottom, self.top, k=k, c=c, rest=length if rest is None else rest)
        self.expose(self.tube, self.rod)
