"""Orientations from angles: chains of turns, Euler angles, roll, pitch and yaw, of numbers and symbols alike.

All give a unit quaternion (scalar first). A chain goes with the body: every turn is about an axis as the turns before
it have left it, so the matrices multiply from left to right, `rotation(("z", a), ("x", b))` is R_z(a) R_x(b).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import entries_of, flag, scalar, shown
from kompono.spatial.rotation import Axis, constant_matrix, unit_axis, unit_quaternion

_HOW = 'Use rotation("x", 0.1), or rotation(("z", 0.3), ("x", 0.1)) for one turn after the other.'


def rotation(*turns: Any, axis: Axis | None = None, angle: Any = None) -> Any:
    """The quaternion (4,) of a turn by `angle` [rad] about `axis`, for `body.at(..., orientation=rotation("x", 0.1))`.

    Several pairs (axis, angle) are turns one after the other, each about the axis as it was turned before:
    `rotation(("z", yaw), ("x", tilt))`. With symbols as angles it is an SX column (4).
    """
    if axis is not None or angle is not None:
        if turns or axis is None or angle is None:
            raise ModelError("a rotation needs one axis and one angle.", fix=_HOW)
        return _turn(axis, angle)
    if len(turns) == 2 and not _is_pair(turns[1]):
        return _turn(*turns)
    result: Any = np.array([1.0, 0.0, 0.0, 0.0])
    for turn in turns:
        if not _is_pair(turn):
            raise ModelError(f"{shown(turn)} is not a pair of axis and angle.", fix=_HOW)
        result = quaternion_product(result, _turn(*turn))
    return result


def euler(sequence: str, *angles: Any, fixed: bool = False) -> Any:
    """The quaternion (4,) of Euler angles [rad]: `euler("zxz", precession, nutation, spin)`.

    Every turn is about an axis of the body as turned so far; with `fixed`, about axes that stay.
    """
    if not isinstance(sequence, str) or not sequence or set(sequence) - set("xyz") or len(sequence) != len(angles):
        raise ModelError(
            f"the sequence {shown(sequence)} does not go with {len(angles)} angles.",
            fix='Use one of x, y, z for each angle: euler("zxz", a, b, c).',
        )
    turns = list(zip(sequence, angles, strict=True))
    return rotation(*(reversed(turns) if flag(fixed, "fixed =", "euler") else turns))


def roll_pitch_yaw(roll: Any, pitch: Any, yaw: Any) -> Any:
    """The quaternion (4,) of a turn by `roll` about x, then `pitch` about y, then `yaw` about z [rad], axes that stay;
    the same as yaw about z, pitch about the turned y, roll about the turned x.
    """
    return euler("xyz", roll, pitch, yaw, fixed=True)


def quaternion_product(a: Any, b: Any) -> Any:
    """The quaternion of the product of two rotation matrices: the turn b, seen from axes turned by a."""
    product = [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
    return ca.vertcat(*product) if any(isinstance(x, ca.SX) for x in product) else np.array(product, dtype=float)


def constant_quaternion(orientation: Any) -> np.ndarray:
    """A constant unit quaternion (4,) from None, a quaternion (4,) or a rotation matrix (3, 3)."""
    if orientation is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    entries = entries_of(orientation)
    if entries.shape != (3, 3):
        return unit_quaternion(entries.ravel() if entries.shape == (4, 1) else orientation)
    from kompono.spatial.numeric import quaternions  # only matrices need it

    return quaternions(constant_matrix(orientation))


def _is_pair(turn: Any) -> bool:
    return isinstance(turn, tuple | list) and len(turn) == 2


def _turn(axis: Axis | Sequence[float], angle: Any) -> Any:
    direction, half = unit_axis(axis), scalar(angle, "the angle [rad]", "rotation", fix=_HOW) / 2
    if isinstance(half, ca.SX) and not half.is_constant():
        return ca.vertcat(ca.cos(half), ca.sin(half) * ca.SX(ca.DM(direction)))
    return np.concatenate([[np.cos(float(half))], np.sin(float(half)) * direction])
