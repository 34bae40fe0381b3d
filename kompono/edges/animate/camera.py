"""A camera that looks at a box from a direction and shows all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.errors import RunError

NAMED = {
    "iso": (-60.0, 20.0),
    "front": (-90.0, 4.0),
    "back": (90.0, 4.0),
    "left": (180.0, 4.0),
    "right": (0.0, 4.0),
    "top": (-90.0, 89.9),
}
ANGLE = np.radians(26.0)  # of view, from top to bottom
MARGIN = 1.08


@dataclass(frozen=True)
class Camera:
    """`axes` (3, 3) has the directions right, down and ahead as rows; `eye` (3,) [m]; `focus` in pixels."""

    axes: np.ndarray
    eye: np.ndarray
    focus: float
    centre: tuple[float, float]

    def project(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) of the world as x, y [pixel] and depth (-1/distance ahead)."""
        seen = (points - self.eye) @ self.axes.T
        ahead = np.maximum(seen[..., 2], 1e-9)
        x = self.centre[0] + self.focus * seen[..., 0] / ahead
        y = self.centre[1] + self.focus * seen[..., 1] / ahead
        return np.stack([x, y, -1 / ahead], axis=-1)

    def rays(self, width: int, height: int) -> np.ndarray:
        """Directions (height, width, 3) in the world of what each pixel sees, not normalized."""
        x, y = np.meshgrid(np.arange(width) + 0.5 - self.centre[0], np.arange(height) + 0.5 - self.centre[1])
        return np.stack([x / self.focus, y / self.focus, np.ones_like(x)], axis=-1) @ self.axes


def looking_at(points: np.ndarray, direction: Any, up: np.ndarray, width: int, height: int) -> Camera:
    """A camera that has all `points` (n, 3) in its picture, seen from a named direction or (azimuth, elevation) [°].

    Azimuth is counted from x towards y about `up`; a picture from azimuth -90 shows x to the right.
    """
    azimuth, elevation = np.radians(angles(direction))
    basis = _basis(up)
    back = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    ahead = -(back @ basis)
    right = np.cross(ahead, basis[2])
    right /= np.linalg.norm(right)
    axes = np.array([right, np.cross(ahead, right), ahead])
    focus = height / 2 / np.tan(ANGLE / 2)
    seen = (points - points.mean(axis=0)) @ axes.T
    slopes = np.array([width / 2 / focus, height / 2 / focus]) / MARGIN
    # |x - shift| <= slope (z + distance) for all points, in x and in y: the least distance, and the shift it allows
    most, least = (np.max(sign * seen[:, :2] - slopes * seen[:, 2:], axis=0) for sign in (1, -1))
    shift, distance = (most - least) / 2, max(float(np.max((most + least) / 2 / slopes)), 1e-6)
    eye = points.mean(axis=0) + shift @ axes[:2] - distance * ahead
    return Camera(axes, eye, focus, (width / 2, height / 2))


def angles(direction: Any) -> tuple[float, float]:
    """Azimuth and elevation [°] of a direction: a name, `azimuth,elevation`, or two numbers."""
    if isinstance(direction, str) and direction in NAMED:
        return NAMED[direction]
    try:
        given = direction.split(",") if isinstance(direction, str) else direction
        azimuth, elevation = (float(angle) for angle in given)
    except (TypeError, ValueError):
        raise RunError(
            f"camera {direction!r} is not known.",
            fix=f"Use {', '.join(NAMED)}, or azimuth and elevation in degrees: -60,20.",
        ) from None
    return azimuth, float(np.clip(elevation, -89.9, 89.9))


def _basis(up: np.ndarray) -> np.ndarray:
    """Rows x, y, z of a right-handed frame whose z is `up`; the world's own if that points along z."""
    z = up / np.linalg.norm(up)
    x = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z])
