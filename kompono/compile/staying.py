"""How a step stays near the constraints: its stages are projected if they stray, its end always.

The motion solves y' = f(y) and, lying on the constraints, also y' = f(P(y)) with the projection P. A method applied to
the second equation has the same order and never evaluates f where conditions that are implied on the constraints are
not implied any more, or divides what a stage is off the constraints by the small pivot of a nearly singular position.
The second stage, an explicit Euler step, and the rank at the last state on the constraints tell which equation a step
takes; all its stages take the same, because mixing them would cost order.
"""

from __future__ import annotations

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import INT, REAL, Value, anywhere, plus_product, spread
from kompono.compile.machine import Beside, Machine, runs_of

NEAR = 1e-2  # smallest pivot, relative to its reference, from which on stages may be off the constraints
AT_REST = 1e-20  # the fastest speed [m/s, rad/s] of a machine that what laws hold leaves, by rounding
MOST_DOUBLINGS = 30  # of the distance to states where no condition is lost
MOST_STEPS = 64.0  # that these are away, where no speed says how far
_AROUND = "kompono.rate_from_around"
_WEIGHTS = (15 / 20, -6 / 20, 1 / 20)  # of rates one, two and three distances away on both sides: exact for quintics


def rate_at(machine: Machine, time: Value, state: str, target: str, h: Value) -> None:
    """target = derivative(time, state); at a singular position, where conditions are lost for a moment and
    accelerations are a small number over another, from the motion shortly before and after it.
    """
    machine.rate(time, state, target)
    if not machine.tells_nearness:
        return
    code = machine.code
    singular = machine.vector("near")[1] < machine.vector("rank")[0]
    singular = code.select(machine.block.projecting > 0, singular, False)
    with code.when(anywhere(singular)):
        if machine.away or machine.program.spread is not None:  # what they heard last must stay known to the loop
            _rate_from_around(machine, time, state, target, h, singular)
        else:
            _call_rate_from_around(machine, time, state, target, h, singular)


def _call_rate_from_around(machine: Machine, time: Value, state: str, target: str, h: Value, where: Value) -> None:
    """The same by a function beside the loop: a copy for each stage would be most of the loop's text."""
    if _AROUND not in machine.beside:
        aside = Beside(machine, "here", "rate")
        instant, step = (Value(aside.code, name, REAL) for name in ("%time", "%step"))
        _rate_from_around(aside, instant, "here", "rate", step, Value(aside.code, "%where", where.kind))
        parameters = f"ptr %block, double %time, ptr %here, ptr %rate, double %step, {where.kind} %where"
        machine.beside[_AROUND] = aside.define(_AROUND, parameters)
    vectors = f"ptr {machine.vector(state).pointer}, ptr {machine.vector(target).pointer}"
    numbers = f"double {h.name}, {where.kind} {where.name}"
    machine.code.say(f"call void @{_AROUND}(ptr %block, double {time.name}, {vectors}, {numbers})")


