"""The motion of a result as a movie: `animate(result, "run.mp4")`, also `result.animate("run.mp4")`, `kompono animate`.

The bodies are drawn from the scene of the result, without a display or graphics hardware. Needs the extra `animate`
(pillow, imageio-ffmpeg; matplotlib for curves beneath).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from kompono.edges.animate.camera import looking_at
from kompono.edges.animate.movie import RATES, check_movie, stamped, write_movie
from kompono.edges.animate.stage import CameraStage
from kompono.edges.animate.strip import Strip
from kompono.errors import RunError, RunWarning, warn
from kompono.result import Result
from kompono.room import check_memory
from kompono.scene import Scene, matrices, poses
from kompono.solve.progress import Progress

__all__ = ["animate", "check_movie", "still"]

SIZE = (800, 560)
SIGHTED = 60  # instants the camera is fitted to
MOST = 20_000  # pictures, so that a wrong speed does not fill the disk


def animate(
    result: Result,
    path: str | Path,
    *,
    speed: float = 1.0,
    fps: float | None = None,
    camera: Any = "iso",
    size: tuple[int, int] = SIZE,
    curves: str | Sequence[str] = (),
    progress: bool | None = None,
) -> Path:
    """Write a movie (gif or mp4) of a result and return its path.

    `speed` is seconds of motion per second of the movie, `fps` pictures per second (20 for gif, 30 for mp4). `camera`
    is iso, front, back, left, right, top, or (azimuth, elevation) in degrees, azimuth from x towards y. `size` is
    (width, height) in pixels. `curves` are globs of channels drawn beneath, with a line that moves with the time.
    """
    path = check_movie(path)
    rate = RATES[path.suffix.lower()] if fps is None else fps
    for name, value in (("speed", speed), ("fps", rate)):
        if not (np.isfinite(value) and value > 0):
            raise RunError(f"{name} {value!r} is not positive.")
    width, height = (int(side) // 2 * 2 for side in size)
    if width < 2 or height < 2:
        raise RunError(f"a picture of {size[0]} x {size[1]} pixels is too small.")
    times = instants(result, speed, rate)
    _check_size(path, len(times), width, height)
    shown = _Shown(result, (width, height), camera)
    strip = Strip(result, [curves] if isinstance(curves, str) else curves, width) if curves else None
    with Progress(float(times[-1]), progress) as bar:
        write_movie(path, _pictures(shown, strip, times, bar), rate)
        if bar.interrupted:
            warn(f"interrupted by the user: {path} is not the whole movie.", RunWarning)
    return path


def _check_size(path: Path, count: int, width: int, height: int) -> None:
    """Refuse pictures that do not fit into memory; a GIF holds them all."""
    held = count if path.suffix.lower() == ".gif" else min(count, 4 * (os.cpu_count() or 1))
    fix = "Take a smaller size, fewer pictures (a higher speed, a lower fps), or MP4, which holds only some at a time."
    check_memory(4.0 * width * height * held, f"{count} pictures of {width} x {height} pixels", fix)


def still(
    result: Result, time: float | None = None, *, camera: Any = "iso", size: tuple[int, int] = SIZE
) -> np.ndarray:
    """One picture (height, width, 3) uint8 of a result at `time` [s] (None: its end)."""
    shown = _Shown(result, size, camera)
    return shown.picture(float(result.time[-1] if time is None else time))


def instants(result: Result, speed: float, fps: float) -> np.ndarray:
    """Times [s] of the pictures of a movie, the end included."""
    if len(result.time) < 1:
        raise RunError("there is nothing to show: the result is empty.")
    span = float(result.time[-1] - result.time[0])
    count = round(span / speed * fps) + 1
    if count > MOST:
        raise RunError(f"the movie would have {count} pictures.", fix="Raise the speed or lower fps.")
    return np.linspace(result.time[0], result.time[-1], max(count, 1))


class _Shown:
    """A result on its stage, with a camera that has all of its motion in view."""

    def __init__(self, result: Result, size: tuple[int, int], camera: Any) -> None:
        if result.scene is None:
            raise RunError(
                "the result does not know what its model looks like.",
                fix="Record '*.position.*' and '*.orientation.*', and store it as Parquet or HDF5, not CSV.",
            )
        self.scene = Scene.from_data(result.scene)
        self.times, where = np.unique(result.time, return_index=True)
        self.table = poses(self.scene, result)[where]
        sighted = np.unique(np.linspace(0, len(self.times) - 1, SIGHTED).astype(int))
        points = _corners(self.scene, matrices(self.scene, self.table[sighted]))
        up = np.asarray(self.scene.up, dtype=float)
        ground = float(np.min(points @ up) / np.linalg.norm(up))
        self.stage = CameraStage(self.scene, looking_at(points, camera, up, *size), size, ground)

    def picture(self, time: float) -> np.ndarray:
        """The picture at a time [s], poses linear between those recorded."""
        i = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, max(len(self.times) - 2, 0)))
        j = min(i + 1, len(self.times) - 1)
        share = (time - self.times[i]) / (self.times[j] - self.times[i]) if j > i else 0.0
        between = (1 - share) * self.table[i] + share * self.table[j]
        between[:, 3:] /= np.linalg.norm(between[:, 3:], axis=1, keepdims=True)
        return self.stage.frame(matrices(self.scene, between[None])[0])


def _corners(scene: Scene, placed: np.ndarray) -> np.ndarray:
    """Corners (k, 3) of the boxes around all pieces at all instants."""
    meshes, which = scene.meshes()
    boxes = []
    for mesh in meshes:
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        boxes.append(np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(8, 3))
    if not which:
        raise RunError("there is nothing to show: the model has no bodies.")
    corners = np.array(boxes, dtype=float)[which]
    points = np.einsum("npij,pcj->npci", placed[..., :3, :3], corners) + placed[..., None, :3, 3]
    points = points.reshape(-1, 3)
    return points[np.isfinite(points).all(axis=1)]


def _pictures(shown: _Shown, strip: Strip | None, times: np.ndarray, bar: Progress) -> Iterator[np.ndarray]:
    """Pictures in their order, drawn on all processors a few ahead; Ctrl-C ends the movie there."""
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(times), 2 * workers):
            part = times[start : start + 2 * workers]
            for time, drawn in zip(part, pool.map(shown.picture, part), strict=True):
                picture = stamped(drawn, f"{time:.2f} s")
                yield picture if strip is None else np.concatenate([picture, strip.at(time)])
            bar.update(float(part[-1]))
            if bar.interrupted:
                return
