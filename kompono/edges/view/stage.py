"""The machine on a viser server: one node per carrier, meshes below it, spanned pieces moved on their own.

A frame of a motion costs two short messages per carrier that moved, sent together; meshes are sent once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kompono.scene import Extent, Scene, matrices
from kompono.spatial.numeric import quaternions

LIT, REDUNDANT, VIOLATED = (255, 194, 32), (142, 68, 173), (224, 35, 28)
VIEW_FROM = (0.62, -1.25, 0.52)  # along the axes of the floor, third up
FIELD_OF_VIEW = np.radians(35.0)


class ServedStage:
    """The scene on a server; `pose` moves it."""

    def __init__(self, server: Any, scene: Scene, room: Extent, *, shadows: bool = True) -> None:
        self.server, self.scene, self.room = server, scene, room
        self._shadows = shadows
        self._carriers: list[Any] = []
        self._meshes: list[Any] = []
        self._last = np.full((len(scene.carriers), 7), np.nan)
        self._spanned = [i for i, piece in enumerate(scene.pieces) if piece.target is not None]
        self._hidden: set[int] = set()
        self._lit: set[int] = set()
        with server.atomic():
            self._surroundings()
            self._build()
        self._colours = [mesh.color for mesh in self._meshes]

    def _surroundings(self) -> None:
        server, room = self.server, self.room
        server.scene.set_up_direction(tuple(self.scene.up))
        server.scene.configure_environment_map(None)
        server.scene.configure_default_lights(True, cast_shadow=self._shadows)
        server.scene.add_light_hemisphere("/sky", ground_color=(175, 180, 186), intensity=1.7, position=self.scene.up)
        axes = self.floor_axes()
        middle = (room.low + room.high) / 2
        up = axes[:, 2]
        server.scene.add_grid(
            "/floor",
            infinite_grid=True,
            cell_size=room.cell,
            section_size=5 * room.cell,
            cell_color=(205, 212, 219),
            section_color=(170, 180, 190),
            cell_thickness=0.8,
            section_thickness=1.0,
            fade_distance=8 * float(np.linalg.norm(room.high - room.low)),
            shadow_opacity=0.25,
            wxyz=quaternions(axes),
            position=middle + (room.floor - middle @ up) * up,
        )
        look = self.camera()
        start = server.initial_camera
        start.position, start.look_at, start.up = look["position"], look["look_at"], up
        start.fov, start.near, start.far = FIELD_OF_VIEW, look["near"], look["far"]

    def floor_axes(self) -> np.ndarray:
        """A right-handed frame (3, 3), by columns, with its third axis up."""
        up = np.asarray(self.scene.up, dtype=float)
        aside = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0, 1.0, 0])
        y = np.cross(up, aside)
        y /= np.linalg.norm(y)
        return np.column_stack([np.cross(y, up), y, up])

    def camera(self, aspect: float = 1.3) -> dict[str, Any]:
        """Where a camera sees all of the motion."""
        away = self.floor_axes() @ np.asarray(VIEW_FROM)
        away /= np.linalg.norm(away)
        middle = (self.room.low + self.room.high) / 2
        right = np.cross(np.asarray(self.scene.up), away)
        right /= np.linalg.norm(right)
        top = np.cross(away, right)
        corners = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)])
        points = np.where(corners, self.room.high, self.room.low) - middle
        tall = np.tan(FIELD_OF_VIEW / 2)
        wide = tall * min(aspect, 1.3)
        need = points @ away + np.maximum(np.abs(points @ right) / wide, np.abs(points @ top) / tall)
        distance = max(1.15 * float(need.max()), 1e-3)
        return {
            "position": middle + distance * away, "look_at": middle, "near": distance / 200, "far": 60 * distance
        }  # fmt: skip

    def _build(self) -> None:
        meshes, which = self.scene.meshes()
        marks = dict.fromkeys(self.scene.redundant, REDUNDANT) | dict.fromkeys(self.scene.violated, VIOLATED)
        for carrier in self.scene.carriers:
            name = f"/{carrier.path.replace('.', '/')}"
            self._carriers.append(self.server.scene.add_frame(name, show_axes=False))
        colours = self.scene.colours()
        for i, piece in enumerate(self.scene.pieces):
            part, mesh = self.scene.parts[piece.part], meshes[which[i]]
            free = piece.target is not None
            above = "/spans" if free else self._carriers[piece.carrier].name
            self._meshes.append(
                self.server.scene.add_mesh_simple(
                    f"{above}/{part.path.rpartition('.')[2]}_{i}",
                    mesh.vertices,
                    mesh.faces,
                    color=marks.get(part.path, tuple(colours[i].tolist())),
                    side="double",
                    opacity=None if piece.opacity >= 1 else piece.opacity,
                    position=(0.0, 0.0, 0.0) if free else piece.position,
                    wxyz=(1.0, 0.0, 0.0, 0.0) if free else piece.orientation,
                )
            )

    def pose(self, table: np.ndarray) -> None:
        """Show poses (carriers, 7); only what moved is sent, all at once."""
        moved = np.flatnonzero(np.any(np.abs(table - self._last) > 1e-9, axis=1) | np.isnan(self._last[:, 0]))
        if not len(moved):
            return
        self._last = table.copy()
        with self.server.atomic():
            for k in moved:
                self._carriers[k].position = table[k, :3]
                self._carriers[k].wxyz = table[k, 3:]
            self._span(table)
        self.server.flush()

    def _span(self, table: np.ndarray) -> None:
        if not self._spanned:
            return
        world = matrices(self.scene, table[None])[0, self._spanned]
        scales = np.linalg.norm(world[:, :3, :3], axis=1)
        turns = quaternions(world[:, :3, :3] / scales[:, None, :])
        for row, i in enumerate(self._spanned):
            mesh = self._meshes[i]
            mesh.position, mesh.wxyz = world[row, :3, 3], turns[row]
            mesh.scale = tuple(scales[row].tolist())

    def show(self, parts: Iterable[int], visible: bool) -> None:
        """Show or hide parts by number."""
        chosen = set(parts)
        self._hidden = self._hidden - chosen if visible else self._hidden | chosen
        with self.server.atomic():
            for piece, mesh in zip(self.scene.pieces, self._meshes, strict=True):
                if piece.part in chosen:
                    mesh.visible = visible

    def light(self, parts: Iterable[int]) -> None:
        """Colour these parts, and no others, as highlighted."""
        chosen = set(parts)
        with self.server.atomic():
            for piece, mesh, colour in zip(self.scene.pieces, self._meshes, self._colours, strict=True):
                if (piece.part in chosen) != (piece.part in self._lit):
                    mesh.color = LIT if piece.part in chosen else colour
        self._lit = chosen

    def glass(self, yes: bool) -> None:
        """Bodies as if of glass, so that joints inside are seen."""
        with self.server.atomic():
            for piece, mesh in zip(self.scene.pieces, self._meshes, strict=True):
                if self.scene.parts[piece.part].kind in ("body", "ground"):
                    mesh.opacity = 0.25 * piece.opacity if yes else None if piece.opacity >= 1 else piece.opacity

    def on_pick(self, call: Any) -> None:
        """Call with the number of a part whenever one of its meshes is clicked."""
        for piece, mesh in zip(self.scene.pieces, self._meshes, strict=True):
            mesh.on_click(lambda _, part=piece.part: call(part))


def between(times: np.ndarray, table: np.ndarray, time: float) -> np.ndarray:
    """Poses (carriers, 7) at `time` between recorded ones (n, carriers, 7), turning the shorter way."""
    i = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
    j = min(i + 1, len(times) - 1)
    share = 0.0 if times[j] == times[i] else float(np.clip((time - times[i]) / (times[j] - times[i]), 0, 1))
    pose = (1 - share) * table[i] + share * table[j]
    pose[:, 3:] /= np.maximum(np.linalg.norm(pose[:, 3:], axis=1, keepdims=True), 1e-12)
    return pose
