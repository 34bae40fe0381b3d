"""The native loop of equal steps, and the Runge-Kutta step.

Step k ends at start + (k + 1) h, computed afresh each time, so rounding does not add up. Every loop of fixed steps is
this driver with a different `StepRule`.
"""

from __future__ import annotations

from typing import Protocol

from kompono.compile import kept_steps
from kompono.compile.block import ChunkEnd
from kompono.compile.emit import Value
from kompono.compile.machine import Machine, stop_if_unanswered
from kompono.compile.staying import come_back, mirror_speeds, rate_at, rest, stage_rate
from kompono.compile.tableaux import MIDPOINT, Tableau


class StepRule(Protocol):
    """A method of fixed step size."""

    alike: bool  # `partial` is `advance`: the method knows nothing of the steps before
    remembers: tuple[str, ...]  # vectors that a step takes over from the one before
    damps: float  # a step may be so many times as long as the time in which something dies away, and it still does

    def advance(self, machine: Machine, time: Value, h: Value) -> None:
        """From `state` at `time`, write the state h later to `next`."""
        ...

    def partial(self, machine: Machine, time: Value, h: Value) -> None:
        """The same over any length, as part of a step that an event cuts."""
        ...

    def settle(self, machine: Machine, time: Value) -> None:
        """Whatever must be evaluated at `next`, projected and at its own time; may fail, must not touch the past."""
        ...

    def commit(self, machine: Machine) -> None:
        """The step is accepted: remember what the next one needs."""
        ...


class RungeKutta:
    """An explicit Runge-Kutta method."""

    alike, remembers = True, ()

    def __init__(self, tableau: Tableau) -> None:
        self.tableau, self.damps = tableau, 2.7 if tableau.order > MIDPOINT.order else 1.8

    def advance(self, machine: Machine, time: Value, h: Value) -> None:
        """All stages."""
        rate_at(machine, time, "state", "rate0", h)
        stages(machine, self.tableau, time, h)

    def partial(self, machine: Machine, time: Value, h: Value) -> None:
        """All stages."""
        self.advance(machine, time, h)

    def settle(self, machine: Machine, time: Value) -> None:
        """Nothing."""

    def commit(self, machine: Machine) -> None:
        """Nothing."""


def stages(machine: Machine, tableau: Tableau, time: Value, h: Value, first: str = "rate0") -> None:
    """The stages after the first, whose rate is known, and the end of the step in `next`."""
    names = [first, *(f"rate{i}" for i in range(1, len(tableau.b)))]
    for i in range(1, len(tableau.b)):
        machine.combine("stage", "state", weighted(h, tableau.a[i], names))
        stage_rate(machine, time + tableau.c[i] * h, names[i], h, second=i == 1)
    machine.combine("next", "state", weighted(h, tableau.b, names))
    if tableau is MIDPOINT:
        mirror_speeds(machine, time, h)


def weighted(h: Value, weights: tuple[float, ...], names: list[str]) -> list[tuple[Value, str]]:
    """The terms h * weight * vector that are not zero."""
    return [(h * weight, name) for weight, name in zip(weights, names, strict=False) if weight]


def make_piece(machine: Machine, step: StepRule, span: tuple[Value, Value], short: Value) -> None:
    """From a time to another, the whole step or, where it is `short`, a part of it; `next` is on the conditions."""
    code, block, (time, end) = machine.code, machine.block, span
    if step.alike:  # all its stages once
        step.advance(machine, time, code.select(short, end - time, block.step_size))
    else:
        with code.when(short):
            step.partial(machine, time, end - time)
        with code.when(~short):
            step.advance(machine, time, block.step_size)
    machine.fail(~machine.finite("next"), ChunkEnd.NOT_FINITE)
    kept_steps.come_back_if_needed(machine, end)
    rest(machine)


def fixed_loop(machine: Machine, step: StepRule, name: str) -> str:
    """Up to `budget` steps of size `step_size`, with a record before every `every`-th one and at its end."""
    code, block = machine.code, machine.block
    last, h = block.step + block.budget, block.step_size
    with code.forever():
        k = block.step
        time = machine.grid(k, h)
        due = (k % block.every).equals(0) & (block.recorded <= k // block.every)
        machine.fail(due & (block.rows >= block.capacity), ChunkEnd.BUFFER_FULL)
        with code.when(due):
            machine.record(time, "state")
        code.leave(k >= last)
        machine.stop_if_asked()
        end = machine.grid(k + 1, h)
        step.advance(machine, time, h)
        machine.fail(~machine.finite("next"), ChunkEnd.NOT_FINITE)
        come_back(machine, end, "next")
        step.settle(machine, end)
        stop_if_unanswered(machine)
        step.commit(machine)
        machine.copy("state", "next")
        block.set("time", end)
        block.add("step")
        block.add("accepted")
    return machine.finish(name)
