"""The native loop of equal steps for several runs of a model with events, side by side.

All runs make step k together, on lanes. What `guarded_loop` does about events is not repeated here: guards are looked
at, and a run whose step holds an event, or fails in any way, leaves its lane where the step began (see `lane_moves`)
and makes it again by the loop for one run. Samples are at the same times in all runs, and are taken on lanes.
"""

from __future__ import annotations

from kompono.compile import dips, events, sampling, slow_slip
from kompono.compile.block import ChunkEnd
from kompono.compile.emit import INT, Value, anywhere, spread
from kompono.compile.lane_moves import RESTS, LaneMoves
from kompono.compile.loop_fixed import StepRule, make_piece
from kompono.compile.machine import Machine, tells_rates, tells_slopes
from kompono.compile.resting import can_rest


class LaneMachine(Machine):
    """Runs side by side, of which each may be in trouble: what fails lane by lane ends nothing, but is noted."""

    def begin(self) -> None:
        """Before a step."""
        self.trouble = self.code.variable(self.lanes.truth, False)
        self.unseen = self.code.variable(self.lanes.truth, False)  # guards at its beginning are no numbers

    def fail(self, condition: Value, status: ChunkEnd) -> None:
        """Note lanes that failed; what all fail at ends the loop."""
        if condition.kind == self.lanes.truth:
            self.trouble.set(self.trouble.get() | condition)
        else:
            super().fail(condition, status)


