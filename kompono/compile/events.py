"""Events inside the native loops: guards are watched, crossings located, switches applied.

A guard fires when its value, seen at or below zero before, is above zero. It is *armed* from the moment it was seen at
or below zero (at the end of a step, or at once after a switch) until it fires. When an armed guard is above zero at
the end of a step, the step is cut just behind the first crossing: there all guards that fired are *pending*. Before
anything else happens, the loop applies their switches, lowest first, writes the log and looks at the guards again,
so that a switch may cause the next one at the same time. What a step does twice between its ends is seen only if
`guard_checks` asks for looks in between.

Modes that laws have chosen fit to rounding, so that a guard of theirs may be a little above zero where they begin: then
twice that is spared it, until it was below zero, else it would never be armed.

The crossing is found by the ITP method (Oliveira, Takahashi 2020): like a secant method where guards are smooth, never
more than a few trials above bisection where they are not. Where several guards are above zero the earliest of their own
secants counts, so that forces and gaps, which have other units, do not disturb one another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kompono.compile import dips, kept_steps
from kompono.compile.block import ChunkEnd
from kompono.compile.captures import catch, meet
from kompono.compile.emit import BOOL, INT, REAL, Value, Variable
from kompono.compile.law_events import begin_anew, look_again, settle
from kompono.compile.machine import Machine, stop_if_unanswered, tells_off, tells_rates, tells_slopes

LIMIT = 100  # events in one step
_TOLERANCE, _ROUNDING = 1e-12, 4 * 2.0**-52  # of the time of an event, absolute and relative
_NEVER = -1e300
_SPARE = 8.0  # two to the number of trials there may be more than bisection would need


def tolerance(machine: Machine, time: Value) -> Value:
    """How closely the time of an event is known."""
    code = machine.code
    return code.math("maxnum", _TOLERANCE, _ROUNDING * code.math("fabs", time))


def note(machine: Machine, values: str) -> None:
    """The values of the guards at the present state: what fires is pending, what is low is armed."""
    code = machine.code
    value, armed, pending = machine.vector(values), machine.vector("armed"), machine.vector("pending")
    with code.loop(machine.guards) as k:
        fires = (armed[k] > 0.0) & (value[k] > 0.0)
        pending[k] = code.select(fires, 1.0, pending[k])
        armed[k] = code.select(value[k] <= 0.0, 1.0, armed[k])
    if machine.program.laws:
        spared = machine.vector("spared")
        with code.loop(machine.guards) as k:
            spared[k] = code.select(value[k] <= 0.0 - spared[k], 0.0, spared[k])
    machine.block.set("checked", 1)


def spare(machine: Machine) -> None:
    """Spare guards of laws, where modes were just chosen, what they are above zero, and as much again."""
    code, first = machine.code, machine.guards - len(machine.program.laws)
    value, spared, seen = machine.vector("values"), machine.vector("spared"), machine.vector("seen")
    with code.loop(machine.guards - first) as i:
        k = i + first
        over = code.select(seen[k] > 0.0, 0.0, 2.0 * code.math("maxnum", value[k], 0.0))
        spared[k] = code.select(seen[k] > 0.0, spared[k], over)
        value[k] = value[k] - over
        seen[k] = 1.0


def arm_laws(machine: Machine, time: Value) -> None:
    """Arm guards of laws by the present state, before something changes it at this instant."""
    code, first = machine.code, machine.guards - len(machine.program.laws)
    watch(machine, time, "state", "values", "known", "slopes")
    spare(machine)
    value, armed = machine.vector("values"), machine.vector("armed")
    with code.loop(machine.guards - first) as i:
        armed[i + first] = code.select(value[i + first] <= 0.0, 1.0, armed[i + first])


def handle(machine: Machine, time: Value, each: Value, adaptive: bool = False) -> Value:
    """Apply the switches of all pending guards; whether there were any. `each`: record the state behind them."""
    code, block = machine.code, machine.block
    by_events, by_samples = (any(unit.shifts & what for unit in machine.program.laws) for what in (1, 2))
    if by_events or by_samples:
        with code.when(block.shifted > 0):
            block.set("shifted", 0)
            machine.copy("stage", "state")
            machine.fail(catch(machine, time), ChunkEnd.LAWS)
    if machine.program.laws:
        with code.when(block.settled > 0):
            block.set("settled", 0)
            with code.when(each):
                machine.record(time, "state", counts=False)
    with code.when(block.checked.equals(0)):
        watch(machine, time, "state", "values", "known", "slopes")
        block.set("rated", 1)
        fail_if_not_a_number(machine)
        if machine.program.laws:
            spare(machine)
        note(machine, "values")
    first_law = machine.guards - len(machine.program.laws)
    any_ = largest(machine, "pending", "pending", (0, first_law)) > 0.0
    settled = any_
    if machine.program.laws:
        law = largest(machine, "pending", "pending", (first_law, machine.guards)) > 0.0
        settled = settle(machine, time, law & ~any_, adaptive)
    with code.when(any_):
        halting, caught = code.variable(BOOL, False), None
        machine.copy("stage", "state")
        for k in range(first_law):
            if k in machine.program.stops:
                halting.set(halting.get() | (machine.vector("pending")[k] > 0.0))
            _switch(machine, time, k)
        if not machine.program.laws:
            meet(machine, time)
        elif not by_events:
            caught = catch(machine, time)
        if not by_events:
            with code.when(each if caught is None else each & ~caught):  # else behind the laws, which settle first
                machine.record(time, "state", counts=False)
        block.add("event_count")
        block.set("checked", 0)
        block.set("rated", 0)
        begin_anew(machine, adaptive)
        if machine.program.stops:
            machine.fail(halting.get(), ChunkEnd.HALTED)
        if caught is not None:
            machine.fail(caught, ChunkEnd.LAWS)
            look_again(machine, any_)
    if by_events:
        block.set("shifted", code.select(any_, 1, block.shifted))
        machine.fail(any_, ChunkEnd.LAWS)  # who bears may not touch any more: laws settle before anything is held
    return any_ | settled


def _switch(machine: Machine, time: Value, k: int) -> None:
    code, block = machine.code, machine.block
    pending = machine.vector("pending")
    with code.when(pending[k] > 0.0):
        machine.evaluate(machine.program.routines[f"switch_{k}"], time, "state", "corrected")
        stop_if_unanswered(machine)
        machine.copy("state", "corrected")
        entry = block.array("log").at(block.log_rows * 2)
        entry[0], entry[1] = time, float(k)
        block.add("log_rows")
        pending[k] = 0.0
        machine.vector("armed")[k] = 0.0


def cut(
    machine: Machine, time: Value, end: Value, trial: Callable[[Value, Value], None], look: Look | None = None,
    kept: bool = False,
) -> tuple[Value, Value]:  # fmt: skip
    """Look at the guards at the end of a step, `next`; if one fired, go back to just behind the first crossing.

    `trial(time, size)` writes the state after a shorter step to `next`; `look` knows what the state was on the way. The
    result is where the step ends now, `next` and `values` belonging to it, and whether that is before `end`. Nobody has
    projected a step that is `kept` if it may be.
    """
    code = machine.code
    dips.remember(machine)
    watch(machine, end, "next", "values", "coming", "slopes_coming")
    if kept and tells_off(machine.program):
        with code.when(kept_steps.is_off(machine, end)):
            watch(machine, end, "next", "values", "coming", "slopes_coming")
    fail_if_not_a_number(machine)
    reached, size = code.variable(REAL, end), end - time
    low, high = code.variable(REAL, 0.0), code.variable(REAL, size)
    height = code.variable(REAL, largest(machine, "values"))
    if look is not None:
        with code.when(machine.block.guard_checks > 1):
            _look_closer(machine, (time, end), (low, high, height), trial, look)
    if tells_slopes(machine.program):
        with code.when(~(height.get() > 0.0)):
            _look_between(machine, (time, end), (high, height), trial)
        dips.pass_on(machine)
    with code.when(height.get() > 0.0):
        machine.copy("found", "next")
        _search(machine, time, low, high, trial)
        machine.copy("next", "found")
        moved = time + high.get()
        reached.set(code.select((high.get() < size) & (moved < end), moved, end))
    return reached.get(), reached.get() < end


def fail_if_not_a_number(machine: Machine, values: str = "values") -> None:
    """End the loop if one of the guards is NaN: it would never fire."""
    code, value = machine.code, machine.vector(values)
    good = code.variable(machine.lanes.truth, True)
    with code.loop(machine.guards) as k:
        good.set(good.get() & value[k].equals(value[k]))
    machine.fail(~good.get(), ChunkEnd.GUARD_NOT_FINITE)


def _look_closer(
    machine: Machine,
    span: tuple[Value, Value],
    bracket: tuple[Variable, Variable, Variable],
    trial: Callable[[Value, Value], None],
    look: Look,
) -> None:
    """Look at the guards at equal distances on the way, too; the bracket closes around the first that fires.

    The state there is interpolated; what seems to fire is confirmed by a shorter step.
    """
    code, (time, end), (low, high, height) = machine.code, span, bracket
    checks, hit, j = machine.block.guard_checks, code.variable(BOOL, False), code.variable(INT, 1)
    armed, value = machine.vector("armed"), machine.vector("trial")
    machine.copy("found", "next")
    look.prepare(machine, time, end)
    with code.forever():
        code.leave(j.get() >= checks)
        size = j.get().real() / checks.real() * (end - time)
        look.at(machine, time, end, time + size)
        watch(machine, time + size, "stage", "trial")
        with code.when(largest(machine, "trial") > 0.0):
            trial(time + size, size)
            watch(machine, time + size, "next", "trial")
            there = largest(machine, "trial")
            hit.set(there > 0.0)
            with code.when(there > 0.0):
                high.set(size)
                height.set(there)
                _take_trial(machine)
            with code.when(~(there > 0.0)):
                machine.copy("next", "found")
        code.leave(hit.get())
        with code.loop(machine.guards) as k:
            armed[k] = code.select(value[k] <= 0.0, 1.0, armed[k])
        low.set(size)
        j.set(j.get() + 1)


def _look_between(
    machine: Machine, span: tuple[Value, Value], bracket: tuple[Variable, Variable],
    trial: Callable[[Value, Value], None],
) -> None:  # fmt: skip
    """Look for guards that are above zero between the ends of a step only, see `dips`; `next` is left as it was, or is
    where one has fired.
    """
    code = machine.code

    def highest(at: Value, size: Value) -> Value:
        trial(at, size)
        watch(machine, at, "next", "trial")
        there = largest(machine, "trial")
        with code.when(there > 0.0):
            _take_trial(machine)
        with code.when(~(there > 0.0)):
            machine.copy("next", "found")
        return there

    machine.copy("found", "next")
    dips.look_between(machine, span, bracket, highest)


class Look(Protocol):
    """What is known of the way a step has taken."""

    def prepare(self, machine: Machine, time: Value, end: Value) -> None:
        """Whatever must be known before, with the end of the step in `next`."""
        ...

    def at(self, machine: Machine, time: Value, end: Value, now: Value) -> None:
        """The state at a time on the way, to `stage`."""
        ...


class Hermite:
    """The cubic through both ends of a step with their rates."""

    def prepare(self, machine: Machine, time: Value, end: Value) -> None:
        """Both rates."""
        machine.rate(time, "state", "rate5")
        machine.rate(end, "next", "rate6")

    def at(self, machine: Machine, time: Value, end: Value, now: Value) -> None:
        """The state at a time on the way, to `stage`."""
        h = end - time
        s = (now - time) / h
        rest = 1.0 - s
        share = s * s * (3.0 - 2.0 * s)
        left, right = s * rest * rest * h, (0.0 - s) * s * rest * h
        terms = [(0.0 - share, "state"), (share, "found"), (left, "rate5"), (right, "rate6")]
        machine.combine("stage", "state", terms)


def _search(
    machine: Machine, time: Value, low: Variable, high: Variable, trial: Callable[[Value, Value], None]
) -> None:
    """Close in on the crossing; the state and the guards at `high` are kept in `found` and `values`."""
    code = machine.code
    width = high.get()
    close = tolerance(machine, time + width)
    watch(machine, time, "state", "below")
    reach = code.variable(REAL, _SPARE * close)  # the width bisection would have reached, and something to spare
    with code.forever():
        code.leave(~(reach.get() < _SPARE * width))
        reach.set(2.0 * reach.get())
    with code.forever():
        a, b = low.get(), high.get()
        code.leave(~(b - a > close))
        shift = code.math("maxnum", 0.2 / width * (b - a) * (b - a), 0.3 * close)
        size = _next_trial(machine, (a, b), _earliest(machine, a, b), reach.get(), shift)
        trial(time + size, size)
        watch(machine, time + size, "next", "trial")
        fired = largest(machine, "trial") > 0.0
        with code.when(fired):
            high.set(size)
            machine.copy("found", "next")
            _take_trial(machine)
        with code.when(~fired):
            low.set(size)
            code.copy(machine.vector("below"), machine.vector("trial"), machine.guards)
        reach.set(0.5 * reach.get())


def _earliest(machine: Machine, a: Value, b: Value) -> Value:
    """Where the first of the guards that are above zero at b was zero, by straight lines from a; b if none is."""
    code, found = machine.code, machine.code.variable(REAL, b)
    armed, below, above = machine.vector("armed"), machine.vector("below"), machine.vector("values")
    with code.loop(machine.guards) as k, code.when((armed[k] > 0.0) & (above[k] > 0.0)):
        under = code.math("minnum", below[k], 0.0)
        zero = (above[k] * a - under * b) / (above[k] - under)
        found.set(code.math("minnum", found.get(), zero))
    return found.get()


def _next_trial(machine: Machine, bracket: tuple[Value, Value], secant: Value, reach: Value, shift: Value) -> Value:
    """Shift the secant to the middle to have the crossing between two trials; stay where bisection would be."""
    code, (a, b) = machine.code, bracket
    middle = 0.5 * (a + b)
    side = code.select(secant <= middle, Value(code, "1.0", REAL), -1.0)
    far = code.math("fabs", middle - secant) >= shift  # false also for NaN
    size = code.select(far, secant + side * shift, middle)
    radius = code.math("maxnum", reach - 0.5 * (b - a), 0.0)
    near = code.math("fabs", size - middle) <= radius
    return code.select(near, size, middle - side * radius)


def largest(machine: Machine, values: str, mask: str = "armed", span: tuple[int, int] | None = None) -> Value:
    """The largest of the values whose mask is set, of all guards or some."""
    code, (first, end) = machine.code, span or (0, machine.guards)
    value, chosen = machine.vector(values), machine.vector(mask)
    most = code.variable(machine.lanes.real, _NEVER)
    with code.loop(end - first) as i:
        k = i + first
        one = code.select(chosen[k] > 0.0, value[k], _NEVER)
        most.set(code.math("maxnum", most.get(), one))
    return most.get()


def _take_trial(machine: Machine) -> None:
    """The values of a trial are those of where the step ends."""
    machine.code.copy(machine.vector("values"), machine.vector("trial"), machine.guards)
    if _beside(machine):
        machine.code.copy(machine.vector("beside"), machine.vector("beside_trial"), _beside(machine))
        machine.copy("looked", "looked_trial")


def _beside(machine: Machine) -> int:
    """How many numbers laws may ask for are told with guards."""
    return dict(machine.program.outline("guards").outputs).get("beside", 0)


def keep_rate(machine: Machine, is_cut: Value) -> None:
    """The rate that came with the guards at the end of a step is that of the next one, unless the step was cut."""
    code, block = machine.code, machine.block
    if tells_rates(machine.program):
        with code.when(~is_cut):
            machine.copy("known", "coming")
        block.set("rated", code.select(is_cut, Value(code, "0", INT), Value(code, "1", INT)))


def watch(machine: Machine, time: Value, state: str, target: str, rate: str = "", slopes: str = "") -> None:
    """target = the values of the guards; rate and slopes that may come with them go to vectors if these are named."""
    routine, trial = machine.program.outline("guards"), "" if target == "values" else "_trial"
    places = {"values": target, "rate": rate, "slopes": slopes, "beside": f"beside{trial}", "off": "off"}
    machine.evaluate(routine, time, state, *[places[name] or "spare" for name, _ in routine.outputs])
    if machine.program.laws:
        code, value, spared = machine.code, machine.vector(target), machine.vector("spared")
        with code.loop(machine.guards) as k:
            value[k] = value[k] - spared[k]
    if tells_rates(machine.program):
        machine.block.add("evaluations")
    if _beside(machine):
        machine.copy(f"looked{trial}", state)
