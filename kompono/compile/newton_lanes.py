"""Implicit stages on several lanes: the iteration of `newton_stage`, for all lanes that still need it.

A new matrix is made for all lanes as soon as one wants it: the others only gain by that. So a run may take fewer
iterations than alone, and agrees with it to the tolerance.
"""

from __future__ import annotations

from kompono.compile.emit import INT, Value, anywhere, spread
from kompono.compile.lane_numbers import ASKED
from kompono.compile.machine import Machine
from kompono.compile.newton_stage import (
    JACOBIANS,
    MOST,
    NAME,
    NOTHING,
    PACE,
    SLOW,
    SMALL,
    SOLVED,
    STRAYS,
    WANTED,
    measure,
    move_stage,
    size_of_change,
)  # fmt: skip
from kompono.compile.stage_matrix import StageMatrix


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
        move_stage(matrix, g, now)
        change = size_of_change(machine)
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
        measure(matrix, now)
        matrix.factor()
        newton[JACOBIANS] = newton[JACOBIANS] + code.select(now, spread(code, 1.0), 0.0)
    with code.when(~fresh):
        machine.evaluate(program.routines["derivative"], time, state, "mean")
    lane[ASKED] = lane[ASKED] + code.select(now, spread(code, 1.0), 0.0)
