"""Triangles to pixels, all at once in NumPy: rows of triangles, then pixels of rows, then the nearest at each pixel.

A picture needs no graphics hardware and no library beyond NumPy, so that it comes out the same everywhere. Depth and
shade are linear over a triangle on the screen; depth is -1/distance, which is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Fragments:
    """Pixels (n,) that triangles cover, counted row by row, with depth (n,), shade (n,) and triangle (n,)."""

    pixel: np.ndarray
    depth: np.ndarray
    shade: np.ndarray
    triangle: np.ndarray


def fragments(corners: np.ndarray, shades: np.ndarray, width: int, height: int) -> Fragments:
    """All pixels of triangles with corners (m, 3, 3) (x, y [pixel], depth) and shades (m, 3) at them.

    A pixel belongs to a triangle if its centre is inside; of an edge two triangles share, it belongs to one.
    """
    y = corners[:, :, 1]
    first = np.clip(np.ceil(y.min(axis=1) - 0.5), 0, height).astype(np.int64)
    last = np.clip(np.ceil(y.max(axis=1) - 0.5), 0, height).astype(np.int64)
    owner, row = _spread(first, last)
    left, right = _crossings(corners, owner, row + 0.5)
    begin = np.clip(np.ceil(left - 0.5), 0, width).astype(np.int64)
    end = np.clip(np.ceil(right - 0.5), 0, width).astype(np.int64)
    span, column = _spread(begin, np.maximum(end, begin))
    pixel = (row * width)[span] + column
    depth, shade = (_along(corners, values, owner, row, span, column) for values in (corners[:, :, 2], shades))
    return Fragments(pixel, depth, shade.astype(np.float32), owner[span])


def nearest(found: Fragments, depth: np.ndarray) -> np.ndarray:
    """Numbers of the fragments that are seen; `depth` (pixels,) is what is behind and is brought up to date."""
    np.minimum.at(depth, found.pixel, found.depth)
    return np.flatnonzero(found.depth == depth[found.pixel])


def _spread(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For all ranges [first, last): the number of the range and each integer in it."""
    counts = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, first[owner] + offset


def _crossings(corners: np.ndarray, owner: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the horizontal line `y` enters and leaves triangle `owner`."""
    left, right = np.full(len(y), np.inf), np.full(len(y), -np.inf)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        start, end = corners[owner, a, :2], corners[owner, b, :2]
        rise = end[:, 1] - start[:, 1]
        crossed = (start[:, 1] <= y) != (end[:, 1] <= y)
        x = start[:, 0] + (y - start[:, 1]) / np.where(rise == 0, 1, rise) * (end[:, 0] - start[:, 0])
        left = np.where(crossed, np.minimum(left, x), left)
        right = np.where(crossed, np.maximum(right, x), right)
    none = left > right
    return np.where(none, 0, left), np.where(none, 0, right)


def _along(
    corners: np.ndarray, values: np.ndarray, owner: np.ndarray, row: np.ndarray, span: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """At each pixel the linear function that has `values` (m, 3) at the corners of its triangle."""
    a, b = corners[:, 1, :2] - corners[:, 0, :2], corners[:, 2, :2] - corners[:, 0, :2]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    area = np.where(np.abs(area) < 1e-9, np.inf, area)
    u, v = values[:, 1] - values[:, 0], values[:, 2] - values[:, 0]
    slope, rise = (u * b[:, 1] - v * a[:, 1]) / area, (v * a[:, 0] - u * b[:, 0]) / area
    level = values[:, 0] - slope * (corners[:, 0, 0] - 0.5) - rise * (corners[:, 0, 1] - 0.5)
    return (level[owner] + rise[owner] * row)[span] + slope[owner][span] * column
