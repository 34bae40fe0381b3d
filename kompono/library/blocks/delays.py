"""Delays: exact for samples, by Pade's approximation for continuous signals."""

from __future__ import annotations

from math import factorial
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import number, shown
from kompono.library.blocks.linear import companion, times
from kompono.library.blocks.ports import Block, period
from kompono.model.event import Mode
from kompono.model.signal import Output
from kompono.model.state import State

MOST = 1000  # periods of a sampled delay, each of which is a mode
HIGHEST = 10  # order of Pade's approximation; beyond, its coefficients lose their digits


class Sample(Block):
    """`output` is `input` as it was at the last of equal intervals of `every` [s], the first at `offset` [s]."""

    def __init__(
        self, input: Any = None, *, every: float, offset: float = 0.0, start: float = 0.0, unit: str = ""
    ) -> None:
        signal = self._port("input", input, unit)
        self.held = Mode(start, every=period(every), offset=offset, unit=unit)
        self.held.next = signal
        self.output = Output(self.held.next, unit=unit)


class Delay(Block):
    """`output` is `input` some time before.

    Sampled: `Delay(periods=3, every=1e-3)` holds the sample of three periods before, exactly; `start` comes first.
    Continuous: `Delay(time=0.02, order=4)` [s] is Pade's approximation of that order, an all-pass: its gain is one, its
    phase right to the power 2 order + 1 of frequency times time; a jump of the input leaks through at once.
    """

    def __init__(
        self, input: Any = None, *, periods: int | None = None, every: float | None = None, time: Any = None,
        order: int | None = None, start: float = 0.0, unit: str = "",
    ) -> None:  # fmt: skip
        signal = self._port("input", input, unit)
        if every is not None and time is None and order is None:
            self._shift(signal, _whole(periods, "the periods", MOST), period(every), start, unit)
        elif time is not None and order is not None and every is None and periods is None:
            delay = number(time, "the time [s]", positive=True)
            self._pade(signal, delay, _whole(order, "the order", HIGHEST), start, unit)
        else:
            fix = "Give periods= and every= for samples, or time= and order= (of Pade's approximation)."
            raise ModelError("the delay is neither sampled nor continuous.", fix=fix)

    def _shift(self, signal: Any, periods: int, every: float, start: float, unit: str) -> None:
        self.line = [Mode(start, every=every, unit=unit) for _ in range(periods)]
        self.held = Mode(start, every=every, unit=unit)
        for mode, before in zip((*self.line, self.held), (signal, *self.line), strict=True):
            mode.next = before
        self.output = Output(self.held.next, unit=unit)

    def _pade(self, signal: Any, delay: float, order: int, start: float, unit: str) -> None:
        terms = [
            factorial(2 * order - k) / (factorial(k) * factorial(order - k)) for k in range(order, -1, -1)
        ]  # of the denominator in s times the delay; the numerator has the signs of (-s)^k
        signs = [(-1.0) ** k for k in range(order, -1, -1)]
        a, b, c, d = companion(np.multiply(terms, signs), terms)
        rest = np.linalg.solve(a, -b[:, 0]) * start
        self.x = [State(value) for value in rest.tolist()]
        x = ca.vertcat(*self.x)
        moves = (times(a, x) + times(b, signal)) / delay
        for k, state in enumerate(self.x):
            state.rate = moves[k]
        self.output = Output(times(c, x) + times(d, signal), unit=unit)


def _whole(value: Any, what: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
        raise ModelError(f"{what} {shown(value)} is no whole number from 1 to {most}.", fix="Give e.g. 2.")
    return int(value)
