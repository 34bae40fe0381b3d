"""Triangles of a plane outline, by cutting ears: fine for the dozens of points a drawn outline has."""

from __future__ import annotations

import numpy as np


def triangulate(points: np.ndarray) -> np.ndarray:
    """Faces (k - 2, 3) of a simple outline (k, 2) that runs counter-clockwise."""
    left = list(range(len(points)))
    faces = []
    while len(left) > 3:
        ear = next((i for i in range(len(left)) if _is_ear(points, left, i)), 0)
        before, after = left[ear - 1], left[(ear + 1) % len(left)]
        faces.append((before, left[ear], after))
        del left[ear]
    faces.append(tuple(left))
    return np.array(faces)


def _is_ear(points: np.ndarray, left: list[int], i: int) -> bool:
    """Whether the corner turns left and holds no other point."""
    a, b, c = points[left[i - 1]], points[left[i]], points[left[(i + 1) % len(left)]]
    if _turn(a, b, c) <= 0:
        return False
    others = points[[k for k in left if k not in (left[i - 1], left[i], left[(i + 1) % len(left)])]]
    inside = (_turn(a, b, others) >= 0) & (_turn(b, c, others) >= 0) & (_turn(c, a, others) >= 0)
    return not inside.any()


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])
