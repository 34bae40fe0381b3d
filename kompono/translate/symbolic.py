"""Names for traced values in annotations, and their entries. All are SX; the name says what shape to expect.

CasADi tries to take whatever it is given for a matrix of numbers first, in several ways, and only then for a symbolic
one: more than half of the time of an operation. `__DM__` is how it lets an object speak for itself, and None says
that it is no such matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

ca.SX.__DM__ = lambda _: None  # type: ignore[attr-defined]

Matrix = ca.SX  # (n, m)
Vector = ca.SX  # a column (n, 1)
Scalar = ca.SX  # (1, 1)


def sparse(value: Any) -> ca.SX:
    """An SX matrix without stored zeros."""
    return ca.sparsify(value if type(value) is ca.SX else ca.SX(value))


def entries_of(value: ca.SX) -> list[ca.SX]:
    """The stored entries of a sparse matrix, each a scalar."""
    return ca.vertsplit(ca.vec(value.nz[:])) if value.nnz() else []


def with_entries(pattern: ca.SX, entries: Sequence[ca.SX]) -> ca.SX:
    """A matrix with the sparsity of `pattern` and these entries."""
    return ca.SX(pattern.sparsity(), ca.vertcat(*entries)) if entries else ca.SX(*pattern.shape)


def constants_kept(value: ca.SX) -> ca.SX:
    """A matrix of fresh symbols in place of all entries that are not constant."""
    return with_entries(value, [e if e.is_constant() else ca.SX.sym("x") for e in entries_of(value)])


def number_places(value: Vector) -> tuple[int, ...]:
    """Places of entries that are numbers."""
    return tuple(k for k in range(value.numel()) if value[k].is_constant())
