"""Ranks, implied rows and least squares of matrices with blocks are those of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from kompono.translate.structure.independent import (
    implied_rows,
    independent_sets,
    least_squares,
    null_space,
    rank_of,
)

LEAST = 1e-7


def blocks(seed: int) -> np.ndarray:
    """A matrix of blocks, some of which have rows twice, one that is tiny, with rows and columns in any order."""
    random = np.random.default_rng(seed)
    shapes = [(5, 7), (5, 7), (4, 6), (6, 6), (3, 2), (1, 0), (0, 2), (8, 9), (2, 5)]
    whole = np.zeros(tuple(np.sum(shapes, axis=0)))
    for k, ((m, n), (i, j)) in enumerate(zip(shapes, np.cumsum([(0, 0), *shapes[:-1]], axis=0).tolist(), strict=True)):
        block = random.normal(size=(m, n)) * (1e-9 if k == 3 else 1.0)
        if k % 2 and m > 1:
            block[-1] = 2 * block[0]
        whole[i : i + m, j : j + n] = block
    return random.permutation(random.permutation(whole).T).T


@pytest.mark.parametrize("seed", range(3))
def test_singular_vectors_are_those_of_the_whole_matrix(seed: int) -> None:
    matrix = blocks(seed)
    left, values, right = np.linalg.svd(matrix)
    rank = int(np.sum(values > LEAST * values.max()))
    assert rank_of(matrix, LEAST) == rank < min(matrix.shape)
    implied, free = implied_rows(matrix, LEAST), null_space(matrix, LEAST)
    np.testing.assert_allclose(implied @ implied.T, left[:, rank:] @ left[:, rank:].T, atol=1e-13)
    np.testing.assert_allclose(free.T @ free, right[rank:].T @ right[rank:], atol=1e-13)
    wanted = np.random.default_rng(seed).normal(size=len(matrix))
    expected = np.linalg.lstsq(matrix, wanted, rcond=LEAST)[0]
    np.testing.assert_allclose(least_squares(matrix, wanted, LEAST), expected, atol=1e-12)


def test_sets_share_no_entry_and_cannot_be_divided() -> None:
    matrix = blocks(4)
    sets = independent_sets(matrix)
    assert sorted(np.concatenate([rows for rows, _ in sets])) == list(range(matrix.shape[0]))
    assert sorted(np.concatenate([columns for _, columns in sets])) == list(range(matrix.shape[1]))
    assert sum(np.count_nonzero(matrix[np.ix_(*one)]) for one in sets) == np.count_nonzero(matrix)
    band = np.eye(30, 31) + np.eye(30, 31, 1)
    assert len(independent_sets(band[np.random.default_rng(1).permutation(30)])) == 1


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3)])
def test_what_is_empty_has_no_rank(shape: tuple[int, int]) -> None:
    nothing = np.zeros(shape)
    assert rank_of(nothing, LEAST) == 0
    assert implied_rows(nothing, LEAST).shape == (shape[0], shape[0])
    assert null_space(nothing, LEAST).shape == (shape[1], shape[1])
    assert not np.any(least_squares(nothing, np.ones(shape[0]), LEAST))
