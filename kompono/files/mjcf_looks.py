"""What bodies of an MJCF model look like: the geoms MuJoCo's own viewer shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.files.looks import hexed
from kompono.files.mjcf_names import Compiled
from kompono.files.place import Place
from kompono.library import shapes
from kompono.model.shape import Shape

SHOWN = 3  # groups 0, 1, 2
MOST_FACES = 20_000


def looks(model: Compiled, body: int) -> tuple[Shape, ...]:
    """The shapes of a body, in its frame."""
    m = model.m
    first = int(m.body_geomadr[body])
    found = []
    for geom in range(first, first + int(m.body_geomnum[body])):
        if first < 0 or m.geom_group[geom] >= SHOWN or m.geom_rgba[geom, 3] == 0:
            continue
        shape = _shape(model, geom)
        if shape is None:
            continue
        place = Place.of(m.geom_pos[geom], m.geom_quat[geom])
        material = int(m.geom_matid[geom])
        rgba = m.mat_rgba[material] if material >= 0 else m.geom_rgba[geom]
        shape = shape.coloured(hexed(np.clip(rgba[:3], 0, 1)), float(np.clip(rgba[3], 0, 1)))
        found.append(shape.at(*place.position.tolist(), orientation=place.rotation))
    return tuple(found)


def _shape(model: Compiled, geom: int) -> Shape | None:
    m = model.m
    kind, size = model.word("mjtGeom", m.geom_type[geom]), m.geom_size[geom].tolist()
    if kind == "sphere":
        return shapes.sphere(size[0])
    if kind == "capsule":
        return shapes.bar((0, 0, -size[1]), (0, 0, size[1]), size[0])
    if kind == "ellipsoid":
        return shapes.ellipsoid([2 * each for each in size])
    if kind == "cylinder":
        return shapes.cylinder(length=2 * size[1], radius=size[0])
    if kind == "box":
        return shapes.box([2 * each for each in size])
    if kind == "mesh":
        return _mesh(m, int(m.geom_dataid[geom]))
    return None  # planes and fields of the surroundings


def _mesh(m: Any, mesh: int) -> Shape | None:
    start, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    faces = m.mesh_face[int(m.mesh_faceadr[mesh]) : int(m.mesh_faceadr[mesh]) + int(m.mesh_facenum[mesh])]
    if not len(faces) or len(faces) > MOST_FACES:
        return None
    vertices = np.asarray(m.mesh_vert[start : start + count], dtype=float).round(7)
    return Shape("given", {"vertices": vertices.tolist(), "faces": np.asarray(faces).tolist()})
