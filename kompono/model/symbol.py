"""Symbols handed to users: `time`, coordinates, motion, signals. They stand for numbers that are not known yet.

CasADi gives NaN for `float(symbol)`, and so does all of Python's `math`: `math.sin(time)` would be a constant that is
not a number. Our symbols refuse that, and where an expression already lost its meaning (`math.sin(2 * time)`) the NaN
is refused where it is declared.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from kompono.errors import ModelError

_FIX = "Use CasADi's functions in laws: casadi.sin, casadi.sqrt, casadi.fmax, casadi.if_else, ..."


class Symbol(ca.SX):
    """An SX symbol, or a column of them, that does not turn into a number by itself."""

    @classmethod
    def of(cls, symbols: ca.SX) -> Symbol:
        """The same symbols as ours."""
        symbols.__class__ = cls
        return symbols  # type: ignore[return-value]

    @classmethod
    def column(cls, name: str, rows: int = 1) -> Symbol:
        """New symbols."""
        return cls.of(ca.SX.sym(name, rows))

    def __getitem__(self, place: Any) -> Any:
        return Symbol.of(super().__getitem__(place))

    def __float__(self, *_: Any) -> float:
        raise ModelError(f"{self._word()} is a symbol and no number yet; float() and math.* cannot use it.", fix=_FIX)

    def __int__(self, *_: Any) -> int:
        raise ModelError(f"{self._word()} is a symbol and no number yet; int() cannot use it.", fix=_FIX)

    def __bool__(self, *_: Any) -> bool:
        raise ModelError(f"{self._word()} is a symbol and no number yet; `if` cannot use it.", fix=_FIX)

    def _word(self) -> str:
        return str(self)


def check_numbers(value: Any, what: str, where: str) -> None:
    """Raise ModelError if an expression or number is, or contains, what is not a number."""
    if isinstance(value, ca.SX):
        if not isinstance(value, Symbol) and contains_nan(value):
            raise ModelError(f"{what} contains a constant that is not a number.", path=where, fix=_FIX)
    elif isinstance(value, float):
        if value != value:
            raise ModelError(f"{what} is not a number.", path=where, fix=_FIX)
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            check_numbers(item, what, where)


def contains_nan(expression: ca.SX) -> bool:
    """Whether NaN is among the constants of an expression."""
    if expression.is_constant():
        return any(math.isnan(number) for number in ca.DM(expression).nonzeros())
    function = ca.Function("f", ca.symvar(expression), [expression])
    return any(
        function.instruction_id(k) == ca.OP_CONST and math.isnan(function.instruction_constant(k))
        for k in range(function.n_instructions())
    )
