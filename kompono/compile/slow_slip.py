"""Equal steps are divided where slip in a plane is slow.

The direction of friction follows that of slip within the time T in which friction changes slip by its speed: no
explicit step much longer than that is stable. It turns within the time T' in which whatever acts changes slip by its
speed, which may be shorter: the last piece tells. So pieces of a step are p = T/2 or T'/4 long, and h sqrt(p / CALM) if
that is shorter, so that the order of the method is kept where p grows from next to nothing; and a little longer each
than the one before, for T' is long again while slip is slowest.

Below the speed that friction changes in two of the `finest` pieces there are, the direction leans to the one chosen at
the last event. That is an error of second order in these pieces, which shrink with the square of the step. Where slip
may end soon, or pass close by rest, laws are asked to settle anew so that it leans below far less (`look_closer`): it
takes some dozens of pieces more to come there, and all that slip turns on the way counts for when it ends.

Slip straight along the direction chosen does not turn, however slow it is: its pieces are as long as the method damps
what it has to the side, which is rounding: 2.7 T for rk4. Once that is more, pieces are as above. In most runs straight
slip is marked so, and tells nothing to divide for (`straight_slip`).

Slips tell their speed, over that below which they lean, beside the guards (`trace_slopes`), those of parts as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import BOOL, REAL, Code, Value, anywhere
from kompono.compile.law_bounds import BRIEF
from kompono.compile.law_state import IDLE
from kompono.compile.machine import Machine, tells_slopes
from kompono.compile.paced import BENT, CLOSER, MADE, MARKS, NEAR, SHORT, SIZE, SPARED, TRUE, WAITS, WISH
from kompono.translate.laws.naming import STRAIGHT
from kompono.translate.program import LawUnit

PLANAR = 2  # the kind of units that slip in a plane
STEPS = 2.0  # the finest, in which friction at its limit changes slip by the speed below which its direction leans
SPAN = 0.128  # [s]: pieces of a step h are never shorter than h^2 / SPAN
PART = 0.01  # of a step, nor than 1 us, if that is less
SHARE = 0.25  # of the time in which the speed of slip changes by itself
GROWS = 1.25  # a piece over the one before
_FAR = 1e3  # [s]
_NOTHING = 1e300  # more than slip tells
CALM = 0.004  # [s]: pieces that long are whole steps, and shorter ones not in proportion
SOON, LATE = 4.0, 100.0  # times T: slip that would be at rest so soon turns fast; that may be there, be it so late
PATIENT = 2000.0  # pieces shorter than the finest, without an event


def finest(step: float) -> float:
    """The shortest pieces [s] into which a step [s] is divided; 0: one that its method chooses."""
    return min(step, max(step * step / SPAN, min(BRIEF, PART * step))) if step else BRIEF


def divides(machine: Machine) -> bool:
    """Whether steps may be divided: something slips in a plane, and tells so."""
    return bool(planar(machine.program.laws)) and tells_slopes(machine.program)


def longest(machine: Machine, damps: float) -> tuple[Value, Value, Value]:
    """How long the next piece of a step may be, on each lane, whether slip that turns may come to rest in it, and
    whether all slip there is (and some is) may be marked as straight.

    Slopes at the present state are known. What dies away in some time still does in steps `damps` times as long.
    """
    code, now, before, paced = machine.code, *(machine.vector(n) for n in ("slopes", "slopes_before", "paced"))
    whole = 2.0 * machine.block.step_size  # more than enough, whatever rounding does
    calm = code.math("maxnum", whole, 4.0 * CALM)  # the same before its share
    found, near = code.variable(machine.lanes.real, whole), code.variable(machine.lanes.truth, False)
    least_straight = code.variable(machine.lanes.real, _NOTHING)
    last, made = paced[SIZE], paced[MADE]
    finest = code.select(paced[CLOSER] > 0.0, paced[CLOSER], machine.block.finest)
    with code.when(machine.block.acting > IDLE):
        for first, apart, count in planar(machine.program.laws):
            with code.loop(count) as i, code.when(anywhere(now[i * apart + first] > 0.0)):
                k = i * apart + first
                speed, is_straight = _told(code, now[k])
                earlier, _ = _told(code, before[k])
                least_straight.set(code.math("minnum", least_straight.get(), now[k]))
                is_straight = is_straight & (made > 0.0)
                stiff, straight = finest * speed, 2.0 * damps * finest * speed
                falls = earlier - speed
                change, share = code.math("fabs", falls), SHARE * made * speed
                turning = (stiff < calm) | (share < calm * change)
                size = code.variable(machine.lanes.real, straight)
                with code.when(anywhere((speed > 0.0) & ~is_straight & turning)):
                    known = (made > 0.0) & (earlier > 0.0) & (change * _FAR > speed * made)
                    passing = code.select(known, share / code.select(known, change, 1.0), _FAR)
                    least = code.math("minnum", stiff, passing)
                    grown = machine.block.step_size * code.math("sqrt", least * (1.0 / CALM))
                    soon = known & (falls * (2.0 * SOON * finest) > made) & (least < 0.5 * CALM)
                    least = code.math("minnum", least, grown)
                    least = code.select(soon, 0.5 * least, least)
                    size.set(code.select(is_straight, straight, code.select(turning, least, whole)))
                    near.set(near.get() | (speed > 0.0) & ~is_straight & (stiff < 4.0 * NEAR * machine.block.finest))
                shorter = (size.get() > 0.0) & (size.get() < found.get())
                found.set(code.select(shorter, size.get(), found.get()))
    most = GROWS * last
    size = code.select((last > 0.0) & (most < found.get()), most, found.get())
    return size, near.get(), (least_straight.get() >= TRUE) & (least_straight.get() < _NOTHING)


def _told(code: Code, number: Value) -> tuple[Value, Value]:
    """The speed of slip over that below which it leans, and whether it is straight."""
    is_straight = number >= STRAIGHT
    once = code.select(is_straight, number * (1.0 / STRAIGHT), number)
    return code.select(once >= STRAIGHT, once * (1.0 / STRAIGHT), once), is_straight


def end_of_piece(machine: Machine, span: tuple[Value, Value], damps: float) -> tuple[Value, Value, Value]:
    """Where the next piece of a step ends, how long it might be, and whether slip that turns may come to rest in it, on
    one lane; no piece is a small rest. The loop ends if slip is to be marked first.
    """
    time, end = span
    code, rest, (size, near, straight) = machine.code, end - time, longest(machine, damps)
    machine.fail(straight & may_be_marked(machine, time), ChunkEnd.STRAIGHT)
    half = 0.5 * rest
    moved = time + code.select(size < half, size, half)
    return code.select((size < rest) & (moved > time) & (moved < end), moved, end), size, near


def may_be_marked(machine: Machine, at: Value) -> Value:
    """Whether slip that is straight may be marked so, on each lane: behind a piece that has shown it."""
    paced = machine.vector("paced")
    return (paced[MARKS] > 0.0) & (paced[MADE] > 0.0) & (paced[BENT] <= at)


def note(machine: Machine, size: Value, made: Value | float) -> None:
    """Remember how long a piece might have been, and how long it is; 0 if an event has cut it."""
    paced = machine.vector("paced")
    paced[SIZE], paced[MADE] = size, made


def look_closer(machine: Machine, at: Value, made: Value, near: float = NEAR) -> Value:
    """Behind a piece that no event has cut, on one lane: whether laws are to settle, so that directions of slip which
    may end here lean below a lower speed than others; or as others, if that took too long.
    """
    code, laws, paced = machine.code, machine.program.laws, machine.vector("paced")
    now, before, pending = (machine.vector(name) for name in ("slopes", "slopes_before", "pending"))
    guard, finest, asks = machine.guards - len(laws), machine.block.finest, code.variable(BOOL, False)
    far, short = paced[CLOSER] <= 0.0, (paced[CLOSER] > 0.0) & (made < finest)
    paced[SHORT] = code.select(short, paced[SHORT] + 1.0, paced[SHORT])
    tired = paced[SHORT] > PATIENT
    with code.when(tired | far & (at >= paced[WAITS])):
        for first, apart, count in planar(laws):
            with code.loop(count) as i:
                k = i * apart + first
                speed, is_straight = _told(code, now[k])
                earlier, _ = _told(code, before[k])
                falls = (earlier - speed) * (2.0 * LATE * finest) > made
                ends = ~is_straight & (speed > 1.0) & (speed < near) & falls
                with code.when(tired & (speed > 0.0) | ~tired & ends):
                    pending[k + guard] = 1.0
                    asks.set(True)
        with code.when(asks.get()):
            paced[WISH] = code.select(tired, Value(code, "-1.0", REAL), 1.0)
            paced[WAITS] = code.select(tired, at + SPARED * finest, paced[WAITS])
    return asks.get()


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
