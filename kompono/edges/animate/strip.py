"""A strip with curves beneath a moving picture, and the line in it that goes with the time."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from kompono.edges.plot import plot
from kompono.result import Result, extra

DPI = 100
MARK = np.array([213, 94, 0], dtype=np.uint8)


class Strip:
    """Curves of the channels that match `patterns`, `width` pixels wide."""

    def __init__(self, result: Result, patterns: Sequence[str], width: int, panel: int = 130) -> None:
        picture = plot(result, *patterns, title="")
        panels = len(picture.figure().axes)
        picture.size = (width / DPI, (40 + panel * panels) / DPI)
        figure, file = picture.figure(), io.BytesIO()
        figure.savefig(file, format="png", dpi=DPI)
        image = np.asarray(extra("PIL.Image", "animate").open(file).convert("RGB"))
        self.image = image[: len(image) // 2 * 2]
        self._axes = [(axis.get_window_extent().bounds, axis.get_xlim()) for axis in figure.axes]
        self._bottom = figure.bbox.height

    def at(self, time: float) -> np.ndarray:
        """The strip (height, width, 3) uint8 with a line at `time` [s] in each panel."""
        image = self.image.copy()
        for (left, bottom, wide, high), (start, end) in self._axes:
            share = (time - start) / (end - start) if end > start else 0.0
            column = int(np.clip(left + share * wide, left, left + wide - 1))
            top = round(self._bottom - bottom - high)
            image[max(top, 0) : round(self._bottom - bottom), column : column + 2] = MARK
        return image
