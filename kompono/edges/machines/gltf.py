"""A run as animated glTF (.glb): a node for each body and ground with its shapes, moving as recorded.

Other programs turn y up: the root node turns the machine so. Positions are in metres, times in seconds; between frames
positions are interpolated linearly, orientations along the shortest way.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.result.result import Result
from kompono.scene import Scene, poses
from kompono.scene.scene import ScenePiece

FLOAT, UNSIGNED = 5126, 5125
RATE = 60.0  # frames in a second, unless told


def write_gltf(result: Result, out: str | Path, *, rate: float = RATE, signs: bool = False) -> int:
    """Write a result as .glb, with `rate` frames in a second of the run; `signs` of joints and forces too. Gives the
    number of frames.
    """
    scene = scene_of(result)
    rows = frames_of(result, rate)
    table = poses(scene, result, rows)
    writer = _Writer()
    kinds = {number: part.kind for number, part in enumerate(scene.parts)}
    shown = [p for p in scene.pieces if p.target is None and (signs or kinds[p.part] in ("body", "ground"))]
    nodes = writer.nodes(scene, shown, table[0] if len(table) else None)
    writer.animate(result.time[rows], table, nodes)
    Path(out).write_bytes(writer.packed(scene))
    return len(table)


def scene_of(result: Result) -> Scene:
    """What a result looks like."""
    if result.scene is None:
        raise RunError("the result does not know what its machine looks like.", fix="Run it again with this version.")
    return Scene.from_data(result.scene)


def frames_of(result: Result, rate: float) -> np.ndarray:
    """Rows nearest to so many frames in a second."""
    if not len(result.time):
        raise RunError("the result has no rows.")
    count = max(2, int(np.ceil((result.time[-1] - result.time[0]) * rate)) + 1) if len(result.time) > 1 else 1
    wanted = np.linspace(result.time[0], result.time[-1], min(count, len(result.time)))
    return np.unique(np.searchsorted(result.time, wanted).clip(0, len(result.time) - 1))


class _Writer:
    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self.all: list[dict[str, Any]] = []
        self.animations: list[dict[str, Any]] = []

    def accessor(self, values: np.ndarray, kind: str, component: int, *, bounds: bool = False) -> int:
        """Numbers in the binary part; gives their number."""
        raw = np.ascontiguousarray(values, dtype="<f4" if component == FLOAT else "<u4")
        self.data += b"\0" * (-len(self.data) % 4)
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": raw.nbytes})
        self.data += raw.tobytes()
        found: dict[str, Any] = {
            "bufferView": len(self.views) - 1, "componentType": component, "count": len(raw), "type": kind,
        }  # fmt: skip
        if bounds:
            columns = raw.reshape(len(raw), -1)
            found |= {"min": columns.min(axis=0).tolist(), "max": columns.max(axis=0).tolist()}
        self.accessors.append(found)
        return len(self.accessors) - 1

    def nodes(self, scene: Scene, pieces: list[ScenePiece], start: np.ndarray | None) -> list[int]:
        """A node for each carrier, its shapes below it; gives their numbers."""
        own = Scene(scene.model, scene.carriers, scene.parts, tuple(pieces), scene.up, scene.size)
        found, which = own.meshes()
        shapes = [
            (self.accessor(m.vertices, "VEC3", FLOAT, bounds=True), self.accessor(m.faces.ravel(), "SCALAR", UNSIGNED))
            for m in found
        ]
        looks: dict[tuple[str, float], int] = {}
        carriers: list[int] = []
        for k, carrier in enumerate(scene.carriers):
            children = []
            for piece, number in zip(pieces, which, strict=True):
                if piece.carrier != k:
                    continue
                look = looks.setdefault((piece.colour, piece.opacity), len(looks))
                points, corners = shapes[number]
                primitive = {"attributes": {"POSITION": points}, "indices": corners, "material": look}
                self.meshes.append({"primitives": [primitive]})
                node = {"mesh": len(self.meshes) - 1, **_posed((*piece.position, *piece.orientation))}
                self.all.append(node)
                children.append(len(self.all) - 1)
            pose = start[k] if start is not None else (0, 0, 0, 1, 0, 0, 0)
            node = {"name": carrier.path or "world", **_posed(pose)} | ({"children": children} if children else {})
            self.all.append(node)
            carriers.append(len(self.all) - 1)
        self.materials = [_material(colour, opacity) for colour, opacity in looks]
        self.all.append({"name": scene.model, "children": carriers, "rotation": _upright(scene.up)})
        return carriers

    def animate(self, times: np.ndarray, table: np.ndarray, nodes: list[int]) -> None:
        """Positions and orientations (n, carriers, 7) of nodes that move."""
        channels, samplers = [], []
        clock = self.accessor(times - times[0], "SCALAR", FLOAT, bounds=True)
        for k, node in enumerate(nodes):
            for path, columns in (("translation", slice(0, 3)), ("rotation", slice(3, 7))):
                values = table[:, k, columns]
                if not np.ptp(values, axis=0).any():
                    continue
                if path == "rotation":
                    values = np.roll(values, -1, axis=1)  # theirs end with the scalar
                kind = "VEC3" if path == "translation" else "VEC4"
                samplers.append({"input": clock, "output": self.accessor(values, kind, FLOAT)})
                channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})
        if channels:
            self.animations.append({"name": "run", "channels": channels, "samplers": samplers})

    def packed(self, scene: Scene) -> bytes:
        """The whole file."""
        parts = {
            "asset": {"version": "2.0", "generator": "kompono"}, "scene": 0,
            "scenes": [{"name": scene.model, "nodes": [len(self.all) - 1]}], "nodes": self.all, "meshes": self.meshes,
            "materials": self.materials, "accessors": self.accessors, "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.data)}], "animations": self.animations,
        }  # fmt: skip
        head = json.dumps({key: value for key, value in parts.items() if value != []}).encode()
        head += b" " * (-len(head) % 4)
        body = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        size = 12 + 8 + len(head) + 8 + len(body)
        return b"".join([
            b"glTF", np.array([2, size], dtype="<u4").tobytes(),
            np.uint32(len(head)).tobytes(), b"JSON", head,
            np.uint32(len(body)).tobytes(), b"BIN\0", body,
        ])  # fmt: skip


def _posed(pose: Any) -> dict[str, Any]:
    x, y, z, e0, e1, e2, e3 = (float(value) for value in pose)
    return {"translation": [x, y, z], "rotation": [e1, e2, e3, e0]}


def _material(colour: str, opacity: float) -> dict[str, Any]:
    srgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    look = {"baseColorFactor": [*linear.tolist(), float(opacity)], "metallicFactor": 0.1, "roughnessFactor": 0.7}
    return {"pbrMetallicRoughness": look, "doubleSided": True} | ({"alphaMode": "BLEND"} if opacity < 1 else {})


def _upright(up: Any) -> list[float]:
    """The shortest turn of `up` to y, scalar last."""
    a = np.asarray(up, dtype=float) / np.linalg.norm(up)
    axis, c = np.cross(a, (0.0, 1.0, 0.0)), float(a[1])
    if c < -1 + 1e-12:
        return [1.0, 0.0, 0.0, 0.0]
    turned = np.array([*axis, 1.0 + c])
    return (turned / np.linalg.norm(turned)).tolist()
