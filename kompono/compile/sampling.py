"""Samples inside the native loops: modes that become something else at equal intervals.

Instant n of a rate is offset + n * period, computed afresh from the integer, so that rounding does not add up and
nothing is searched for: a step that would pass an instant ends on it. `counted` holds n of the next instant of each
rate. What lies closer to a time than a billionth of the period is taken as that time, so that steps, records and
instants that are meant to be the same are. Periods and offsets are data of a run (`sampling`), so another one compiles
nothing.

All rates that are due at an instant are one routine, `tick_k`: whatever is sampled there follows from the state before.
Samples come first at their instant: records show the values behind them, and guards are looked at again. Modes of laws
that were chosen at that very instant, as at the start, fit what was before the sample: they are seen there, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import BOOL, INT, REAL, Value, Variable

if TYPE_CHECKING:
    from kompono.compile.machine import Machine

CLOSE = 1e-9  # of the period
MANY = 1000  # pieces of a step, after which Python looks whether the run shall end


def counted_until(rates: Sequence[tuple[float, float]], time: float) -> list[int]:
    """How many instants of each rate lie before a time [s]."""
    return [max(0, math.ceil((time - offset) / every - CLOSE)) for every, offset in rates]


def told(rates: Sequence[tuple[float, float]]) -> list[float]:
    """Period, offset and what is close [s] of each rate, as a run has them."""
    return [number for every, offset in rates for number in (every, offset, CLOSE * every)]


def _instant(machine: Machine, number: int) -> Value:
    """The next instant of a rate, rounded twice."""
    code, (every, offset, _) = machine.code, machine.sampling[3 * number : 3 * number + 3]
    product = code.let(REAL, f"fmul double {machine.vector('counted')[number].name}, {every.name}")
    return code.let(REAL, f"fadd double {product.name}, {offset.name}")


def _close(machine: Machine, number: int) -> Value:
    """What is close to an instant of a rate [s]."""
    return machine.sampling[3 * number + 2]


def tick(machine: Machine, time: Value) -> None:
    """Sample what is due now."""
    from kompono.compile.captures import catch, meet
    from kompono.compile.events import arm_laws
    from kompono.compile.law_events import look_again
    from kompono.compile.machine import stop_if_unanswered

    code, block, program = machine.code, machine.block, machine.program
    counted, due = machine.vector("counted"), code.variable(INT, 0)
    for number in range(len(program.rates)):
        now = _instant(machine, number) <= time + _close(machine, number)
        due.set(code.select(now, due.get() + (1 << number), due.get()))
        counted[number] = code.select(now, counted[number] + 1.0, counted[number])
    with code.when(due.get() > 0):
        if program.laws:
            with code.when(block.checked.equals(0)):
                arm_laws(machine, time)
        for k, numbers in enumerate(program.ticks):
            with code.when(due.get().equals(sum(1 << number for number in numbers))):
                routine = program.routines[f"tick_{k}"]
                asks = len(routine.outputs) > 1
                machine.evaluate(routine, time, "state", *(("corrected", "reads") if asks else ("corrected",)))
                if asks:
                    _ask(machine, k, time)
                machine.copy("state", "corrected")
        block.set("history", 0)
        if machine.guards:
            block.set("checked", 0)
            block.set("rated", 0)
    stop_if_unanswered(machine)
    if any(unit.shifts & 2 for unit in program.laws):
        block.set("shifted", code.select(due.get() > 0, 1, block.shifted))
        machine.fail(due.get() > 0, ChunkEnd.LAWS)
    elif program.catching and not program.laws:
        with code.when(due.get() > 0):
            machine.copy("stage", "state")
            meet(machine, time)
    elif program.catching:
        caught = code.variable(BOOL, False)
        with code.when(due.get() > 0):
            machine.copy("stage", "state")
            caught.set(catch(machine, time))
        machine.fail(caught.get(), ChunkEnd.LAWS)
        look_again(machine, due.get() > 0)


def stop_at(machine: Machine, end: Value) -> Value:
    """The next instant of any rate if that is before the `end` of a step, else `end`."""
    code, goal = machine.code, machine.code.variable(REAL, end)
    for number in range(len(machine.program.rates)):
        instant = _instant(machine, number)
        goal.set(code.select(instant < goal.get() - _close(machine, number), instant, goal.get()))
    return goal.get()


def leave_at_times(machine: Machine, pieces: Variable, inside: Value) -> None:
    """End the loop after so many pieces of one step: there may be more than anybody waits for."""
    pieces.set(machine.code.select(inside, pieces.get() + 1, 0))
    machine.fail(pieces.get() > MANY, ChunkEnd.LONG)


def _ask(machine: Machine, tick: int, time: Value) -> None:
    """Let Python callables answer, if somebody listens; one that fails ends the loop, the state being that before the
    sample.
    """
    code, ask = machine.code, machine.block.ask
    failed = code.variable(INT, 0)
    with code.when(code.let(BOOL, f"icmp ne ptr {ask.name}, null")):
        failed.set(code.let(INT, f"call i64 {ask.name}(i64 {tick}, double {time.name})"))
    machine.fail(failed.get() > 0, ChunkEnd.STOPPED)
