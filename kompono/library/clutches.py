"""Clutches, brakes and freewheels: what turns together as long as it is pressed, or in one direction only.

Each is made for two frames, which turn about a common axis, or for joints, which turn about the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import casadi as ca

from kompono.errors import ModelError
from kompono.given import shown, tell_unused
from kompono.library.coefficients import kinetic_and_static, not_negative
from kompono.library.constraints import chosen
from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law, PairLaw, Unit
from kompono.spatial.rotation import Axis, unit_axis


class _Turning(Law):
    """Made for frames or for joints: `Clutch(...)` gives an object of that variant."""

    _connect: Callable[..., None]  # (first, second, axis, coordinate): what it is between

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        if issubclass(cls, PairLaw | JointLaw):
            return object.__new__(cls)
        first = next(iter((*arguments, *keywords.values())), None)
        variant = _VARIANTS.get((cls, isinstance(first, Joint)))
        if variant is None:
            raise ModelError(f"{cls.__name__} has no variants.", fix="Derive from PairLaw or JointLaw instead.")
        return object.__new__(variant)


class _ByFrames(PairLaw):
    def _connect(self, first: Any, second: Any, axis: Axis | None, coordinate: str | None = None) -> None:
        if isinstance(second, Joint):
            raise ModelError(f"a frame and a joint: {shown(second)}.", fix="Give two frames or two joints.")
        if coordinate is not None:
            raise ModelError("a coordinate, but two frames.", fix="Give axis= in its place, or a joint.")
        PairLaw.__init__(self, first, second)
        self.axis = unit_axis("z" if axis is None else axis)

    def units(self, motion: Any) -> Unit:
        return self._unit(ca.dot(ca.DM(self.axis), motion.angular_velocity))  # type: ignore[attr-defined]


class _ByJoints(JointLaw):
    def _connect(self, first: Any, second: Any, axis: Axis | None, coordinate: str | None = None) -> None:
        if isinstance(second, Frame):
            raise ModelError("a joint and a frame.", fix="Give two frames or two joints.")
        if axis is not None:
            tell_unused("an axis, but joints have their own", "Leave axis= out, or give bodies.")
        if first is second:
            raise ModelError("both shafts are the same joint.", fix="Give two joints, or use Brake for one.")
        JointLaw.__init__(self, *([first] if second is None else [first, second]))
        if second is None:
            self.speed = first.v[_place(first, coordinate)]
        else:
            self.speed = second.v[_turn(second)] - first.v[_turn(first)]

    def units(self) -> Unit:
        return self._unit(self.speed)  # type: ignore[attr-defined]


def _place(joint: Joint, coordinate: str | None) -> int:
    """The place of a joint's only or named speed."""
    return chosen(joint, joint.coordinates if joint.speeds is None else joint.speeds, coordinate)


def _turn(joint: Joint) -> int:
    """The place of the only speed [rad/s] of a joint."""
    found = [k for k, unit in enumerate(joint.units_of_speeds()) if unit == "rad/s"]
    if len(found) != 1:
        kind = type(joint).__name__
        raise ModelError(f"{kind} turns about {len(found) or 'no'} axes, not one.", fix="Give a joint with one angle.")
    return found[0]


class Clutch(_Turning):
    """Friction between two shafts: a torque up to `mu` max(`normal`, 0) `radius` `faces` [N m] holds them together.

    `first` and `second` are bodies or frames that turn about `axis` (of the first, "z") relative to each other, or two
    joints about the same axis. `normal` [N] presses `faces` pairs of discs (1) of mean `radius` [m] (1); `mu_static`,
    not below `mu`, holds where it sticks. `limit` [N m] gives the torque directly (and `limit_static`), in the place of
    all these. All may be expressions of time, inputs, parameters and modes; where they jump, let it be by a mode
    that an event sets, so that the instant is met.
    """

    def __init__(
        self, first: Any, second: Any, *, axis: Axis | None = None, normal: Any = None, mu: Any = None,
        mu_static: Any = None, radius: Any = None, faces: Any = None, limit: Any = None, limit_static: Any = None,
    ) -> None:  # fmt: skip
        if second is None:
            raise ModelError("a clutch is between two shafts.", fix="Give two, or use Brake.")
        self._connect(first, second, axis)
        self.limits = _limits(normal, mu, mu_static, radius, faces, limit, limit_static)

    def _unit(self, speed: Any) -> Unit:
        return Unit(slip=speed, limit=self.limits[0], limit_static=self.limits[1])


