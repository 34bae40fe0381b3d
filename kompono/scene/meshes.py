"""Triangles of shapes: vertices (n, 3) [m] and faces (m, 3), counter-clockwise seen from outside, axis along z.

Vertices are shared within a smooth face and doubled at edges, so that averaged normals shade round things round and
edges sharp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kompono.errors import RunError
from kompono.scene.outline import triangulate

SEGMENTS = 32  # of a full turn
Profile = Sequence[tuple[float, float]]


_KNOWN: dict[tuple[str, str], Mesh] = {}


class Mesh(NamedTuple):
    """Vertices (n, 3) float32 [m] and faces (m, 3) uint32."""

    vertices: np.ndarray
    faces: np.ndarray


def mesh_of(kind: str, sizes: Mapping[str, Any]) -> Mesh:
    """The triangles of a shape; those of equal shapes are the same arrays."""
    if kind not in BUILDERS:
        raise RunError(f"there is no shape {kind!r}.", fix=f"Known: {', '.join(BUILDERS)}.")
    key = (kind, repr(sizes))
    if key not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[key] = BUILDERS[kind](**sizes)
    return _KNOWN[key]


def join(*meshes: Mesh) -> Mesh:
    """Several meshes as one."""
    offsets = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    faces = [mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=True)]
    return _mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def moved(mesh: Mesh, z: float) -> Mesh:
    """A mesh shifted along its axis."""
    return Mesh(mesh.vertices + np.array([0, 0, z], dtype=np.float32), mesh.faces)


def _mesh(vertices: Any, faces: Any) -> Mesh:
    return Mesh(np.asarray(vertices, dtype=np.float32), np.asarray(faces, dtype=np.uint32))


def lathe(profiles: Sequence[Profile], segments: int = SEGMENTS) -> Mesh:
    """Profiles of points (radius, z), each smooth in itself, turned about z; outside is to the right of their way."""
    angles = np.linspace(0, 2 * np.pi, segments + 1)
    parts = []
    for profile in profiles:
        radius, height = np.transpose(profile)
        x, y = np.outer(np.cos(angles), radius), np.outer(np.sin(angles), radius)
        points = np.stack([x, y, np.broadcast_to(height, x.shape)], axis=-1)
        parts.append(_grid(points))
    return join(*parts)


def _grid(points: np.ndarray) -> Mesh:
    """A surface through rows of points (a, b, 3), with no triangles where neighbours coincide."""
    rows, columns = points.shape[:2]
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    vertices = points.reshape(-1, 3)
    p, q, r = (vertices[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(q - p, r - p), axis=1)
    return _mesh(vertices, faces[area > 1e-9 * area.max(initial=0.0)])


def box(size: Sequence[float]) -> Mesh:
    """A box about the origin."""
    x, y, z = np.asarray(size) / 2
    return plate([(-x, -y), (x, -y), (x, y), (-x, y)], 2 * z)


def cylinder(length: float, radius: float) -> Mesh:
    """A solid cylinder about the origin."""
    return cone(length, radius, radius)


def cone(length: float, radius: float, top: float = 0.0) -> Mesh:
    """A cone or frustum from -length/2 to length/2."""
    h = length / 2
    return lathe([[(0, -h), (radius, -h)], [(radius, -h), (top, h)], [(top, h), (0, h)]])


def tube(length: float, radius: float, wall: float) -> Mesh:
    """A tube of outer radius."""
    h, inner = length / 2, max(radius - wall, 0.0)
    corners = [(inner, -h), (radius, -h), (radius, h), (inner, h), (inner, -h)]
    return lathe([[a, b] for a, b in pairwise(corners)])


def ellipsoid(size: Sequence[float]) -> Mesh:
    """An ellipsoid of three diameters."""
    turn = np.linspace(-np.pi / 2, np.pi / 2, 15)
    ball = lathe([list(zip(np.cos(turn) / 2, np.sin(turn) / 2, strict=True))], 24)
    return _mesh(ball.vertices * np.asarray(size), ball.faces)


def capsule(length: float, radius: float) -> Mesh:
    """A round bar whose half balls have their centres `length` apart."""
    turn = np.linspace(0, np.pi / 2, 6)
    upper = [(radius * np.cos(a), length / 2 + radius * np.sin(a)) for a in turn]
    lower = [(r, -z) for r, z in reversed(upper)]
    return lathe([[*lower, *upper]], 20)


def ring(radius: float, thickness: float) -> Mesh:
    """A torus."""
    turn = np.linspace(0, 2 * np.pi, 13)
    return lathe([list(zip(radius + thickness * np.cos(turn), thickness * np.sin(turn), strict=True))])


def plate(outline: Sequence[Sequence[float]], thickness: float) -> Mesh:
    """A closed outline (k, 2), extruded to both sides of z = 0."""
    points = np.asarray(outline, dtype=float)
    if np.sum(points[:, 0] * np.roll(points[:, 1], -1) - np.roll(points[:, 0], -1) * points[:, 1]) < 0:
        points = points[::-1]
    count, h = len(points), thickness / 2
    lid = triangulate(points)
    top = np.column_stack([points, np.full(count, h)])
    bottom = np.column_stack([points, np.full(count, -h)])
    after = np.roll(np.arange(count), -1)
    sides = np.stack([bottom, bottom[after], top[after], top], axis=1).reshape(-1, 3)
    quads = 4 * np.arange(count)[:, None]
    walls = np.concatenate([quads + [0, 1, 2], quads + [0, 2, 3]]) + 2 * count
    return _mesh(np.concatenate([top, bottom, sides]), np.concatenate([lid, lid[:, ::-1] + count, walls]))


def sweep(path: np.ndarray, radius: float, sides: int = 8) -> Mesh:
    """A round wire along points (n, 3), open at its ends."""
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    aside = np.cross(along, [0, 0, 1.0])
    small = np.linalg.norm(aside, axis=1) < 1e-6
    aside[small] = [1.0, 0, 0]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    third = np.cross(along, aside)
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    rim = aside[:, None] * np.cos(turn)[:, None] + third[:, None] * np.sin(turn)[:, None]
    return _grid(np.transpose(path[:, None] + radius * rim, (1, 0, 2)))


def helix(radius: float, wire: float, turns: float = 7) -> Mesh:
    """A coil spring of length 1 from z = 0 to 1, with straight ends; to be stretched."""
    t = np.linspace(0, 1, int(16 * turns))
    ease = np.clip(np.minimum(t, 1 - t) / 0.08, 0, 1)
    angle = 2 * np.pi * turns * t
    path = np.column_stack([ease * radius * np.cos(angle), ease * radius * np.sin(angle), t])
    return sweep(path, wire)


def spiral(radius: float, wire: float) -> Mesh:
    """A flat spiral spring."""
    t = np.linspace(0, 1, 64)
    angle = 2 * np.pi * 2.5 * t
    grown = radius * (0.3 + 0.7 * t)
    return sweep(np.column_stack([grown * np.cos(angle), grown * np.sin(angle), 0 * t]), wire)


def arrow(length: float, radius: float) -> Mesh:
    """An arrow from the origin along z."""
    head = 0.3 * length
    shaft = moved(cylinder(length - head, radius), (length - head) / 2)
    return join(shaft, moved(cone(head, 2.6 * radius), length - head / 2))


def line(length: float, radius: float) -> Mesh:
    """An arrow with two heads about the origin, along z: something acts on this line."""
    head = 0.25 * length
    up = moved(cone(head, 2.6 * radius), (length - head) / 2)
    down = Mesh(up.vertices * np.array([1, -1, -1], dtype=np.float32), up.faces)
    return join(cylinder(length - 2 * head, radius), up, down)


def turning(radius: float, thickness: float) -> Mesh:
    """An arrow bent about z by three quarters of a turn: something turns here."""
    angle = np.linspace(0, 1.4 * np.pi, 40)
    path = radius * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    tip = cone(5 * thickness, 2.6 * thickness)
    back, along = path[-1] / radius, np.array([-np.sin(angle[-1]), np.cos(angle[-1]), 0])
    frame = np.column_stack([back, np.cross(along, back), along])
    end = _mesh(tip.vertices @ frame.T + path[-1] + 2 * thickness * along, tip.faces)
    return join(sweep(path, thickness), end)


def strut(length: float, radius: float) -> Mesh:
    """A bar from z = 0 to `length`."""
    return moved(cylinder(length, radius), length / 2)


def given(vertices: Any, faces: Any) -> Mesh:
    """Triangles as they are."""
    return _mesh(vertices, faces)


BUILDERS: dict[str, Callable[..., Mesh]] = {
    "box": box,
    "cylinder": cylinder,
    "cone": cone,
    "tube": tube,
    "ellipsoid": ellipsoid,
    "capsule": capsule,
    "ring": ring,
    "plate": plate,
    "helix": helix,
    "spiral": spiral,
    "arrow": arrow,
    "line": line,
    "turning": turning,
    "strut": strut,
    "given": given,
}
