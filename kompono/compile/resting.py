"""A machine at rest is not computed again and again.

Where laws hold a machine, a step may leave its state as it was, bit by bit. If nothing it depends on changes with time,
the next step would do the same as the last: it is counted, recorded, and not made. That changes no number. It ends with
the call of the loop, for whoever makes the next one may have changed a parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kompono.compile.block import late_names
from kompono.compile.emit import BOOL, INT, Value, Variable
from kompono.translate.algorithm import reads
from kompono.translate.program import Program, Routine

if TYPE_CHECKING:
    from kompono.compile.machine import Machine

TWICE = 2  # steps that changed nothing: the first of them may still have armed guards
_LOOKED_AT = ("derivative", "guards", "project", "gap", "open_derivative", "open_guards", "open_project",
              "tied_derivative", "tied_guards", "tied_project")  # fmt: skip


def can_rest(program: Program, waiting: bool = False) -> bool:
    """Whether laws may hold a machine at rest that depends on its state alone; `waiting`, while all gaps are open."""
    if not program.laws or program.inputs or program.rates or program.opaque or program.away:
        return False
    if program.spread is not None:
        return False
    late = late_names(program) if waiting else ()
    names = [name for name in _LOOKED_AT if name in program.routines and name not in late]
    return not any(_uses_time(program, program.routines[name]) for name in names)


def _uses_time(program: Program, routine: object) -> bool:
    """Whether outputs of a routine may depend on its first input."""
    if type(routine) is not Routine:
        return True  # of a very large model: its calls are not listed
    for call in routine.calls:
        places, coded = [k for k, slot in enumerate(call.inputs) if slot == 0], program.coded.get(call.kernel)
        if coded is not None and places == [0]:
            if coded.timed:
                return True
        elif places and reads(program.kernels[call.kernel], places):
            return True
    return False


class Resting:
    """Counts steps that changed nothing, in a loop of equal steps that know nothing of those before."""

    def __init__(self, machine: Machine, alike: bool) -> None:
        self.machine = machine
        self._steps: Variable | None = None
        if alike and machine.lanes.count == 1 and can_rest(machine.program, machine.waiting):
            self._steps = machine.code.variable(INT, 0)

    @property
    def possible(self) -> bool:
        """Whether it is looked for at all."""
        return self._steps is not None

    def begun(self) -> Value:
        """Whether the next step would change nothing."""
        assert self._steps is not None
        return self._steps.get() >= TWICE

    def note(self, regular: Value) -> None:
        """Compare both ends of a step, `state` and `next`; only a `regular` one, which nothing cut, counts."""
        if self._steps is None:
            return
        code, machine = self.machine.code, self.machine
        same, before, after = code.variable(BOOL, regular), machine.vector("state"), machine.vector("next")
        for first, count in machine.moving:
            with code.loop(count) as i:
                same.set(same.get() & before[i + first].equals(after[i + first]))
        self._steps.set(code.select(same.get(), self._steps.get() + 1, Value(code, "0", INT)))

    def ended(self) -> None:
        """Something happened."""
        if self._steps is not None:
            self._steps.set(0)
