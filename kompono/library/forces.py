"""Forces: gravity, springs and dampers, bushings, and loads given by an expression."""

from __future__ import annotations

from typing import Any, Literal

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import column, entries_of, numbers, scalar, tell_unused, text
from kompono.model.body import Frame
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.model.reading import Reading
from kompono.spatial.pose import Motion, Wrench, pose_jacobian, symbolic_pose
from kompono.spatial.rotation import unskew

_LEFT_OUT = float("0")  # a zero of our own, told from one that is given by being this object


def _vector(value: Any, what: str) -> ca.SX:
    fix = f"{what} has three components: use (x, y, z), each a number or an expression."
    return column(value, 3, what, fix=fix[0].upper() + fix[1:])


def _spring(k: Any, c: Any, rest: Any) -> tuple[Any, Any, Any]:
    """Stiffness, damping and rest position."""
    if k is _LEFT_OUT and c is _LEFT_OUT:
        tell_unused("neither stiffness nor damping", "Give k=, c= or both.")
    elif k is _LEFT_OUT and rest is not _LEFT_OUT:
        tell_unused("a rest position without stiffness", "Give k=, too, or leave rest= out.")
    return scalar(k, "the stiffness k"), scalar(c, "the damping c"), scalar(rest, "the rest position")


def _is_zero(value: Any) -> bool:
    return bool(value.is_zero()) if isinstance(value, ca.SX) else value == 0


class Gravity(Field):
    """Uniform gravity, (0, 0, -9.81) m/s^2 unless given."""

    usually_one = True

    def __init__(self, acceleration: Any = (0.0, 0.0, -9.81)) -> None:
        self.vector = _vector(acceleration, "gravity")

    def acceleration(self, position: Any) -> Any:
        return self.vector

    def potential(self, position: Any) -> Any:
        return -ca.dot(self.vector, position)


class SpringDamper(Force):
    """Pulls two origins towards `rest` [m] apart: stiffness k [N/m], damping c [N s/m] along the line between them.

    Where the origins meet, the line is the one they move apart on; if they do not move, there is no force. With rest 0
    the elastic force is k times the vector between them, everywhere. `tension` [N] is positive where it pulls.
    """

    tension: Any = Reading(1, "Force [N] along the line, positive where it pulls the origins together")

    def __init__(
        self, first: Frame, second: Frame, *, k: Any = _LEFT_OUT, c: Any = _LEFT_OUT, rest: Any = _LEFT_OUT
    ) -> None:
        super().__init__(first, second)
        self.k, self.c, self.rest = _spring(k, c, rest)

    def wrench(self, motion: Motion) -> Wrench:
        if _is_zero(self.rest):
            damping = 0 if _is_zero(self.c) else self.c * motion.length_rate * motion.direction
            return Wrench(force=-self.k * motion.position - damping)
        return Wrench(force=-self._tension(motion) * motion.direction)

    def potential(self, motion: Motion) -> Any:
        if _is_zero(self.rest):
            return self.k * ca.sumsqr(motion.position) / 2
        return self.k * (motion.length - self.rest) ** 2 / 2

    def readings(self, motion: Motion) -> dict[str, tuple[Any, str]]:
        return {"tension": (self._tension(motion), "N")}

    def _tension(self, motion: Motion) -> Any:
        return self.k * (motion.length - self.rest) + self.c * motion.length_rate


class RotationalSpringDamper(Effort):
    """Turns a joint coordinate towards `rest` [rad]: stiffness k [N m/rad], damping c [N m s/rad]; counts whole
    turns.
    """

    def __init__(
        self,
        joint: Joint,
        *,
        k: Any = _LEFT_OUT,
        c: Any = _LEFT_OUT,
        rest: Any = _LEFT_OUT,
        coordinate: str | None = None,
    ) -> None:
        from kompono.library.constraints import coordinate_of

        super().__init__(joint)
        coordinate_of(joint, coordinate)
        if joint.freedoms != len(joint.coordinates):
            raise ModelError("a torsion spring needs a joint whose rates are its speeds.", fix="Use Bushing instead.")
        self.index = 0 if coordinate is None else joint.coordinates.index(coordinate)
        self.k, self.c, self.rest = _spring(k, c, rest)

    def effort(self, q: Any, v: Any) -> Any:
        effort = ca.SX(self.joint.freedoms, 1)
        effort[self.index] = -self.k * (q[self.index] - self.rest) - self.c * v[self.index]
        return effort

    def potential(self, q: Any) -> Any:
        return self.k * (q[self.index] - self.rest) ** 2 / 2


