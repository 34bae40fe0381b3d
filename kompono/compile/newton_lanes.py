"""Implicit stages on several lanes: the iteration of `newton_stage`, for all lanes that still need it.

A new matrix is made for all lanes as soon as one wants it: the others only gain by that. So a run may take fewer
iterations than alone, and agrees with it to the tolerance.
"""

from __future__ import annotations

from kompono.compile.emit import INT, Array, Value, anywhere, spread
from kompono.compile.error_level import plus_square
from kompono.compile.lane_numbers import ASKED
from kompono.compile.machine import Machine
from kompono.compile.newton_stage import (
    JACOBIANS,
    MOST,
    NAME,
    NOTHING,
    PACE,
    RADIUS,
    SLOW,
    SMALL,
    SOLVED,
    STRAYS,
    WANTED,
)  # fmt: skip
from kompono.compile.stage_matrix import StageMatrix
from kompono.compile.staying import NEAR


def solve_stage(machine: Machine, time: Value, g: Value, asked: Value) -> Value:
    """Solve for `stage` on the lanes that ask for it, from a guess there, with b in `base`; where that succeeded."""
    if NAME not in machine.beside:
        machine.beside[NAME] = _function(machine)
    kind, truth = machine.lanes.real, machine.lanes.truth
    machine.code.say(f"call void @{NAME}(ptr %block, {kind} {time.name}, {kind} {g.name}, {truth} {asked.name})")
    return asked & (machine.vector("newton")[SOLVED] > 0.0)


def _function(loop: Machine) -> str:
    machine = Machine(loop.program, loop.lanes, flush=False, implicit=True)
    code, newton, matrix, lanes = machine.code, machine.vector("newton"), StageMatrix(machine), machine.lanes
    time, g = (Value(code, name, lanes.real) for name in ("%time", "%g"))
    asked = Value(code, "%asked", lanes.truth)
    true = Value(code, lanes.all("i1", "true"), lanes.truth)
    todo, last, slow = code.variable(lanes.truth, asked), code.variable(lanes.real, 0.0), code.variable(lanes.real, 0.0)
    count, one = code.variable(INT, 0), spread(code, 1.0)
    newton[SOLVED] = code.select(asked, spread(code, 0.0), newton[SOLVED])
    with code.forever():
        now = todo.get()
        fresh = anywhere(now & (newton[WANTED] > 0.0))
        _evaluate(matrix, time, now, fresh)
        _change(matrix, g, now)
        change = _size(machine)
        number, first = change < 1e100, count.get().equals(0)
        pace = change / code.math("maxnum", last.get(), 1e-300)
        left = code.select(first, newton[PACE], pace / code.math("maxnum", 1.0 - pace, 1e-3))
        converges = code.select(first, true, pace < 1.0)
        done = number & converges & ((left * change <= SMALL) | (change <= NOTHING))
        newton[SOLVED] = code.select(now & done, one, newton[SOLVED])
        kept = code.math("maxnum", 1e-3, code.math("minnum", 1.0, code.math("pow", left, 0.8)))
        newton[PACE] = code.select(now, code.select(done, kept, 1.0), newton[PACE])
        wanted = code.select(first, spread(code, 0.0), code.select(pace > SLOW, one, 0.0))
        newton[WANTED] = code.select(now, wanted, newton[WANTED])
        worse = code.select(fresh, code.select(converges, spread(code, 0.0), 1.0), spread(code, 0.0))
        slow.set(slow.get() + worse)
        last.set(change)
        todo.set(now & ~done & number & (slow.get() <= 1.0))
        count.set(count.get() + 1)
        code.leave(~anywhere(todo.get()) | (count.get() >= MOST))
    head = f"internal void @{NAME}(ptr %block, {lanes.real} %time, {lanes.real} %g, {lanes.truth} %asked)"
    return matrix.tables.text + code.define(f"{head} {lanes.stack}nounwind noinline")


