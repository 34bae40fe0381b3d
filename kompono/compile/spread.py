"""The native code of one process's part of a program: a kernel whose evaluations and runs are wired to the others.

All processes must do the same at the same time: evaluate the same routine, advance by as many steps.
"""

from __future__ import annotations

from typing import Any

from kompono.compile.kernel import Kernel
from kompono.compile.messages import Wires
from kompono.compile.run_adaptive import AdaptiveRun
from kompono.compile.run_fixed import FixedRun
from kompono.translate.program import Program


class SpreadKernel(Kernel):
    """A kernel with wires to the other processes."""

    def __init__(self, program: Program, wires: Wires, *, cache: bool = True, threads: int = 1) -> None:
        super().__init__(program, cache=cache, threads=threads)
        self._wires = wires

    def fixed(self, *arguments: Any, **options: Any) -> FixedRun:
        """A run of equal steps, in step with the other processes."""
        return self._connected(super().fixed(*arguments, **options))

    def adaptive(self, *arguments: Any, **options: Any) -> AdaptiveRun:
        """A run of dopri5, in step with the other processes."""
        return self._connected(super().adaptive(*arguments, **options))

    def _connected(self, run: Any) -> Any:
        self._wires.connect(run._vector("work"))
        return run

    def _evaluator(self, name: str) -> Any:
        found = super()._evaluator(name)
        self._wires.connect(found.work)
        return found
