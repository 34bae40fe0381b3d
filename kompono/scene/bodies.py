"""What a body looks like: the shapes it was given, those of its solid, or a box or cylinder of its inertia.

Points where something is connected outside of that are joined to the centre of mass by bars, so that a body given by
mass, inertia and joint points alone is recognized too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.library import shapes
from kompono.model.body import Body, Carrier
from kompono.model.shape import Shape, quaternion_of
from kompono.scene.files import embedded
from kompono.scene.meshes import mesh_of
from kompono.scene.values import SymbolValues
from kompono.spatial.numeric import rotations

PALETTE = ("#4477aa", "#ee7733", "#44aa99", "#ccbb44", "#aa4499", "#66ccee", "#997755", "#228833", "#ee99aa", "#77889a")
_SOLIDS = {
    "box": shapes.box,
    "cylinder": shapes.cylinder,
    "tube": shapes.tube,
    "ring": lambda radius, axis: shapes.ring(radius=radius, thickness=radius / 25, axis=axis),
    "sphere": shapes.sphere,
}


def body_shapes(body: Carrier, points: Sequence[np.ndarray], values: SymbolValues) -> tuple[Shape, ...]:
    """The shapes of a body or ground with things connected at `points` (3,) [m]; files are read into triangles."""
    if body.shape is not None:
        return tuple(embedded(shape) for shape in body.shape)
    if not isinstance(body, Body):
        return ()
    if body.solid.shape is not None:
        kind, sizes = body.solid.shape
        known = {name: _numbers(size, values) for name, size in sizes.items()}
        main = _SOLIDS[kind](**known) if None not in known.values() else shapes.sphere(0.02)
    else:
        main = _from_inertia(body, points, values)
    return main, *_bars(main, points)


def _numbers(size: Any, values: SymbolValues) -> Any:
    """A size of a solid at the parameters of a run, None if more than these would be needed to know it."""
    if isinstance(size, tuple):
        found = tuple(_numbers(entry, values) for entry in size)
        return None if None in found else found
    if not isinstance(size, ca.SX):
        return size
    known = values.array(size)
    return None if known is None or not known.item() > 0 else known.item()


def _from_inertia(body: Body, points: Sequence[np.ndarray], values: SymbolValues) -> Shape:
    """The uniform box or cylinder with this mass and inertia, not far beyond its joint points."""
    mass, inertia = values.array(body.solid.mass), values.array(body.solid.inertia)
    reach = max((float(np.linalg.norm(point)) for point in points), default=0.0)
    if mass is None or inertia is None or not np.all(np.isfinite(inertia)) or float(mass.ravel()[0]) <= 0:
        return shapes.sphere(max(0.2 * reach, 0.02))
    moments, axes = np.linalg.eigh(inertia.reshape(3, 3))
    if moments.max() <= 0:
        return shapes.sphere(max(0.1 * reach, 0.02))
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    moments = np.maximum(moments, 0.0) / float(mass.ravel()[0])
    middle = moments[1]
    for axial in (0, 2):
        if abs(middle - moments[2 - axial]) < 1e-6 * middle and 3 * moments[axial] < 6 * middle:
            return _round(axes[:, axial], moments[axial], middle, reach)
    edges = _limited(np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments), 0.0)), reach)
    return shapes.box(tuple(edges.tolist())).at(0, 0, 0, orientation=quaternion_of(axes))


def _round(axis: np.ndarray, axial: float, across: float, reach: float) -> Shape:
    """The uniform cylinder with these moments per mass [m^2], about its axis and across it."""
    width, length = 2 * np.sqrt(2 * axial), np.sqrt(max(12 * across - 6 * axial, 0.0))
    width, length = _limited(np.array([width, length]), reach)
    return shapes.cylinder(length=float(length), radius=float(width) / 2, axis=axis)


def _limited(edges: np.ndarray, reach: float) -> np.ndarray:
    """Edges not far beyond the joint points and none as thin as paper."""
    if reach > 0:
        edges = edges * min(1.0, 2.5 * reach / edges.max())
    return np.maximum(edges, 0.03 * edges.max())


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
