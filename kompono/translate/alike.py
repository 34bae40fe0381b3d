"""Values that come to the same bits in every kernel they are computed in.

What else is in a kernel decides how sums and quotients in it are rounded: a product is taken in by a sum if nobody
else uses it, a quotient shares a reciprocal with others of its divisor (`compile/straight.py`). Where two kernels must
agree to the bit, what they tell is marked here, and it and all that it is made of is computed without regard to the
rest: sums take in products whoever uses them, all quotients are products with a reciprocal. The mark is an expression,
for nothing else stays with a kernel wherever it is kept: the size of a value with its sign, which is that value.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from kompono.translate.symbolic import Vector


def alike(told: Sequence[tuple[str, Vector]]) -> list[tuple[str, Vector]]:
    """Named columns with the same values, marked."""
    return [(name, _marked(column)) for name, column in told]


def _marked(column: Vector) -> Vector:
    entries = ca.vertsplit(ca.densify(column)) if column.numel() else []
    known = [e.is_constant() or e.is_symbolic() for e in entries]
    found = [e if as_is else ca.copysign(ca.fabs(e), e) for e, as_is in zip(entries, known, strict=True)]
    return ca.vertcat(ca.SX(0, 1), *found)
