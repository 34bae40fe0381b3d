"""Equal steps are divided where slip in a plane is slow.

The direction of friction follows that of slip within the time T in which friction changes slip by its speed: no
explicit step much longer than that is stable. It turns within the time T' in which whatever acts changes slip by its
speed, which may be shorter: the last piece tells. So pieces of a step are p = T/2 or T'/4 long, and h sqrt(p / CALM) if
that is shorter, so that the order of the method is kept where p grows from next to nothing; and a little longer each
than the one before, for T' is long again while slip is slowest.

Below the speed that friction changes in two of the `finest` pieces there are, the direction leans to the one chosen at
the last event. That is an error of second order in these pieces, which shrink with the square of the step.

Slip straight along the direction chosen does not turn, however slow it is: its pieces are as long as the method damps
what it has to the side, which is rounding: 2.7 T for rk4. Once that is more, pieces are as above.

Slips tell their speed, over that below which they lean, beside the guards (`trace_slopes`), those of parts as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.compile.emit import Code, Value, anywhere
from kompono.compile.law_bounds import BRIEF
from kompono.compile.law_state import IDLE
from kompono.compile.machine import Machine, tells_slopes
from kompono.translate.laws.naming import STRAIGHT
from kompono.translate.program import LawUnit

PLANAR = 2  # the kind of units that slip in a plane
STEPS = 2.0  # the finest, in which friction at its limit changes slip by the speed below which its direction leans
SPAN = 0.128  # [s]: pieces of a step h are never shorter than h^2 / SPAN
SHARE = 0.25  # of the time in which the speed of slip changes by itself
GROWS = 1.25  # a piece over the one before
_FAR = 1e3  # [s]
CALM = 0.004  # [s]: pieces that long are whole steps, and shorter ones not in proportion


def finest(step: float) -> float:
    """The shortest pieces [s] into which a step [s] is divided."""
    return min(step, max(step * step / SPAN, BRIEF))


def divides(machine: Machine) -> bool:
    """Whether steps may be divided: something slips in a plane, and tells so."""
    return bool(planar(machine.program.laws)) and tells_slopes(machine.program)


def longest(machine: Machine, damps: float) -> Value:
    """How long the next piece of a step may be, on each lane; slopes at the present state are known. What dies away in
    some time still does in steps `damps` times as long.
    """
    code, now, before, paced = machine.code, *(machine.vector(n) for n in ("slopes", "slopes_before", "paced"))
    whole = 2.0 * machine.block.step_size  # more than enough, whatever rounding does
    calm = code.math("maxnum", whole, 4.0 * CALM)  # the same before its share
    found = code.variable(machine.lanes.real, whole)
    last, made = paced[0], paced[1]
    with code.when(machine.block.acting > IDLE):
        for first, apart, count in planar(machine.program.laws):
            with code.loop(count) as i:
                k = i * apart + first
                speed, is_straight = _told(code, now[k])
                earlier, _ = _told(code, before[k])
                stiff, straight = machine.block.finest * speed, 2.0 * damps * machine.block.finest * speed
                change, share = code.math("fabs", speed - earlier), SHARE * made * speed
                turning = (stiff < calm) | (share < calm * change)
                with code.when(anywhere((speed > 0.0) & code.select(is_straight, straight < whole, turning))):
                    known = (made > 0.0) & (earlier > 0.0) & (change * _FAR > speed * made)
                    passing = code.select(known, share / code.select(known, change, 1.0), _FAR)
                    size = code.math("minnum", stiff, passing)
                    grown = machine.block.step_size * code.math("sqrt", size * (1.0 / CALM))
                    size = code.select(is_straight, straight, code.math("minnum", size, grown))
                    shorter = (size > 0.0) & (size < found.get())
                    found.set(code.select(shorter, size, found.get()))
    most = GROWS * last
    return code.select((last > 0.0) & (most < found.get()), most, found.get())


def _told(code: Code, number: Value) -> tuple[Value, Value]:
    """The speed of slip over that below which it leans, and whether it is straight."""
    is_straight = number >= STRAIGHT
    return code.select(is_straight, number * (1.0 / STRAIGHT), number), is_straight


def end_of_piece(machine: Machine, span: tuple[Value, Value], damps: float) -> tuple[Value, Value]:
    """Where the next piece of a step ends, and how long it might be, on one lane; no piece is a small rest."""
    time, end = span
    code, rest, size = machine.code, end - time, longest(machine, damps)
    half = 0.5 * rest
    moved = time + code.select(size < half, size, half)
    return code.select((size < rest) & (moved > time) & (moved < end), moved, end), size


def note(machine: Machine, size: Value, made: Value | float) -> None:
    """Remember how long a piece might have been, and how long it is; 0 if an event has cut it."""
    paced = machine.vector("paced")
    paced[0], paced[1] = size, made


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