class Bushing(Force):
    """A 6x6 elastic mount between two frames that coincide at rest.

    Deflection d = (position, half the skew part of the rotation): translation [m] and, for small turns, rotation [rad].
    The wrench derives from the energy d^T K d / 2, so it conserves energy at any turn; damping acts on d_dot with
    matrix c.
    """

    def __init__(self, first: Frame, second: Frame, *, k: Any, c: Any = None) -> None:
        super().__init__(first, second)
        self.k = self._matrix(k, "stiffness")
        self.c = self._matrix(np.zeros(6) if c is None else c, "damping")

    @staticmethod
    def _matrix(value: Any, what: str) -> np.ndarray:
        fix = f"A bushing's {what} is six numbers or a symmetric 6x6 matrix."
        full = entries_of(value).ndim == 2
        array = numbers(value, (6, 6) if full else (6,), f"the {what}", fix=fix)
        matrix = array if full else np.diag(array)
        if not np.allclose(matrix, matrix.T):
            raise ModelError(f"the {what} is not symmetric.", fix=fix)
        return matrix

    def wrench(self, motion: Motion) -> Wrench:
        pose = symbolic_pose()
        deflection = ca.vertcat(pose.position, unskew(pose.rotation))
        gamma = pose_jacobian(deflection, pose)
        rate = gamma @ ca.vertcat(motion.velocity, motion.angular_velocity)
        load = -gamma.T @ (ca.DM(self.k) @ deflection + ca.DM(self.c) @ rate)
        symbols = ca.vertcat(pose.position, ca.vec(pose.rotation))
        actual = ca.vertcat(ca.SX(motion.position), ca.vec(ca.SX(motion.rotation)))
        load = ca.substitute(load, symbols, ca.densify(actual))
        return Wrench(load[:3], load[3:])

    def potential(self, motion: Motion) -> Any:
        deflection = ca.vertcat(motion.position, unskew(motion.rotation))
        return deflection.T @ ca.DM(self.k) @ deflection / 2


class AppliedLoad(Force):
    """A force [N] and torque [N m] given by expressions, on one frame; with `reaction`, the opposite acts on that
    frame's body.

    axes: "world" (with `reaction`: that frame's axes) or "body" (axes of the loaded frame).
    """

    def __init__(
        self,
        frame: Frame,
        *,
        force: Any = None,
        torque: Any = None,
        reaction: Frame | None = None,
        axes: Literal["world", "body"] = "world",
    ) -> None:
        super().__init__(*([frame] if reaction is None else [reaction, frame]))
        if text(axes, "axes", fix='Use "world" or "body".') not in ("world", "body"):
            raise ModelError(f"axes {axes!r} are not known.", fix='Use "world" or "body".')
        if force is torque is None:
            tell_unused("neither force nor torque", "Give force=(x, y, z), or torque=.")
        force, torque = ((0, 0, 0) if given is None else given for given in (force, torque))
        self.given_force, self.given_torque = _vector(force, "a force"), _vector(torque, "a torque")
        self.axes = axes

    def wrench(self, motion: Motion) -> Wrench:
        turn = motion.rotation if self.axes == "body" else ca.DM.eye(3)
        return Wrench(turn @ self.given_force, turn @ self.given_torque)


class JointEffort(Effort):
    """A torque [N m] or force [N] on a joint coordinate, given by an expression: `JointEffort(self.pin, 3 *
    cos(time))`.
    """

    def __init__(self, joint: Joint, effort: Any, *, coordinate: str | None = None) -> None:
        from kompono.library.constraints import chosen

        super().__init__(joint)
        self.index = chosen(joint, joint.coordinates if joint.speeds is None else joint.speeds, coordinate)
        self.value = ca.SX(scalar(effort, "the effort"))

    def effort(self, q: Any, v: Any) -> Any:
        effort = ca.SX(self.joint.freedoms, 1)
        effort[self.index] = self.value
        return effort
