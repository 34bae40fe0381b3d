"""The native loop of steps chosen by their error: PI controller, dense output (Hairer, Norsett, Wanner: Solving ODEs I,
II.4-6). `Steps` say how a step is made, what its error is, and what the state was on the way.

Records lie on equidistant times. If they are far apart (at least half a step), a step is shortened to end on the next
one, and the step size proposed before is taken up again afterwards; if they are close, steps take their own course and
records come from the interpolant. Either way a recorded state is projected like any other. The end is hit exactly.
Events are located on the interpolant, projected where the model is, and the step size is guessed anew after each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kompono.compile import events, sampling, slow_slip
from kompono.compile.block import ChunkEnd
from kompono.compile.emit import BOOL, INT, REAL, Value, Variable
from kompono.compile.error_level import ESTIMATE, hidden_error, level, plus_hidden_square, plus_square
from kompono.compile.law_state import IDLE
from kompono.compile.machine import Machine, combine_own, runs_of, stop_if_unanswered, tells_rates
from kompono.compile.pairs import Steps
from kompono.compile.staying import note_rank, rate_at, rest

SAFETY, BETA, SHRINK, GROW = 0.9, 0.04, 0.2, 10.0
ROUNDING = 1e-15
_UNSOLVED = "1.0e9"  # the error of a step that could not be made
_NEAR = 100.0  # speeds below which the direction of slip in a plane leans: what is slower may end in a step
_FAR_APART = 1000.0  # tolerances between events that have nothing to do with each other


def adaptive_loop(machine: Machine, steps: Steps, name: str) -> str:
    """Up to `budget` attempted steps towards `until`."""
    code, block = machine.code, machine.block
    tries = code.variable(INT, 0)
    with code.forever():
        if machine.program.rates:
            sampling.tick(machine, block.time)
        _record(machine, steps)
        code.leave(machine.status.get() > 0)
        time = block.time
        code.leave((time >= block.until) | (tries.get() >= block.budget))
        machine.stop_if_asked()
        if machine.guards:
            each = block.dense.equals(0)
            machine.leave_room_for_events(each)
            happened = events.handle(machine, time, each, adaptive=True)
            machine.fail(block.event_count > events.LIMIT, ChunkEnd.TOO_MANY_EVENTS)
            with code.when(~happened):
                _try(machine, steps, time, tries)
        else:
            _try(machine, steps, time, tries)
    return machine.finish(name)


def _try(machine: Machine, steps: Steps, time: Value, tries: Variable) -> None:
    """Attempt one step."""
    code = machine.code
    _begin(machine, steps, time)
    stop_if_unanswered(machine)
    code.leave(machine.status.get() > 0)
    h, end, shortened = _choose(machine, time)
    made = steps.attempt(machine, time, end, h)
    stop_if_unanswered(machine)
    error = _error(machine, steps, h, "next")
    finite = machine.finite("next", steps.rates[-1], certain=True)
    error = code.select(made, error, code.select(finite, Value(code, _UNSOLVED, REAL), math.inf))
    good = (error <= 1.0) & finite
    with code.when(good):
        _accept(machine, steps, (time, end, h), error, shortened)
    with code.when(~good):
        _reject(machine, steps, time, h, error)
    code.leave(machine.status.get() > 0)
    tries.set(tries.get() + 1)


# -- step size -------------------------------------------------------------------------------------------------------


def _begin(machine: Machine, steps: Steps, time: Value) -> None:
    """The rate at the start of a step, unless the last step left it, and the very first step size."""
    code, block = machine.code, machine.block
    with code.when(block.history.equals(0)):
        rate_at(machine, time, "state", "rate0", block.step_size)
        block.set("history", 1)
        bad = ~machine.finite("rate0", "state", certain=True)
        with code.when(bad):
            machine.status.set(ChunkEnd.NOT_FINITE)
        with code.when(~bad & (block.step_size <= 0.0)):
            _first_step(machine, steps, time)


def _first_step(machine: Machine, steps: Steps, time: Value) -> None:
    """Hairer's guess: an explicit Euler step estimates the second derivative; of what is in no closed part."""
    code, block = machine.code, machine.block
    size, speed = _norm(machine, "state"), _norm(machine, "rate0")
    tiny = (size <= 1e-5) | (speed <= 1e-5)
    guess = code.select(tiny, 1e-6, 0.01 * size / code.math("maxnum", speed, 1e-300))
    guess = code.math("minnum", guess, block.max_step)
    machine.combine("stage", "state", [(guess, "rate0")])
    machine.rate(time + guess, "stage", "rate1")
    minus = Value(code, "-1.0", REAL)
    combine_own(machine, "rate1", "rate1", [(minus, "rate0")])
    bend = code.math("maxnum", _norm(machine, "rate1") / guess, speed)
    better = code.math("pow", 0.01 / code.math("maxnum", bend, 1e-300), steps.power(machine))
    better = code.select(bend <= 1e-15, code.math("maxnum", 1e-6, guess * 1e-3), better)
    first = code.math("minnum", code.math("minnum", 100.0 * guess, better), block.max_step)
    block.set("step_size", code.math("minnum", first, block.until - time))


