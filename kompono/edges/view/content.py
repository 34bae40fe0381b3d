"""What a page holds: the scene, all channels of a run over time, and, if the machine lives there, its code.

Everything is JSON and one block of bytes that JSON points into. Poses are channels, too, and stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kompono.edges.view.columns import Columns
from kompono.edges.view.living import Living
from kompono.result import Result, matching
from kompono.scene import Scene, extent, poses, start_poses
from kompono.scene.contacts import KINDS
from kompono.scene.frames import frame_rows
from kompono.scene.motion import POSE

ROWS = 1500  # instants of a run in a page
NUMBERS = 20_000_000  # of all channels at all instants, about 80 MB: of many channels fewer instants are kept
CHANNELS = 8000  # that can be found by name; of larger machines those that tell most
DRAWN = 3  # curves of a unit that are drawn by themselves
_KINDS = {"f4": 4, "u4": 4, "f8": 8, "u1": 1}


def content(
    scene: Scene, result: Result | None, living: Living | None, patterns: str | Iterable[str] | None, speed: float
) -> tuple[dict[str, Any], bytes]:
    """Data for the page and the bytes it points into."""
    stored = result if result is not None and len(result.time) else None
    offered = _offered(stored, patterns)
    rows = _rows(scene, stored, len(offered))
    table = poses(scene, stored, rows) if stored is not None else start_poses(scene)
    names, units = _channels(stored, offered, living)
    columns, recorded = Columns(), stored.table[rows] if stored is not None else np.zeros((0, 0))
    known = {name: k for k, name in enumerate(stored.names)} if stored is not None else {}
    refs = [columns.add(recorded[:, known[name]]) if name in known and name in offered else None for name in names]
    number = {name: k for k, name in enumerate(names)}
    carriers = [
        {name: getattr(c, name) for name in ("path", "kind", "mass", "reach")}
        | _pose(k, c, table, columns, number, living)
        for k, c in enumerate(scene.carriers)
    ]
    meshes, which = scene.meshes()
    arrays = {
        "vertices": ("f4", np.concatenate([mesh.vertices.ravel() for mesh in meshes] or [np.zeros(0)])),
        "faces": ("u4", np.concatenate([mesh.faces.ravel() for mesh in meshes] or [np.zeros(0)])),
        "times": ("f8", stored.time[rows] if stored is not None else np.zeros(1)),
        "columns": ("u1", columns.packed()),
        **(living.arrays if living is not None else {}),
    }
    index, blocks = _blocks(arrays)
    data = {**_described(scene, which, meshes), **_room(scene, table), "carriers": carriers, "arrays": index}
    data |= {"constants": columns.constants, "refs": refs, "speed": speed, "stored": stored is not None}
    data["channels"] = [{"name": name, "unit": units[name]} for name in names]
    joints = {part.path for part in scene.parts if part.kind == "joint"}
    data["chosen"] = [number[name] for name in _drawn(stored, offered, patterns, joints, names) if name in number]
    data["note"] = "" if result is None or result.status.ok else f"{result.ending}: {result.status.message}"
    data["living"] = None if living is None else living.described(number)
    return data, blocks


def _rows(scene: Scene, result: Result | None, channels: int) -> np.ndarray:
    """Rows of a result that are shown."""
    if result is None:
        return np.zeros(0, dtype=int)
    count = max(channels, 7 * len(scene.carriers), 1)
    return frame_rows(result, max(2, min(ROWS, NUMBERS // count)))


def _offered(result: Result | None, patterns: str | Iterable[str] | None) -> dict[str, None]:
    """Names of channels a reader can find: all, of very many those with the shortest names."""
    if result is None:
        return {}
    found = result.names if patterns is None else [result.names[i] for i in matching(patterns, result.names)]
    if len(found) > CHANNELS:
        found = sorted(found, key=lambda name: name.count("."))[:CHANNELS]
    return dict.fromkeys(found)


def _channels(
    result: Result | None, offered: Mapping[str, None], living: Living | None
) -> tuple[list[str], dict[str, str]]:
    names = dict.fromkeys((*offered, *(living.channels if living is not None else ())))
    units = dict(living.channels) if living is not None else {}
    return list(names), units | ({name: result.units[name] for name in offered} if result is not None else {})


def _pose(
    k: int, carrier: Any, table: np.ndarray, columns: Columns, number: Mapping[str, int], living: Living | None
) -> dict[str, Any]:
    """Where a page finds the pose of a carrier: in columns of a run, and in channels of a living machine."""
    found: dict[str, Any] = {"columns": [columns.add(table[:, k, j]) for j in range(7)]}
    if living is None:
        return found
    if carrier.kind == "body":
        found["channels"] = [number[f"{carrier.path}.{name}"] for name in POSE]
    elif carrier.kind in KINDS:
        unit = carrier.path.rpartition(".")[0]
        found["unit"] = [number.get(f"{unit}.{what}.{axis}") for what in ("point", "force") for axis in "xyz"]
    elif carrier.path in living.grounds:
        found["ground"] = living.grounds.index(carrier.path)
    return found


def _drawn(
    result: Result | None, offered: Mapping[str, None], patterns: Any, joints: set[str], names: list[str]
) -> list[str]:
    """Channels that are drawn by themselves: those asked for, else the coordinates of each unit that move most."""
    if patterns is not None:
        return (list(offered) or [names[i] for i in matching(patterns, names)])[:12]
    known = set(names)
    coordinates = [name for name in names if f"{name}.rate" in known and name.rpartition(".")[0] in joints]
    coordinates = coordinates or [name for name in names if ".position." in name]
    if result is None:
        return coordinates[:DRAWN]
    span = {name: float(np.ptp(result[name])) for name in coordinates if name in offered}
    chosen: list[str] = []
    for unit in dict.fromkeys(result.units[name] for name in span):
        alike = [name for name in span if result.units[name] == unit and span[name] > 1e-9]
        chosen += _different(result, sorted(alike, key=lambda name: -span[name]))
    return chosen[:6] or [name for name in offered if np.ptp(result[name]) > 1e-9][:DRAWN]


def _different(result: Result, names: list[str]) -> list[str]:
    """The first few that do not look the same, up to a shift and the sign."""
    found: dict[str, np.ndarray] = {}
    for name in names[:200]:
        curve = result[name] - result[name][0]
        close = 0.02 * np.ptp(curve)
        if all(min(np.abs(curve - one).max(), np.abs(curve + one).max()) > close for one in found.values()):
            found[name] = curve
        if len(found) == DRAWN:
            break
    return list(found)


def _blocks(arrays: Mapping[str, tuple[str, np.ndarray]]) -> tuple[dict[str, tuple[str, int, int]], bytes]:
    """One block of bytes, and where in it each array lies: kind, offset and count."""
    index, blocks, offset = {}, [], 0
    for name, (kind, values) in sorted(arrays.items(), key=lambda item: -_KINDS[item[1][0]]):
        block = np.asarray(values).astype(f"<{kind}").tobytes()
        index[name] = (kind, offset, len(block) // _KINDS[kind])
        blocks.append(block)
        offset += len(block)
    return index, b"".join(blocks)


def _room(scene: Scene, table: np.ndarray) -> dict[str, Any]:
    room = extent(scene, table)
    return {"low": room.low.tolist(), "high": room.high.tolist(), "floor": room.floor, "cell": room.cell}


def _described(scene: Scene, which: list[int], meshes: list[Any]) -> dict[str, Any]:
    """The scene without its shapes, which are meshes by number now."""
    places, vertex, face = [], 0, 0
    for mesh in meshes:
        places.append((vertex, len(mesh.vertices), face, len(mesh.faces)))
        vertex, face = vertex + len(mesh.vertices), face + len(mesh.faces)
    keys = ("part", "carrier", "position", "orientation", "colour", "opacity", "target", "end", "hold")
    pieces = [
        {"mesh": number, **{key: getattr(piece, key) for key in keys}}
        for piece, number in zip(scene.pieces, which, strict=True)
    ]
    parts = [
        {"path": part.path, "kind": part.kind, "type": part.type, "carrier": part.carrier, "position": part.position}
        for part in scene.parts
    ]
    return {
        "model": scene.model,
        "up": scene.up,
        "parts": parts,
        "pieces": pieces,
        "meshes": places,
        "redundant": [path for path in scene.redundant if any(part.path == path for part in scene.parts)],
        "violated": dict(scene.violated),
    }
