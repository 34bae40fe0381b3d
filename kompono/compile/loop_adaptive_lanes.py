"""The native loop of steps chosen by their error, for several runs side by side: every lane has its own time and step.

All lanes attempt a step together, each of its own length, and each accepts or rejects its own; what is not for a lane
is masked out. Rules are those of `loop_adaptive`; `lane_steps` say how steps are made. Inputs do not change. Records
lie on common times, and each lane writes its part of a row when it passes that time. A lane that fails, or meets a
singular position, is lost: its run is made again, alone.
"""

from __future__ import annotations

from kompono.compile.emit import INT, Array, Value, anywhere, spread
from kompono.compile.error_level import plus_square
from kompono.compile.lane_numbers import (
    AGAIN,
    ASKED,
    BEGUN,
    CLOCK,
    DUE,
    ERROR,
    FRESH,
    LENGTH,
    LONG,
    MADE,
    RECORDED,
    REFUSED,
    WANTED,
)
from kompono.compile.lane_steps import LaneSteps
from kompono.compile.loop_adaptive import BETA, GROW, ROUNDING, SAFETY, SHRINK
from kompono.compile.loop_dopri5 import DOPRI5
from kompono.compile.loop_fixed import weighted
from kompono.compile.machine import Machine, combine_own
from kompono.compile.staying import NEAR
from kompono.compile.tableaux import DORMAND_PRINCE

UNSOLVED = 1e9  # the error of a step that could not be made


def adaptive_lanes_loop(machine: Machine, steps: LaneSteps, name: str) -> str:
    """Up to `budget` attempts of all lanes that are not yet at `until`."""
    code, block = machine.code, machine.block
    tries = code.variable(INT, 0)
    with code.forever():
        _record(machine, steps)
        active = _active(machine)
        code.leave(~anywhere(active) | (tries.get() >= block.budget))
        machine.stop_if_asked()
        _begin(machine, active)
        _try(machine, steps, _active(machine))
        block.add("accepted")
        tries.set(tries.get() + 1)
    return machine.finish(name)


def _lane(machine: Machine) -> Array:
    return machine.vector("lane")


def _active(machine: Machine) -> Value:
    """Lanes that are on their way."""
    return (_lane(machine)[CLOCK] < machine.block.until) & (machine.vector("lost")[0] > 1e300)


def _lose(machine: Machine, where: Value) -> None:
    """Give lanes up."""
    lost, clock = machine.vector("lost"), _lane(machine)[CLOCK]
    lost[0] = machine.code.select(where & (lost[0] > 1e300), clock, lost[0])


def _put(machine: Machine, where: Value, number: int, value: Value | float) -> None:
    """A number of lanes, where a condition holds."""
    lane = _lane(machine)
    wide = value if isinstance(value, Value) else spread(machine.code, value)
    lane[number] = machine.code.select(where, wide, lane[number])


def _put_all(machine: Machine, where: Value, target: str, source: str) -> None:
    old, new = machine.vector(target), machine.vector(source)
    with machine.code.loop(machine.size) as i:
        old[i] = machine.code.select(where, new[i], old[i])


def _rate(machine: Machine, time: Value, state: str, target: str, active: Value) -> None:
    machine.rate(time, state, target)
    _put(machine, active, ASKED, _lane(machine)[ASKED] + 1.0)


def _begin(machine: Machine, active: Value) -> None:
    """Rates at the start of steps, where the last ones did not leave them, and very first lengths."""
    code, lane = machine.code, _lane(machine)
    wanted = active & (lane[FRESH] > 0.0)
    with code.when(anywhere(wanted)):
        _rate(machine, lane[CLOCK], "state", "rate_beside", wanted)
        _put_all(machine, wanted, "rate0", "rate_beside")
        _put(machine, wanted, FRESH, 0.0)
        _lose(machine, wanted & ~machine.finite("rate0", "state"))
        first = wanted & (lane[LENGTH] <= 0.0)
        with code.when(anywhere(first)):
            _first_step(machine, first)


def _first_step(machine: Machine, where: Value) -> None:
    """As `loop_adaptive` guesses it."""
    code, block, lane = machine.code, machine.block, _lane(machine)
    size, speed = _norm(machine, "state", "state"), _norm(machine, "rate0", "state")
    tiny = (size <= 1e-5) | (speed <= 1e-5)
    guess = code.select(tiny, 1e-6, 0.01 * size / code.math("maxnum", speed, 1e-300))
    guess = code.math("minnum", guess, block.max_step)
    machine.combine("stage", "state", [(guess, "rate0")])
    _rate(machine, lane[CLOCK] + guess, "stage", "rate1", where)
    combine_own(machine, "rate1", "rate1", [(spread(code, -1.0), "rate0")])
    bend = code.math("maxnum", _norm(machine, "rate1", "state") / guess, speed)
    better = code.math("pow", 0.01 / code.math("maxnum", bend, 1e-300), DOPRI5.root)
    better = code.select(bend <= 1e-15, code.math("maxnum", 1e-6, guess * 1e-3), better)
    first = code.math("minnum", code.math("minnum", 100.0 * guess, better), block.max_step)
    _put(machine, where, LENGTH, code.math("minnum", first, block.until - lane[CLOCK]))


