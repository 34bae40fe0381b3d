"""Joints: the irreducible part is `pose(q)`; subspace, velocity terms and Jacobians are derived by differentiation.

A joint connects a frame of the first body with a frame of the second. `pose(q)` is the second frame seen from the
first. In the spanning tree a joint moves its child through q; where it closes a loop it acts through `conditions`
of the relative pose instead. Declaring `subspace` is optional and only makes the code shorter: a test compares every
declared one with the derived one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kompono.errors import ModelError, ModelWarning, nearest, warn
from kompono.given import number, shown, tell_unused_number
from kompono.model.body import Frame, check_frames
from kompono.model.element import Element
from kompono.model.reading import effort_unit, force_reading, torque_reading
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Motion, Pose
from kompono.spatial.rotation import unskew

DOUBTED = 2 * np.pi  # [rad] round angles of a start above this are probably degrees


class Joint(Element):
    """Base of all joints. A new joint names its coordinates and writes `pose`; more only if it needs more.

    coordinates: names of q; units: of each, "rad" or "m" or ""; speeds: names of v where q_dot is not v; speed_units:
    of each of those, found from the subspace where they turn or slide only.

    `limits` = (lower, upper) [m, rad] keep the coordinate between stops with that `restitution`, as an element
    `<joint>.limits`; None for a side without one; {"angle": (lower, upper)} where there are several coordinates.
    """

    coordinates: ClassVar[tuple[str, ...]] = ()
    units: ClassVar[tuple[str, ...]] = ()
    speeds: ClassVar[tuple[str, ...] | None] = None
    speed_units: ClassVar[tuple[str, ...]] = ()
    force, torque = force_reading(), torque_reading()
    limits: Any = None  # as they were given
    _stops: Element | None = None  # the law that keeps them

    def __init__(
        self, first: Frame, second: Frame, *, start: Mapping[str, float | None] | None = None, limits: Any = None,
        restitution: Any = 0.0,
    ) -> None:  # fmt: skip
        check_frames(self, first, second)
        check_names(type(self))
        self.first, self.second = first, second
        self.q = Symbol.column("q", len(self.coordinates))
        self.v = Symbol.column("v", self.freedoms)
        self.start = self._checked_start({} if start is None else start)
        if limits is not None:
            self._limit(limits, restitution)
        else:
            fix = "Give limits=(lower, upper), too, or leave it out."
            tell_unused_number(restitution, "a restitution without limits", fix)

    def _limit(self, limits: Any, restitution: Any) -> None:
        """Keep coordinates within limits: the law for that is a member wherever the joint is one."""
        from kompono.model.stops import Stops, check_bounds, fraction  # a law is built on joints

        self.limits = limits
        self._stops = Stops(self, check_bounds(self, limits), fraction(restitution, "the restitution"))

    def _comes_with(self, path: str) -> Iterable[tuple[str, Element]]:
        return () if self._stops is None else ((f"{path}.limits", self._stops),)

    def _checked_start(self, start: Mapping[str, float | None]) -> dict[str, float]:
        """Start values by name, those given."""
        known, kind = self.start_names(), type(self).__name__
        if not isinstance(start, Mapping):
            raise ModelError(f"start {shown(start)} is no values by name.", fix=f"Known names: {', '.join(known)}.")
        for name in start:
            if name not in known:
                from inspect import signature  # only mistakes need it

                options = [each for each in signature(type(self)).parameters if each not in ("first", "second")]
                fix = nearest(str(name), (*known, *options)) or f"It has {', '.join(known) or 'none'}."
                raise ModelError(f"{kind} has no start value {shown(name)}.", fix=fix)
        fix = "Give a number [rad, m, or per second]."
        found = {
            name: number(value, f"the start value {name}", fix=fix)
            for name, value in start.items()
            if value is not None
        }
        for name, unit in zip(self.coordinates, self.units, strict=False) if found else ():
            if unit == "rad" and abs(found.get(name, 0.0)) > DOUBTED and (2 * found[name]).is_integer():
                turns = found[name] / (2 * np.pi)
                message = f"the start value {name}={found[name]:g} is in radians, {turns:.3g} turns."
                warn(f"{message} Degrees are math.radians({found[name]:g}).", ModelWarning)
        return found

    # -- what a new joint defines

    def pose(self, q: Any) -> Pose:
        """The second frame seen from the first at coordinates q (nq)."""
        raise ModelError(f"{type(self).__name__} does not define pose(q).", fix="Write that method.")

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

    def velocity_conditions(self, motion: Motion) -> list[Any]:
        """Groups of further conditions, linear in velocity and angular velocity of the relative motion, for joints with
        fewer speeds than freedoms of position: rolling without slipping.
        """
        return []

    def measure(self, pose: Pose) -> Any:
        """The coordinates (nq) of a relative pose; angles modulo a turn. None: cannot be measured."""
        return None

    def holds(self, pose: Pose) -> Any:
        """Positive where a relative pose that fulfils the conditions is one of `pose(q)`; None: not known.

        Conditions may vanish half a turn off as well, where the joint cannot be. By default the pose is compared with
        that of its measured coordinates.
        """
        q = self.measure(pose)
        return None if q is None else _agreement(self.pose(ca.SX(q)), pose)

    def neutral(self) -> np.ndarray:
        """Coordinates (nq) where nothing is given."""
        return np.zeros(len(self.coordinates))

    def normalize(self, q: Any) -> Any:
        """q back on its manifold (unit quaternions); the identity for most."""
        return q

    # -- what follows from it

    def _vain(self) -> Mapping[str, str]:
        told = 'Give it where the joint is made, e.g. angle=0.3, or to a run: initial={"pin.angle": 0.3}.'
        rates = [name.replace(".rate", "_rate") for name in self.speed_names()]
        return dict.fromkeys((*self.coordinates, *rates), told)

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

    def units_of_speeds(self) -> tuple[str, ...]:
        """Units of v: those of the coordinates per second, or as declared, or as the subspace tells."""
        if self.speeds is None:
            return tuple(f"{unit or 1}/s" for unit in self.units or ("",) * self.freedoms)
        if self.speed_units:
            return self.speed_units
        subspace = ca.sparsify(ca.SX(self.subspace(self.q)))
        kinds = [(subspace[:3, k].nnz() > 0, subspace[3:, k].nnz() > 0) for k in range(self.freedoms)]
        return tuple({(True, False): "m/s", (False, True): "rad/s"}.get(kind, "") for kind in kinds)

    def units_of_efforts(self) -> tuple[str, ...]:
        """Units of generalized forces on v."""
        return tuple(effort_unit(unit) for unit in self.units_of_speeds())

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
        known = "" if name.startswith("_") else f"; of its motion it has {', '.join(type(self).start_names())}"
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{known}")


def _agreement(one: Pose, other: Pose) -> Any:
    """Positive if two poses differ by less than a quarter turn, and positions by less than about half of them."""
    turn = ca.trace(ca.SX(one.rotation).T @ ca.SX(other.rotation))
    places = ca.SX(one.position), ca.SX(other.position)
    apart = ca.sumsqr(places[0] - places[1]) / (ca.sumsqr(places[0]) / 4 + ca.sumsqr(places[1]) / 4 + 1e-8)
    return ca.fmin((turn - 1) / 2, 1 - apart)


@functools.cache
def check_names(kind: type[Joint]) -> None:
    """Raise unless the coordinates, speeds and units of a class are tuples of names."""
    for name, given in (("coordinates", kind.coordinates), ("units", kind.units), ("speeds", kind.speeds or ())):
        listed = isinstance(given, tuple) and all(isinstance(entry, str) for entry in given)
        if not listed or (name != "units" and len(set(given)) != len(given)):
            fix = f'Use a tuple of different names, with its comma: {name} = ("angle",).'
            raise ModelError(f"{name} = {shown(given)} are no names.", fix=fix)
    if kind.units and len(kind.units) != len(kind.coordinates):
        message = f"there are {len(kind.coordinates)} coordinates and {len(kind.units)} units."
        raise ModelError(message, fix='Give one unit for each: "rad", "m" or "".')


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
