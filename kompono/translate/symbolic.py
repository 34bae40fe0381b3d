"""Names for traced values in annotations. All of them are SX; the name says what shape to expect.

CasADi tries to take whatever it is given for a matrix of numbers first, in several ways, and only then for a symbolic
one: more than half of the time of an operation. `__DM__` is how it lets an object speak for itself, and None says
that it is no such matrix.
"""

from __future__ import annotations

import casadi as ca

ca.SX.__DM__ = lambda _: None  # type: ignore[attr-defined]

Matrix = ca.SX  # (n, m)
Vector = ca.SX  # a column (n, 1)
Scalar = ca.SX  # (1, 1)