def _try(machine: Machine, steps: LaneSteps, active: Value) -> None:
    """Attempt one step on each lane."""
    code = machine.code
    h, end, shortened = _choose(machine, active)
    span = _lane(machine)[CLOCK], h, end
    made = steps.attempt(machine, span, active, lambda length, until, where: _stages(machine, length, until, where))
    combine_own(machine, "mean", "", [(h * weight, name) for weight, name in steps.error(machine)])
    error = code.select(made, _norm(machine, "mean", "next"), UNSOLVED)
    finite = machine.finite("next", "rate6")
    going = _active(machine)
    good = active & going & (error <= 1.0) & finite
    bad = active & going & ~good
    with code.when(anywhere(good)):
        _accept(machine, steps, good, (h, end, shortened), error)
    with code.when(anywhere(bad)):
        _reject(machine, steps, bad, h, error)


def _choose(machine: Machine, active: Value) -> tuple[Value, Value, Value]:
    """Step, end of it, and whether it was shortened to land on a record or the end; nothing for lanes that wait."""
    code, block, lane = machine.code, machine.block, _lane(machine)
    h, clock = lane[LENGTH], lane[CLOCK]
    waits = (lane[RECORDED] < block.record_count.real()) & (block.interval >= 0.5 * h)
    goal = code.select(waits, code.math("minnum", _record_time(machine), block.until), block.until)
    lands = clock + 1.01 * h >= goal
    step = code.select(lands, goal - clock, h)
    end = code.select(lands, goal, clock + h)
    return code.select(active, step, 0.0), end, lands & (step < h)


def _stages(machine: Machine, h: Value, end: Value, active: Value) -> None:
    """All stages, projected where they stray, and the rate at the end."""
    code, gap, clock = machine.code, machine.program.routines.get("gap"), _lane(machine)[CLOCK]
    names = DOPRI5.rates
    for i in range(1, len(DORMAND_PRINCE.b)):
        at = clock + DORMAND_PRINCE.c[i] * h
        machine.combine("stage", "state", weighted(h, DORMAND_PRINCE.a[i], names))
        if gap is not None:
            if i == 1:
                machine.evaluate(gap, at, "stage", "gap")
                wide = machine.vector("gap")[0] > 1.0
                if machine.tells_nearness:
                    wide = wide | (machine.vector("near")[0] < NEAR) | _singular(machine)
                machine.strays.set(active & code.select(machine.block.projecting > 0, wide, False))
            strays = machine.strays.get()
            with code.when(anywhere(strays)):
                _project(machine, at, "stage", strays)
        if machine.tells_nearness:
            _lose(machine, active & _singular(machine))
        _rate(machine, at, "stage", names[i], active)
    machine.combine("next", "state", weighted(h, DORMAND_PRINCE.b, names))
    _rate(machine, end, "next", names[-1], active)


def _singular(machine: Machine) -> Value:
    return machine.vector("near")[1] < machine.vector("rank")[0]


def _project(machine: Machine, time: Value, state: str, where: Value) -> Value:
    """Project on some lanes; on the others `near` stays what it was. Whether that succeeded, lane by lane."""
    code = machine.code
    if not machine.tells_nearness:
        return machine.project(time, state, where)
    near = machine.vector("near")
    kept = [code.variable(machine.lanes.real, near[k]) for k in range(2)]
    found = machine.project(time, state, where)
    for k, before in enumerate(kept):
        near[k] = code.select(where, near[k], before.get())
    return found


def _accept(machine: Machine, steps: LaneSteps, good: Value, span: tuple[Value, Value, Value], error: Value) -> None:
    code, lane, (h, end, shortened) = machine.code, _lane(machine), span
    _put(machine, good, BEGUN, lane[CLOCK])
    _put(machine, good, LONG, h)
    _put_all(machine, good, "dense0", "state")
    _put_all(machine, good, "dense1", "rate0")
    machine.copy("stage", "next")
    near = _project(machine, end, "next", good)
    fine = near & machine.finite("next")
    _lose(machine, good & ~fine)
    good = good & fine
    if machine.tells_nearness:
        rank, now = machine.vector("rank"), machine.vector("near")[1]
        rank[0] = code.select(good & (now > rank[0]), now, rank[0])
    ratio = code.math("pow", error, steps.power(machine) - 0.75 * BETA) / code.math("pow", lane[ERROR], BETA) / SAFETY
    ratio = code.math("maxnum", 1 / GROW, code.math("minnum", 1 / SHRINK, ratio))
    size = h / ratio
    size = code.select(lane[AGAIN] > 0.0, code.math("minnum", size, h), size)
    size = code.select(shortened, code.math("maxnum", size, lane[LENGTH]), size)
    _put(machine, good, LENGTH, code.math("minnum", size, machine.block.max_step))
    _put(machine, good, ERROR, code.math("maxnum", error, 1e-4))
    _put(machine, good, AGAIN, 0.0)
    anew = steps.accepted(machine, good, h, _same(machine))
    _put(machine, good, FRESH, code.select(anew, spread(code, 1.0), 0.0))
    _put(machine, good, CLOCK, end)
    _put(machine, good, MADE, lane[MADE] + 1.0)
    _put_all(machine, good, "rate0", "rate6")
    _put_all(machine, good, "state", "next")


