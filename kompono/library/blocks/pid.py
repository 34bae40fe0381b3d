"""The controller most machines have: proportional, integral and derivative, with limits."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, scalar, tell_unused
from kompono.library.blocks.ports import Block, limited, limits_of, period, positive
from kompono.model.event import Mode
from kompono.model.signal import Input, Output
from kompono.model.state import State


class PID(Block):
    """`command` = kp error + ki times its integral + a derivative + `feedforward`, within `limits`.

    The derivative is -kd `rate`, where `rate` is the measured speed of what is controlled (an expression, or True for
    a port that an owner feeds); without one it is kd times the derivative of the error behind a lag of `filter` [s],
    which also smooths a given rate. `limits` is one number for both directions or (lower, upper).
    At a limit the integral waits while it would push further out; with `tracking` [s] it is drawn back with that time
    constant instead. With `every` [s] the controller is sampled: the integral is summed at the end of each period, the
    derivative is a difference backwards, zero at the first sample; a continuous filter begins at zero, so that an error
    at the start is a jump to it. Ports: `error`, `rate`, `feedforward`, `command`.
    """

    error: Input
    rate: Input
    feedforward: Input

    def __init__(
        self, error: Any = None, rate: Any = None, *, kp: Any = 0.0, ki: Any = 0.0, kd: Any = 0.0,
        limits: Any = None, filter: Any = None, tracking: Any = None, feedforward: Any = 0.0,
        every: float | None = None, integral: float = 0.0, unit: str = "",
    ) -> None:  # fmt: skip
        self.kp, self.ki, self.kd = (scalar(k, name) for k, name in ((kp, "kp"), (ki, "ki"), (kd, "kd")))
        self.every = None if every is None else period(every)
        self._port("error", error)
        self.measured = rate is not None
        if self.measured:
            self._port("rate", None if rate is True else rate)
        self._port("feedforward", None if feedforward is True else scalar(feedforward, "the feedforward"))
        self.lag = None if filter is None else positive(filter, "the filter [s]")
        self.pull = None if tracking is None else positive(tracking, "the tracking time [s]")
        for given, what in ((rate, "a rate"), (filter, "a filter")):
            if given is not None and _none(self.kd):
                tell_unused(f"{what} without kd", "Give kd=, too, or leave it out.")
        pair = limits_of(limits)
        if self.pull is not None and pair == (None, None):
            raise ModelError("a tracking time without limits.", fix="Give limits=, or leave tracking= out.")
        begin = number(integral, "the start of the integral")
        (self._continuous if self.every is None else self._sampled)(pair, begin, unit)

    def _continuous(self, pair: tuple[Any, Any], begin: float, unit: str) -> None:
        self.integral = State(begin, unit=unit)
        raw = self.kp * self.error + self.integral + self._derivative() + self.feedforward
        command = limited(raw, pair)
        grows = self.ki * self.error
        if self.pull is None:
            self.integral.rate = ca.if_else((raw - command) * grows > 0, 0, grows)
        else:
            self.integral.rate = grows + (command - raw) / self.pull
        self.command = Output(command, unit=unit)

    def _derivative(self) -> Any:
        if _none(self.kd) or (self.measured and self.lag is None):
            return -self.kd * self.rate if self.measured else 0.0
        if self.lag is None:
            raise ModelError(
                "the derivative of the error needs a filter.", path=self.label,
                fix="Give filter= [s], a measured rate, or every=.",
            )  # fmt: skip
        source = self.rate if self.measured else self.error
        self.filtered = State(0.0)
        self.filtered.rate = (source - self.filtered) / self.lag
        return -self.kd * self.filtered if self.measured else self.kd * self.filtered.rate

    def _sampled(self, pair: tuple[Any, Any], begin: float, unit: str) -> None:
        every = self.every
        assert every is not None
        self.integral, self.held = Mode(begin, every=every, unit=unit), Mode(0.0, every=every, unit=unit)
        step = self.ki * every * self.error
        raw = self.kp * self.error + self.integral + step + self._difference(every) + self.feedforward
        command = limited(raw, pair)
        if self.pull is None:
            self.integral.next = ca.if_else((raw - command) * step > 0, self.integral, self.integral + step)
        else:
            self.integral.next = self.integral + step + every / self.pull * (command - raw)
        self.held.next = command
        self.command = Output(self.held.next, unit=unit)

    def _difference(self, every: float) -> Any:
        lag = 0.0 if self.lag is None else self.lag
        if _none(self.kd) or (self.measured and self.lag is None):
            return -self.kd * self.rate if self.measured else 0.0
        self.slope = Mode(0.0, every=every)
        if self.measured:
            self.slope.next = self.slope + every / (lag + every) * (self.rate - self.slope)
            return -self.kd * self.slope.next
        self.before, self.begun = Mode(0.0, every=every), Mode(0, every=every)
        self.before.next, self.begun.next = self.error, 1
        self.slope.next = (lag * self.slope + ca.if_else(self.begun, self.error - self.before, 0)) / (lag + every)
        return self.kd * self.slope.next


def _none(gain: Any) -> bool:
    return not isinstance(gain, ca.SX) and gain == 0
