"""What rows add to the span of rows before them."""

from __future__ import annotations

import numpy as np


def beyond(rows: np.ndarray, basis: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Combinations (rows, k) of rows that lie in the span of an orthonormal `basis` (n, columns), and the basis with
    what the others add; singular values up to `least` count as zero.
    """
    rest = rows - (rows @ basis.T) @ basis
    left, values, right = np.linalg.svd(rest, full_matrices=rest.shape[0] > rest.shape[1])
    rank = int(np.sum(values > least))
    return left[:, rank:], np.vstack([basis, right[:rank]])
