"""Pictures one after the other into a file: GIF through Pillow, MP4 (H.264) through the ffmpeg of imageio-ffmpeg."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from kompono.result import extra
from kompono.result.beside import written_beside
from kompono.result.target import check_target

SUFFIXES = (".gif", ".mp4")
RATES = {".gif": 20.0, ".mp4": 30.0}  # pictures a second, if not said otherwise
PALETTE_FROM = 6  # pictures of a GIF whose colours are taken for all


def check_movie(path: str | Path) -> Path:
    """The path of a movie, or an error if its suffix is not one we write, nothing can be written there, or what writes
    it is missing.
    """
    target = check_target(path, SUFFIXES, "write a movie")
    extra("PIL.Image", "animate")
    if target.suffix.lower() == ".mp4":
        extra("imageio_ffmpeg", "animate")
    return target


def write_movie(path: Path, pictures: Iterable[np.ndarray], fps: float) -> Path:
    """Write pictures (height, width, 3) uint8, all of one size with even sides, at `fps` a second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(path) as place:
        (_write_gif if path.suffix.lower() == ".gif" else _write_mp4)(place, iter(pictures), fps)
    return path


def stamped(picture: np.ndarray, text: str) -> np.ndarray:
    """A picture with a few words in its upper left corner."""
    image = extra("PIL.Image", "animate").fromarray(picture)
    font = extra("PIL.ImageFont", "animate").load_default(13)
    extra("PIL.ImageDraw", "animate").Draw(image).text((9, 6), text, fill=(70, 78, 86), font=font)
    return np.asarray(image)


def _write_gif(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    """One palette for all pictures, so that what does not move does not flicker and is not stored again."""
    image = extra("PIL.Image", "animate")
    frames = [image.fromarray(picture) for picture in pictures]
    chosen = [frames[i] for i in np.linspace(0, len(frames) - 1, min(PALETTE_FROM, len(frames))).astype(int)]
    sheet = np.concatenate([np.asarray(frame) for frame in chosen])
    palette = image.fromarray(sheet).quantize(256, method=image.Quantize.MEDIANCUT)
    reduced = [frame.quantize(palette=palette, dither=image.Dither.NONE) for frame in frames]
    times = np.round(100 * np.arange(len(frames) + 1) / fps).astype(int)  # GIF counts hundredths of a second
    durations = [10 * int(d) for d in np.maximum(np.diff(times), 1)]
    reduced[0].save(path, save_all=True, append_images=reduced[1:], duration=durations, loop=0, optimize=False)


def _write_mp4(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    ffmpeg = extra("imageio_ffmpeg", "animate")
    first = next(pictures)
    height, width = first.shape[:2]
    writer = ffmpeg.write_frames(
        str(path), (width, height), fps=fps, codec="libx264", pix_fmt_out="yuv420p", quality=8, macro_block_size=2,
        ffmpeg_log_level="error",
    )  # fmt: skip
    writer.send(None)
    try:
        writer.send(np.ascontiguousarray(first))
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
    finally:
        writer.close()
