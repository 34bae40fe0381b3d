"""A scene lit and photographed: all meshes as one table of triangles, moved, shaded, drawn with shadow and outlines."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.edges.animate.camera import Camera
from kompono.edges.animate.raster import fragments, nearest

SAMPLES = 2  # pixels are averaged over so many by so many
AMBIENT, KEY, HEAD = 0.42, 0.42, 0.22  # light from everywhere, from a lamp, from the camera
OUTLINE, SHADOW = 0.55, 0.86  # what is left of the colour there


class CameraStage:
    """The pieces of a scene with a camera in front; `frame(matrices)` is one picture of it.

    `ground` is the height [m] along `up` of the plane that carries grid and shadow.
    """

    def __init__(self, scene: Any, camera: Camera, size: tuple[int, int], ground: float) -> None:
        meshes, which = scene.meshes()
        self.camera, self.width, self.height = camera, *size
        self.up = np.asarray(scene.up, dtype=float) / np.linalg.norm(scene.up)
        self.ground = ground
        vertices = [np.asarray(meshes[k].vertices, dtype=float) for k in which]
        offsets = np.cumsum([0, *(len(v) for v in vertices)])
        faces = [np.asarray(meshes[k].faces, dtype=np.int64) + start for k, start in zip(which, offsets, strict=False)]
        self.vertices = np.concatenate(vertices) if vertices else np.zeros((0, 3))
        self.faces = np.concatenate(faces) if faces else np.zeros((0, 3), dtype=np.int64)
        self.owner = np.repeat(np.arange(len(which)), np.diff(offsets))
        self.normals = vertex_normals(self.vertices, self.faces)
        self.colours = scene.colours().astype(np.float32)
        opacity = np.array([piece.opacity for piece in scene.pieces], dtype=np.float32)
        self.clear = opacity[self.owner[self.faces[:, 0]]] < 1 if len(self.faces) else np.zeros(0, dtype=bool)
        self.opacity = opacity
        self.background = backdrop(camera, (SAMPLES * self.width, SAMPLES * self.height), self.up, ground)

    def frame(self, matrices: np.ndarray) -> np.ndarray:
        """The picture (height, width, 3) uint8 with the pieces placed by `matrices` (pieces, 4, 4)."""
        world = place(matrices, self.owner, self.vertices)
        image = self.background.copy().reshape(-1, 3)
        image[self._shadow(world)] *= SHADOW
        seen = self.camera.project(world)
        seen[:, :2] *= SAMPLES
        shade = self._light(matrices)
        depth, owner = np.zeros(len(image)), np.full(len(image), -1)
        front = facing(seen, self.faces)
        self._draw(front[~self.clear[front]], seen, shade, depth, image, owner)
        self._outline(image, owner)
        self._glaze(front[self.clear[front]], seen, shade, depth, image)
        fine = image.reshape(SAMPLES * self.height, SAMPLES * self.width, 3)
        total = sum(fine[i::SAMPLES, j::SAMPLES] for i in range(SAMPLES) for j in range(SAMPLES))
        return np.clip(total / SAMPLES**2 + 0.5, 0, 255).astype(np.uint8)

    def _draw(self, faces: Any, seen: Any, shade: Any, depth: Any, image: Any, owner: Any) -> None:
        chosen = self.faces[faces]
        found = fragments(seen[chosen], shade[chosen], SAMPLES * self.width, SAMPLES * self.height)
        top = nearest(found, depth)
        piece = self.owner[chosen[found.triangle[top], 0]]
        image[found.pixel[top]] = self.colours[piece] * found.shade[top, None]
        owner[found.pixel[top]] = piece

    def _glaze(self, faces: Any, seen: Any, shade: Any, depth: Any, image: Any) -> None:
        """The nearest of what can be seen through, over what is behind it."""
        if not len(faces):
            return
        chosen = self.faces[faces]
        found = fragments(seen[chosen], shade[chosen], SAMPLES * self.width, SAMPLES * self.height)
        top = nearest(found, depth)
        piece = self.owner[chosen[found.triangle[top], 0]]
        part = self.opacity[piece][:, None]
        pixel = found.pixel[top]
        image[pixel] = (1 - part) * image[pixel] + part * self.colours[piece] * found.shade[top, None]

    def _outline(self, image: np.ndarray, owner: np.ndarray) -> None:
        """Darken where one piece ends."""
        grid = owner.reshape(SAMPLES * self.height, -1)
        edge = np.zeros(grid.shape, dtype=bool)
        edge[:, :-1] |= grid[:, :-1] != grid[:, 1:]
        edge[:-1] |= grid[:-1] != grid[1:]
        image[edge.ravel()] *= OUTLINE

    def _shadow(self, world: np.ndarray) -> np.ndarray:
        """Which fine pixels (n,) lie in the shadow of a lamp straight above; found on coarse ones."""
        dark = np.zeros((self.height, self.width), dtype=bool)
        if self.camera.eye @ self.up > self.ground and len(self.faces):
            flat = world - np.outer(world @ self.up - self.ground, self.up)
            corners = self.camera.project(flat)[self.faces[~self.clear]]
            found = fragments(corners, np.zeros(corners.shape[:2]), self.width, self.height)
            dark.reshape(-1)[found.pixel] = True
        return np.repeat(np.repeat(dark, SAMPLES, axis=0), SAMPLES, axis=1).ravel()

    def _light(self, matrices: np.ndarray) -> np.ndarray:
        """Brightness (vertices,) under a lamp beside and above the camera; stretched pieces keep their normals."""
        turn = np.linalg.inv(matrices[:, :3, :3]).transpose(0, 2, 1)
        normals = np.einsum("nij,nj->ni", turn[self.owner], self.normals)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        right, down, ahead = self.camera.axes
        lamp = -0.5 * right - 0.75 * down - 0.45 * ahead
        key = np.maximum(normals @ (lamp / np.linalg.norm(lamp)), 0)
        return AMBIENT + KEY * key + HEAD * np.maximum(-(normals @ ahead), 0)


def place(matrices: np.ndarray, owner: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Vertices (n, 3) of pieces number `owner` (n,) in the world."""
    return np.einsum("nij,nj->ni", matrices[owner, :3, :3], vertices) + matrices[owner, :3, 3]


