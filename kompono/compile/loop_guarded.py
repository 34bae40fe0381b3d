"""The native loop of equal steps for models with events or samples: `fixed_loop` with steps that can be cut.

An event or a sample inside step k leaves the run at its time, `inside` the step; the next piece ends where the step
would have ended, so the grid start + k h is kept. Chunks end on the grid only.
"""

from __future__ import annotations

from kompono.compile import events, sampling, slow_slip
from kompono.compile.block import ChunkEnd
from kompono.compile.emit import BOOL, INT, Value
from kompono.compile.loop_fixed import StepRule, make_piece
from kompono.compile.machine import Machine, stop_if_unanswered
from kompono.compile.resting import Resting


def guarded_loop(machine: Machine, step: StepRule, name: str) -> str:
    """Up to `budget` steps of size `step_size`, with records as in `fixed_loop`, and two at each event if all steps are
    recorded."""
    code, block = machine.code, machine.block
    last, each, resting = block.step + block.budget, block.every.equals(1), Resting(machine, step.alike)
    pieces = code.variable(INT, 0)
    with code.forever():
        k, inside = block.step, block.inside > 0
        time = code.select(inside, block.time, machine.grid(k, block.step_size))
        if machine.program.rates:
            sampling.tick(machine, time)
        due = ~inside & (k % block.every).equals(0) & (block.recorded <= k // block.every)
        machine.fail(due & (block.rows >= block.capacity), ChunkEnd.BUFFER_FULL)
        with code.when(due):
            machine.record(time, "state")
        code.leave(~inside & (k >= last))
        machine.stop_if_asked()
        if machine.program.rates:
            sampling.leave_at_times(machine, pieces, inside)
        now = (k, time, inside, each)
        if machine.guards:
            machine.leave_room_for_events(each)
            happened = events.handle(machine, time, each)
            stop_if_unanswered(machine)
            machine.fail(block.event_count > events.LIMIT, ChunkEnd.TOO_MANY_EVENTS)
            with code.when(happened):
                resting.ended()
            if resting.possible:
                idle = ~happened & ~inside & resting.begun()
                with code.when(idle):
                    _pass_over(machine, k)
                happened = happened | idle
            with code.when(~happened):
                _piece(machine, step, now, resting)
        else:
            _piece(machine, step, now, resting)
    return machine.finish(name)


def _pass_over(machine: Machine, k: Value) -> None:
    """A step of a machine at rest: only time goes on."""
    block = machine.block
    block.set("time", machine.grid(k + 1, block.step_size))
    block.add("accepted")
    block.set("event_count", 0)
    block.add("step")


def _piece(machine: Machine, step: StepRule, now: tuple[Value, Value, Value, Value], resting: Resting) -> None:
    """From here to the end of the step, or to the first event or sample on the way."""
    code, block = machine.code, machine.block
    k, time, inside, each = now
    end = whole = machine.grid(k + 1, block.step_size)
    if machine.program.rates:
        end = sampling.stop_at(machine, whole)
    stop, size, near = end, None, Value(code, "false", BOOL)
    if slow_slip.divides(machine):
        end, size, near = slow_slip.end_of_piece(machine, (time, end), step.damps)
    short = inside | (end < whole)
    make_piece(machine, step, (time, end), short)

    def shorter(at: Value, size: Value) -> None:
        step.partial(machine, time, size)
        machine.project(at, "next")

    reached, is_cut = end, Value(code, "false", BOOL)
    if machine.guards:
        look = None if "kick" in machine.program.routines else events.Hermite()
        reached, is_cut = events.cut(machine, time, end, shorter, look, kept=True)
    regular = ~is_cut & ~short
    with code.when(regular):
        step.settle(machine, end)
    stop_if_unanswered(machine)
    with code.when(regular):
        step.commit(machine)
    with code.when(~regular):
        block.set("history", 0)
    resting.note(regular)
    machine.copy("state", "next")
    block.set("time", reached)
    block.add("accepted")
    if machine.guards:
        events.keep_rate(machine, is_cut)
        events.note(machine, "values")
        if size is not None:
            made, asks = reached - time, code.variable(BOOL, False)
            slow_slip.note(machine, size, code.select(is_cut, 0.0, made))
            with code.when(~is_cut & near):
                asks.set(slow_slip.look_closer(machine, reached, made) & (reached < whole))
            is_cut = is_cut | asks.get()
        with code.when(is_cut & each | (end < stop) & each & (block.dense > 0)):
            machine.record(reached, "state", counts=False)
    with code.when(reached < whole):
        block.set("inside", 1)
    with code.when(~(reached < whole)):
        block.set("inside", 0)
        block.set("event_count", 0)
        block.add("step")
