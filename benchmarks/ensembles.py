"""Ensembles: steps per second of many runs at once, by lanes and threads.

256 runs of one model from slightly different starts, rk4 with projection, one channel recorded at the start and the
end. Wall time of the runs alone, the best of some; translation, compilation and assembly are not in it. Lanes are 1 and
the width of the processor's registers, threads 1 and the number of cores. The last column counts processor time instead
of wall time, of all threads together: what each core does, however busy others keep the machine. Models with events are
in `ensemble_events.py`.
"""

from __future__ import annotations

import os
import sys
import time
from math import cos

import numpy as np
from chains import Chain
from tables import show

from kompono import Body, Ground, Simulation, Subsystem
from kompono.compile import native_lanes
from kompono.library import Revolute
from kompono.selection import select_outputs
from kompono.solve.integrate import Settings
from kompono.solve.many import Batch, prepare, run_batch
from kompono.solve.progress import Progress

RUNS, STEP, REPEATS = 256, 1e-4, 5
SECONDS = 1.0  # about the wall time of one measurement


def crank_mechanism() -> Subsystem:
    """The engine of the examples without starter, gas and friction: a crank, four rods, four pistons."""
    from kompono.examples.engine import PHASES, PITCH, RADIUS, Cylinder

    class Mechanism(Subsystem):
        """All that moves, at 100 rad/s."""

        def __init__(self) -> None:
            self.block = Ground()
            self.crank = Body(mass=12, inertia=(0.2, 0.3, 0.2))
            self.main = Revolute(self.block, self.crank, axis="y", angle=0.0, angle_rate=100.0)
            for k, phase in enumerate(PHASES, start=1):
                y, top = PITCH * (k - 2.5), RADIUS * cos(phase)
                cylinder = Cylinder(y=y, top=top, working=False)
                self.add(f"cylinder{k}", cylinder)
                pin = Revolute(self.crank.at(0, y, top), cylinder.rod.at(0, 0, -0.03), axis="y", angle=0.0)
                self.add(f"pin{k}", pin)

    return Mechanism()


def models() -> dict[str, Subsystem]:
    """What is timed, by name."""
    from kompono.examples.car import Car
    from kompono.examples.reference.n_four_bar import NFourBar

    return {
        "chain, 6 links": Chain(6),
        "chain, 32 links": Chain(32),
        "four-bars, N = 1": NFourBar(1),
        "four-bars, N = 10": NFourBar(10),
        "engine mechanism": crank_mechanism(),
        "car": Car(),
    }


def rate(simulation: Simulation, state: np.ndarray, lanes: int, threads: int) -> tuple[float, float]:
    """Steps of all runs together per second, and per second of one processor."""
    outputs = select_outputs(simulation.translation, "drift.position")
    states = state + 1e-9 * np.random.default_rng(0).normal(size=(RUNS, len(state)))
    parameters = np.tile(simulation.parameters(), (RUNS, 1))

    def run(steps: int) -> tuple[float, float]:
        settings = Settings("rk4", steps * STEP, STEP, every=steps)
        batch = Batch(settings, outputs, states, parameters, lanes)
        prepare(simulation.kernel, batch)
        begun, worked = time.perf_counter(), time.process_time()
        with Progress(1.0, show=False) as progress:
            parts = run_batch(simulation.kernel, batch, simulation.feed, lambda *_: 0.0, threads, progress)
            assert all(outcome.ok for _, outcomes in parts for outcome in outcomes)
        return RUNS * steps / (time.perf_counter() - begun), RUNS * steps / (time.process_time() - worked)

    steps = max(200, int(SECONDS * run(200)[0] / RUNS))
    measured = [run(steps) for _ in range(REPEATS)]
    return max(wall for wall, _ in measured), max(worked for _, worked in measured)


def main() -> None:
    """One line per model."""
    cases = [(lanes, threads) for lanes in (1, native_lanes()) for threads in sorted({1, os.cpu_count() or 1})]
    rows = []
    for name, model in models().items():
        simulation = Simulation(model)
        state = simulation.assemble().state
        rates = [rate(simulation, state, *case) for case in cases]
        gain = max(rates[-2][1], rates[-1][1]) / rates[0][1]
        rows.append((name, *(f"{wall:,.0f}" for wall, _ in rates), f"{rates[-1][1]:,.0f}", f"{gain:.1f}"))
        print(f"  {name} done", file=sys.stderr)
    show(
        f"Steps per second of {RUNS} runs (load average {os.getloadavg()[0]:.1f})",
        (
            "model",
            *(f"{lanes} lanes, {threads} threads" for lanes, threads in cases),
            "per processor s",
            "gain by lanes",
        ),
        rows,
    )


if __name__ == "__main__":
    main()
