"""A function that CasADi calls without seeing into it: from one column to one column."""

from __future__ import annotations

from typing import Any

import casadi as ca


class Callback(ca.Callback):
    """A subclass says what it `eval`uates; a call of it stays a call."""

    def __init__(self, name: str, arguments: int, results: int, options: dict[str, Any] | None = None) -> None:
        ca.Callback.__init__(self)
        self._sizes = arguments, results
        self.construct(name, options or {})

    def get_n_in(self) -> int:
        return 1

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, _: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._sizes[0], 1)

    def get_sparsity_out(self, _: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._sizes[1], 1)
