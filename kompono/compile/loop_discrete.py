"""The native step of the discrete engine: kick, drift, kick, with one evaluation of forces.

    v_half = v + h/2 a                         half of the impulse of the forces known from the end of the last step
    q, v_half = drift(q, h v_half)             free motion: eqs 6, 9 to 11; momentum and angular momentum stay
    a = kick(q, v_half + h/2 a)                eqs 2 to 4 and 7 at the new position and a predicted speed
    v = v_half + h/2 a                         the other half

Positions move with speeds of the middle of the step, speeds with forces of its ends: second order, and symplectic where
forces depend on positions only. The accelerations of the last step are remembered as long as nothing else changed
(`history`); after an event or new inputs they are computed again.

A model's own states go by Heun's rule, x + h/2 (f + f'), f' at the new position, the predicted speed and x + h f:
second order as well. Forces at the end of the step see the new x.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import Value
from kompono.compile.machine import Machine


class Leapfrog:
    """A `StepRule` for programs that have the routines `kick` and `drift`."""

    alike, remembers, damps = True, ("rate0",), 1.0

    def advance(self, machine: Machine, time: Value, h: Value) -> None:
        """From `state` at `time`, write the state h later to `next`."""
        code, block, program = machine.code, machine.block, machine.program
        kick, drift = program.routines["kick"], program.routines["drift"]
        with code.when(block.history.equals(0)):
            machine.evaluate(kick, time, "state", "rate0")
            block.add("evaluations")
            block.set("history", 1)
        state, stage, after = (machine.vector(name) for name in ("state", "stage", "next"))
        before, now = machine.vector("rate0"), machine.vector("rate1")
        start, count, half, inverse = len(program.coordinates), len(program.speeds), 0.5 * h, 1.0 / h
        if program.states:
            machine.evaluate(program.routines["state_rates"], time, "state", "rate2")
        machine.copy("stage", "state")
        with code.loop(count) as i:
            stage[i + start] = h * (state[i + start] + half * before[i])
        machine.evaluate(drift, time, "stage", "next")
        self._add_rates(machine, [(h, "rate2")], "next")
        machine.copy("stage", "next")
        with code.loop(count) as i:
            speed = inverse * after[i + start]
            after[i + start] = speed
            stage[i + start] = speed + half * before[i]
        if program.states:
            machine.evaluate(program.routines["state_rates"], time + h, "stage", "rate3")
            self._add_rates(machine, [(half, "rate2"), (half, "rate3")], "next", "stage")
        machine.evaluate(kick, time + h, "stage", "rate1")
        with code.loop(count) as i:
            after[i + start] = after[i + start] + half * now[i]
        block.add("evaluations")

    def _add_rates(self, machine: Machine, terms: Sequence[tuple[Value, str]], *targets: str) -> None:
        """The model's own states in some vectors: those in `state` and these rates times these factors."""
        program, before = machine.program, machine.vector("state")
        first = len(program.coordinates) + len(program.speeds) + len(program.modes)
        rates = [(factor, machine.vector(name)) for factor, name in terms]
        with machine.code.loop(len(program.states)) as i:
            value = before[i + first]
            for factor, rate in rates:
                value = value + factor * rate[i]
            for target in targets:
                machine.vector(target)[i + first] = value

    def partial(self, machine: Machine, time: Value, h: Value) -> None:
        """The same over any length: nothing but `state` and its accelerations counts."""
        self.advance(machine, time, h)

    def settle(self, machine: Machine, time: Value) -> None:
        """End the loop if a body turns by more than a radian a step: the step is unstable, or much too long."""
        code, program, after = machine.code, machine.program, machine.vector("next")
        start, bodies = len(program.coordinates), len(program.speeds) // 6
        parts = [code.variable(machine.lanes.real, 0.0) for _ in range(3)]
        with code.loop(bodies) as k:
            for i, part in enumerate(parts):
                part.set(code.math("maxnum", part.get(), code.math("fabs", after[k * 6 + (start + 3 + i)])))
        for part in parts:
            machine.fail(machine.block.step_size * part.get() > 1.0, ChunkEnd.TOO_FAST)

    def commit(self, machine: Machine) -> None:
        """The accelerations at the end are those at the start of the next step."""
        speeds = len(machine.program.speeds)
        machine.code.copy(machine.vector("rate0"), machine.vector("rate1"), speeds)
