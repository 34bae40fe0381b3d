"""Slips without rounding: entries that are zero whatever the masses are exactly zero.

A slip K is chosen at positions that were found to so many digits, by products of rotations. It need not be exact: any
constant K serves that is not at right angles to the implied directions (`redundant`), and only its span counts. But an
entry of K K^T that is 1e-17 with one mass and 0 with another makes other equations, which would have to be traced anew.
So rows that a span does not connect are told apart first, by its projector P = K K^T: entries below `ROUNDING`, the
size of what is not known of directions, connect nothing. Each set of rows that hang together gets columns of its own:
none, unit vectors if all its directions are in the span, or an orthonormal basis of what P has there.
"""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-7  # entries of a projector below this are zero: singular values below it count as zero, too
PRODUCTS = 1e-13  # entries of K K^T below this, relative to its diagonal, are what sums of products leave


def aligned(basis: np.ndarray) -> np.ndarray:
    """Columns (rows, count) that are orthonormal, with the span of these and exact zeros where it does not reach."""
    projector = basis @ basis.T
    found = np.zeros((len(basis), 0))
    for rows in connected(np.abs(projector) > ROUNDING):
        block = projector[np.ix_(rows, rows)]
        count = round(float(np.trace(block)))
        part = np.zeros((len(basis), count))
        part[rows] = np.eye(count) if count == len(rows) else np.linalg.eigh(block)[1][:, len(rows) - count :]
        found = np.hstack([found, part])
    return found if found.shape == basis.shape else basis  # sets of rows that are not told apart clearly


def squared(slip: np.ndarray) -> np.ndarray:
    """K K^T (rows, rows) of a slip K (rows, slips), with zeros where its rows are at right angles."""
    product = slip @ slip.T
    size = np.sqrt(np.diag(product))
    return np.where(np.abs(product) > PRODUCTS * np.outer(size, size), product, 0.0)


def connected(links: np.ndarray) -> list[list[int]]:
    """Sets of rows that symmetric `links` (rows, rows) connect, in order; rows on their own are sets, too."""
    sets, left = list[list[int]](), set(range(len(links)))
    while left:
        found = {min(left)}
        while (more := {j for i in found for j in np.flatnonzero(links[i]).tolist()}) - found:
            found |= more
        left -= found
        sets.append(sorted(found))
    return sets
