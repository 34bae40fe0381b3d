"""CasADi functions on plain arrays: a call costs what it computes, not ten times that for its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np


def on_arrays(function: ca.Function) -> Callable[[np.ndarray], list[np.ndarray]]:
    """A function of one column (n,) as one that gives its outputs, each dense and (rows, columns), as new arrays."""
    assert all(function.sparsity_out(k).is_dense() for k in range(function.n_out()))
    given: Any = np.zeros(function.nnz_in(0))
    made: list[Any] = [
        np.zeros(function.size_out(k)[::-1]) for k in range(function.n_out())
    ]  # CasADi goes down the columns
    whole: Any = function
    buffer, evaluate = whole.buffer()
    buffer.set_arg(0, memoryview(given))
    for k, array in enumerate(made):
        if array.size:
            buffer.set_res(k, memoryview(array))

    def call(values: np.ndarray, _kept: Any = (function, buffer)) -> list[np.ndarray]:
        given[:] = values
        evaluate()
        return [array.T.copy() for array in made]

    return call
