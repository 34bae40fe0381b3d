"""Minimum-norm inverses of small matrices, with the rank decided after scaling.

Rows of a machine mix forces and torques, light and heavy bodies; their diagonal says how large they are. Where rows
are redundant the inverse gives the multipliers of least norm, which do not depend on the order of declaration.
"""

from __future__ import annotations

import numpy as np

RANK = 1e-10  # singular values below this part of the largest are zero
SAFE = 1e9  # matrices conditioned better than this are inverted without looking at their rank


def inverse(matrix: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The inverse (n, n), or that of least norm; scale (n): what makes rows and columns about one."""
    return shared_inverse(matrix, scale, np.ones(len(scale)))[0]


def shared_inverse(matrix: np.ndarray, scale: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, bool]:
    """The same with weights (n) of the unknowns: the least sum of (unknown / weight)^2; whether rows are redundant."""
    if len(matrix) == 1:
        value = float(matrix[0, 0])
        return np.array([[1.0 / value if abs(value) * scale[0] ** 2 > RANK else 0.0]]), False
    scaled = scale[:, None] * matrix * scale
    try:
        found = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return _least(scaled, scale, weights)
    worst = float(np.abs(found).max()) * float(np.abs(scaled).max()) * len(scaled)
    return (scale[:, None] * found * scale, False) if worst < SAFE else _least(scaled, scale, weights)


def _least(scaled: np.ndarray, scale: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, bool]:
    """The inverse on the range; what it leaves open is chosen so that the unscaled answer is least."""
    left, values, right = np.linalg.svd(scaled)
    rank = int(np.count_nonzero(values > RANK * max(values[0], 1e-300)))
    found = scale[:, None] * (right[:rank].T / values[:rank]) @ left[:, :rank].T * scale
    if rank < len(scale):
        empty, _ = np.linalg.qr((scale / weights)[:, None] * right[rank:].T)
        found -= weights[:, None] * (empty @ (empty.T @ (found / weights[:, None])))
    return found, rank < len(scale)
