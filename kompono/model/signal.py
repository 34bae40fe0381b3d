"""Signals: time, tunable parameters, inputs and outputs. All are CasADi SX scalars, usable in any expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.model.element import Element
from kompono.model.symbol import Symbol

time = Symbol.column("time")  # seconds since the start; any force, ground motion or drive may use it


class Parameter(Element, Symbol):
    """A number that can be changed without translating the model again: `self.stiffness = Parameter(5e4,
    unit="N/m")`.
    """

    def __init__(self, value: float, *, unit: str = "") -> None:
        ca.SX.__init__(self, ca.SX.sym("parameter"))
        self.value = float(value)
        self.unit = unit

    def _word(self) -> str:
        return f"the parameter {self.label} (its number is .value)"

    def _instead(self, path: str) -> str:
        return f'Give the value to a run, parameters={{"{path}": ...}}, or set .value.'

    def _check(self, where: str) -> None:
        if not math.isfinite(self.value):
            raise ModelError(f"the parameter's value {self.value!r} is not finite.", path=where, fix="Give a number.")


class Input(Element, Symbol):
    """A scalar from outside: a constant, a table over time, or a Python callable sampled every `period` [s] and held.

    `Input(3.0)`; `Input(table=(times, values))`, linear between the points and constant beyond them;
    `Input(function, period=0.01)` with `function(t)` or `function(t, read)`, where `read("path.to.channel")` gives the
    present value of a channel.
    """

    def __init__(
        self,
        value: float | Callable[..., float] = 0.0,
        *,
        table: tuple[Sequence[float], Sequence[float]] | None = None,
        period: float | None = None,
        unit: str = "",
    ) -> None:
        ca.SX.__init__(self, ca.SX.sym("input"))
        self.value = value
        self.table = None if table is None else (np.asarray(table[0], float), np.asarray(table[1], float))
        self.period = period
        self.unit = unit

    def _word(self) -> str:
        return f"the input {self.label}"

    def _instead(self, path: str) -> str:
        return (
            f'An input is fed from outside: simulate(..., inputs={{"{path}": ...}}), or set .value. To feed it from '
            "within the model, let its component take an expression instead of declaring an Input."
        )

    def _check(self, where: str) -> None:
        check_source(self.value, self.table, self.period, where)


def check_source(value: Any, table: tuple[np.ndarray, np.ndarray] | None, period: float | None, where: str) -> None:
    """Raise ModelError unless this is one way to feed an input."""
    if table is not None:
        times, values = table
        if times.ndim != 1 or times.shape != values.shape or len(times) == 0:
            raise ModelError("the table needs as many times as values.", path=where, fix="table=([0, 1], [0, 5])")
        if np.any(np.diff(times) <= 0) or not np.all(np.isfinite(times)) or not np.all(np.isfinite(values)):
            raise ModelError("the table's times do not increase, or a value is not finite.", path=where)
    elif callable(value):
        if period is None or not period > 0:
            raise ModelError("a callable input needs a sampling period.", path=where, fix="Add period=0.01.")
    elif not math.isfinite(float(value)):
        raise ModelError(f"the input's value {value!r} is not finite.", path=where)


class Output(Element):
    """A named channel of the result: any expression of time, joint coordinates, body motion, inputs and parameters."""

    def __init__(self, expression: Any, *, unit: str = "") -> None:
        self.expression = ca.SX(expression)
        self.unit = unit

    def _check(self, where: str) -> None:
        if not self.expression.is_scalar():
            raise ModelError("an output is one scalar.", path=where, fix="Declare one Output per component.")
