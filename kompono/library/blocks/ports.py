"""How blocks are fed and what they show: one way for all of them.

A signal is a port, an `Input` with a name. Whoever makes the block may give an expression for it, which then feeds the
port; what is left out is fed by an owner, `connect(source, block.input)`, or by `inputs=` of a run.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, scalar, shown
from kompono.model.event import Mode
from kompono.model.signal import Input, Output
from kompono.model.subsystem import Subsystem


class Block(Subsystem):
    """A component made of signals only."""

    input: Input  # what most have
    output: Output

    def _port(self, name: str, signal: Any, unit: str = "") -> Input:
        """An input of that name, fed by a signal if there is one."""
        port = Input(unit=unit)
        self.add(name, port)
        if signal is not None:
            self.connect(signal, port)
        return port

    def _shows(self, value: Any, *, every: float | None, start: float = 0.0, unit: str = "") -> None:
        """The output: a value at once, or sampled and held; other samples at the same instant see the new one."""
        if every is None:
            self.output = Output(value, unit=unit)
            return
        self.held = Mode(start, every=every, unit=unit)
        self.held.next = value
        self.output = Output(self.held.next, unit=unit)


def limits_of(given: Any, what: str = "the limits") -> tuple[Any, Any]:
    """Lower and upper limit; a single number stands for both directions, None for no limit."""
    if given is None:
        return None, None
    pair = given if isinstance(given, list | tuple) else (-1 * scalar(given, what), given)
    if len(pair) != 2:
        raise ModelError(f"{what} {shown(given)} are no pair.", fix="Use (lower, upper), or one number for both.")
    lower, upper = (None if each is None else scalar(each, what) for each in pair)
    known = not any(each is None or isinstance(each, ca.SX) for each in (lower, upper))
    if known and lower >= upper:  # type: ignore[operator]
        raise ModelError(f"{what} {shown(given)} do not increase.", fix="Use (lower, upper).")
    return lower, upper


def limited(value: Any, limits: tuple[Any, Any]) -> Any:
    """A value within limits."""
    lower, upper = limits
    value = value if lower is None else ca.fmax(value, lower)
    return value if upper is None else ca.fmin(value, upper)


def period(every: Any) -> float:
    """A sampling period [s]."""
    return number(every, "every [s]", positive=True, fix="Use e.g. every=1e-3.")


def positive(value: Any, what: str) -> Any:
    """A positive number, or an expression."""
    found = scalar(value, what)
    if not isinstance(found, ca.SX) and found <= 0:
        raise ModelError(f"{what} {shown(value)} is not positive.", fix="Give more than zero.")
    return found