def _evaluate(matrix: StageMatrix, time: Value, now: Value, fresh: Value) -> None:
    """Rates at `stage` to `mean`, and the factors of new matrices there if they are wanted."""
    machine = matrix.machine
    code, program, newton, lane = machine.code, machine.program, machine.vector("newton"), machine.vector("lane")
    state = "stage"
    if "gap" in program.routines:
        state = "beside"
        machine.copy(state, "stage")
        strays = now & (newton[STRAYS] > 0.0)
        with code.when(anywhere(strays)):
            machine.project(time, state, strays, aside=True)
    with code.when(fresh):
        matrix.make(time, state)
        _measure(matrix, now)
        matrix.factor()
        newton[JACOBIANS] = newton[JACOBIANS] + code.select(now, spread(code, 1.0), 0.0)
    with code.when(~fresh):
        machine.evaluate(program.routines["derivative"], time, state, "mean")
    lane[ASKED] = lane[ASKED] + code.select(now, spread(code, 1.0), 0.0)


def _measure(matrix: StageMatrix, now: Value) -> None:
    """The radius of S - 1 of each lane, as `newton_stage` finds it."""
    machine, size = matrix.machine, matrix.size
    code, power, product = machine.code, machine.vector("power"), machine.vector("solved")

    def length(vector: Array) -> Value:
        total = code.variable(machine.lanes.real, 0.0)
        with code.loop(size) as i:
            total.set(total.get() + vector[i] * vector[i])
        return code.math("sqrt", total.get())

    before = length(power)
    fine = (before > 1e-100) & (before < 1e100)
    with code.loop(size) as i:
        power[i] = code.select(fine, power[i], 1.0 + (i * 7919 % 101).real())
    before = length(power)
    for source, target in ((power, product), (product, power)):
        code.copy(target, source, size)
        matrix.add_product(source, target, -1.0)
    after = length(power)
    newton = machine.vector("newton")
    newton[RADIUS] = code.select(now, code.math("sqrt", after / before), newton[RADIUS])
    with code.loop(size) as i:
        power[i] = power[i] / code.math("maxnum", after, 1e-300)


def _change(matrix: StageMatrix, g: Value, now: Value) -> None:
    """Newton's change of `stage` to `corrected`, added to it where it is wanted."""
    machine, code = matrix.machine, matrix.machine.code
    base, rate, stage, change = (machine.vector(name) for name in ("base", "mean", "stage", "corrected"))
    with code.loop(machine.size) as i:
        change[i] = base[i] + g * rate[i] - stage[i]
    matrix.solve_reduced(change)
    with code.loop(machine.size) as i:
        stage[i] = code.select(now, stage[i] + change[i], stage[i])


def _size(machine: Machine) -> Value:
    code = machine.code
    vectors = [machine.vector(name) for name in ("corrected", "state", "stage", "rtol", "atol")]
    total = code.variable(machine.lanes.real, 0.0)
    with code.loop(machine.size) as i:
        total.set(plus_square(code, total.get(), [vector[i] for vector in vectors]))
    return code.math("sqrt", total.get() / float(max(machine.size, 1)))


def begin_step(machine: Machine, time: Value, h: Value, g: Value) -> None:
    """Before the stages: new matrices are wanted, their g is known, and whether stages are projected."""
    code, newton, count = machine.code, machine.vector("newton"), len(machine.program.parameters)
    given = machine.vector("given")
    code.copy(given, Array(code, machine.block.parameters.name, machine.lanes.real), count)
    given[count] = g
    newton[WANTED], newton[PACE] = 1.0, 1.0
    gap = machine.program.routines.get("gap")
    if gap is not None:  # as far as an explicit step strays
        machine.combine("stage", "state", [(h, "rate0")])
        machine.evaluate(gap, time + h, "stage", "gap")
        wide = machine.vector("gap")[0] > 1.0
        if machine.tells_nearness:
            near = machine.vector("near")
            wide = wide | (near[0] < NEAR) | (near[1] < machine.vector("rank")[0])
        strays = code.select(machine.block.projecting > 0, wide, False)
        newton[STRAYS] = code.select(strays, spread(code, 1.0), 0.0)
