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


def mirror_speeds(machine: Machine, time: Value, h: Value) -> None:
    """The end of a straying midpoint step: v1 = 2 w - v0, w the mean speed v0 + h/2 a projected at the midpoint.

    Forces of the constraints then do no work over the step, and neither slow a turning body down nor speed it up; the
    plain v0 + h a adds the fourth power of its angle / 48 to its speed. The difference is of third order.
    """
    if "gap" not in machine.program.routines:
        return
    code, half = machine.code, h * 0.5
    state, rate, mean, after = (machine.vector(name) for name in ("state", "rate1", "stage", "next"))
    start, count = len(machine.program.coordinates), len(machine.program.speeds)
    strays = machine.strays.get()
    with code.when(anywhere(strays)):
        with code.loop(count) as i:
            mean[i + start] = state[i + start] + half * rate[i + start]
        machine.project(time + half, "stage", strays)
        with code.loop(count) as i:
            k = i + start
            after[k] = code.select(strays, 2.0 * mean[k] - state[k], after[k])


def come_back(machine: Machine, time: Value, state: str) -> None:
    """Project the end of a step, known to be finite, or end the loop."""
    if "project" not in machine.program.routines:
        return
    near = machine.project(time, state)
    machine.fail(~machine.finite(state), Status.NOT_FINITE)
    machine.fail(~near, Status.OFF_CONSTRAINTS)
