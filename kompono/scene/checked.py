"""Whether a scene out of a file can be drawn: a file may be damaged, or made to do harm."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.errors import FileError
from kompono.scene.meshes import mesh_of

if TYPE_CHECKING:
    from kompono.scene.scene import Scene

LARGEST = 1e9  # of a number in the description of a shape
MOST = 10_000  # of whatever a shape has many of
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_COUNTS = ("turns", "sides", "segments")


def check_scene(scene: Scene) -> None:
    """Raise a FileError for a scene that no viewer could draw."""
    try:
        _numbers((scene.up, scene.size), 3, 1)
        _need(isinstance(scene.model, str), "the name of the model")
        _need(all(isinstance(path, str) for path in (*scene.redundant, *scene.violated)), "a path")
        for carrier in scene.carriers:
            _need(isinstance(carrier.path, str) and isinstance(carrier.kind, str), "a carrier")
            _numbers((carrier.pose or (0.0,) * 7, carrier.reach, carrier.mass), 7, 1, 1)
            _need(carrier.kind != "ground" or carrier.pose is not None or carrier.motion is not None, "a ground")
            if carrier.motion is not None:
                _need(np.asarray(carrier.motion, dtype=float).shape == (len(carrier.motion), 8), "a motion")
        for part in scene.parts:
            _need(all(isinstance(text, str) for text in (part.path, part.kind, part.type)), "a part")
            on = part.carrier
            _need(on is None or (type(on) is int and 0 <= on < len(scene.carriers)), "where a part acts")
            _numbers((part.position,), 3)
        for piece in scene.pieces:
            _piece(scene, piece)
        scene.meshes()
    except FileError:
        raise
    except Exception as cause:
        raise FileError(f"the scene cannot be drawn: {cause}.", fix="Run the model again.") from cause


def _piece(scene: Scene, piece: Any) -> None:
    for number, count in ((piece.part, len(scene.parts)), (piece.carrier, len(scene.carriers))):
        _need(type(number) is int and 0 <= number < count, "what a piece belongs to")
    target = piece.target
    _need(target is None or (type(target) is int and 0 <= target < len(scene.carriers)), "the end of a piece")
    _numbers((piece.position, piece.orientation, piece.end, piece.opacity), 3, 4, 3, 1)
    _need(isinstance(piece.colour, str) and _COLOUR.fullmatch(piece.colour) is not None, "a colour")
    _need(piece.hold in ("", "both", "all", "first", "second"), "how a piece is held")
    _need(isinstance(piece.sizes, Mapping), "the sizes of a piece")
    for name, value in piece.sizes.items():
        if isinstance(value, int | float):
            _need(math.isfinite(value) and abs(value) <= LARGEST, f"the size {name}")
            _need(name not in _COUNTS or abs(value) <= MOST, f"the number of {name}")
    mesh = mesh_of(piece.kind, piece.sizes)
    _need(not len(mesh.faces) or int(mesh.faces.max()) < len(mesh.vertices), "a mesh")
    _need(bool(np.isfinite(mesh.vertices).all()), "a mesh")


def _numbers(values: tuple[Any, ...], *lengths: int) -> None:
    for value, length in zip(values, lengths, strict=True):
        found = np.asarray(value, dtype=float).ravel()
        _need(len(found) == length and bool(np.isfinite(found).all()), "a place or a size")


def _need(truth: bool, what: str) -> None:
    if not truth:
        raise FileError(f"the scene cannot be drawn: {what} in it is not right.", fix="Run the model again.")
