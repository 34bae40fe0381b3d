"""A pose: where a frame is and how it is turned, relative to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np


def _origin() -> Any:
    return ca.DM.zeros(3, 1)


def _upright() -> Any:
    return ca.DM.eye(3)


@dataclass(frozen=True)
class Pose:
    """Frame B seen from frame A: `position` of B's origin [m] in A's axes (3), `rotation` R_AB (3x3)."""

    position: Any = field(default_factory=_origin)
    rotation: Any = field(default_factory=_upright)

    def __matmul__(self, inner: Pose) -> Pose:
        """X_AC = X_AB @ X_BC."""
        return Pose(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)

    def inverse(self) -> Pose:
        """X_BA."""
        return Pose(-(self.rotation.T @ self.position), self.rotation.T)

    @staticmethod
    def constant(position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> Pose:
        """A pose of plain numbers."""
        return Pose(ca.DM(np.asarray(position, dtype=float)), ca.DM(np.eye(3) if rotation is None else rotation))


@dataclass(frozen=True)
class Motion:
    """How frame B moves as seen from frame A, all components in A's axes.

    position [m], rotation R_AB, velocity = d position/dt [m/s], angular_velocity of B relative to A [rad/s].
    """

    position: Any
    rotation: Any
    velocity: Any
    angular_velocity: Any

    @property
    def pose(self) -> Pose:
        """The pose alone."""
        return Pose(self.position, self.rotation)

    @property
    def length(self) -> Any:
        """Distance of the two origins [m]; it and its derivatives are finite where they meet."""
        square = ca.sumsqr(self.position)
        return (square > 0) * ca.sqrt(_positive(square))

    @property
    def direction(self) -> Any:
        """Unit vector (3) from the first origin to the second. Where they meet: along the velocity, on which they part;
        zero if that is zero as well.
        """
        along = ca.if_else(ca.sumsqr(self.position) > 0, self.position, self.velocity)
        return along / ca.sqrt(_positive(ca.sumsqr(along)))

    @property
    def length_rate(self) -> Any:
        """Rate of that distance [m/s]."""
        return ca.dot(self.direction, self.velocity)


def _positive(value: Any) -> Any:
    """The value, or 1 where it is 0: nothing divides by zero, not even in the branch not taken or in derivatives."""
    return ca.if_else(value > 0, value, 1)


@dataclass(frozen=True)
class Wrench:
    """A force [N] and a torque [N m]."""

    force: Any = field(default_factory=_origin)
    torque: Any = field(default_factory=_origin)


def pose_jacobian(expression: Any, pose: Pose) -> Any:
    """Gamma (rows x 6): d expression/dt = Gamma (velocity, angular_velocity) for symbols `pose` moving as a Motion
    does.
    """
    angular = ca.SX.sym("w", 3)
    turned = ca.SX(3, 3)
    for k, column in enumerate(ca.horzsplit(pose.rotation)):
        turned[:, k] = ca.cross(angular, column)
    along_turn = ca.jtimes(expression, ca.vec(pose.rotation), ca.vec(turned))
    return ca.horzcat(ca.jacobian(expression, pose.position), ca.jacobian(along_turn, angular))


def symbolic_motion() -> Motion:
    """A motion of eighteen independent symbols."""
    pose = symbolic_pose()
    return Motion(pose.position, pose.rotation, ca.SX.sym("v", 3), ca.SX.sym("w", 3))


def symbolic_pose() -> Pose:
    """A pose of twelve independent symbols."""
    return Pose(ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3))
