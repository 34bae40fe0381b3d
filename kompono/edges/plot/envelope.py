"""Long curves as one sees them: of millions of rows, the lowest and highest in each hair's breadth of the picture."""

from __future__ import annotations

import numpy as np

MOST = 20_000  # rows of a curve that are drawn as they are
SLICES = 5000  # more than a printed page has points across


def seen(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve `x`, `y` (n,) with as many rows as can be seen; over anything but a rising `x` it stays what it is."""
    count = len(x)
    if count <= MOST or not np.all(x[1:] >= x[:-1]):
        return x, y
    edges = np.linspace(0, count, SLICES + 1).astype(int)[:-1]
    whole = np.isfinite(y)
    low, high = (np.where(whole, y, fill) for fill in (np.inf, -np.inf))
    least, most = np.minimum.reduceat(low, edges), np.maximum.reduceat(high, edges)
    gap = ~np.logical_or.reduceat(whole, edges)
    pairs = np.stack([least, most], axis=1)
    pairs[gap] = np.nan
    ends = np.append(edges[1:], count) - 1
    turned = y[edges] > y[ends]  # falling: the highest comes first
    pairs[turned] = pairs[turned, ::-1]
    return np.stack([x[edges], x[ends]], axis=1).ravel(), pairs.ravel()