class Brake(_Turning):
    """Friction of a joint, or between two bodies or frames, up to a given limit: a clutch to what stands still.

    `Brake(joint, ...)` brakes its only freedom, or that called `coordinate`; of a displacement the limit is a force [N]
    (leave `radius` out). `Brake(first, second, axis=...)` and the other arguments are those of `Clutch`.
    """

    def __init__(
        self, first: Any, second: Any = None, *, axis: Axis | None = None, normal: Any = None, mu: Any = None,
        mu_static: Any = None, radius: Any = None, faces: Any = None, limit: Any = None, limit_static: Any = None,
        coordinate: str | None = None,
    ) -> None:  # fmt: skip
        self._connect(first, second, axis, coordinate)
        self.limits = _limits(normal, mu, mu_static, radius, faces, limit, limit_static)

    def _unit(self, speed: Any) -> Unit:
        return Unit(slip=speed, limit=self.limits[0], limit_static=self.limits[1])


class FreeWheel(_Turning):
    """`outer` never turns slower than `inner` about `axis` [rad/s, positive along it]: the inner one drives the outer
    one, which may run ahead freely.

    Both are bodies or frames that turn about `axis` (of `inner`, "z") relative to each other, or two joints about the
    same axis. Exchange them, or turn the axis round, for the other sense.
    """

    def __init__(self, inner: Any, outer: Any, *, axis: Axis | None = None) -> None:
        if outer is None:
            raise ModelError("a freewheel is between two shafts.", fix="Give two.")
        self._connect(inner, outer, axis)

    def _unit(self, speed: Any) -> Unit:
        return Unit(speed=speed)


def _limits(
    normal: Any, mu: Any, mu_static: Any, radius: Any, faces: Any, limit: Any, limit_static: Any
) -> tuple[Any, Any]:
    """Kinetic and static limit [N m, N] from what was given."""
    if limit is not None:
        if normal is not None or mu is not None or mu_static is not None:
            raise ModelError("a limit, and what it would follow from.", fix="Give limit, or normal and mu.")
        if radius is not None or faces is not None:
            tell_unused("a radius or faces beside a limit", "Leave them out, or give normal and mu.")
        return kinetic_and_static(limit, limit_static, "the limit")
    if limit_static is not None:
        raise ModelError("a static limit without limit.", fix="Give limit, too, or mu_static with normal and mu.")
    if normal is None or mu is None:
        raise ModelError("what presses, and how it rubs, is not given.", fix="Give normal= [N] and mu=, or limit=.")
    coefficients = kinetic_and_static(mu, mu_static, "mu")
    arm = 1.0 if radius is None else not_negative(radius, "the radius")
    pairs = 1 if faces is None else not_negative(faces, "the number of faces")
    pressed = ca.fmax(not_negative(normal, "the normal force"), 0) * arm * pairs
    return coefficients[0] * pressed, coefficients[1] * pressed


class FrameClutch(Clutch, _ByFrames):
    """A clutch between frames."""


class JointClutch(Clutch, _ByJoints):
    """A clutch between joints."""


class FrameBrake(Brake, _ByFrames):
    """A brake between frames."""


class JointBrake(Brake, _ByJoints):
    """A brake of a joint."""


class FrameFreeWheel(FreeWheel, _ByFrames):
    """A freewheel between frames."""


class JointFreeWheel(FreeWheel, _ByJoints):
    """A freewheel between joints."""


_VARIANTS: dict[tuple[type, bool], type] = {  # by class, and whether for joints
    (Clutch, False): FrameClutch, (Clutch, True): JointClutch,
    (Brake, False): FrameBrake, (Brake, True): JointBrake,
    (FreeWheel, False): FrameFreeWheel, (FreeWheel, True): JointFreeWheel,
}  # fmt: skip
