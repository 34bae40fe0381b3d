"""Piecewise polynomials as expressions: which piece it is, its coefficients, then Horner's rule.

Of the pieces' indicators, differences of two comparisons, exactly one is 1. A coefficient is the sum of all of them
times their indicators: exact, for all other terms are zero, and free of branches. Its derivative is none, so that what
CasADi differentiates is the polynomial alone.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import shown


def indicators(x: Any, breaks: np.ndarray) -> list[Any]:
    """One number for each piece, 1 for the one x is in and 0 for others; the first and last reach to infinity.

    `breaks` are the borders between pieces, increasing; a border belongs to the piece behind it.
    """
    beyond = [ca.SX(float(b)) <= x for b in breaks]
    return [first - second for first, second in zip([1, *beyond], [*beyond, 0], strict=True)]


def chosen(marks: list[Any], values: np.ndarray) -> Any:
    """The value whose indicator is 1."""
    values = np.asarray(values, dtype=float)
    if np.all(values == values[0]):
        return float(values[0])
    return sum(mark * float(value) for mark, value in zip(marks, values, strict=True) if value)


def polynomial(x: Any, breaks: np.ndarray, origins: np.ndarray, coefficients: np.ndarray) -> Any:
    """Polynomials in x minus the origin of each piece; row k of `coefficients` belongs to the power k."""
    marks = indicators(x, breaks)
    t = x - chosen(marks, origins)
    value: Any = 0.0
    for row in coefficients[::-1]:
        value = value * t + chosen(marks, row)
    return value


def evaluated(law: Any, *given: Any) -> Any:
    """What a law gives for expressions, or for numbers and arrays of them."""
    if any(isinstance(each, ca.SX) for each in given):
        return law(*given)
    arrays = np.broadcast_arrays(*[_read(each) for each in given])
    symbols = [ca.SX.sym("x") for _ in arrays]
    rows = ca.Function("law", symbols, [law(*symbols)])(*[array.reshape(1, -1) for array in arrays])
    result = np.array(rows).reshape(arrays[0].shape)
    return float(result) if result.ndim == 0 else result


def _read(given: Any) -> np.ndarray:
    """Numbers in any shape, which may be infinite or none."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        fix = "Give a number, numbers or an expression."
        raise ModelError(f"{shown(given)} cannot be looked up.", fix=fix) from None


def outside(x: Any, lower: float, upper: float) -> Any:
    """Zero, and not a number outside a range: a run that gets there ends."""
    return ca.sqrt(-((x < lower) + (x > upper)))
