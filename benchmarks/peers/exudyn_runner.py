"""What Exudyn's ways have in common: a system, its settings, the fastest of its linear solvers, the time loop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

import exudyn as exu
from machines import Case
from parts import Machine

NAME = "Exudyn"
SOLVERS = (exu.LinearSolverType.EXUdense, exu.LinearSolverType.EigenDense, exu.LinearSolverType.EigenSparse)


class Runner(ABC):
    """A machine in Exudyn."""

    solver: Any
    how: str

    def __init__(self, case: Case, machine: Machine, step: float) -> None:
        self.case, self.machine, self.step, self.label = case, machine, step, NAME
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.build()
        self.mbs.Assemble()
        self.linear = SOLVERS[1]
        if not case.large:
            self.linear = SOLVERS[min((self._trial(kind), k) for k, kind in enumerate(SOLVERS))[1]]
        self.how += f", {self.linear.name}"

    def _trial(self, linear: Any) -> float:
        """Least time of some steps with one of the linear solvers."""
        self.linear, spent = linear, []
        for _ in range(3):
            begun = time.process_time()
            self.steps(10)
            spent.append(time.process_time() - begun)
        return min(spent)

    @abstractmethod
    def build(self) -> None:
        """Fill the system."""

    def _advance(self, begin: int, end: int, keep: bool, every: int = 0) -> None:
        settings = exu.SimulationSettings()
        over_time = settings.timeIntegration
        over_time.startTime, over_time.endTime = begin * self.step, end * self.step
        over_time.numberOfSteps, over_time.verboseMode = end - begin, 0
        settings.parallel.numberOfThreads, settings.linearSolver.solverType = 1, self.linear
        settings.solution.file.write, settings.solution.sensors.active = False, bool(every)
        settings.solution.sensors.writePeriod = every * self.step if every else 1e9
        over_time.newton.useModifiedNewton = True
        over_time.generalizedAlpha.spectralRadius = 1.0
        if not self.mbs.SolveDynamic(settings, solverType=self.solver, updateInitialValues=keep):
            raise RuntimeError("its solver did not converge")

    def steps(self, count: int) -> None:
        """So many steps from the start."""
        self._advance(0, count, keep=False)
