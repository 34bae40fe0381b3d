"""Steps that end within rounding of what laws hold are not projected.

Where laws alone are held, the guards at the end of a step see how far all that is held is off, before anything is
brought back. What a projection leaves as it is (`naming.BACK`, `naming.ASKEW`) it need not look at: the guards are
those of the next step, so that a step of what slides costs no projection at all. A step that is off is projected, and
its guards are looked at once more; so is the next one, and after each that was tried in vain twice as many. Runs that
are stored to go back along them project each step, as the way back does.
"""

from __future__ import annotations

from kompono.compile.emit import REAL, Value
from kompono.compile.law_state import ACTS
from kompono.compile.machine import Machine, tells_off
from kompono.compile.paced import KEPT, TRIES
from kompono.compile.staying import come_back, rest

MOST = 1024.0  # steps that are projected before it is tried again


def come_back_if_needed(machine: Machine, time: Value) -> None:
    """Project the end of a step, unless the guards shall tell first whether it is off."""
    if machine.lanes.count > 1 or not tells_off(machine.program):
        come_back(machine, time, "next")
        return
    with machine.code.when(~_is_tried(machine)):
        come_back(machine, time, "next")


def is_off(machine: Machine, time: Value) -> Value:
    """Behind a look at the guards at the end of a step, on one lane: whether it is off. Then it has been projected."""
    code, paced, off = machine.code, machine.vector("paced"), machine.vector("off")
    worst = code.variable(REAL, 0.0)
    with code.loop(dict(machine.program.outline("guards").outputs)["off"]) as k:
        worst.set(code.math("maxnum", worst.get(), off[k]))
    tried = _is_tried(machine)
    found = tried & (worst.get() > 0.0)
    with code.when(found):
        come_back(machine, time, "next")
        rest(machine)
        paced[TRIES] = code.math("minnum", 2.0 * code.math("maxnum", paced[TRIES], 1.0), MOST)
    waits = code.select(found, paced[TRIES], code.math("maxnum", paced[KEPT] - 1.0, 0.0))
    paced[KEPT] = waits
    paced[TRIES] = code.select(tried & ~found, 0.5 * paced[TRIES], paced[TRIES])
    return found


def _is_tried(machine: Machine) -> Value:
    """Whether a step is not projected before guards are looked at."""
    block, free = machine.block, machine.vector("paced")[KEPT] <= 0.0
    return (block.acting > ACTS) & free & (block.projecting > 0) & block.dense.equals(0)
