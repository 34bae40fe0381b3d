"""Kompono itself, as the others are run: the native rk4 loop on the whole model, and the reference it is judged by."""

from __future__ import annotations

import numpy as np
from judge import Record
from machines import Case
from parts import Machine

from kompono import Result, Simulation
from kompono.solve.integrate import Settings

NAME = "Kompono"
STEP = 1e-3


class Runner:
    """A translated and compiled model."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.simulation = Simulation(case.model())
        self.kernel = self.simulation.kernel
        self.kernel.prepare(method="rk4")
        self.start = self.simulation.assemble().state
        self.how = f"rk4, {self.simulation.engine} engine, projected after each step"

    def steps(self, count: int) -> None:
        """So many steps from the start; one entry into native code."""
        self.kernel.fixed("rk4", 0.0, self.start, step=STEP, every=count).advance(count)

    def record(self, count: int, every: int) -> Record:
        """The same run with the rows that are compared."""
        return self._record(Settings("rk4", until=count * STEP, step=STEP, every=every))

    def reference(self, count: int, every: int) -> Record:
        """What all are compared with: dopri5 with tight tolerances, or rk4 with an eighth of the step."""
        if self.case.singular:
            return self._record(Settings("rk4", until=count * STEP, step=STEP / 8, every=8 * every))
        return self._record(Settings("dopri5", until=count * STEP, step=STEP * every, rtol=1e-12, atol=1e-14))

    def _record(self, how: Settings) -> Record:
        result = self.simulation.run(how, channels=self._channels(), progress=False)
        if not result.status.ok:
            raise RuntimeError(result.status.message)
        positions = [[result[f"{body}.position.{x}"] for x in "xyz"] for body in self.case.witnesses]
        energy = result["energy.total"] if self._energies else None
        gap = float(result["drift.position"].max()) if "project" in self.simulation.program.routines else None
        kinetic = float(result["energy.kinetic"].max()) if self._energies else 0.0
        return Record(np.transpose(positions, (2, 0, 1)), energy, gap, kinetic)

    @property
    def _energies(self) -> bool:
        return self.case.conservative and not self.case.large

    def _channels(self) -> list[str]:
        bodies = [f"{body}.position.{x}" for body in self.case.witnesses for x in "xyz"]
        return [*bodies, "drift.position", *(["energy.total", "energy.kinetic"] if self._energies else [])]

    def set_start(self, machine: Machine) -> None:
        """Tell a machine with loops the assembled start."""
        if machine.loops:
            names = [name for link in machine.links for name in (link.channel, f"{link.channel}.rate")]
            first: Result = self.simulation.run(Settings("rk4", until=STEP, step=STEP), channels=names, progress=False)
            for link in machine.links:
                link.start = float(first[link.channel][0]), float(first[f"{link.channel}.rate"][0])