def _reject(machine: Machine, steps: LaneSteps, bad: Value, h: Value, error: Value) -> None:
    code, block, lane = machine.code, machine.block, _lane(machine)
    number = error < 1e300
    ratio = code.math("minnum", 1 / SHRINK, code.math("pow", error, steps.power(machine) - 0.75 * BETA) / SAFETY)
    size = h / code.select(number & (error > 1.0), ratio, 1 / SHRINK)
    _put(machine, bad, LENGTH, size)
    _put(machine, bad, AGAIN, 1.0)
    _put(machine, bad, REFUSED, lane[REFUSED] + 1.0)
    least = code.math("maxnum", block.min_step, ROUNDING * code.math("fabs", lane[CLOCK]))
    _lose(machine, bad & (size <= code.math("maxnum", least, 1e-300)))


def _norm(machine: Machine, error: str, other: str) -> Value:
    """Root mean square in units of the tolerance."""
    code = machine.code
    vectors = [machine.vector(name) for name in (error, "state", other, "rtol", "atol")]
    total = code.variable(machine.lanes.real, 0.0)
    with code.loop(machine.size) as i:
        total.set(plus_square(code, total.get(), [vector[i] for vector in vectors]))
    return code.math("sqrt", total.get() / float(max(machine.size, 1)))


def _same(machine: Machine) -> Value:
    """Whether projections left `next` as it was in `stage`."""
    code, same = machine.code, machine.code.variable(machine.lanes.truth, True)
    if "project" in machine.program.routines:
        one, two = machine.vector("next"), machine.vector("stage")
        with code.loop(machine.size) as i:
            same.set(same.get() & one[i].equals(two[i]))
    return same.get()


def _record_time(machine: Machine) -> Value:
    """When the next record of each lane is due, rounded as `Machine.grid` does."""
    code, kind = machine.code, machine.lanes.real
    interval, start = (code.value(value, kind) for value in (machine.block.interval, machine.block.start))
    product = code.let(kind, f"fmul {kind} {_lane(machine)[RECORDED].name}, {interval}")
    return code.let(kind, f"fadd {kind} {start}, {product.name}")


def _record(machine: Machine, steps: LaneSteps) -> None:
    """All records due up to now, those inside the last step of a lane from its interpolant."""
    code, block, lane = machine.code, machine.block, _lane(machine)
    names = ["dense1", *DOPRI5.rates[1:]]
    with code.forever():
        wanted = code.math("minnum", _record_time(machine), block.until)
        due = (
            (wanted <= lane[CLOCK]) & (lane[RECORDED] < block.record_count.real()) & (machine.vector("lost")[0] > 1e300)
        )
        code.leave(~anywhere(due))
        inside = due & (wanted < lane[CLOCK])
        h = lane[LONG]
        share = (wanted - lane[BEGUN]) / h
        machine.combine("stage", "dense0", [(h * weight, names[k]) for k, weight in steps.dense(machine, share)])
        _put_all(machine, ~inside, "stage", "state")
        machine.project(wanted, "stage", inside, aside=True)
        lane[DUE], lane[WANTED] = code.select(due, spread(code, 1.0), 0.0), wanted
        _write(machine)
        _put(machine, due, RECORDED, lane[RECORDED] + 1.0)


def _write(machine: Machine) -> None:
    """What is in `stage` to the rows of the lanes that are due."""
    code, block, width = machine.code, machine.block, machine.lanes.count
    numbers, stage = (Array(code, machine.vector(name).pointer) for name in ("lane", "stage"))
    count = len(machine.program.inputs)
    with code.loop(width) as k, code.when(numbers.at(DUE * width)[k] > 0.0):
        place = code.let(INT, f"fptosi double {numbers.at(RECORDED * width)[k].name} to i64")
        row = block.array("records").at(place * (1 + width * machine.size + count))
        row[0] = numbers.at(WANTED * width)[k]
        with code.loop(machine.size) as i:
            row[i * width + k + 1] = stage[i * width + k]
        machine.set_inputs(_lane(machine)[CLOCK])
        code.copy(row.at(1 + width * machine.size), machine.vector("inputs"), count)
