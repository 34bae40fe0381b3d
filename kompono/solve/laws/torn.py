"""What rows bear that tear at each other, as native code has it (`compile/law_torn.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.compile.law_torn import ELSEWHERE, LEFT, NOTICED, TURNS, YIELDING

__all__ = ["TURNS", "torn_forces"]


def torn_forces(
    system: Any, held: list[int], block: np.ndarray, z: np.ndarray, weights: np.ndarray
) -> np.ndarray | None:
    """What held rows (k) bear besides forces z (m), where their equations contradict each other, else None: `block`
    (k, k) says how their forces move them, weights (m) how they share.
    """
    terms, mobile = system.A[held] * z, np.abs(block.diagonal())
    left, reach = -(system.b[held] + terms.sum(axis=1)), np.abs(system.b[held]) + np.abs(terms).sum(axis=1)
    root = np.sqrt(mobile)
    scale = np.where(mobile > 0.0, 1.0 / np.where(mobile > 0.0, root, 1.0), 0.0)
    overall = max(float((reach * scale).max()), float((np.abs(z[held]) * root).max()))
    rounding = NOTICED * LEFT * reach + ELSEWHERE * np.maximum(root * overall, reach.max())
    if not np.any(np.abs(left) > rounding):
        return None
    firm = weights[held] ** 2 * mobile
    yielding = np.where(firm > 0.0, YIELDING * firm.max() / np.where(firm > 0.0, firm, 1.0), 1.0)
    small = scale[:, None] * block * scale + np.diag(yielding)
    return scale * np.linalg.solve(small, scale * left)
