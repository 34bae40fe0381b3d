"""Adams-Bashforth-Moulton of fourth order: predict, evaluate, correct, evaluate; started by the classic Runge-Kutta.

Two evaluations a step instead of four. The rates of the last four states (`past0` the newest) live in the run's
memory, so they survive from chunk to chunk; `history` counts the valid ones and returns to 0 when a run is restarted.
"""

from __future__ import annotations

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import Value
from kompono.compile.loop_fixed import stages, weighted
from kompono.compile.machine import Machine
from kompono.compile.staying import rate_at, stage_rate
from kompono.compile.tableaux import CLASSIC

_PAST = ["past0", "past1", "past2", "past3"]
_PREDICTOR = (55 / 24, -59 / 24, 37 / 24, -9 / 24)
_CORRECTOR = (9 / 24, 19 / 24, -5 / 24, 1 / 24)


class Adams:
    """The PECE step with its history."""

    alike, remembers, damps = False, tuple(_PAST), 1.0

    def advance(self, machine: Machine, time: Value, h: Value) -> None:
        """A Runge-Kutta step while the history is short, then predictor and corrector."""
        code, block = machine.code, machine.block
        self._begin(machine, time)
        started = block.history >= 4
        with code.when(~started):
            stages(machine, CLASSIC, time, h, first="past0")
        with code.when(started):
            machine.combine("stage", "state", weighted(h, _PREDICTOR, _PAST))
            stage_rate(machine, time + h, "rate1", h, second=True)
            machine.combine("next", "state", weighted(h, _CORRECTOR, ["rate1", *_PAST]))

    def partial(self, machine: Machine, time: Value, h: Value) -> None:
        """A Runge-Kutta step, because the history knows one step size only."""
        self._begin(machine, time)
        stages(machine, CLASSIC, time, h, first="past0")

    def _begin(self, machine: Machine, time: Value) -> None:
        with machine.code.when(machine.block.history.equals(0)):
            rate_at(machine, time, "state", "past0", machine.block.step_size)
            machine.block.set("history", 1)

    def settle(self, machine: Machine, time: Value) -> None:
        """The rate of the corrected and projected state."""
        rate_at(machine, time, "next", "rate0", machine.block.step_size)
        machine.fail(~machine.finite("rate0"), ChunkEnd.NOT_FINITE)

    def commit(self, machine: Machine) -> None:
        """Move the history on by one."""
        for older, newer in (("past3", "past2"), ("past2", "past1"), ("past1", "past0"), ("past0", "rate0")):
            machine.copy(older, newer)
        count = machine.block.history
        machine.block.set("history", machine.code.select(count < 4, count + 1, count))
