"""Equal steps are divided where slip in a plane is slow.

The direction of friction follows that of slip within the time T in which friction changes slip by its speed: no
explicit step much longer than that is stable. Pieces of a step h are therefore T/2 long, or h sqrt(T / CALM) if that is
shorter, so that the order of the method is kept where T grows from next to nothing. Below the speed that friction
changes in two of the `finest` pieces there are, the direction leans to the one chosen at the last event. That is an
error of second order in these pieces, which shrink with the square of the step.

Slips tell their speed, over that below which they lean, beside the guards (`trace_slopes`), those of parts as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.compile.emit import Value
from kompono.compile.law_bounds import BRIEF
from kompono.compile.machine import Machine, tells_slopes
from kompono.translate.program import LawUnit

PLANAR = 2  # the kind of units that slip in a plane
STEPS = 2.0  # the finest, in which friction at its limit changes slip by the speed below which its direction leans
SPAN = 0.128  # [s]: pieces of a step h are never shorter than h^2 / SPAN
CALM = 0.008  # [s]: a time T from which on steps are whole


def finest(step: float) -> float:
    """The shortest pieces [s] into which a step [s] is divided."""
    return min(step, max(step * step / SPAN, BRIEF))


def divides(machine: Machine) -> bool:
    """Whether steps may be divided: something slips in a plane, and tells so."""
    return bool(planar(machine.program.laws)) and tells_slopes(machine.program)


def longest(machine: Machine, rest: Value) -> Value:
    """How long the next piece may be of what is left of a step, on each lane; slopes at the present state are known."""
    code, told = machine.code, machine.vector("slopes")
    found = code.variable(machine.lanes.real, rest)
    for first, apart, count in planar(machine.program.laws):
        with code.loop(count) as i:
            size = machine.block.finest * told[i * apart + first]
            calm = machine.block.step_size * code.math("sqrt", size * (STEPS / CALM))
            size = code.math("minnum", size, calm)
            shorter = (size > 0.0) & (size < found.get())
            found.set(code.select(shorter, size, found.get()))
    return found.get()


def end_of_piece(machine: Machine, time: Value, end: Value) -> Value:
    """Where the next piece of a step ends, on one lane; no piece is a small rest."""
    code, rest = machine.code, end - time
    size = longest(machine, rest)
    half = 0.5 * rest
    moved = time + code.select(size < half, size, half)
    return code.select((size < rest) & (moved > time) & (moved < end), moved, end)


def planar(units: Sequence[LawUnit]) -> list[tuple[int, int, int]]:
    """Places of what slips in a plane, as runs of equal distances: first, distance and count of each."""
    found: list[tuple[int, int, int]] = []
    for place in (k for k, unit in enumerate(units) if unit.kind == PLANAR):
        if found:
            first, apart, count = found[-1]
            if count == 1 or first + apart * count == place:
                found[-1] = (first, place - first if count == 1 else apart, count + 1)
                continue
        found.append((place, 1, 1))
    return found
