"""What of a result a viewer shows: not more instants than one can see."""

from __future__ import annotations

import numpy as np

from kompono.result.result import Result

FRAMES = 3000  # of a motion


def frame_rows(result: Result, most: int = FRAMES) -> np.ndarray:
    """Rows of a result to show, at most so many, equally spaced, first and last among them."""
    count = len(result.time)
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).astype(int))
