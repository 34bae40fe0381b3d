"""Signals: time, tunable parameters, inputs and outputs. All are CasADi SX scalars, usable in any expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import number, numbers, scalar, shown, tell_unused, text
from kompono.model.element import Element
from kompono.model.symbol import Symbol

_UNIT = 'Use a text, e.g. unit="N/m".'
_TABLE = "table=([0, 1], [0, 5])"
_SOURCE = "Give a number, table=(times, values), or a function with its sampling period."

time = Symbol.column("time")  # seconds since the start; any force, ground motion or drive may use it


class Parameter(Element, Symbol):
    """A number that can be changed without translating the model again: `self.stiffness = Parameter(5e4,
    unit="N/m")`.
    """

    def __init__(self, value: float, *, unit: str = "") -> None:
        ca.SX.__init__(self, ca.SX.sym("parameter"))
        self.value = number(value, "the value", finite=False, truth=True, fix="Give a number.")
        self.unit = text(unit, "the unit", fix=_UNIT)

    def _word(self) -> str:
        return f"the parameter {self.label} (its number is .value)"

    def _instead(self, path: str) -> str:
        return f'Give the value to a run, parameters={{"{path}": ...}}, or set .value.'

    def _check(self, where: str) -> None:
        number(self.value, "the parameter's value", where, fix="Give a number.")


class Input(Element, Symbol):
    """A scalar from outside: a constant, a table over time, or a Python callable sampled every `period` [s] and held.
    One without a source can be fed by an owner: `self.connect(self.pid.command, self.servo.voltage)`.

    `Input(3.0)`; `Input(table=(times, values))`, linear between the points and constant beyond them;
    `Input(function, period=0.01)` with `function(t)` or `function(t, read)`, where `read("path.to.channel")` gives the
    present value of a channel. What a callable remembers begins anew with each run: a class is instantiated, an object
    with `reset()` is told, others are set back. `Input(factory=make, period=0.01)` calls `make()` for each run. A
    `Controller` feeds several inputs at once, and costs less.
    """

    def __init__(
        self,
        value: float | Callable[..., float] = 0.0,
        *,
        table: tuple[Sequence[float], Sequence[float]] | None = None,
        period: float | None = None,
        factory: Callable[[], Callable[..., float]] | None = None,
        unit: str = "",
    ) -> None:
        ca.SX.__init__(self, ca.SX.sym("input"))
        self.value = value if callable(value) else number(value, "the value", finite=False, truth=True, fix=_SOURCE)
        self.factory = factory
        self.table = None if table is None else _table(table)
        self.period = None if period is None else number(period, "the period [s]", finite=False, fix="period=0.01")
        self.unit = text(unit, "the unit", fix=_UNIT)
        self.feed: ca.SX | None = None  # what an owner connected to it
        self._fed_by: Any = None
        self._has_source = callable(value) or bool(self.value) or table is not None or factory is not None

    def _word(self) -> str:
        return f"the input {self.label}"

    def _instead(self, path: str) -> str:
        return (
            f"To feed it from within the model, let an owner connect it: self.connect(source, self.{path}). From "
            f'outside it is fed by simulate(..., inputs={{"{path}": ...}}), or set .value.'
        )

    def _check(self, where: str) -> None:
        if self.factory is not None:
            if self.table is not None or not isinstance(self.value, int | float) or self.value != 0:
                raise ModelError("a factory makes the whole input.", path=where, fix="Leave out value and table.")
            if not callable(self.factory):
                raise ModelError(f"the factory {self.factory!r} cannot be called.", path=where, fix="Give a function.")
        check_source(self.factory or self.value, self.table, self.period, where)
        called = self.factory is not None or callable(self.value)
        if self.period is not None and not called:
            fix = "Leave period= out, or give the function that is called: Input(function, period=0.01)."
            tell_unused(f"{where}: a period, but nothing that is called", fix)
        if self.table is not None and (callable(self.value) or self.value):
            fix = "Give one of the two: Input(table=(times, values))."
            raise ModelError("a value and a table.", path=where, fix=fix)


def _table(given: Any) -> tuple[np.ndarray, np.ndarray]:
    listed = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim)
    if not listed or len(given) != 2:
        raise ModelError(f"the table {shown(given)} is no pair of times and values.", fix=_TABLE)
    columns = zip(given, ("the table's times", "the table's values"), strict=True)
    times, values = (numbers(part, (-1,), what, finite=False, fix=_TABLE) for part, what in columns)
    return times, values


def check_source(value: Any, table: tuple[np.ndarray, np.ndarray] | None, period: float | None, where: str) -> None:
    """Raise ModelError unless this is one way to feed an input."""
    if table is not None:
        times, values = table
        if times.ndim != 1 or times.shape != values.shape or len(times) == 0:
            raise ModelError("the table needs as many times as values.", path=where, fix=_TABLE)
        if np.any(np.diff(times) <= 0) or not np.all(np.isfinite(times)) or not np.all(np.isfinite(values)):
            raise ModelError("the table's times do not increase, or a value is not finite.", path=where, fix=_TABLE)
    elif callable(value):
        if period is None or not 0 < period < math.inf:
            raise ModelError("a callable input needs a sampling period.", path=where, fix="Add period=0.01.")
    else:
        number(value, "the input's value", where, truth=True, fix=_SOURCE)


class Output(Element, Symbol):
    """A named channel of the result, and a signal for owners: any expression of time, joint coordinates, body motion,
    inputs, parameters, modes, states, other outputs and results.

    Outputs are public: an owner may use them in expressions, and connect them to inputs.
    """

    def __init__(self, expression: Any, *, unit: str = "") -> None:
        ca.SX.__init__(self, ca.SX.sym("output"))
        self.expression = expression
        self.unit = text(unit, "the unit", fix=_UNIT)

    def _word(self) -> str:
        return f"the output {self.label}"

    def _instead(self, path: str) -> str:
        return "To change what it shows, set .expression."

    def _check(self, where: str) -> None:
        if isinstance(self.expression, ca.SX) and not self.expression.is_scalar():
            raise ModelError("an output is one scalar.", path=where, fix="Declare one Output per component.")
        self.expression = ca.SX(scalar(self.expression, "the output", where, truth=True))
