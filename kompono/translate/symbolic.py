"""Names for traced values in annotations. All of them are SX; the name says what shape to expect."""

from __future__ import annotations

import casadi as ca

Matrix = ca.SX  # (n, m)
Vector = ca.SX  # a column (n, 1)
Scalar = ca.SX  # (1, 1)
