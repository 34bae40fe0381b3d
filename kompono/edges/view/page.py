"""One self-contained page with the machine in 3D: opened from a file, without a network, in any present browser.

The page holds its data (JSON and one gzipped block of numbers), its code and three.js. Nothing is loaded from
elsewhere, and its policy lets the browser run nothing but these two scripts, known by their hashes: names and messages
are shown as the text they are.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import numpy as np

from kompono.result import Result
from kompono.scene import Scene, extent, poses, start_poses
from kompono.scene.frames import FRAMES, curve_channels, frame_rows

CODE = ("data.js", "machine.js", "tree.js", "curves.js", "main.js")
CURVE_ROWS = 1500
POSES = 3_000_000  # of all bodies at all instants, about 80 MB: a machine of many bodies is shown at fewer instants


def page(
    scene: Scene, result: Result | None = None, *, channels: str | Iterable[str] | None = None, speed: float = 1.0
) -> str:
    """The page as text; without a result the machine stands still at its start. `channels` are globs of the curves."""
    data, numbers = _content(scene, result, channels, speed)
    read = {name: _asset(name) for name in ("page.html", "style.css")}
    three, code = scripts()
    fields = {
        "policy": policy(),
        "title": html.escape(scene.model),
        "style": read["style.css"],
        "scene": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "numbers": base64.b64encode(gzip.compress(numbers, 6, mtime=0)).decode(),
        "three": three,
        "code": code,
    }
    head, *rest = read["page.html"].split("{{")
    return head + "".join(fields[name] + text for name, text in (piece.split("}}", 1) for piece in rest))


def scripts() -> tuple[str, str]:
    """All that runs in the page: three.js, and its own code; in ASCII, so that no other encoding changes its hash."""
    own = "\n".join(_asset(name).replace('"use strict";', "") for name in CODE)
    return _ascii(_asset("three.min.js")), _ascii(own)


def _ascii(code: str) -> str:
    """JavaScript with other letters, which occur in strings and comments only, written as \\uXXXX."""
    return code if code.isascii() else "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in code)


def policy() -> str:
    """What a browser may do in the page, and in one that holds it: run its scripts, show its pictures, nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts()]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def fragment(scene: Scene, result: Result | None = None, *, height: int = 480, **options: Any) -> str:
    """The page inside an `iframe`, to be put into another page or a notebook."""
    inner = html.escape(page(scene, result, **options), quote=True)
    style = f"width:100%;height:{height}px;border:1px solid #d6dbe1;border-radius:6px"
    return f'<iframe class="kompono-scene" style="{style}" srcdoc="{inner}"></iframe>'


def _asset(name: str) -> str:
    return (files("kompono.edges.view") / "assets" / name).read_text(encoding="utf-8")


def _content(
    scene: Scene, result: Result | None, patterns: str | Iterable[str] | None, speed: float
) -> tuple[dict[str, Any], bytes]:
    """Data for the page and the bytes it points into."""
    meshes, which = scene.meshes()
    most = max(2, min(FRAMES, POSES // max(len(scene.carriers), 1)))
    rows = frame_rows(result, most) if result is not None and len(result.time) else np.zeros(0, dtype=int)
    table = poses(scene, result, rows) if result is not None and len(rows) else start_poses(scene)
    times = result.time[rows] if result is not None and len(rows) else np.zeros(1)
    offered, drawn = curve_channels(result, patterns) if result is not None and len(rows) else ([], [])
    instants = frame_rows(result, CURVE_ROWS) if result is not None and len(rows) else np.zeros(0, dtype=int)
    curves = [result[name][instants] for name in offered] if result is not None else []
    arrays = {
        "vertices": ("f4", np.concatenate([mesh.vertices.ravel() for mesh in meshes] or [np.zeros(0)])),
        "faces": ("u4", np.concatenate([mesh.faces.ravel() for mesh in meshes] or [np.zeros(0)])),
        "times": ("f4", times),
        "poses": ("f4", np.nan_to_num(table.ravel())),
        "instants": ("f4", result.time[instants] if result is not None else np.zeros(0)),
        "curves": ("f4", np.concatenate(curves) if curves else np.zeros(0)),
    }
    index, blocks, offset = {}, [], 0
    for name, (kind, values) in arrays.items():
        block = np.asarray(values).astype(f"<{kind}").tobytes()
        index[name] = (kind, offset, len(block) // 4)
        blocks.append(block)
        offset += len(block)
    data = {**_described(scene, which, meshes), **_room(scene, table), "arrays": index, "speed": speed}
    data["channels"] = [{"name": name, "unit": result.units[name]} for name in offered] if result is not None else []
    data["chosen"] = [offered.index(name) for name in drawn]
    data["note"] = "" if result is None or result.status.ok else f"{result.ending}: {result.status.message}"
    return data, b"".join(blocks)


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
    parts = [{"path": part.path, "kind": part.kind, "type": part.type} for part in scene.parts]
    return {
        "model": scene.model,
        "up": scene.up,
        "carriers": [carrier.path for carrier in scene.carriers],
        "parts": parts,
        "pieces": pieces,
        "meshes": places,
        "redundant": [path for path in scene.redundant if any(part.path == path for part in scene.parts)],
        "violated": dict(scene.violated),
    }
