"""The pivot of a port: what hangs on it and what it yields by, whatever their rank."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from kompono.translate.elimination.pivots import pair_inverse


@pytest.fixture(scope="module")
def inverse() -> ca.Function:
    m, h = ca.SX.sym("m", 6, 6), ca.SX.sym("h", 6, 6)
    return ca.Function("inverse", [m, h], [pair_inverse(m, h)])


def error(inverse: ca.Function, m: np.ndarray, d: np.ndarray) -> float:
    matrix = np.block([[m, np.eye(6)], [np.eye(6), -d]])
    return float(np.abs(np.array(inverse(m, -d)) - np.linalg.inv(matrix)).max())


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-8, 1e-7, 3e-7, 1e-6, 1e-4, 0.3])
def test_a_joint_near_a_special_position_leaves_a_pivot_of_rounding(inverse: ca.Function, angle: float) -> None:
    """What hangs on a joint about a direction is 1 - u u^T: along u nothing, next to it the square of an angle."""
    u = np.array([np.cos(angle), np.sin(angle) * 0.6, 0, 0, np.sin(angle) * 0.8, 0])
    yielding = np.random.default_rng(3).normal(size=(6, 3))
    assert error(inverse, np.eye(6) - np.outer(u, u), yielding @ yielding.T) < 1e-13


@pytest.mark.parametrize("seed", range(40))
def test_any_rank_of_both(inverse: ca.Function, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hanging, yielding = (rng.normal(size=(6, rng.integers(0, 7))) for _ in range(2))
    hanging *= 10.0 ** rng.uniform(-7, 0, size=(1, hanging.shape[1]))
    assert error(inverse, hanging @ hanging.T, yielding @ yielding.T) < 1e-12


def test_rows_that_zeros_separate(inverse: ca.Function) -> None:
    m, h = ca.SX.sym("m", 6, 6), ca.SX.sym("h", 6, 6)
    planar = ca.SX(6, 6)
    for i, j in ((1, 1), (3, 3), (5, 5), (1, 3), (3, 1)):
        planar[i, j] = m[i, j]
    sparse = ca.Function("sparse", [m, h], [pair_inverse(planar, h)])
    full = np.diag([0, 2.0, 0, 1.0, 0, 3.0])
    full[1, 3] = full[3, 1] = 0.7
    yielding = np.random.default_rng(1).normal(size=(6, 4))
    assert error(sparse, full, yielding @ yielding.T) < 1e-13
    assert sparse.n_instructions() < inverse.n_instructions()
