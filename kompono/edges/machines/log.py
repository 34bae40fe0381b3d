"""A run as an MCAP log (`kompono[mcap]`), which Foxglove and Rerun read: where bodies are, what they look like, values.

Topics: `/tf` (foxglove.FrameTransforms), `/scene` (foxglove.SceneUpdate, once, triangles in the frames of bodies),
`/values` (all other channels by name). Messages are JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kompono.edges.machines.gltf import frames_of, scene_of
from kompono.result.extras import extra
from kompono.result.result import Result
from kompono.scene import Scene, poses
from kompono.scene.motion import POSE

RATE = 100.0  # messages in a second, unless told
WORLD = "world"


def write_mcap(result: Result, out: str | Path, *, rate: float = RATE) -> int:
    """Write a result as .mcap with `rate` messages on each topic in a second of the run; gives their number."""
    package = extra("mcap.writer", "mcap")
    scene = scene_of(result)
    rows = frames_of(result, rate)
    table, times = poses(scene, result, rows), (result.time[rows] * 1e9).round().astype(np.int64)
    moved = tuple(f".{name}" for name in POSE)
    names = [name for name in result.names if not name.endswith(moved)]
    values = {name: result[name][rows] for name in names}
    with Path(out).open("wb") as file:
        writer = package.Writer(file)
        writer.start(profile="", library="kompono")
        topics = {topic: _topic(writer, topic, schema) for topic, schema in SCHEMAS.items()}
        for k, stamp in enumerate(times.tolist()):
            if k == 0:
                _send(writer, topics["/scene"], stamp, _looks(scene, stamp))
            _send(writer, topics["/tf"], stamp, {"transforms": _transforms(scene, table[k], stamp)})
            _send(writer, topics["/values"], stamp, {name: _number(values[name][k]) for name in names})
        writer.finish()
    return len(times)


def _topic(writer: Any, topic: str, schema: tuple[str, dict[str, Any]]) -> int:
    title, properties = schema
    text = json.dumps({"type": "object", "title": title, "properties": properties}).encode()
    number = writer.register_schema(name=title, encoding="jsonschema", data=text)
    return writer.register_channel(topic=topic, message_encoding="json", schema_id=number)


def _send(writer: Any, channel: int, stamp: int, message: dict[str, Any]) -> None:
    data = json.dumps(message, allow_nan=False).encode()
    writer.add_message(channel_id=channel, log_time=stamp, publish_time=stamp, data=data)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _time(stamp: int) -> dict[str, int]:
    return {"sec": stamp // 10**9, "nsec": stamp % 10**9}


def _pose(pose: Any) -> tuple[dict[str, float], dict[str, float]]:
    x, y, z, e0, e1, e2, e3 = (float(value) for value in pose)
    return {"x": x, "y": y, "z": z}, {"x": e1, "y": e2, "z": e3, "w": e0}


def _transforms(scene: Scene, table: np.ndarray, stamp: int) -> list[dict[str, Any]]:
    found = []
    for carrier, pose in zip(scene.carriers, table, strict=True):
        place, turn = _pose(pose)
        ends = {"parent_frame_id": WORLD, "child_frame_id": carrier.path or "ground"}
        found.append({"timestamp": _time(stamp), **ends, "translation": place, "rotation": turn})
    return found


def _looks(scene: Scene, stamp: int) -> dict[str, Any]:
    meshes, which = scene.meshes()
    entities = []
    for k, carrier in enumerate(scene.carriers):
        triangles = []
        for piece, number in zip(scene.pieces, which, strict=True):
            if piece.carrier != k or piece.target is not None or scene.parts[piece.part].kind not in ("body", "ground"):
                continue
            place, turn = _pose((*piece.position, *piece.orientation))
            red, green, blue = (int(piece.colour[j : j + 2], 16) / 255 for j in (1, 3, 5))
            mesh = meshes[number]
            triangles.append({
                "pose": {"position": place, "orientation": turn},
                "points": [dict(zip("xyz", map(float, point), strict=True)) for point in mesh.vertices],
                "color": {"r": red, "g": green, "b": blue, "a": float(piece.opacity)},
                "colors": [], "indices": [int(corner) for corner in mesh.faces.ravel()],
            })  # fmt: skip
        if triangles:
            entities.append({
                "timestamp": _time(stamp), "frame_id": carrier.path or "ground", "id": carrier.path or "ground",
                "lifetime": {"sec": 0, "nsec": 0}, "frame_locked": True, "metadata": [], "arrows": [], "cubes": [],
                "spheres": [], "cylinders": [], "lines": [], "triangles": triangles, "texts": [], "models": [],
            })  # fmt: skip
    return {"deletions": [], "entities": entities}


SCHEMAS: dict[str, tuple[str, dict[str, Any]]] = {
    "/tf": ("foxglove.FrameTransforms", {"transforms": {"type": "array"}}),
    "/scene": ("foxglove.SceneUpdate", {"deletions": {"type": "array"}, "entities": {"type": "array"}}),
    "/values": ("kompono.Values", {}),
}
