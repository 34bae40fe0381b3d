"""Singular values of matrices set by set, where their rows and columns fall into sets that share no entry.

Conditions of a loop move its own joints, so G of a machine with many loops has many small blocks. Its singular vectors
are those of the blocks, and 60 loops cost 60 times what one does instead of 60 cubed. Blocks of one shape are done
together. Singular values are compared with the largest of all blocks, as those of the whole matrix would be.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def independent_sets(matrix: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sets (rows, columns) of places that share no entry with others; an empty row or column is a set of its own."""
    height, width = matrix.shape
    rows, columns = np.nonzero(matrix)
    column_first, row_first = np.lexsort((rows, columns)), np.lexsort((columns, rows))
    label = np.arange(height + width)  # of rows, then of columns: the smallest row that is known to be in their set
    while len(rows):
        before = label.copy()
        for own, other, order in ((columns + height, rows, column_first), (rows, columns + height, row_first)):
            starts = np.flatnonzero(np.diff(own[order], prepend=-1))
            label[own[order][starts]] = np.minimum.reduceat(label[other[order]], starts)
        label[:height] = label[label[:height]]
        if np.array_equal(label, before):
            break
    order = np.argsort(label, kind="stable")
    ends = [*np.flatnonzero(np.diff(label[order], prepend=-1)).tolist(), height + width]
    sets = [order[a:b] for a, b in pairwise(ends)]
    return [(one[one < height], one[one >= height] - height) for one in sets]


def rank_of(matrix: np.ndarray, least: float) -> int:
    """How many singular values are more than `least` of the largest."""
    return int(sum(np.sum(ranks) for *_, ranks in _ranked(matrix, least, whole=False))) if matrix.size else 0


def implied_rows(matrix: np.ndarray, least: float) -> np.ndarray:
    """Orthonormal combinations of rows (rows, k) that come to nothing; singular values up to `least` of the largest
    count as zero.
    """
    found = [np.zeros((len(matrix), 0))]
    for (rows, _, left, _, _), ranks in _ranked(matrix, least, whole=True):
        for places, vectors, rank in zip(rows, left, ranks.tolist(), strict=True):
            found.append(np.zeros((len(matrix), len(places) - rank)))
            found[-1][places] = vectors[:, rank:]
    return np.hstack(found)


def null_space(matrix: np.ndarray, least: float) -> np.ndarray:
    """Orthonormal combinations of columns (k, columns) that come to nothing, in the same way."""
    return implied_rows(matrix.T, least).T


def least_squares(matrix: np.ndarray, wanted: np.ndarray, least: float) -> np.ndarray:
    """The smallest x (columns,) with `matrix` x as near to `wanted` (rows,) as can be; singular values up to `least` of
    the largest count as zero.
    """
    found = np.zeros(matrix.shape[1])
    for (rows, columns, left, values, right), ranks in _ranked(matrix, least, whole=False):
        kept = np.arange(values.shape[1]) < ranks[:, None]
        shares = np.einsum("sij,si->sj", left, wanted[rows]) * kept / np.where(kept, values, 1.0)
        found[columns] = np.einsum("sji,sj->si", right, shares)
    return found


_Sets = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _ranked(matrix: np.ndarray, least: float, whole: bool) -> list[tuple[_Sets, np.ndarray]]:
    """Sets of each shape, and of how many singular values each has that are more than `least` of the largest."""
    parts = _parts(matrix, whole)
    largest = max((values.max(initial=0.0) for _, _, _, values, _ in parts), default=0.0)
    return [(part, np.sum(part[3] > least * largest, axis=1)) for part in parts]


def _parts(matrix: np.ndarray, whole: bool) -> list[_Sets]:
    """By shape of sets: rows (sets, m), columns (sets, n), and singular vectors and values of their blocks; with
    vectors of no value where the `whole` of them is asked for.
    """
    shapes: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for rows, columns in independent_sets(matrix):
        shapes.setdefault((len(rows), len(columns)), []).append((rows, columns))
    found: list[_Sets] = []
    for several in shapes.values():
        rows, columns = (np.array(places, dtype=int) for places in zip(*several, strict=True))
        blocks = matrix[rows[:, :, None], columns[:, None, :]]
        left, values, right = np.linalg.svd(blocks, full_matrices=whole)
        found.append((rows, columns, left, values, right))
    return found
