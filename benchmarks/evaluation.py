"""Native code against CasADi's own evaluation of the same function, and what it costs to make it.

One evaluation of all accelerations, over many states of a real motion in one call: CasADi's virtual machine and native
code; the same as plain calls from Python, one by one, with NumPy arrays in and out; one rk4 step with projection, 1000
of them in one entry; translation; compilation of the derivative and the rk4 loop into an empty cache, and from it. All
in one process, processor time, minima over repeats; translation and cold compilation happen once.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from chains import Chain
from tables import show

from kompono import Subsystem
from kompono.compile import compile_program
from kompono.translate import Translation, translate
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.starts.start import start_state

STEPS = 1000


def models() -> dict[str, Subsystem]:
    """What is timed, by name."""
    from kompono.examples.car import Car
    from kompono.examples.manipulator import Manipulator
    from kompono.examples.reference.n_four_bar import NFourBar

    return {
        "car": Car(),
        "manipulator": Manipulator(),
        **{f"chain, {n} links": Chain(n) for n in (6, 32, 100)},
        **{f"four-bars, N = {n}": NFourBar(n) for n in (1, 10, 40)},
    }


def seconds(work: Callable[[], Any], repeats: int = 50, budget: float = 1.0) -> float:
    """Least processor time of some runs, as many as fit into the budget [s]."""
    spent: list[float] = []
    while len(spent) < repeats and sum(spent) < budget:
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


def whole_function(translation: Translation) -> ca.Function:
    """The derivative as one CasADi function: the program's own if it is inlined, else traced again without sharing."""
    routine, kernels = translation.program.routines["derivative"], dict(translation.program.kernels)
    if len(routine.calls) > 1:
        kernels = {}
        routine = RelativeEngine(translation.model, translation.topology, kernels, shared=False).derivative()
    return kernels[routine.calls[0].kernel]


def casadi_time(function: ca.Function, states: np.ndarray) -> float:
    """Seconds of one evaluation in CasADi, all states in one call of its map."""
    many = function.map(len(states))
    buffer, trigger = many.buffer()
    arguments = np.zeros((len(states), function.nnz_in(0)))  # one column of CasADi's matrix after the other
    arguments[:, 1 : 1 + states.shape[1]] = states
    results = np.zeros(many.nnz_out(0))
    buffer.set_arg(0, memoryview(arguments.ravel()))
    buffer.set_res(0, memoryview(results))
    return seconds(trigger) / len(states)


@dataclass
class Timing:
    """Seconds, and counts."""

    casadi: float
    native: float
    casadi_call: float
    native_call: float
    bare_call: float
    step: float
    entries: int
    translating: float
    cold: float
    cached: float
    operations: int


def measure(model: Subsystem) -> Timing:
    """All of it for one model, in an empty cache."""
    begun = time.process_time()
    translation = translate(model)
    translating = time.process_time() - begun
    program = translation.program

    def compiled() -> Any:
        kernel = compile_program(program)
        kernel.prepare(routine="derivative", method="rk4")
        return kernel

    with tempfile.TemporaryDirectory() as folder:
        os.environ["KOMPONO_CACHE"] = folder
        cold = seconds(compiled, repeats=1)
        cached = seconds(compiled, repeats=3)
        kernel = compiled()
    start = start_state(translation.engine, {}).state

    def run() -> Any:
        moving = kernel.fixed("rk4", 0.0, start, step=1e-4, every=10)
        moving.entries = 0
        while moving.step < STEPS:
            moving.advance(STEPS - moving.step)
            moving.entries += 1
        return moving

    moving = run()
    states = np.tile(moving.take()[:, 1 : 1 + program.state_size], (20, 1))
    function, argument = whole_function(translation), np.concatenate([[0.0], states[-1]])
    bare = kernel._evaluator("derivative")  # the ctypes call alone, buffers prepared
    return Timing(
        casadi=casadi_time(function, states[:200]),
        native=seconds(lambda: kernel.map("derivative", np.zeros(len(states)), states)) / len(states),
        casadi_call=seconds(lambda: [function(argument).full() for _ in range(100)]) / 100,
        native_call=seconds(lambda: [kernel.evaluate("derivative", 0.0, states[-1]) for _ in range(100)]) / 100,
        bare_call=seconds(lambda: [bare.function(bare._address) for _ in range(100)]) / 100,
        step=seconds(run) / STEPS,
        entries=moving.entries,
        translating=translating,
        cold=cold,
        cached=cached,
        operations=kernel.instructions["derivative"],
    )


def main() -> None:
    """One line per model."""
    rows = []
    for name, model in models().items():
        t = measure(model)
        rows.append(
            (
                name, f"{t.operations:,}",
                f"{1e6 * t.casadi:.1f}", f"{1e6 * t.native:.2f}", f"{t.casadi / t.native:.0f}",
                f"{1e6 * t.casadi_call:.1f}", f"{1e6 * t.native_call:.1f}", f"{1e6 * t.bare_call:.2f}",
                f"{1e6 * t.step:.2f}", t.entries,
                f"{t.translating:.2f}", f"{t.cold:.2f}", f"{t.cached:.3f}",
            )
        )  # fmt: skip
        print(f"  {name} done", file=sys.stderr)
    show(
        "One evaluation of all accelerations, one rk4 step, and how long it takes to get there",
        (
            "model", "operations", "CasADi us", "native us", "ratio", "CasADi call us", "native call us",
            "bare call us",
            "rk4 step us", "entries per 1000 steps", "translate s", "compile s", "from cache s",
        ),
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
