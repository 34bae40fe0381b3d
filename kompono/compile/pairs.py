"""Methods that choose their steps: how a step is made, what its error is, and what the state was on the way.

A `Pair` is one Runge-Kutta method. What the loop asks for are `Steps`, so that a method may also change between two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kompono.compile.emit import INT, Value

if TYPE_CHECKING:
    from kompono.compile.machine import Machine


class Steps(Protocol):
    """How the loop makes its steps: by one steps, or by the one of two that suits."""

    @property
    def rates(self) -> list[str]:
        """Names of the rates; the last is that at the end of a step."""
        ...

    def attempt(self, machine: Machine, time: Value, end: Value, h: Value) -> Value:
        """Make a step from `state` to `next`, with its rates; whether that could be done."""
        ...

    def error(self, machine: Machine) -> list[tuple[Value | float, str]]:
        """Weights of rates in the error of a step, over its length."""
        ...

    def power(self, machine: Machine) -> Value | float:
        """The power of the error that the length of a step is proportional to."""
        ...

    def dense(self, machine: Machine, share: Value) -> list[tuple[int, Value]]:
        """Weights of rates for the state at a share of the last step that was accepted."""
        ...

    def accepted(self, machine: Machine, same: Callable[[], Value]) -> None:
        """A step was accepted: say whether its last rate begins the next one (`history`); `same` tells whether the
        projection left the state alone."""
        ...


@dataclass(frozen=True)
class Pair:
    """A one-step method with an estimate of its error and an interpolant, both sums of rates `rate0`, `rate1`, ...

    `make(machine, time, end, h)` makes a step from `state` to `next` with the rate at its end in the last of the
    rates, and says whether it could. The error is h times the sum of `weights` * rate and shrinks with the power
    1 / `root` of h; `between(share)` are weights of the rates for the state at a share of the step. With `keeps` the
    rate at the end is the first one of the next step even if a projection moved the state a little.
    """

    make: Callable[[Machine, Value, Value, Value], Value]
    weights: tuple[float, ...]
    root: float
    between: Callable[[Any], list[tuple[int, Any]]]
    keeps: bool = False

    @property
    def rates(self) -> list[str]:
        """Names of the rates."""
        return [f"rate{i}" for i in range(len(self.weights))]

    def attempt(self, machine: Machine, time: Value, end: Value, h: Value) -> Value:
        """Make a step."""
        return self.make(machine, time, end, h)

    def error(self, machine: Machine) -> list[tuple[Value | float, str]]:
        """Those that are not zero."""
        return [(weight, name) for weight, name in zip(self.weights, self.rates, strict=True) if weight]

    def power(self, machine: Machine) -> Value | float:
        """Always the same."""
        return self.root

    def dense(self, machine: Machine, share: Value) -> list[tuple[int, Value]]:
        """Always the same."""
        return self.between(share)

    def accepted(self, machine: Machine, same: Callable[[], Value]) -> None:
        """The last rate is kept, or is right if the state is as it was."""
        if not self.keeps:
            machine.block.set("history", machine.code.select(same(), Value(machine.code, "1", INT), 0))
