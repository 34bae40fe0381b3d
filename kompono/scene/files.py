"""Meshes from files, read once into triangles so that a scene needs its files no more."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.model.shape import Shape
from kompono.result.extras import extra

LARGEST = 200_000  # triangles of one file


def embedded(shape: Shape) -> Shape:
    """A shape whose file, if it has one, is replaced by the triangles in it."""
    if shape.kind != "mesh":
        return shape
    vertices, faces = _read(str(shape.sizes["file"]))
    scale = np.asarray(shape.sizes["scale"])
    scaled = (np.asarray(vertices) * scale).round(7)
    if np.prod(scale) < 0:  # a mirror turns triangles inside out
        faces = [face[::-1] for face in faces]
    return replace(shape, kind="given", sizes={"vertices": scaled.tolist(), "faces": faces})


@lru_cache(maxsize=64)
def _read(file: str) -> tuple[Any, Any]:
    trimesh = extra("trimesh", "view")
    try:
        mesh = trimesh.load_mesh(file)
    except Exception as cause:  # each format fails in its own way
        raise RunError(
            f"cannot read the mesh {file}: {cause}.", fix="STL, OBJ, glTF, PLY and, with pycollada, DAE are read."
        ) from cause
    if hasattr(mesh, "to_mesh"):  # a glTF scene of several meshes
        mesh = mesh.to_mesh()
    if not len(getattr(mesh, "faces", ())):
        raise RunError(f"the mesh {file} has no triangles.", fix="Export it as a surface.")
    if len(mesh.faces) > LARGEST:
        raise RunError(f"the mesh {file} has {len(mesh.faces)} triangles.", fix=f"Reduce it to {LARGEST}.")
    return mesh.vertices.tolist(), mesh.faces.tolist()