def _choose(machine: Machine, time: Value) -> tuple[Value, Value, Value]:
    """Step size, end of the step, and whether it was shortened to land on a record or the end."""
    code, block = machine.code, machine.block
    h = block.step_size
    waits = (block.dense > 0) & (block.recorded < block.record_count) & (block.interval >= 0.5 * h)
    goal = code.select(waits, code.math("minnum", _record_time(machine), block.until), block.until)
    if machine.program.rates:
        goal = sampling.stop_at(machine, goal)
    lands = time + 1.01 * h >= goal
    step = code.select(lands, goal - time, h)
    return step, code.select(lands, goal, time + h), lands & (step < h)


def _accept(machine: Machine, steps: Steps, span: tuple[Value, Value, Value], error: Value, shortened: Value) -> None:
    code, block, (time, end, h) = machine.code, machine.block, span
    _prepare_dense(machine, time, h)
    machine.copy("stage", "next")
    near = machine.project(end, "next")
    rest(machine)
    note_rank(machine)
    finite = machine.finite("next", certain=True)
    stop_if_unanswered(machine)
    with code.when(~near):
        machine.status.set(ChunkEnd.OFF_CONSTRAINTS)
    with code.when(~finite):
        machine.status.set(ChunkEnd.NOT_FINITE)
    with code.when(near & finite):
        block.set("step_size", _next_size(machine, steps, h, error, shortened))
        block.set("old_error", code.math("maxnum", error, 1e-4))
        block.set("after_rejection", 0)
        steps.accepted(machine, lambda: _same(machine, "next", "stage"))
        machine.copy("rate0", steps.rates[-1])
        reached = _cut(machine, steps, time, end) if machine.guards else end
        stop_if_unanswered(machine)
        machine.copy("state", "next")
        block.set("time", reached)
        if tells_rates(machine.program):
            block.set("rated", 0)
        block.add("accepted")


def _cut(machine: Machine, steps: Steps, time: Value, end: Value) -> Value:
    """Where the step ends if guards fire on the way, which the interpolant tells."""
    code, block = machine.code, machine.block

    def shorter(at: Value, size: Value) -> None:
        _interpolate(machine, steps, at)
        machine.copy("next", "stage")
        machine.project(at, "next")

    reached, is_cut = events.cut(machine, time, end, shorter, _Dense(steps))
    with code.when(is_cut):
        block.set("history", 0)
    with code.when(~is_cut | (reached - time > _FAR_APART * events.tolerance(machine, end))):
        block.set("event_count", 0)
    events.note(machine, "values")
    if slow_slip.divides(machine):
        with code.when(~is_cut & (block.acting > IDLE)):
            slow_slip.look_closer(machine, reached, reached - time, _NEAR)
    return reached


