"""Actuators of joints and frames as robot files describe them, and damping of all speeds of a joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, numbers, scalar, shown, tell_unused
from kompono.library.constraints import chosen, coordinate_of
from kompono.model.body import Frame
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.state import State
from kompono.model.subsystem import Subsystem
from kompono.spatial.pose import Motion, Wrench


class Given(NamedTuple):
    """What an actuator was made of."""

    gear: float
    gain: float
    bias: tuple[float, float, float]
    control_limits: Any
    force_limits: Any
    tendon: Any


class Actuator(Effort):
    """Drives a joint coordinate by `gear` times the force gain u + bias0 + bias1 x + bias2 x_dot, u a `control` signal.

    x is `gear` times the coordinate, or the length of a `tendon=tendon(...)` the joint takes part in with the factor
    `gear`. `control_limits` and `force_limits` = (lower, upper) cut u and the force off. A motor has gain 1 and no
    bias; a position servo of stiffness k gain k and bias (0, -k, -damping).
    """

    def __init__(
        self,
        joint: Joint,
        control: Any,
        *,
        gear: float = 1.0,
        gain: float = 1.0,
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        control_limits: Sequence[float] | None = None,
        force_limits: Sequence[float] | None = None,
        tendon: tuple[Any, Any] | None = None,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint)
        self.index = chosen(joint, joint.coordinates if joint.speeds is None else joint.speeds, coordinate)
        factors = numbers(bias, (3,), "the bias", fix="Use three numbers.").tolist()
        weight = scalar(gear, "the gear")
        length, rate = (None, weight * joint.v[self.index]) if tendon is None else _pulled(tendon)
        if length is None:
            length = weight * coordinate_of(joint, coordinate) if factors[1] else 0.0
        self.value = ca.SX(weight * drawn(control, gain, factors, control_limits, force_limits, length, rate))
        self.given = Given(gear, gain, tuple(factors), control_limits, force_limits, tendon)

    def effort(self, q: Any, v: Any) -> Any:
        effort = ca.SX(self.joint.freedoms, 1)
        effort[self.index] = self.value
        return effort


class Thruster(Force):
    """Pushes a frame, along axes of its own, by the force gain u + bias times `force` (3) [N] and `torque` (3) [N m]: a
    propeller, a jet. u is a `control` signal; `control_limits` and `force_limits` = (lower, upper) cut u and the force
    off.
    """

    def __init__(
        self,
        frame: Frame,
        control: Any,
        *,
        force: Sequence[float] | None = None,
        torque: Sequence[float] | None = None,
        gain: float = 1.0,
        bias: float = 0.0,
        control_limits: Sequence[float] | None = None,
        force_limits: Sequence[float] | None = None,
    ) -> None:
        super().__init__(frame)
        value = drawn(control, gain, (bias, 0.0, 0.0), control_limits, force_limits, 0.0, 0.0)
        fix = "Give three numbers, along the axes of the frame."
        if force is torque is None:
            tell_unused("neither force nor torque", "Give force=(0, 0, 1), or torque=.")
        force, torque = ((0.0, 0.0, 0.0) if given is None else given for given in (force, torque))
        self.load = [value * ca.DM(numbers(each, (3,), what, fix=fix)) for each, what in
                     ((force, "the force"), (torque, "the torque"))]  # fmt: skip

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(motion.rotation @ self.load[0], motion.rotation @ self.load[1])


class Activation(Subsystem):
    """What an actuator makes of its `control` before it pulls: `level` follows it with `lag` [s], or, with none, sums
    it up over time. `limits` = (lower, upper) hold the level, `control_limits` cut the control off.
    """

    def __init__(
        self,
        control: Any,
        *,
        lag: float | None = None,
        limits: Sequence[float] | None = None,
        control_limits: Sequence[float] | None = None,
        start: float = 0.0,
    ) -> None:
        self.level = State(start)
        wanted = _clipped(scalar(control, "the control"), control_limits)
        rate = wanted if lag is None else (wanted - self.level) / number(lag, "the lag [s]", positive=True)
        if limits is not None:
            lower, upper = numbers(limits, (2,), "the limits", finite=False, fix="Use (lower, upper).").tolist()
            rate = ca.if_else(self.level >= upper, ca.fmin(rate, 0.0), rate)
            rate = ca.if_else(self.level <= lower, ca.fmax(rate, 0.0), rate)
        self.level.rate = rate
        self.expose(self.level)


class Damping(Effort):
    """Resists every speed of a joint by `c` times it [N m s/rad, N s/m]: bearings of ball joints."""

    def __init__(self, joint: Joint, c: Any) -> None:
        super().__init__(joint)
        self.c = scalar(c, "the damping c")

    def effort(self, q: Any, v: Any) -> Any:
        return -self.c * v


def drawn(
    control: Any, gain: Any, bias: Sequence[float], control_limits: Any, force_limits: Any, length: Any, rate: Any
) -> Any:
    """The force of an actuator: gain u + bias (1, length, rate), both cut off at their limits."""
    offset, stiffness, damping = numbers(bias, (3,), "the bias", fix="Use three numbers.").tolist()
    force = scalar(gain, "the gain") * _clipped(scalar(control, "the control"), control_limits) + offset
    force += damping * rate
    if stiffness:
        force += stiffness * length
    return _clipped(force, force_limits)


def _pulled(tendon: Any) -> tuple[Any, Any]:
    """Length and rate of a tendon."""
    if not isinstance(tendon, tuple | list) or len(tendon) != 2:
        fix = "Use tendon=tendon((joint, 1.0), (other, -1.0))."
        raise ModelError(f"the tendon {shown(tendon)} is no pair of length and rate.", fix=fix)
    return scalar(tendon[0], "the length of the tendon"), scalar(tendon[1], "the rate of the tendon")


def _clipped(value: Any, limits: Sequence[float] | None) -> Any:
    if limits is None:
        return value
    lower, upper = numbers(limits, (2,), "the limits", finite=False, fix="Use (lower, upper).").tolist()
    return ca.fmin(ca.fmax(value, lower), upper)
