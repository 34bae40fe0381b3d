"""What an event catches: a condition that holds from here on stops what it meets, as a plastic impact does.

An event may switch a condition on (a hook, a lock). Who moves against it then has speeds that it does not allow; the
same projection that brings drift back makes of them those behind the blow, at once (decisions 274, 296). Where it is
switched on it must be met: nothing jumps from one place to another (decision 347).
"""

from __future__ import annotations

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import REAL, Value, anywhere
from kompono.compile.law_bounds import SLOW
from kompono.compile.law_state import IDLE
from kompono.compile.machine import Machine

_GAP = 0  # the kind of units that are gaps
_FAR = 1e-6  # a way [m, rad] to the conditions there are from here on that nobody goes in no time, as in `outcome.OPEN`


def meet(machine: Machine, time: Value) -> None:
    """Project the state onto the conditions that hold from here on; that before it is in `stage`."""
    machine.project(time, "state")
    _refuse_jumps(machine)


def catch(machine: Machine, time: Value) -> Value:
    """Let a condition that is held from here on stop what it meets, at this instant; whether laws are to settle then.

    What sticks, or touches, gives way to that blow: no friction bears it, and where gaps would close they strike when
    laws settle. So modes of laws hold nothing meanwhile, here and in parts elsewhere. The state before is in `stage`;
    events change no speeds, and no modes of laws. (Without laws a projection is all.)
    """
    code, block, program = machine.code, machine.block, machine.program
    change, first = code.variable(REAL, 0.0), len(program.coordinates)
    free = {mode: 0.0 for unit in program.laws for mode in unit.modes}
    free |= {unit.modes[0]: float(unit.kind != _GAP) for unit in program.laws}  # open, or slips
    places = [(program.mode_places[unit.modes[0]], free[unit.modes[0]]) for unit in program.laws
              if unit.modes[0] in program.mode_places]  # fmt: skip
    before, after = machine.vector("stage"), machine.vector("state")
    for place, mode in places:
        after[place] = mode
    if machine.away:
        machine.away.settle("state", [[free[mode] for mode in modes] for modes in program.modes_away])
    machine.project(time, "state")
    for place, _ in places:
        after[place] = before[place]
    if machine.away:
        machine.away.take_modes("state", "stage")
    _refuse_jumps(machine)
    with code.loop(len(program.speeds)) as i:
        change.set(code.math("maxnum", change.get(), code.math("fabs", after[i + first] - before[i + first])))
    moved = (change.get() > SLOW) | anywhere(machine.far_moved.get()) if machine.away else change.get() > SLOW
    return moved & (block.acting > IDLE)


def _refuse_jumps(machine: Machine) -> None:
    """End the loop where the projection has moved something far: a condition was switched on where it is not met. It
    ends there as it was, under these conditions. (What parts elsewhere show is seen where it moves the rest.)
    """
    code, program = machine.code, machine.program
    if "project" not in program.routines:
        return
    before, after, far = machine.vector("stage"), machine.vector("state"), code.variable(machine.lanes.real, 0.0)
    with code.loop(len(program.coordinates)) as i:
        square = (after[i] - before[i]) * (after[i] - before[i])
        far.set(code.select(square > far.get(), square, far.get()))
    unmet = far.get() > _FAR**2
    if not machine.away:
        with code.loop(len(program.coordinates) + len(program.speeds)) as i:
            after[i] = code.select(unmet, before[i], after[i])
    machine.fail(unmet, ChunkEnd.UNMET)
