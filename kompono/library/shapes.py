"""Shapes for viewers: simple solids, outlines, meshes from files. Lengths in m; `Body(..., shape=shapes.box(...))`.

A body made from `solids` has the shape of its solid already; give `shape=` (one or a list) where it looks different
from what its mass suggests. Place and colour: `shapes.box((1, 1, 2)).at(0, 0, 1).coloured("#0072b2")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kompono.errors import ModelError
from kompono.model.shape import Shape, quaternion_of
from kompono.spatial.rotation import Axis, unit_axis

Point = Sequence[float]
MESH_FILES = (".stl", ".obj", ".glb", ".gltf", ".ply")


def box(size: Point) -> Shape:
    """A box with edges `size` (x, y, z)."""
    _positive(**dict(zip("xyz", size, strict=True)))
    return Shape("box", {"size": tuple(map(float, size))})


def cylinder(*, length: float, radius: float, axis: Axis = "z") -> Shape:
    """A solid cylinder."""
    _positive(length=length, radius=radius)
    return Shape("cylinder", {"length": float(length), "radius": float(radius)}, orientation=_along(axis))


def tube(*, length: float, radius: float, wall: float, axis: Axis = "z") -> Shape:
    """A tube of outer `radius`."""
    _positive(length=length, radius=radius, wall=wall)
    sizes = {"length": float(length), "radius": float(radius), "wall": float(min(wall, radius))}
    return Shape("tube", sizes, orientation=_along(axis))


def cone(*, length: float, radius: float, top: float = 0.0, axis: Axis = "z") -> Shape:
    """A cone, or a frustum with radius `top` at its far end; its middle is half-way along."""
    _positive(length=length, radius=radius)
    return Shape(
        "cone", {"length": float(length), "radius": float(radius), "top": float(top)}, orientation=_along(axis)
    )


def sphere(radius: float) -> Shape:
    """A ball."""
    _positive(radius=radius)
    return Shape("ellipsoid", {"size": (2 * float(radius),) * 3})


def ellipsoid(size: Point) -> Shape:
    """An ellipsoid with diameters `size` (x, y, z)."""
    _positive(**dict(zip("xyz", size, strict=True)))
    return Shape("ellipsoid", {"size": tuple(map(float, size))})


def ring(*, radius: float, thickness: float, axis: Axis = "z") -> Shape:
    """A torus: a wire of radius `thickness` bent to a circle of `radius`."""
    _positive(radius=radius, thickness=thickness)
    return Shape("ring", {"radius": float(radius), "thickness": float(thickness)}, orientation=_along(axis))


def bar(start: Point, end: Point, radius: float) -> Shape:
    """A round bar with rounded ends from one point of the body to another."""
    _positive(radius=radius)
    first, second = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(second - first))
    _positive(length=length)
    sizes = {"length": length, "radius": float(radius)}
    middle = tuple(((first + second) / 2).tolist())
    return Shape("capsule", sizes, position=middle, orientation=_along((second - first) / length))


def plate(outline: Sequence[Point], thickness: float, axis: Axis = "z") -> Shape:
    """A closed outline of points (u, v), extruded by `thickness` to both sides of the body's origin along `axis`.

    u, v are y, z for the axis x; x, z for y; x, y for z.
    """
    _positive(thickness=thickness)
    points = [(float(u), float(v)) for u, v in outline]
    if len(points) < 3:
        raise ModelError(f"an outline of {len(points)} points encloses nothing.", fix="Give at least three.")
    frame = {"x": ((0, 0, 1), (1, 0, 0), (0, 1, 0)), "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)), "z": np.eye(3)}
    if not isinstance(axis, str) or axis not in frame:
        raise ModelError(f"a plate is extruded along x, y or z, not {axis!r}.")
    sizes = {"outline": tuple(points), "thickness": float(thickness)}
    return Shape("plate", sizes, orientation=quaternion_of(np.asarray(frame[axis], dtype=float)))


def mesh(file: str | Path, *, scale: float = 1.0) -> Shape:
    """Triangles from a file (STL, OBJ, glTF, PLY) in body axes; `scale` is 1e-3 for a drawing in mm."""
    path = Path(file).resolve()
    if path.suffix.lower() not in MESH_FILES:
        raise ModelError(f"{path.name} is no kind of mesh known here.", fix=f"Known: {', '.join(MESH_FILES)}.")
    if not path.is_file():
        raise ModelError(f"there is no mesh {str(file)!r}.", fix="Paths are relative to where Python runs.")
    _positive(scale=scale)
    return Shape("mesh", {"file": str(path), "scale": float(scale)})


def _along(axis: Axis) -> tuple[float, ...]:
    """The orientation whose z points along `axis`."""
    z = unit_axis(axis)
    x = np.cross(np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3], z)
    x /= np.linalg.norm(x)
    return quaternion_of(np.column_stack([x, np.cross(z, x), z]))


def _positive(**lengths: float) -> None:
    for name, value in lengths.items():
        if not np.isfinite(value) or value <= 0:
            raise ModelError(f"{name} {value!r} is not positive.", fix="Lengths and radii are in metres.")
