"""Rotations: matrices, unit quaternions (scalar first) and axes, see docs/notation.md.

A matrix `R_AB` turns components in B into components in A. Constant matrices are snapped to exact 0 and 1 where they
miss them by rounding only, so that planar mechanisms keep their structural zeros all the way into machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError, ModelWarning, warn
from kompono.given import entries_of, numbers, shown

NEARLY_UNIT = 1e-3  # a quaternion typed with three digits is meant as one; anything further off is a mistake

Axis = str | Sequence[float] | np.ndarray
_NAMED_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def skew(a: Any) -> Any:
    """The 3x3 matrix of the cross product, skew(a) b = a x b."""
    return ca.vertcat(ca.horzcat(0, -a[2], a[1]), ca.horzcat(a[2], 0, -a[0]), ca.horzcat(-a[1], a[0], 0))


def unskew(matrix: Any) -> Any:
    """The vector of the skew part of a 3x3 matrix."""
    m = matrix
    return ca.vertcat(m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]) / 2


def snap(matrix: np.ndarray) -> np.ndarray:
    """A constant matrix with entries within rounding of -1, 0, 1 made exact."""
    near = np.round(matrix)
    return np.where((np.abs(matrix - near) < 4e-16) & (np.abs(near) <= 1), near + 0.0, matrix)


def unit_axis(axis: Axis) -> np.ndarray:
    """A unit vector (3,) from "x", "-z" or three numbers; a vector of another length is normalized with a warning."""
    if isinstance(axis, str):
        sign = -1.0 if axis.startswith("-") else 1.0
        name = axis.lstrip("+-")
        if name not in _NAMED_AXES:
            raise ModelError(f"axis {shown(axis)} is not known.", fix='Use "x", "y", "z", "-x", ... or three numbers.')
        return sign * np.array(_NAMED_AXES[name]) + 0.0
    vector = numbers(axis, (3,), "axis", fix='Use "z" or (0, 0, 1): three finite numbers.')
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        raise ModelError(f"axis {axis!r} has no direction.", fix="Give a vector that is not zero.")
    if abs(length - 1.0) > 1e-6:
        warn(f"axis {axis!r} has length {length:.6g}; it was normalized.", ModelWarning)
    return snap(vector / length)


def unit_quaternion(quaternion: Sequence[float] | np.ndarray) -> np.ndarray:
    """A unit quaternion (4,): rounded digits are made up for, a length off by more than `NEARLY_UNIT` is refused."""
    e = numbers(quaternion, (4,), "quaternion", fix="Use (e0, e1, e2, e3), (1, 0, 0, 0) for no turn.")
    length = float(np.linalg.norm(e))
    if abs(length - 1.0) > NEARLY_UNIT:
        turn = "(1, 0, 0, 0) is no turn; " if length < 1e-12 else "Divide it by its length; "
        raise ModelError(
            f"quaternion {tuple(e.tolist())} has length {length:.6g}, not 1: it is no rotation.",
            fix=f'{turn}rotation("z", 0.3) makes one from an axis and an angle.',
        )
    return e / length


def about(axis: np.ndarray, angle: Any) -> Any:
    """Rotation matrix of `angle` [rad] about a constant unit `axis` (Rodrigues)."""
    a = np.asarray(axis, dtype=float)
    along = np.outer(a, a)
    return ca.DM(along) + ca.cos(angle) * ca.DM(np.eye(3) - along) + ca.sin(angle) * ca.DM(skew(a))


def quaternion_matrix(e: Any) -> Any:
    """Rotation matrix of a unit quaternion (MODELS convention: e0 scalar)."""
    e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
    return ca.vertcat(
        ca.horzcat(e0**2 + e1**2 - e2**2 - e3**2, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)),
        ca.horzcat(2 * (e1 * e2 + e0 * e3), e0**2 - e1**2 + e2**2 - e3**2, 2 * (e2 * e3 - e0 * e1)),
        ca.horzcat(2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0**2 - e1**2 - e2**2 + e3**2),
    )


def rotation_of(e: Any) -> Any:
    """Rotation matrix of the direction of a quaternion of any length: inside a step it is not quite a unit one."""
    return quaternion_matrix(e) / ca.sumsqr(e)


def constant_matrix(orientation: Any) -> np.ndarray:
    """A constant rotation matrix (3, 3) from None, a quaternion (4,) or a rotation matrix (3, 3)."""
    if orientation is None:
        return np.eye(3)
    fix = "An orientation is a quaternion (e0, e1, e2, e3) or a right-handed rotation matrix (3, 3)."
    if entries_of(orientation).shape != (3, 3):
        quaternion = numbers(orientation, (4,), "orientation", fix=fix)
        return snap(np.asarray(ca.DM(quaternion_matrix(unit_quaternion(quaternion)))))
    array = numbers(orientation, (3, 3), "orientation", fix=fix)
    error = float(np.abs(array @ array.T - np.eye(3)).max())
    if error > 1e-9:
        raise ModelError(f"the matrix is no rotation: R R^T differs from 1 by {error:.3g}.", fix=fix)
    if np.linalg.det(array) < 0:
        raise ModelError("the matrix is a reflection, no rotation: its determinant is -1.", fix=fix)
    return snap(array)


def turned_by(angle: Any) -> Any:
    """Rotation matrix C(e, theta) of a rotation vector `angle` = theta e (3) [rad] of less than about a radian.

    Rodrigues' formula with t = tan(theta/2) e, C = 1 + 2 / (1 + t^2) (T + T T), T the matrix of t x: no division by
    theta, and orthonormal whatever t is. The tangent is a series, right to rounding for angles below 0.2.
    """
    square = ca.sumsqr(angle) / 4
    series = 1382 / 155925
    for coefficient in (62 / 2835, 17 / 315, 2 / 15, 1 / 3, 1):
        series = coefficient + square * series
    t = series / 2 * angle
    cross = skew(t)
    return ca.DM.eye(3) + 2 / (1 + ca.sumsqr(t)) * (cross + cross @ cross)


def orthonormal(matrix: Any) -> Any:
    """The rotation matrix next to one that misses orthonormality by rounding: one Newton step of the polar
    decomposition.
    """
    return matrix @ (3 * ca.DM.eye(3) - matrix.T @ matrix) / 2


def quaternion_rate(e: Any, omega: Any) -> Any:
    """e_dot of a quaternion whose body turns with `omega` [rad/s] in its own axes."""
    return (
        ca.vertcat(
            -e[1] * omega[0] - e[2] * omega[1] - e[3] * omega[2],
            e[0] * omega[0] - e[3] * omega[1] + e[2] * omega[2],
            e[3] * omega[0] + e[0] * omega[1] - e[1] * omega[2],
            -e[2] * omega[0] + e[1] * omega[1] + e[0] * omega[2],
        )
        / 2
    )


def matrix_quaternion(matrix: Any) -> Any:
    """Unit quaternion of a rotation matrix with e0 >= 0 where that is decided (Shepperd's largest-pivot choice)."""
    m = matrix
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    # the four candidates 4 e_k^2; the largest gives the stable division
    squares = [1 + trace] + [1 - trace + 2 * m[k, k] for k in range(3)]
    a, b, c = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    d, e, f = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    candidates = [
        ca.vertcat(squares[0], a, b, c),
        ca.vertcat(a, squares[1], d, e),
        ca.vertcat(b, d, squares[2], f),
        ca.vertcat(c, e, f, squares[3]),
    ]
    best, size = candidates[0], squares[0]
    for candidate, square in zip(candidates[1:], squares[1:], strict=True):
        larger = square > size
        best, size = ca.if_else(larger, candidate, best), ca.if_else(larger, square, size)
    return best / (2 * ca.sqrt(size))
