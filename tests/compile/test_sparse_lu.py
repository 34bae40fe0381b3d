"""Sparse factors of the matrix of implicit stages: their places, and what is solved with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from kompono import Simulation, State, Subsystem, simulate
from kompono.compile import stage_matrix
from kompono.compile.block import stage_plan
from kompono.compile.sparse_lu import make_plan


def test_factors_have_entries_nowhere_else() -> None:
    random = np.random.default_rng(3)
    for size, share in ((12, 0.1), (30, 0.06), (25, 0.5)):
        matrix = np.where(random.random((size, size)) < share, random.standard_normal((size, size)), 0.0)
        matrix += 20.0 * np.eye(size)
        plan = make_plan(size, tuple(int(k) for k in np.flatnonzero(matrix)))
        assert sorted(plan.order) == list(range(size))
        left, products = matrix[np.ix_(plan.order, plan.order)].copy(), 0
        for k in range(size):
            below, behind = (np.flatnonzero(line[k + 1 :]) + k + 1 for line in (left[:, k], left[k]))
            left[below, k] /= left[k, k]
            left[np.ix_(below, behind)] -= np.outer(left[below, k], left[k, behind])
            products += len(below) * (len(behind) + 1)
        for i, row in enumerate(plan.rows):
            assert set(np.flatnonzero(left[i])) <= set(row)
        assert products <= plan.operations


def test_an_arrow_and_a_chain_fill_nothing() -> None:
    size = 50
    arrow = sorted({k * size + k for k in range(size)} | set(range(size)) | {k * size for k in range(size)})
    chain = sorted({i * size + j for i in range(size) for j in (i - 1, i, i + 1) if 0 <= j < size})
    for entries in (arrow, chain):
        plan = make_plan(size, tuple(entries))
        assert plan.starts[-1] == len(entries)
        assert plan.pays


class Network(Subsystem):
    """Forty numbers, each drawn to a few others, fast and slow, and a bus that feels them all."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.x = [State(1.0) for _ in matrix]
        for row, state in zip(matrix, self.x, strict=True):
            state.rate = sum(float(a) * other for a, other in zip(row, self.x, strict=True) if a)


def network() -> np.ndarray:
    random = np.random.default_rng(8)
    matrix = np.zeros((40, 40))
    for i in range(1, 40):
        for j in {int(random.integers(0, 40)) for _ in range(2)} | {0}:
            draw = 10.0 ** random.uniform(0, 4)
            matrix[i, [j, i]] += (draw, -draw)
            matrix[j, [i, j]] += (draw, -draw)
    return matrix - np.eye(40)


@pytest.mark.parametrize("fails", [False, True])
def test_networks_follow_their_exponential(fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where every sparse factor is thought to fail, and dense ones are made."""
    if fails:
        monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
        monkeypatch.setattr(stage_matrix, "_FULFILLED", -1.0)
    matrix = network()
    model: Any = Network(matrix)
    assert stage_plan(Simulation(model).program) is not None
    result = simulate(model, until=0.2, step=0.1, method="esdirk4", rtol=1e-8)
    expected = expm(matrix * 0.2) @ np.ones(40)
    assert np.abs([result[f"x.{k}"][-1] for k in range(40)] - expected).max() < 1e-6
    assert result.statistics["implicit_steps"] > 20