def facing(seen: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Numbers of the faces whose outside is seen; y of the screen points down, so they run clockwise there."""
    a, b, c = (seen[faces[:, k], :2] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.flatnonzero(area < 0)


def vertex_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Normals (n, 3) of vertices: the mean of those of their faces, larger faces counting more."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, faces[:, k], across)
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)


def backdrop(camera: Camera, size: tuple[int, int], up: np.ndarray, ground: float) -> np.ndarray:
    """What is behind all (height, width, 3): a light sky, and a grid on the plane at height `ground` [m]."""
    width, height = size
    sky = np.linspace(1, 0, height)[:, None, None]
    image = np.broadcast_to(247 - 8 * sky, (height, width, 3)).copy()
    near = Camera(
        camera.axes, camera.eye, SAMPLES * camera.focus, (SAMPLES * camera.centre[0], SAMPLES * camera.centre[1])
    )
    rays = near.rays(width, height)
    above = float(camera.eye @ up) - ground
    fall = -(rays @ up)
    if above <= 0:
        return image.astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(fall > 1e-6, above / np.maximum(fall, 1e-6), np.inf)
    points = camera.eye + np.where(np.isfinite(reach), reach, 0)[..., None] * rays
    middle = above / max(float(-(camera.axes[2] @ up)), 0.05)  # distance of the plane where the camera looks
    spacing = nice(0.12 * middle)
    first, second = (axis for axis in _plane(up))
    pixel = reach / near.focus  # width of a pixel out there [m]
    line = np.zeros((height, width))
    for axis in (first, second):
        off = points @ axis / spacing
        line = np.maximum(
            line, np.clip(1.1 - np.abs(off - np.round(off)) * spacing / np.maximum(1.5 * pixel, 1e-12), 0, 1)
        )
    fade = np.where(np.isfinite(reach), np.clip(1.6 - reach / (2 * middle), 0, 1), 0)
    return (image - (44 * line * fade)[..., None]).astype(np.float32)


def nice(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `length`."""
    power = 10.0 ** np.floor(np.log10(max(length, 1e-12)))
    return float(power * max(step for step in (1, 2, 5) if step * power <= length * (1 + 1e-9)))


def _plane(up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two directions that span the plane across `up`."""
    x = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    return x, np.cross(up, x)
