"""Inverses of condition blocks: which rows are kept, and what is left of the others."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from kompono.translate.elimination.pivots import WELL_ABOVE, generalized_inverse, inverse_of

TOLERANCE = 1e-6


def swept(matrix: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, list[bool]]:
    """The inverse of the rows that two rounds of pivots choose, and which these are."""
    kept: list[int] = []
    for level in (WELL_ABOVE, TOLERANCE):
        for k in range(len(matrix)):
            inner = matrix[np.ix_(kept, kept)]
            pivot = matrix[k, k] - matrix[k, kept] @ np.linalg.solve(inner, matrix[kept, k])
            if k not in kept and pivot > level * reference[k]:
                kept.append(k)
    found = np.zeros_like(matrix)
    found[np.ix_(kept, kept)] = np.linalg.inv(matrix[np.ix_(kept, kept)])
    return found, [k in kept for k in range(len(matrix))]


@pytest.mark.parametrize("size", [2, 3])
def test_rows_are_chosen_in_two_rounds_of_pivots(size: int) -> None:
    matrix, reference = ca.SX.sym("a", size, size), ca.SX.sym("r", size)
    outputs = generalized_inverse(matrix, reference, ca.SX(TOLERANCE))
    function = ca.Function("inverse", [matrix, reference], [ca.densify(value) for value in outputs])
    random = np.random.default_rng(3)
    choices = set()
    for _ in range(300):
        rows = random.normal(size=(size, size)) * 10.0 ** random.uniform(-5, 0, (size, 1))
        if random.uniform() < 0.5:
            rows[-1] = rows[0] + 10.0 ** random.uniform(-9, 0) * rows[-1]
        given = rows @ rows.T
        largest = np.full(size, random.choice([1e-6, 1e-3, 1.0]) * given.max())
        inverse, kept, smallest = (value.full() for value in function(given, largest))
        expected, chosen = swept(given, largest)
        assert kept.ravel().tolist() == chosen
        largest_entry = np.abs(expected).max()
        np.testing.assert_allclose(
            inverse, expected, rtol=0, atol=1e-15 * (1 + 10 * largest_entry * given.max()) * largest_entry
        )
        assert 1e-9 <= smallest <= 1
        choices.add(tuple(chosen))
    assert len(choices) >= 2 * size - 1


def test_a_row_that_is_zero_is_never_kept() -> None:
    for own in ([0.0, 0.0], [2.0, 0.0], [0.0, 2.0]):
        inverse, kept, _ = generalized_inverse(ca.SX(np.diag(own)), ca.SX.ones(2), ca.SX(TOLERANCE))
        assert np.array_equal(ca.DM(inverse).full(), np.diag([0.5 if x else 0.0 for x in own]))
        assert ca.DM(kept).full().ravel().tolist() == [float(x > 0) for x in own]


def test_two_freedoms_are_inverted_as_others_are() -> None:
    matrix = np.array([[3.0, 1.0, 0.2], [1.0, 2.0, -0.3], [0.2, -0.3, 1.5]])
    for size in (1, 2, 3):
        block = matrix[:size, :size]
        np.testing.assert_allclose(ca.DM(inverse_of(ca.SX(block))).full(), np.linalg.inv(block), rtol=1e-14)
