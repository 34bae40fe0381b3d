"""Shapes for viewers: simple solids, outlines, meshes from files. Lengths in m; `Body(..., shape=shapes.box(...))`.

A body made from `solids` has the shape of its solid already; give `shape=` (one or a list) where it looks different
from what its mass suggests. Place and colour: `shapes.box((1, 1, 2)).at(0, 0, 1).coloured("#0072b2")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import ModelError
from kompono.given import number, numbers, shown
from kompono.model.shape import Shape, quaternion_of
from kompono.spatial.rotation import Axis, unit_axis

Point = Sequence[float]
_METRES = "Lengths and radii are numbers, in metres: shapes do not follow tunable parameters."
MESH_FILES = (".stl", ".obj", ".glb", ".gltf", ".ply", ".dae")


def box(size: Point) -> Shape:
    """A box with edges `size` (x, y, z)."""
    return Shape("box", {"size": _edges("shapes.box", size)})


def cylinder(*, length: float, radius: float, axis: Axis = "z") -> Shape:
    """A solid cylinder."""
    sizes = _positive("shapes.cylinder", length=length, radius=radius)
    return Shape("cylinder", sizes, orientation=_along(axis))


def tube(*, length: float, radius: float, wall: float, axis: Axis = "z") -> Shape:
    """A tube of outer `radius`."""
    sizes = _positive("shapes.tube", length=length, radius=radius, wall=wall)
    sizes["wall"] = min(sizes["wall"], sizes["radius"])
    return Shape("tube", sizes, orientation=_along(axis))


def cone(*, length: float, radius: float, top: float = 0.0, axis: Axis = "z") -> Shape:
    """A cone, or a frustum with radius `top` at its far end; its middle is half-way along."""
    sizes = _positive("shapes.cone", length=length, radius=radius)
    sizes["top"] = number(top, "top", "shapes.cone", fix=_METRES)
    if sizes["top"] < 0:
        raise ModelError(f"top {top!r} is negative.", path="shapes.cone", fix=_METRES)
    return Shape("cone", sizes, orientation=_along(axis))


def sphere(radius: float) -> Shape:
    """A ball."""
    return Shape("ellipsoid", {"size": (2 * _positive("shapes.sphere", radius=radius)["radius"],) * 3})


def ellipsoid(size: Point) -> Shape:
    """An ellipsoid with diameters `size` (x, y, z)."""
    return Shape("ellipsoid", {"size": _edges("shapes.ellipsoid", size)})


def ring(*, radius: float, thickness: float, axis: Axis = "z") -> Shape:
    """A torus: a wire of radius `thickness` bent to a circle of `radius`."""
    sizes = _positive("shapes.ring", radius=radius, thickness=thickness)
    return Shape("ring", sizes, orientation=_along(axis))


def bar(start: Point, end: Point, radius: float) -> Shape:
    """A round bar with rounded ends from one point of the body to another."""
    first, second = (numbers(end, (3,), "the end", "shapes.bar", fix="Use (x, y, z).") for end in (start, end))
    length = float(np.linalg.norm(second - first))
    sizes = _positive("shapes.bar", length=length, radius=radius)
    middle = tuple(((first + second) / 2).tolist())
    return Shape("capsule", sizes, position=middle, orientation=_along((second - first) / length))


def plate(outline: Sequence[Point], thickness: float, axis: Axis = "z") -> Shape:
    """A closed outline of points (u, v), extruded by `thickness` to both sides of the body's origin along `axis`.

    u, v are y, z for the axis x; x, z for y; x, y for z.
    """
    where = "shapes.plate"
    fix = "Use points (u, v) [m], at least three: [(0, 0), (1, 0), (0, 1)]."
    points = [tuple(point) for point in numbers(outline, (-1, 2), "the outline", where, fix=fix).tolist()]
    if len(points) < 3:
        raise ModelError(f"an outline of {len(points)} points encloses nothing.", path=where, fix=fix)
    frame = {"x": ((0, 0, 1), (1, 0, 0), (0, 1, 0)), "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)), "z": np.eye(3)}
    if not isinstance(axis, str) or axis not in frame:
        message = f"a plate is extruded along x, y or z, not {shown(axis)}."
        raise ModelError(message, path=where, fix='Use axis="z" and turn the shape by .at(..., orientation=...).')
    sizes = {"outline": tuple(points), **_positive(where, thickness=thickness)}
    return Shape("plate", sizes, orientation=quaternion_of(np.asarray(frame[axis], dtype=float)))


def mesh(file: str | Path, *, scale: float | Sequence[float] = 1.0) -> Shape:
    """Triangles from a file (STL, OBJ, glTF, PLY, with pycollada DAE) in body axes; `scale` is 1e-3 for a drawing in
    mm, or three numbers along x, y, z, of which negative ones mirror.
    """
    if not isinstance(file, str | Path) or "\0" in str(file):
        raise ModelError(f"{shown(file)} is no file.", path="shapes.mesh", fix='Use mesh("part.stl").')
    path = Path(file).resolve()
    if path.suffix.lower() not in MESH_FILES:
        raise ModelError(f"{path.name} is no kind of mesh known here.", fix=f"Known: {', '.join(MESH_FILES)}.")
    if not path.is_file():
        raise ModelError(f"there is no mesh {str(file)!r}.", fix="Paths are relative to where Python runs.")
    return Shape("mesh", {"file": str(path), "scale": _scale(scale)})


def _scale(scale: Any) -> float | tuple[float, ...]:
    if not isinstance(scale, list | tuple | np.ndarray):
        return _positive("shapes.mesh", scale=scale)["scale"]
    factors = numbers(scale, (3,), "scale", "shapes.mesh", fix="Use one number or three, none of them zero.").tolist()
    if not all(factors):
        raise ModelError(f"a scale of {shown(scale)}.", path="shapes.mesh", fix="No factor may be zero.")
    return factors[0] if len(set(factors)) == 1 and factors[0] > 0 else tuple(factors)


def _along(axis: Axis) -> tuple[float, ...]:
    """The orientation whose z points along `axis`."""
    z = unit_axis(axis)
    x = np.cross(np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3], z)
    x /= np.linalg.norm(x)
    return quaternion_of(np.column_stack([x, np.cross(z, x), z]))


def _positive(where: str, **lengths: Any) -> dict[str, Any]:
    return {name: number(value, name, where, positive=True, fix=_METRES) for name, value in lengths.items()}


def _edges(where: str, size: Any) -> tuple[float, ...]:
    edges = numbers(size, (3,), "size", where, fix="Use three lengths (x, y, z) in metres.").tolist()
    return tuple(_positive(where, **dict(zip("xyz", edges, strict=True))).values())
