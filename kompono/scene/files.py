"""Meshes from files, read once into triangles so that a scene needs its files no more."""

from __future__ import annotations

import contextlib
import os
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
    file = str(shape.sizes["file"])
    vertices, faces = _read(file, _written(file))
    scale = np.asarray(shape.sizes["scale"])
    scaled = (np.asarray(vertices) * scale).round(7)
    if np.prod(scale) < 0:  # a mirror turns triangles inside out
        faces = [face[::-1] for face in faces]
    return replace(shape, kind="given", sizes={"vertices": scaled.tolist(), "faces": faces})


def _written(file: str) -> tuple[int, int]:
    """When a file was written last, and its size: another one under its name is read again."""
    with contextlib.suppress(OSError):
        found = os.stat(file)
        return found.st_mtime_ns, found.st_size
    return 0, 0


@lru_cache(maxsize=64)
def _read(file: str, _: tuple[int, int]) -> tuple[Any, Any]:
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