def _rate_from_around(machine: Machine, time: Value, state: str, target: str, h: Value, where: Value) -> None:
    """The rate as the mean of those at six states on the motion, far enough from here that no condition is lost.

    The search ends where the speeds would have changed by as much as they are: that is another motion. A loss that
    lasts longer (a condition that a mode switched off, a machine at rest) is the rank to go on with.
    """
    code, near, rank = machine.code, machine.vector("near"), machine.vector("rank")
    here = [code.variable(machine.lanes.real, near[k]) for k in range(2)]
    last = machine.vector("distance")  # where the search ended before: the step may have become much shorter
    distance, tries = code.variable(REAL, code.math("maxnum", h * 0.25, last[0] * 0.25)), code.variable(INT, 0)

    def go(k: Value) -> Value:
        """To the k-th state around: one distance ahead, one back, two ahead, ...; the time there."""
        away = distance.get() * (k // 2 + 1).real() * (1.0 - 2.0 * (k % 2).real())
        machine.combine("beside", state, [(away, target)])
        machine.project(time + away, "beside", where)
        return time + away

    reach = _reach(machine, state, target, h)
    lost = code.variable(machine.lanes.truth, where)
    with code.forever():
        lost.set(where & ~where)
        with code.loop(2) as k:
            go(k)
            lost.set(lost.get() | (where & (near[1] < rank[0])))
        code.leave(~anywhere(lost.get() & (reach >= distance.get() * distance.get())) | (tries.get() >= MOST_DOUBLINGS))
        distance.set(distance.get() * 2.0)
        tries.set(tries.get() + 1)
    found = where & ~lost.get() & (reach >= distance.get() * distance.get())
    last[0] = code.select(anywhere(found), distance.get(), 0.0)
    mean, rate = machine.vector("mean"), machine.vector(target)
    machine.combine("mean", target, [(spread(code, -1.0), target)])
    with code.loop(2 * len(_WEIGHTS)) as k:
        machine.rate(go(k), "beside", "rate_beside")
        pair = k // 2
        weight = code.select(pair.equals(0), _WEIGHTS[0], code.select(pair.equals(1), _WEIGHTS[1], _WEIGHTS[2]))
        machine.combine("mean", "mean", [(weight, "rate_beside")])
    with code.loop(machine.size) as i:
        rate[i] = code.select(found, mean[i], rate[i])
    for k in range(2):
        near[k] = here[k].get()
    rank[0] = code.select(where & ~found, near[1], rank[0])


def _reach(machine: Machine, state: str, rate: str, h: Value) -> Value:
    """The square of the time [s^2] in which the fastest speed would change by itself, of what is in no closed part;
    where all is in closed parts, whose speeds are their own business, that of some steps.
    """
    code, values, rates = machine.code, machine.vector(state), machine.vector(rate)
    start, inside = len(machine.program.coordinates), {k for group in machine.program.groups for k in group}
    places = [k for k in range(start, start + len(machine.program.speeds)) if k not in inside]
    if not places:
        return spread(code, MOST_STEPS**2) * (h * h)
    speed, change = (code.variable(machine.lanes.real, 0.0) for _ in range(2))
    for first, count in runs_of(places):
        with code.loop(count) as i:
            for cell, vector in ((speed, values), (change, rates)):
                square = vector[i + first] * vector[i + first]
                cell.set(code.select(square > cell.get(), square, cell.get()))
    return speed.get() / code.select(change.get() > 0.0, change.get(), 1e-300)


def stage_rate(machine: Machine, time: Value, target: str, h: Value, *, second: bool) -> None:
    """target = derivative(time, stage), at the projected stage if this step strays; the `second` stage decides."""
    gap = machine.program.routines.get("gap")
    if gap is None:
        machine.rate(time, "stage", target)
        return
    if second:
        machine.evaluate(gap, time, "stage", "gap")
        wide = machine.vector("gap")[0] > 1.0
        if machine.tells_nearness:
            near = machine.vector("near")
            wide = wide | (near[0] < NEAR) | (near[1] < machine.vector("rank")[0])
        machine.strays.set(machine.code.select(machine.block.projecting > 0, wide, False))
    strays = machine.strays.get()
    with machine.code.when(anywhere(strays)):
        machine.project(time, "stage", strays)
    rate_at(machine, time, "stage", target, h)


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
            mean[i + start] = plus_product(state[i + start], half, rate[i + start])
        if machine.away:
            machine.away.combine_speeds("stage", "stage", "state", [(half, "rate1")])
        machine.project(time + half, "stage", strays)
        with code.loop(count) as i:
            k = i + start
            after[k] = code.select(strays, 2.0 * mean[k] - state[k], after[k])
        if machine.away:
            minus, two = spread(code, -1.0), spread(code, 2.0)
            machine.away.combine_speeds("beside", "next", "", [(minus, "state"), (two, "stage")])
            for k in machine.away.places:
                after[k] = code.select(strays, machine.vector("beside")[k], after[k])


def come_back(machine: Machine, time: Value, state: str) -> None:
    """Project the end of a step, known to be finite, or end the loop."""
    if "project" not in machine.program.routines:
        return
    near = machine.project(time, state)
    note_rank(machine)
    machine.fail(~machine.finite(state, certain=True), ChunkEnd.NOT_FINITE)
    machine.fail(~near, ChunkEnd.OFF_CONSTRAINTS)


def rest(machine: Machine) -> None:
    """Keep the coordinates of a machine that laws hold at rest over a step: what `next` moved is rounding."""
    if not machine.program.laws or machine.away or machine.program.spread is not None:
        return
    code, before, after = machine.code, machine.vector("state"), machine.vector("next")
    first, count = len(machine.program.coordinates), len(machine.program.speeds)
    fastest = code.variable(machine.lanes.real, 0.0)
    with code.loop(count) as i:
        for vector in (before, after):
            speed = code.math("fabs", vector[i + first])
            fastest.set(code.select(speed > fastest.get(), speed, fastest.get()))
    still = fastest.get() < AT_REST
    with code.when(anywhere(still)):
        with code.loop(first) as i:
            after[i] = code.select(still, before[i], after[i])
        with code.loop(count) as i:
            after[i + first] = code.select(still, spread(code, 0.0), after[i + first])


def note_rank(machine: Machine) -> None:
    """Remember the largest number of independent conditions seen at a state on the constraints."""
    if machine.tells_nearness:
        rank, now = machine.vector("rank"), machine.vector("near")[1]
        rank[0] = machine.code.select(now > rank[0], now, rank[0])
