"""Conditions joints and constraints share: alignment of axes, points on lines, the angle about an axis.

Each works on the relative pose of two frames; `axis` is a constant unit vector (see `unit_axis`).
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.spatial.pose import Pose
from kompono.spatial.rotation import snap


def across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that complete `axis` to a right-handed system (u, v, axis), exact for coordinate axes; zeros and
    ones are exact for all.
    """
    helper = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    u = helper - axis * (helper @ axis)
    u = snap(u / np.linalg.norm(u))
    return u, snap(np.cross(axis, u))


def aligned(pose: Pose, axis: np.ndarray) -> Any:
    """Two conditions: `axis`, fixed in both frames, points the same way."""
    u, v = across(axis)
    turned = pose.rotation @ ca.DM(axis)
    return ca.vertcat(ca.dot(ca.DM(u), turned), ca.dot(ca.DM(v), turned))


def on_axis(pose: Pose, axis: np.ndarray) -> Any:
    """Two conditions: the second origin lies on `axis` through the first."""
    u, v = across(axis)
    return ca.vertcat(ca.dot(ca.DM(u), pose.position), ca.dot(ca.DM(v), pose.position))


def turn_about(pose: Pose, axis: np.ndarray) -> Any:
    """Angle about `axis` [rad], in (-pi, pi]."""
    u, v = across(axis)
    turned = pose.rotation @ ca.DM(u)
    return ca.atan2(ca.dot(ca.DM(v), turned), ca.dot(ca.DM(u), turned))