def lanes_loop(machine: LaneMachine, step: StepRule, name: str) -> str:
    """Up to `budget` steps of size `step_size` of all runs, with records as in `fixed_loop`."""
    code, block = machine.code, machine.block
    last, moves = block.step + block.budget, LaneMoves(machine, step.remembers)
    pieces = code.variable(INT, 0)
    with code.forever():
        k, inside = block.step, block.inside > 0
        time = code.select(inside, block.time, machine.grid(k, block.step_size))
        if machine.program.rates:
            sampling.tick(machine, time)
        with code.when(~inside):
            moves.follow()
        due = ~inside & (k % block.every).equals(0) & (block.recorded <= k // block.every)
        machine.fail(due & (block.rows >= block.capacity), ChunkEnd.BUFFER_FULL)
        with code.when(due):
            machine.record(time, "state")
            moves.fill()
        code.leave(~inside & (k >= last))
        machine.stop_if_asked()
        if machine.program.rates:
            sampling.leave_at_times(machine, pieces, inside)
        end = whole = machine.grid(k + 1, block.step_size)
        if machine.program.rates:
            end = sampling.stop_at(machine, whole)
        with code.when(anywhere(moves.here)):
            _piece(machine, step, moves, (time, end, inside | (end < whole)))
        block.set("time", end)
        short = end < whole
        block.set("inside", code.select(short, Value(code, "1", INT), Value(code, "0", INT)))
        block.set("step", code.select(short, k, k + 1))
    return machine.finish(name)


def _piece(machine: LaneMachine, step: StepRule, moves: LaneMoves, span: tuple[Value, Value, Value]) -> None:
    """From here to the end of the step or to the next sample, on all lanes; who cannot go there so leaves."""
    code, block, (time, end, short) = machine.code, machine.block, span
    machine.begin()
    _look(machine, time)
    if machine.tells_nearness:
        code.copy(machine.vector("near_before"), machine.vector("near"), 2)
        code.copy(machine.vector("rank_before"), machine.vector("rank"), 1)
    if slow_slip.divides(machine):
        size, _, straight = slow_slip.longest(machine, step.damps)
        alone = (size < end - time) | straight & slow_slip.may_be_marked(machine, time)
        machine.trouble.set(machine.trouble.get() | alone)
    make_piece(machine, step, (time, end), short)
    _watch_for_events(machine, time, end)
    with code.when(~short):
        step.settle(machine, end)
    leaving = machine.trouble.get() & moves.here
    with code.when(anywhere(leaving)):
        moves.leave(leaving, time, machine.unseen.get())
    with code.when(~short):
        step.commit(machine)
    with code.when(short):
        block.set("history", 0)
    _accept(machine, step, moves)
    if slow_slip.divides(machine):
        slow_slip.note(machine, spread(code, 0.0) + 2.0 * block.step_size, spread(code, 0.0) + (end - time))


def _look(machine: LaneMachine, time: Value) -> None:
    """Look at the guards of the present states if nobody did; an event that is pending there is trouble, as is rest."""
    code, block = machine.code, machine.block
    with code.when(block.checked.equals(0)):
        events.watch(machine, time, "state", "values", "known", "slopes")
        block.set("rated", 1)
        events.fail_if_not_a_number(machine)
        machine.unseen.set(machine.trouble.get())
        if machine.program.laws:
            events.spare(machine)
        events.note(machine, "values")
    pending = events.largest(machine, "pending", "pending") > 0.0
    machine.trouble.set(machine.trouble.get() | pending | (machine.vector("still")[0] >= RESTS))


def _watch_for_events(machine: LaneMachine, time: Value, end: Value) -> None:
    """Look at the guards at the end of the step, and between its ends where a single run would."""
    code, block = machine.code, machine.block
    events.watch(machine, end, "next", "trial", "coming", "slopes_coming")
    events.fail_if_not_a_number(machine, "trial")
    machine.trouble.set(machine.trouble.get() | (events.largest(machine, "trial") > 0.0))
    if tells_slopes(machine.program):
        turns = dips.next_top(machine, end - time, 0.0, "values", "trial") < 1.0
        machine.trouble.set(machine.trouble.get() | turns)
    code.copy(machine.vector("arming"), machine.vector("armed"), machine.guards)
    if "kick" not in machine.program.routines:
        with code.when(block.guard_checks > 1):
            _look_closer(machine, time, end)


def _look_closer(machine: LaneMachine, time: Value, end: Value) -> None:
    """The looks on the way that `guard_checks` asks for: who sees a guard above zero looks again by itself."""
    code, checks, look = machine.code, machine.block.guard_checks, events.Hermite()
    armed, value = machine.vector("arming"), machine.vector("glance")
    machine.copy("found", "next")
    look.prepare(machine, time, end)
    with code.loop(checks - 1) as j:
        size = (j + 1).real() / checks.real() * (end - time)
        look.at(machine, time, end, time + size)
        events.watch(machine, time + size, "stage", "glance")
        machine.trouble.set(machine.trouble.get() | (events.largest(machine, "glance", "arming") > 0.0))
        with code.loop(machine.guards) as k:
            armed[k] = code.select(value[k] <= 0.0, 1.0, armed[k])


def _accept(machine: LaneMachine, step: StepRule, moves: LaneMoves) -> None:
    """The step is that of all who are still here."""
    code, block, here = machine.code, machine.block, moves.here
    if step.alike and can_rest(machine.program):
        _count_still(machine, here)
    machine.copy("state", "next")
    code.copy(machine.vector("armed"), machine.vector("arming"), machine.guards)
    code.copy(machine.vector("values"), machine.vector("trial"), machine.guards)
    dips.pass_on(machine)
    if tells_rates(machine.program):
        machine.copy("known", "coming")
        block.set("rated", 1)
    events.note(machine, "values")
    taken = machine.vector("taken")
    taken[0] = taken[0] + code.select(here, spread(code, 1.0), 0.0)
    block.add("accepted")


def _count_still(machine: LaneMachine, here: Value) -> None:
    """Count the steps in a row that left a run as it was."""
    code, still = machine.code, machine.vector("still")
    same, before, after = code.variable(machine.lanes.truth, True), machine.vector("state"), machine.vector("next")
    with code.loop(machine.own) as i:
        same.set(same.get() & before[i].equals(after[i]))
    count = code.select(same.get(), still[0] + 1.0, 0.0)
    still[0] = code.select(here, count, still[0])
