"""Joints: the irreducible part is `pose(q)`; subspace, velocity terms and Jacobians are derived by differentiation.

A joint connects a frame of the first body with a frame of the second. `pose(q)` is the second frame seen from the
first. In the spanning tree a joint moves its child through q; where it closes a loop it acts through `conditions`
of the relative pose instead. Declaring `subspace` is optional and only makes the code shorter: a test compares every
declared one with the derived one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kompono.errors import ModelError, nearest
from kompono.model.body import Frame
from kompono.model.element import Element
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import unskew


class Joint(Element, abstract=True):
    """Base of all joints. A new joint names its coordinates and writes `pose`; more only if it needs more.

    coordinates: names of q; units: of each, "rad" or "m" or ""; speeds: names of v where q_dot is not v.
    """

    coordinates: ClassVar[tuple[str, ...]] = ()
    units: ClassVar[tuple[str, ...]] = ()
    speeds: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, first: Frame, second: Frame, *, start: Mapping[str, float | None] | None = None) -> None:
        if not isinstance(first, Frame) or not isinstance(second, Frame):
            raise ModelError(f"{type(self).__name__} connects two frames.", fix="Use body or body.at(x, y, z).")
        self.first, self.second = first, second
        self.q = Symbol.column("q", len(self.coordinates))
        self.v = Symbol.column("v", self.freedoms)
        known = self.start_names()
        for name in start or {}:
            if name not in known:
                raise ModelError(f"{type(self).__name__} has no start value {name!r}.", fix=nearest(name, known))
        self.start = {name: float(value) for name, value in (start or {}).items() if value is not None}

    # -- what a new joint defines

    def pose(self, q: Any) -> Pose:
        """The second frame seen from the first at coordinates q (nq)."""
        raise ModelError(f"{type(self).__name__} does not define pose(q).")

    def rate(self, q: Any, v: Any) -> Any:
        """q_dot (nq) from the speeds v (nv)."""
        return v

    def subspace(self, q: Any) -> Any:
        """S (6 x nv): twist of the second frame relative to the first, in second-frame axes, is S v. Derived by
        default.
        """
        return derived_subspace(self, q)

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """S_dot v (6) at constant v. Derived by default."""
        return derived_subspace_rate(self, q, v)

    def conditions(self, pose: Pose) -> list[Any] | None:
        """Groups of like conditions (columns of SX, zero when the joint holds) on the relative pose; None: cannot
        close a loop.
        """
        return None

    def measure(self, pose: Pose) -> Any:
        """The coordinates (nq) of a relative pose; angles modulo a turn. None: cannot be measured."""
        return None

    def neutral(self) -> np.ndarray:
        """Coordinates (nq) where nothing is given."""
        return np.zeros(len(self.coordinates))

    def normalize(self, q: Any) -> Any:
        """q back on its manifold (unit quaternions); the identity for most."""
        return q

    # -- what follows from it

    def _built_on(self) -> tuple[Element, ...]:
        return self.first.body, self.second.body

    @property
    def freedoms(self) -> int:
        """Number of speeds nv."""
        return len(self.speeds) if self.speeds is not None else len(self.coordinates)

    @classmethod
    def speed_names(cls) -> tuple[str, ...]:
        """Names of v: `<coordinate>.rate`, or those the joint declares."""
        return cls.speeds if cls.speeds is not None else tuple(f"{name}.rate" for name in cls.coordinates)

    @classmethod
    def start_names(cls) -> tuple[str, ...]:
        """Names that start values can be given for."""
        return cls.coordinates + cls.speed_names()

    def __getattr__(self, name: str) -> Any:
        """`joint.angle` and `joint.angle_rate` are the symbols of coordinate and rate, for forces, drives and
        outputs.
        """
        if not name.startswith("_"):
            coordinates, speeds = type(self).coordinates, type(self).speed_names()
            if name in coordinates:
                return self.q[coordinates.index(name)]
            dotted = name.removesuffix("_rate") + ".rate" if name.endswith("_rate") else name
            if dotted in speeds:
                return self.v[speeds.index(dotted)]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def derived_subspace(joint: Joint, q: Any) -> Any:
    """S of a joint from `pose` and `rate` alone: (R^T p_dot, vee(R^T R_dot)) per unit of each speed."""
    x, v = ca.SX.sym("x", len(joint.coordinates)), ca.SX.sym("s", joint.freedoms)
    pose = joint.pose(x)
    position, rotation = ca.SX(pose.position), ca.SX(pose.rotation)
    x_dot = ca.SX(joint.rate(x, v))
    turned = ca.jtimes(ca.densify(rotation), x, x_dot)
    linear = rotation.T @ ca.jtimes(ca.densify(position), x, x_dot)
    twist = ca.vertcat(linear, unskew(rotation.T @ turned))
    return ca.substitute(ca.jacobian(twist, v), x, ca.SX(q))


def derived_subspace_rate(joint: Joint, q: Any, v: Any) -> Any:
    """S_dot v, by differentiating S(q) v along q_dot at constant v."""
    x, s = ca.SX.sym("x", len(joint.coordinates)), ca.SX.sym("s", joint.freedoms)
    twist = ca.densify(ca.SX(joint.subspace(x)) @ s)
    along = ca.jtimes(twist, x, ca.densify(ca.SX(joint.rate(x, s))))
    return ca.substitute([along], [x, s], [ca.densify(ca.SX(q)), ca.densify(ca.SX(v))])[0]
