"""What resists the motion of a body through a medium at rest, or in wind: air, water, honey."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import column, entries_of, plain, tell_unused
from kompono.model.body import Frame
from kompono.model.force import Force
from kompono.spatial.pose import Motion, Wrench


class MediumDrag(Force):
    """Resists the motion of a frame in the world, along each axis of the frame: the force -(linear + quadratic |v|) v
    and the torque -(angular + angular_quadratic |w|) w.

    `linear` [N s/m], `quadratic` [N s^2/m^2], `angular` [N m s/rad] and `angular_quadratic` [N m s^2/rad^2] are one
    number or three. `wind` (3) [m/s] is the velocity of the medium, in world axes; v is counted against it.
    """

    def __init__(
        self,
        frame: Frame,
        *,
        linear: Any = 0.0,
        quadratic: Any = 0.0,
        angular: Any = 0.0,
        angular_quadratic: Any = 0.0,
        wind: Any = (0.0, 0.0, 0.0),
    ) -> None:
        super().__init__(frame)
        self.linear, self.quadratic = _three(linear, "linear"), _three(quadratic, "quadratic")
        self.angular = _three(angular, "angular")
        self.angular_quadratic = _three(angular_quadratic, "angular_quadratic")
        if all(each.is_zero() for each in (self.linear, self.quadratic, self.angular, self.angular_quadratic)):
            tell_unused("no coefficient", "Give linear=, quadratic= or angular=.")
        self.wind = column(wind, 3, "the wind", fix="Give its velocity: wind=(x, y, z) [m/s].")

    def wrench(self, motion: Motion) -> Wrench:
        velocity = motion.velocity - self.wind
        force = _resisting(motion.rotation, velocity, self.linear, self.quadratic)
        return Wrench(force, _resisting(motion.rotation, motion.angular_velocity, self.angular, self.angular_quadratic))


def _three(value: Any, what: str) -> ca.SX:
    """Three coefficients, of one or three; numbers among them are not negative."""
    fix = f"Give {what}=0.1, or three for the axes of the frame, none of them negative."
    given = entries_of(value)
    found = column([value] * 3 if given.size == 1 else value, 3, f"the coefficient {what}", fix=fix)
    for entry in ca.vertsplit(found):
        known = plain(entry)
        if known is not None and known < 0:
            raise ModelError(f"the coefficient {what} {known} is negative: it would push.", fix=fix)
    return found


def _resisting(turn: Any, speed: Any, linear: ca.SX, quadratic: ca.SX) -> Any:
    """The load in world axes; where all axes are alike and nothing is quadratic, no axes are needed."""
    if quadratic.is_zero() and ca.is_equal(linear[0], linear[1]) and ca.is_equal(linear[0], linear[2]):
        return -linear[0] * speed
    own = turn.T @ speed
    return turn @ (-(linear + quadratic * ca.fabs(own)) * own)
