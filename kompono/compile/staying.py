"""How a step stays near the constraints: its stages are projected if they stray, its end always.

The motion solves y' = f(y) and, lying on the constraints, also y' = f(P(y)) with the projection P. A method applied to
the second equation has the same order and never evaluates f where conditions that are implied on the constraints are
not implied any more. The second stage, an explicit Euler step, tells which equation a step takes; all its stages take
the same, because mixing them would cost order.
"""

from __future__ import annotations

from kompono.compile.block import Status
from kompono.compile.emit import Value, anywhere
from kompono.compile.machine import Machine


def stage_rate(machine: Machine, time: Value, target: str, *, second: bool) -> None:
    """target = derivative(time, stage), at the projected stage if this step strays; the `second` stage decides."""
    gap = machine.program.routines.get("gap")
    if gap is not None:
        if second:
            machine.evaluate(gap, time, "stage", "gap")
            wide = machine.vector("gap")[0] > 1.0
            machine.strays.set(machine.code.select(machine.block.projecting > 0, wide, False))
        strays = machine.strays.get()
        with machine.code.when(anywhere(strays)):
            machine.project(time, "stage", strays)
    machine.rate(time, "stage", target)


def come_back(machine: Machine, time: Value, state: str) -> None:
    """Project the end of a step, or end the loop."""
    near = machine.project(time, state)
    machine.fail(~machine.finite(state), Status.NOT_FINITE)
    machine.fail(~near, Status.OFF_CONSTRAINTS)
