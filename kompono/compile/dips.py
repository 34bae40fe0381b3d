"""Gaps that close and open again within one step: looked for between its ends.

Guards of open gaps come with their slopes. Where one rises at the beginning of a step and falls at its end, the cubic
through both values and slopes says when it is highest and how high it comes; if that is above zero, or not clearly
below it, a shorter step up to there tells. Where no guard turns round this costs a comparison for each gap.
"""

from __future__ import annotations

from collections.abc import Callable

from kompono.compile import slow_slip
from kompono.compile.emit import BOOL, REAL, Value, Variable, anywhere
from kompono.compile.machine import Machine, tells_slopes

_BEFORE, _FURTHER = 1e-4, 100.0  # so much before the top: behind it a gap widens, and its guard is low
_NEAR = 0.5  # of the height it gains: a top that is less than this below zero is looked at


def remember(machine: Machine) -> None:
    """Keep the guards at the beginning of a step, before they are looked at anew."""
    if tells_slopes(machine.program):
        machine.code.copy(machine.vector("earlier"), machine.vector("values"), machine.guards)


def pass_on(machine: Machine) -> None:
    """The slopes at the end of a step are those at the beginning of the next."""
    if slow_slip.divides(machine):
        machine.code.copy(machine.vector("slopes_before"), machine.vector("slopes"), len(machine.program.laws))
    if tells_slopes(machine.program):
        machine.code.copy(machine.vector("slopes"), machine.vector("slopes_coming"), len(machine.program.laws))


def look_between(
    machine: Machine,
    span: tuple[Value, Value],
    bracket: tuple[Variable, Variable],
    trial: Callable[[Value, Value], Value],
) -> None:
    """Look at the tops of guards between the ends of a step, the earliest first, until one has fired; the bracket (end
    and height there) closes around it. `trial(time, size)` makes a shorter step and gives the highest guard there.
    """
    code, (time, end), (high, height) = machine.code, span, bracket
    last, hit = code.variable(REAL, 0.0), code.variable(BOOL, False)
    with code.forever():
        share = next_top(machine, end - time, last.get())
        code.leave((share >= 1.0) | hit.get())
        last.set(share)
        back = code.variable(REAL, _BEFORE)
        with code.forever():
            code.leave(hit.get() | (back.get() >= 1.0))
            size = share * (1.0 - back.get()) * (end - time)
            there = trial(time + size, size)
            hit.set(there > 0.0)
            with code.when(there > 0.0):
                high.set(size)
                height.set(there)
            back.set(_FURTHER * back.get())


def next_top(machine: Machine, h: Value, after: Value | float, before: str = "earlier", now: str = "values") -> Value:
    """The share of the step at which the next guard is highest that may come above zero; 1 if there is none. `before`
    and `now` are the guards at both ends of the step.
    """
    code, count = machine.code, len(machine.program.laws)
    first = machine.guards - count
    first_values, last_values = machine.vector(before), machine.vector(now)
    rising, falling, armed = machine.vector("slopes"), machine.vector("slopes_coming"), machine.vector("armed")
    found = code.variable(machine.lanes.real, 1.0)
    with code.loop(count) as i:
        k = i + first
        a, b, low, up = h * rising[i], h * falling[i], first_values[k], last_values[k]
        turns = (a > 0.0) & (b < 0.0) & (low <= 0.0) & (up <= 0.0) & (armed[k] > 0.0)
        with code.when(anywhere(turns)):
            rise = up - low
            bend, twist = 3.0 * rise - 2.0 * a - b, 3.0 * (a + b - 2.0 * rise)
            root = code.math("sqrt", code.math("maxnum", bend * bend - twist * a, 0.0))
            share = a / (root - bend)
            top = low + share * (a + share * (bend + share * (twist / 3.0)))
            gained = top - code.math("maxnum", low, up)
            wanted = turns & (top > 0.0 - _NEAR * gained) & (share > after) & (share < found.get())
            found.set(code.select(wanted, share, found.get()))
    return found.get()
