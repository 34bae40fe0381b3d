"""Twists, wrenches and inertias of a frame, in its own axes, linear part first (Featherstone's algebra).

A twist is (v, w): velocity of the frame's origin and angular velocity; a wrench (f, m): force and moment about the
origin. Accelerations are *spatial*: d(v, w)/dt in the moving axes, so that a_C = X a_P + S q_ddot + bias holds.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.spatial.pose import Pose
from kompono.spatial.rotation import skew


def twist_matrix(pose: Pose) -> Any:
    """X (6x6) with twist_B = X twist_A for a frame B rigidly attached to A at `pose` = X_AB."""
    turned = pose.rotation.T
    upper = ca.horzcat(turned, -turned @ skew(pose.position))
    return ca.sparsify(ca.vertcat(upper, ca.horzcat(ca.SX(3, 3), turned)))


def turn_and_shift(pose: Pose) -> tuple[Any, Any]:
    """The same matrix as a product: it shifts first, then turns."""
    turned, shifted = ca.SX(pose.rotation).T, ca.SX(ca.DM.eye(6))
    shifted[:3, 3:] = -skew(pose.position)
    return ca.sparsify(ca.diagcat(turned, turned)), ca.sparsify(shifted)


def carry_twist(pose: Pose, twist: Any) -> Any:
    """twist_B = X twist_A without forming X."""
    linear, angular = twist[:3], twist[3:]
    turned = pose.rotation.T
    return ca.vertcat(turned @ (linear + ca.cross(angular, pose.position)), turned @ angular)


def carry_wrench_back(pose: Pose, wrench: Any) -> Any:
    """wrench_A = X^T wrench_B: the same load, seen at A."""
    force = pose.rotation @ wrench[:3]
    return ca.vertcat(force, pose.rotation @ wrench[3:] + ca.cross(pose.position, force))


def twist_cross(a: Any, b: Any) -> Any:
    """The motion cross product a x b, rate of change of b that moves with twist a."""
    return ca.vertcat(ca.cross(a[3:], b[:3]) + ca.cross(a[:3], b[3:]), ca.cross(a[3:], b[3:]))


def wrench_cross(a: Any, f: Any) -> Any:
    """The force cross product a x* f."""
    return ca.vertcat(ca.cross(a[3:], f[:3]), ca.cross(a[3:], f[3:]) + ca.cross(a[:3], f[:3]))


def inertia_matrix(mass: Any, centre: Any, inertia: Any) -> Any:
    """6x6 inertia about the frame's origin, of a body with `mass` [kg], centre of mass `centre` [m] and central
    inertia [kg m^2].
    """
    offset = skew(centre)
    upper = ca.horzcat(mass * ca.DM.eye(3), -mass * offset)
    lower = ca.horzcat(mass * offset, inertia - mass * (offset @ offset))
    return ca.sparsify(ca.vertcat(upper, lower))


def symmetric(matrix: Any) -> Any:
    """The upper triangle mirrored: symmetric results are computed once."""
    return ca.triu2symm(ca.triu(matrix))


def check_inertia(mass: Any, inertia: np.ndarray) -> str:
    """What is wrong with these mass properties, in words, or the empty string."""
    if not np.isfinite(mass) or mass <= 0:
        return f"mass {mass!r} kg is not positive"
    if inertia.shape != (3, 3) or not np.all(np.isfinite(inertia)):
        return "the inertia is not a 3x3 tensor of finite numbers"
    scale = float(np.abs(inertia).max())
    if not np.allclose(inertia, inertia.T, atol=1e-9 * scale):
        return "the inertia tensor is not symmetric"
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -1e-12 * scale:
        return f"the inertia tensor has a negative principal moment {moments[0]:.6g} kg m^2"
    if moments[0] + moments[1] < moments[2] * (1 - 1e-9):
        return (
            f"principal moments {moments[0]:.6g}, {moments[1]:.6g}, {moments[2]:.6g} kg m^2 break the triangle "
            "inequality (no body has one larger than the sum of the others)"
        )
    return ""


def doubtful_inertias(masses: np.ndarray, inertias: np.ndarray) -> np.ndarray:
    """Which of many mass properties, (n,) and (n, 3, 3), `check_inertia` should look at: all that are not plainly
    fine.
    """
    fine = np.isfinite(masses) & (masses > 0) & np.isfinite(inertias).all(axis=(1, 2))
    known = np.where(fine[:, None, None], inertias, 0.0)
    moments, scale = np.linalg.eigvalsh(known), np.abs(known).max(axis=(1, 2))
    fine &= np.abs(known - known.transpose(0, 2, 1)).max(axis=(1, 2)) <= 1e-9 * scale
    fine &= (moments[:, 0] >= -1e-12 * scale) & (moments[:, 0] + moments[:, 1] >= moments[:, 2] * (1 - 1e-9))
    return np.flatnonzero(~fine)
