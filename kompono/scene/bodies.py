"""What a body looks like: the shapes it was given, those of its solid, or a box with its mass and inertia.

Points where something is connected outside of that are joined to the centre of mass by bars, so that a body given by
mass, inertia and joint points alone is recognized too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kompono.library import shapes
from kompono.model.body import Body, Carrier
from kompono.model.shape import Shape, quaternion_of
from kompono.scene.files import embedded
from kompono.scene.meshes import mesh_of
from kompono.scene.motion import rotations
from kompono.scene.values import Values

PALETTE = ("#4477aa", "#ee7733", "#44aa99", "#ccbb44", "#aa4499", "#66ccee", "#997755", "#228833", "#ee99aa", "#77889a")
_SOLIDS = {
    "box": shapes.box,
    "cylinder": shapes.cylinder,
    "tube": shapes.tube,
    "ring": lambda radius, axis: shapes.ring(radius=radius, thickness=radius / 25, axis=axis),
    "sphere": shapes.sphere,
}


def body_shapes(body: Carrier, points: Sequence[np.ndarray], values: Values) -> tuple[Shape, ...]:
    """The shapes of a body or ground with things connected at `points` (3,) [m]; files are read into triangles."""
    if body.shape is not None:
        return tuple(embedded(shape) for shape in body.shape)
    if not isinstance(body, Body):
        return ()
    if body.solid.shape is not None:
        kind, sizes = body.solid.shape
        main = _SOLIDS[kind](**sizes)
    else:
        main = _from_inertia(body, points, values)
    return main, *_bars(main, points)


def _from_inertia(body: Body, points: Sequence[np.ndarray], values: Values) -> Shape:
    """The uniform box with this mass and inertia, not far beyond its joint points."""
    mass, inertia = values.array(body.solid.mass), values.array(body.solid.inertia)
    reach = max((float(np.linalg.norm(point)) for point in points), default=0.0)
    if mass is None or inertia is None or not np.all(np.isfinite(inertia)) or float(mass.ravel()[0]) <= 0:
        return shapes.sphere(max(0.2 * reach, 0.02))
    moments, axes = np.linalg.eigh(inertia.reshape(3, 3))
    squares = 6 * (moments.sum() - 2 * moments) / float(mass.ravel()[0])
    edges = np.sqrt(np.maximum(squares, 0.0))
    if edges.max() == 0:
        return shapes.sphere(max(0.1 * reach, 0.02))
    if reach > 0:
        edges *= min(1.0, 2.5 * reach / edges.max())
    edges = np.maximum(edges, 0.03 * edges.max())
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    return shapes.box(tuple(edges.tolist())).at(0, 0, 0, orientation=quaternion_of(axes))


def _bars(main: Shape, points: Sequence[np.ndarray]) -> list[Shape]:
    """Bars to the points outside of the bounding box of a shape."""
    low, high = bounds([main])
    extent = float(np.linalg.norm(high - low))
    found: list[Shape] = []
    seen: list[np.ndarray] = []
    for point in points:
        outside = np.any((point < low - 0.02 * extent) | (point > high + 0.02 * extent))
        if outside and not any(np.allclose(point, other) for other in seen):
            seen.append(point)
            radius = min(0.04 * float(np.linalg.norm(point)), 0.2 * extent)
            found.append(shapes.bar((0, 0, 0), point.tolist(), radius))
    return found


def bounds(pieces: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner (3,) [m] of shapes or pieces in the axes of their body."""
    corners = []
    for piece in pieces:
        vertices = mesh_of(piece.kind, piece.sizes).vertices
        corners.append(vertices @ rotations(np.asarray(piece.orientation)).T + np.asarray(piece.position))
    everything = np.concatenate(corners) if corners else np.zeros((1, 3))
    return everything.min(axis=0), everything.max(axis=0)