class _Dense:
    """The interpolant of a step knows the way."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def prepare(self, machine: Machine, time: Value, end: Value) -> None:
        """It is there already."""

    def at(self, machine: Machine, time: Value, end: Value, now: Value) -> None:
        """The state at a time on the way, to `stage`."""
        _interpolate(machine, self._steps, now)


def _next_size(machine: Machine, steps: Steps, h: Value, error: Value, shortened: Value) -> Value:
    """PI controller; a step that was only shortened to land says nothing against the size proposed before."""
    code, block = machine.code, machine.block
    ratio = code.math("pow", error, _exponent(machine, steps)) / code.math("pow", block.old_error, BETA) / SAFETY
    ratio = code.math("maxnum", 1 / GROW, code.math("minnum", 1 / SHRINK, ratio))
    size = h / ratio
    size = code.select(block.after_rejection > 0, code.math("minnum", size, h), size)
    size = code.select(shortened, code.math("maxnum", size, block.step_size), size)
    return code.math("minnum", size, block.max_step)


def _exponent(machine: Machine, steps: Steps) -> Value | float:
    """Of the error in the controller."""
    return steps.power(machine) - 0.75 * BETA


def _reject(machine: Machine, steps: Steps, time: Value, h: Value, error: Value) -> None:
    """Try again with a smaller step, unless it became too small; not-a-number errors shrink it most."""
    code, block = machine.code, machine.block
    number = error < 1e300
    ratio = code.math("minnum", 1 / SHRINK, code.math("pow", error, _exponent(machine, steps)) / SAFETY)
    size = h / code.select(number & (error > 1.0), ratio, 1 / SHRINK)
    block.set("step_size", size)
    block.set("after_rejection", 1)
    block.add("rejected")
    least = code.math("maxnum", block.min_step, ROUNDING * code.math("fabs", time))
    with code.when(size <= code.math("maxnum", least, 1e-300)):
        why = code.select(number, Value(code, str(int(ChunkEnd.STEP_TOO_SMALL)), INT), int(ChunkEnd.NOT_FINITE))
        machine.status.set(why)


def _norm(machine: Machine, vector: str) -> Value:
    """Root mean square in units of the tolerance at the state, of what is in no closed part."""
    if machine.program.spread is not None:
        return _spread_norm(machine, vector, "state")
    return machine.code.math("sqrt", _own_sum(machine, vector, "state") / max(len(_own_places(machine)), 1))


def _error(machine: Machine, steps: Steps, h: Value, other: str) -> Value:
    """Root mean square of the error: own numbers are summed first, then each closed part by itself, wherever it is."""
    code, program = machine.code, machine.program
    combine_own(machine, "mean", "", [(h * weight, name) for weight, name in steps.error(machine)])
    if program.spread is not None:
        return _spread_norm(machine, "mean", other)
    if not program.groups and not machine.away:
        return code.math("sqrt", _own_sum(machine, "mean", other) / max(machine.own, 1))
    return _level_norm(machine, steps, h, other)


def _level_norm(machine: Machine, steps: Steps, h: Value, other: str) -> Value:
    """The same where some numbers are in closed parts."""
    code, program = machine.code, machine.program
    names = [steps.rates[k] for k, _ in ESTIMATE]
    far: list[Value] = []
    if machine.away:
        far, finite = machine.away.errors(h, "state", other, names)
        machine.far_finite.set(finite)
    total = code.variable(REAL, _own_sum(machine, "mean", other))
    relative, absolute, *rates = (machine.vector(name) for name in ("rtol", "atol", *names))
    for group in program.groups:
        if group[0] >= machine.own:
            total.set(total.get() + far[group[0] - machine.own])
            continue
        inside = code.variable(REAL, 0.0)

        def add(i: Value | int, inside: Variable = inside) -> None:
            error = hidden_error(code, h, [rate[i] for rate in rates])
            inside.set(plus_hidden_square(code, inside.get(), error, relative[i], absolute[i]))

        _each(machine, group, add)
        total.set(total.get() + level(code, inside.get()))
    size = machine.own + sum(size for _, size in program.opaque)
    return code.math("sqrt", total.get() / max(size, 1))


def _spread_norm(machine: Machine, error: str, other: str) -> Value:
    """Of a state that many processes have parts of, exactly."""
    code, nothing = machine.code, Value(machine.code, "0.0", REAL)
    vectors = [machine.vector(name) for name in (error, "state", other, "rtol", "atol")]
    mean = machine.together.mean(lambda i: plus_square(code, nothing, [vector[i] for vector in vectors]))
    return code.math("sqrt", mean)


def _own_sum(machine: Machine, error: str, other: str) -> Value:
    """The sum of squares in units of the tolerance over what is in no closed part."""
    vectors = [machine.vector(name) for name in (error, "state", other, "rtol", "atol")]
    total = machine.code.variable(REAL, 0.0)

    def add(index: Value | int) -> None:
        total.set(plus_square(machine.code, total.get(), [vector[index] for vector in vectors]))

    _each(machine, _own_places(machine), add)
    return total.get()


def _own_places(machine: Machine) -> list[int]:
    inside = {place for group in machine.program.groups for place in group}
    return [k for k in range(machine.own) if k not in inside]


def _each(machine: Machine, places: Sequence[int], add: Callable[[Value | int], None]) -> None:
    """For each of some places, in loops over those that follow each other."""
    for first, count in runs_of(places):
        with machine.code.loop(count) as i:
            add(i + first)


def _same(machine: Machine, one: str, two: str) -> Value:
    if "project" not in machine.program.routines:
        return Value(machine.code, "true", BOOL)
    same: Variable = machine.code.variable(BOOL, True)
    left, right = machine.vector(one), machine.vector(two)
    with machine.code.loop(machine.own) as i:
        same.set(same.get() & left[i].equals(right[i]))
    return machine.together.everywhere(same.get() & machine.far_same.get())


# -- records ---------------------------------------------------------------------------------------------------------


def _record_time(machine: Machine) -> Value:
    return machine.grid(machine.block.recorded, machine.block.interval)


def _record(machine: Machine, steps: Steps) -> None:
    """All records due up to now: those inside the last step from its interpolant, or one for every accepted step."""
    code, block = machine.code, machine.block
    with code.forever():
        now, dense = block.time, block.dense > 0
        wanted = code.select(dense, code.math("minnum", _record_time(machine), block.until), now)
        due = code.select(dense, wanted <= now, block.recorded <= block.accepted)
        code.leave(~due | (block.recorded >= block.record_count))
        machine.fail(block.rows >= block.capacity, ChunkEnd.BUFFER_FULL)
        inside = wanted < (now - sampling.CLOSE * block.interval if machine.program.rates else now)
        with code.when(inside):
            _interpolate(machine, steps, wanted)
            machine.project(wanted, "stage", aside=True)
            stop_if_unanswered(machine)
            machine.record(wanted, "stage")
        with code.when(~inside):
            machine.record(wanted if machine.program.rates else now, "state")


def _prepare_dense(machine: Machine, time: Value, h: Value) -> None:
    """What the interpolant over the step from `state` to `next` will need: rates but the first stay where they are."""
    machine.block.set("dense_start", time)
    machine.block.set("dense_step", h)
    machine.copy("dense0", "state")
    machine.copy("dense1", "rate0")


def _interpolate(machine: Machine, steps: Steps, time: Value) -> None:
    """The state at a time inside the last step, to `stage`: the old one and a sum of rates."""
    block = machine.block
    h = block.dense_step
    share = (time - block.dense_start) / h
    names = ["dense1", *steps.rates[1:]]
    machine.combine("stage", "dense0", [(h * weight, names[k]) for k, weight in steps.dense(machine, share)])
