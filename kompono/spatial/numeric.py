"""Rotations of plain numbers, many at once: matrices and unit quaternions (scalar first) as arrays."""

from __future__ import annotations

import numpy as np


def rotations(quaternions: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(np.asarray(quaternions, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternions(matrices: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4) of rotation matrices (..., 3, 3), with the largest component positive."""
    m = np.asarray(matrices, dtype=float)
    a, b, c = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    outer = np.empty((*m.shape[:-2], 4, 4))  # 4 e e^T
    outer[..., 0, :] = np.stack(
        [1 + a + b + c, m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], axis=-1
    )
    outer[..., 1:, 0] = outer[..., 0, 1:]
    outer[..., 1:, 1:] = m + np.swapaxes(m, -1, -2)
    outer[..., [1, 2, 3], [1, 2, 3]] = np.stack([1 + a - b - c, 1 - a + b - c, 1 - a - b + c], axis=-1)
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    return row / np.linalg.norm(row, axis=-1, keepdims=True)
