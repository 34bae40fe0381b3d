"""Contacts in a scene: where they are closed, a ball at the point and an arrow along the force on the second body.

The pieces of a contact are spanned between carriers of their own, whose places follow from its channels: its `point`,
the `tip` of its force, and a `mark` that is a little off the point while it is closed. While it is open all three are
at one place, and what is spanned between them has no size. The largest force of a run gets the longest arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.model.law import PairLaw
from kompono.model.subsystem import Subsystem, relative_path
from kompono.scene.meshes import mesh_of
from kompono.scene.scene import Scene, SceneBody, SceneMember, ScenePiece

POINT, TIP, MARK = KINDS = ("point", "tip", "mark")
PUSH, SPOT = "#d6336c", "#8c1d45"
LONGEST = 2.5  # the longest arrow, in reaches of the bodies that touch: it sticks out of them
AXES = ("x", "y", "z")


def with_contacts(scene: Scene, model: Subsystem, result: Any) -> Scene:
    """The scene with the contacts whose points and forces the result has."""
    carriers, parts, pieces = list(scene.carriers), list(scene.parts), list(scene.pieces)
    laws = [element for element in model.walk() if isinstance(element, PairLaw)]
    longest = _longest(scene, model, laws) if laws else 0.0
    for law in laws:
        path = relative_path(law, model)
        units = [unit for unit in _units(law, path) if f"{unit}.point.x" in result and f"{unit}.force.x" in result]
        if units:
            parts.append(SceneMember(path, "force", type(law).__name__))
        for unit in units:
            first, part = len(carriers), len(parts) - 1
            carriers += [SceneBody(f"{unit}.{kind}", kind, reach=longest) for kind in KINDS]
            arrow, ball = {"length": 1.0, "radius": 0.02}, {"size": (1.0, 1.0, 1.0)}
            pieces.append(ScenePiece(part, "arrow", arrow, first, colour=PUSH, target=first + 1, hold="all"))
            pieces.append(ScenePiece(part, "ellipsoid", ball, first, colour=SPOT, target=first + 2, hold="all"))
    return replace(scene, carriers=tuple(carriers), parts=tuple(parts), pieces=tuple(pieces))


def _units(law: PairLaw, path: str) -> Iterator[str]:
    """What the channels of each unit begin with."""
    for unit in law._shapes():
        yield f"{path}.{unit.name}" if unit.name else path


def _longest(scene: Scene, model: Subsystem, laws: list[PairLaw]) -> float:
    """Length [m] of the longest arrow."""
    number = {carrier.path: k for k, carrier in enumerate(scene.carriers)}
    reach = np.zeros(len(scene.carriers))
    for piece in scene.pieces:
        if piece.target is None and scene.parts[piece.part].kind == "body":
            corners = mesh_of(piece.kind, piece.sizes).vertices
            far = float(np.linalg.norm(corners, axis=1).max(initial=0.0) + np.linalg.norm(piece.position))
            reach[piece.carrier] = max(reach[piece.carrier], far)
    touched = {number[relative_path(frame.body, model)] for law in laws for frame in (law.first, law.second)}
    known = [reach[k] for k in touched if reach[k] > 0]
    return min(LONGEST * float(np.median(known)) if known else scene.size, 3 * scene.size)


def contact_places(scene: Scene, result: Any, rows: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Numbers of the carriers of contacts, and where they are (n, 3) [m] at the chosen rows of a result."""
    found = [(k, carrier) for k, carrier in enumerate(scene.carriers) if carrier.kind in KINDS]
    units = list(dict.fromkeys(carrier.path.rpartition(".")[0] for _, carrier in found))
    forces = {unit: _columns(result, f"{unit}.force", slice(None)) for unit in units}
    sizes = [float(np.nanmax(np.linalg.norm(f, axis=1), initial=0.0)) for f in forces.values() if f is not None]
    largest = max(sizes, default=0.0) or 1.0
    for k, carrier in found:
        unit = carrier.path.rpartition(".")[0]
        force, point = forces[unit], _columns(result, f"{unit}.point", rows)
        if force is None or point is None:
            yield k, np.zeros((len(result.time[rows]), 3))
            continue
        push = force[rows] / largest
        if carrier.kind == TIP:
            point = point + carrier.reach * push
        elif carrier.kind == MARK:
            closed = result[f"{unit}.mode"][rows] > 0 if f"{unit}.mode" in result else np.any(push != 0, axis=1)
            point = point + np.outer(0.06 * carrier.reach * closed, [0.0, 0.0, 1.0])
        yield k, point


def _columns(result: Any, stem: str, rows: Any) -> np.ndarray | None:
    names = [f"{stem}.{axis}" for axis in AXES]
    return np.column_stack([result[n] for n in names])[rows] if all(n in result for n in names) else None
