"""The scene of a model: what is drawn, where it is attached, and how that goes to and from plain data.

A `SceneBody` moves: a body or a ground. A `SceneMember` is a member of the model as the tree of a viewer lists it. A
`ScenePiece` is one mesh of a member, fixed on a body or spanned between points of two (springs, rods). All that changes
over time is the pose of bodies, so a viewer needs seven numbers per body and instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kompono.errors import FileError, RunError
from kompono.scene.checked import check_scene
from kompono.scene.meshes import Mesh, mesh_of

VERSION = 1


@dataclass(frozen=True)
class SceneBody:
    """A body or ground: its path, and its `pose` (x, y, z, e0, e1, e2, e3) in the world at the start, if known.

    A moving ground has `motion`, rows (time, pose): channels tell only of bodies. Points of contacts are carriers, too
    (`contacts.py`), with the length [m] of the largest force as `reach`. `mass` [kg] is 0 where it is not known.
    """

    path: str
    kind: str
    pose: tuple[float, ...] | None = None
    motion: tuple[tuple[float, ...], ...] | None = None
    reach: float = 0.0
    mass: float = 0.0


@dataclass(frozen=True)
class SceneMember:
    """A member that can be seen: its path, its kind (body, ground, joint, constraint, force, coupling), its class.

    What acts between two frames acts at `position` (3) [m] on the carrier number `carrier`, the second one's.
    """

    path: str
    kind: str
    type: str
    carrier: int | None = None
    position: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ScenePiece:
    """A mesh (`kind` and `sizes` of `mesh_of`) of part number `part`.

    It is fixed on `carrier` at `position` (3) [m] and `orientation` (quaternion). With a `target` it goes from
    `position` on its carrier to the point `end` on the carrier number `target`, its z along that line: `hold` "both"
    stretches a mesh of length 1, "all" also across that line, "first" and "second" keep its length at that end.
    """

    part: int
    kind: str
    sizes: Mapping[str, Any]
    carrier: int
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    colour: str = "#888888"
    opacity: float = 1.0
    target: int | None = None
    end: tuple[float, ...] = (0.0, 0.0, 0.0)
    hold: str = ""


@dataclass(frozen=True)
class Scene:
    """Everything a viewer draws of one model; `up` (3) points against gravity, `size` [m] is that of its largest body.

    `redundant` are paths of elements with conditions that others imply, `violated` maps paths of elements whose
    conditions are not kept to the largest violation [m or rad].
    """

    model: str
    carriers: tuple[SceneBody, ...]
    parts: tuple[SceneMember, ...]
    pieces: tuple[ScenePiece, ...]
    up: tuple[float, ...] = (0.0, 0.0, 1.0)
    size: float = 1.0
    redundant: tuple[str, ...] = ()
    violated: Mapping[str, float] = field(default_factory=dict)

    def meshes(self) -> tuple[list[Mesh], list[int]]:
        """The different meshes, and for each piece the number of its own."""
        numbers: dict[str, int] = {}
        found: list[Mesh] = []
        which = []
        for piece in self.pieces:
            key = repr((piece.kind, dict(piece.sizes)))
            if key not in numbers:
                numbers[key] = len(found)
                found.append(mesh_of(piece.kind, piece.sizes))
            which.append(numbers[key])
        return found, which

    def to_data(self) -> dict[str, Any]:
        """Plain data (JSON): lists, dictionaries, numbers, text; what equals its default is left out of pieces."""
        data = asdict(self)
        plain = {"orientation": (1.0, 0.0, 0.0, 0.0), "position": (0.0,) * 3, "end": (0.0,) * 3}
        plain |= {"opacity": 1.0, "target": None, "hold": ""}
        kept = [{k: v for k, v in p.items() if k not in plain or v != plain[k]} for p in data.pop("pieces")]
        for carrier in data["carriers"]:
            for name in ("reach", "mass"):
                if not carrier[name]:
                    del carrier[name]
        for part in data["parts"]:
            if part["carrier"] is None:
                del part["carrier"], part["position"]
        return {"version": VERSION, **data, "pieces": kept}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Scene:
        """The inverse of `to_data`; a FileError for what cannot be drawn."""
        if data.get("version") != VERSION:
            raise RunError(
                f"the scene is of version {data.get('version')}, this program reads {VERSION}.",
                fix="Run the model again.",
            )
        try:
            fields = {key: _frozen(value) for key, value in data.items() if key != "version"}
            for key, kind in (("carriers", SceneBody), ("parts", SceneMember), ("pieces", ScenePiece)):
                fields[key] = tuple(kind(**entry) for entry in fields[key])
            scene = Scene(**fields)
        except (TypeError, KeyError, AttributeError, RecursionError) as cause:
            raise FileError(f"what is stored is no scene: {cause}.", fix="Run the model again.") from cause
        check_scene(scene)
        return scene

    def colours(self) -> np.ndarray:
        """Colour (pieces, 3) of each piece, 0 to 255."""
        return np.array([[int(p.colour[k : k + 2], 16) for k in (1, 3, 5)] for p in self.pieces]).reshape(-1, 3)


def _frozen(value: Any) -> Any:
    """Plain data with tuples for lists, as a scene has it."""
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    return {key: _frozen(entry) for key, entry in value.items()} if isinstance(value, Mapping) else value
