"""What cuts signals off, slows them down, rounds them, or switches with a play."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import choice, number, scalar, tell_unused_number
from kompono.library.blocks.ports import Block, limited, limits_of, period, positive
from kompono.model.event import Event, Mode
from kompono.model.signal import Output
from kompono.model.state import State


class Saturation(Block):
    """`output` is `input` within `limits`: (lower, upper), or one number for both directions."""

    def __init__(self, input: Any = None, *, limits: Any, unit: str = "") -> None:
        self.output = Output(limited(self._port("input", input, unit), limits_of(limits)), unit=unit)


class RateLimiter(Block):
    """`output` follows `input`, never faster than `rate` [1/s]: one number for both directions or (lower, upper).

    Sampled by `every` [s], or continuous behind a `lag` [s], with which it comes to what it may reach at once.
    """

    def __init__(
        self, input: Any = None, *, rate: Any, every: float | None = None, lag: Any = None, start: float = 0.0,
        unit: str = "",
    ) -> None:  # fmt: skip
        signal, limits = self._port("input", input, unit), limits_of(rate, "the rates")
        if (every is None) == (lag is None):
            raise ModelError("it is neither sampled nor continuous.", fix="Give every= [s], or lag= [s].")
        if every is None:
            self.level = State(start, unit=unit)
            self.level.rate = limited((signal - self.level) / positive(lag, "the lag [s]"), limits)
            self.output = Output(self.level, unit=unit)
        else:
            step = period(every)
            self.held = Mode(start, every=step, unit=unit)
            lower, upper = (None if limit is None else limit * step for limit in limits)
            self.held.next = self.held + limited(signal - self.held, (lower, upper))
            self.output = Output(self.held.next, unit=unit)


class Quantizer(Block):
    """`output` is `input` rounded to the next multiple of `step` (halves upwards), at once or sampled by `every` [s].

    At once it jumps within steps of the integration, which no event meets: for what moves the machine use `every`.
    """

    def __init__(
        self, input: Any = None, *, step: Any, every: float | None = None, start: float = 0.0, unit: str = ""
    ) -> None:
        signal, size = self._port("input", input, unit), positive(step, "the step")
        if every is None:
            tell_unused_number(start, "a start without samples", "Give every= [s], or leave it out.")
        self._shows(rounded(signal, size), every=every, start=start, unit=unit)


class Hysteresis(Block):
    """`output` becomes `high` when `input` rises above `upper`, and `low` when it falls below `lower`.

    In between it stays; `start` is `"low"` or `"high"`, for an input that begins there. The instants are met as events.
    """

    def __init__(
        self, input: Any = None, *, lower: Any, upper: Any, low: Any = 0.0, high: Any = 1.0, start: str = "low",
        unit: str = "",
    ) -> None:  # fmt: skip
        lower, upper = scalar(lower, "lower"), scalar(upper, "upper")
        limits_of((lower, upper), "lower and upper")
        choice(start, "the start", ("low", "high"))
        signal = self._port("input", input)
        self.on = Mode(start == "high")
        self.rises = Event(signal - upper, {self.on: 1})
        self.falls = Event(lower - signal, {self.on: 0})
        on = ca.if_else(signal > upper, 1, ca.if_else(signal < lower, 0, self.on))
        self.output = Output(ca.if_else(on, scalar(high, "high"), scalar(low, "low")), unit=unit)


def rounded(value: Any, step: Any) -> Any:
    """The next multiple of a step, halves upwards."""
    return step * ca.floor(value / step + 0.5)


def resolution(step: Any) -> Any:
    """A step to round to, or None."""
    return None if step is None else number(step, "the resolution", positive=True)
