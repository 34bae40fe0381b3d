"""The room a moving machine takes: for cameras, floors and grids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kompono.scene.motion import matrices
from kompono.scene.scene import Scene

SAMPLES = 60  # instants looked at


class Extent(NamedTuple):
    """Corners (3,) [m] around all that is seen, height of the floor along `up` [m], distance of grid lines [m]."""

    low: np.ndarray
    high: np.ndarray
    floor: float
    cell: float


def extent(scene: Scene, table: np.ndarray) -> Extent:
    """The extent of a scene for poses (n, carriers, 7); the floor is at zero unless something reaches below it."""
    rows = np.unique(np.linspace(0, len(table) - 1, SAMPLES).astype(int))
    meshes, which = scene.meshes()
    if not scene.pieces:
        return Extent(np.full(3, -1.0), np.full(3, 1.0), 0.0, 0.1)
    spans = np.array([[mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)] for mesh in meshes])[which]
    picks = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)])
    corners = spans[:, picks, np.arange(3)]
    world = matrices(scene, table[rows])
    points = np.einsum("npij,pkj->npki", world[..., :3, :3], corners) + world[..., None, :3, 3]
    points = points.reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        points = np.array([[-1.0] * 3, [1.0] * 3])
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(high - low)) or 1.0
    lowest = float((points @ np.asarray(scene.up)).min())
    floor = lowest if lowest < -0.02 * size else 0.0
    return Extent(low, high, floor, float(10.0 ** np.floor(np.log10(size / 3))))
