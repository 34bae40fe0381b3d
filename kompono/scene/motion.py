"""Where everything is over time: poses of carriers out of a result, and of pieces out of those, as arrays.

Poses are rows (x, y, z, e0, e1, e2, e3), positions in m in the world, quaternions scalar first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.result.result import Result
from kompono.scene.contacts import KINDS, contact_places
from kompono.scene.scene import Scene
from kompono.spatial.numeric import rotations

POSE = (*(f"position.{axis}" for axis in "xyz"), *(f"orientation.e{k}" for k in range(4)))
POSE_CHANNELS = ("*.position.*", "*.orientation.*")


def poses(scene: Scene, result: Result, rows: Any = slice(None)) -> np.ndarray:
    """Poses (n, carriers, 7) at the chosen rows of a result; quaternions do not jump from row to row."""
    times = result.time[rows]
    table = np.empty((len(times), len(scene.carriers), 7))
    missing = []
    for k, carrier in enumerate(scene.carriers):
        if carrier.motion is not None:
            recorded = np.asarray(carrier.motion)
            for j in range(7):
                table[:, k, j] = np.interp(times, recorded[:, 0], recorded[:, 1 + j])
        elif carrier.kind == "ground":
            table[:, k] = carrier.pose
        elif carrier.kind in KINDS:
            table[:, k] = (0, 0, 0, 1, 0, 0, 0)
        elif f"{carrier.path}.{POSE[0]}" in result and f"{carrier.path}.{POSE[-1]}" in result:
            for j, name in enumerate(POSE):
                table[:, k, j] = result[f"{carrier.path}.{name}"][rows]
        else:
            missing.append(carrier.path)
    if missing:
        more = f" and {len(missing) - 1} more bodies" if len(missing) > 1 else ""
        raise RunError(
            f"the result does not say where {missing[0]}{more} {'is' if not more else 'are'}.",
            fix="Record the channels '*.position.*' and '*.orientation.*' too.",
        )
    for k, places in contact_places(scene, result, rows):
        table[:, k, :3] = places
    e = table[:, :, 3:]
    e /= np.maximum(np.linalg.norm(e, axis=-1, keepdims=True), 1e-12)
    flips = np.where(np.einsum("nci,nci->nc", e[1:], e[:-1]) < 0, -1.0, 1.0)
    e[1:] *= np.cumprod(flips, axis=0)[:, :, None]
    return table


def start_poses(scene: Scene) -> np.ndarray:
    """Poses (1, carriers, 7) of a scene that knows where its carriers are at the start."""
    return np.array([[carrier.pose or (0, 0, 0, 1, 0, 0, 0) for carrier in scene.carriers]], dtype=float)


def matrices(scene: Scene, table: np.ndarray) -> np.ndarray:
    """Transformations (n, pieces, 4, 4) from each piece's mesh to the world, for poses (n, carriers, 7)."""
    turns, places = rotations(table[..., 3:]), table[..., :3]
    result = np.zeros((len(table), len(scene.pieces), 4, 4))
    result[..., 3, 3] = 1
    for which in (False, True):
        chosen = [i for i, piece in enumerate(scene.pieces) if (piece.target is not None) == which]
        if chosen:
            turned, placed = (_spanned if which else _fixed)([scene.pieces[i] for i in chosen], turns, places)
            result[..., :3, :3][:, chosen], result[..., :3, 3][:, chosen] = turned, placed
    return result


def _fixed(pieces: list[Any], turns: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    on = [piece.carrier for piece in pieces]
    at = np.array([piece.position for piece in pieces], dtype=float)
    own = rotations(np.array([piece.orientation for piece in pieces], dtype=float))
    return turns[:, on] @ own, places[:, on] + np.einsum("npij,pj->npi", turns[:, on], at)


def _spanned(pieces: list[Any], turns: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    on, to = [piece.carrier for piece in pieces], [piece.target for piece in pieces]
    first = np.array([piece.position for piece in pieces], dtype=float)
    second = np.array([piece.end for piece in pieces], dtype=float)
    a = places[:, on] + np.einsum("npij,pj->npi", turns[:, on], first)
    b = places[:, to] + np.einsum("npij,pj->npi", turns[:, to], second)
    back = np.array([piece.hold == "second" for piece in pieces])[:, None]
    start, line = np.where(back, b, a), np.where(back, a - b, b - a)
    length = np.linalg.norm(line, axis=-1)
    z = np.where(length[..., None] > 1e-12, line / np.maximum(length, 1e-12)[..., None], [0.0, 0.0, 1.0])
    aside = np.where(np.abs(z[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    x = np.cross(aside, z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    grown = np.maximum(length, 1e-9)
    along = np.where([piece.hold in ("both", "all") for piece in pieces], grown, 1.0)[..., None]
    across = np.where([piece.hold == "all" for piece in pieces], grown, 1.0)[..., None]
    return np.stack([x * across, np.cross(z, x) * across, z * along], axis=-1), start
