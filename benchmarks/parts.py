"""What closing parts costs: SX instructions and time of an rk4 step, open and closed, in one run.

Run it with `python benchmarks/parts.py`.
"""

from __future__ import annotations

import time as clock
import warnings

from kompono import Simulation, Subsystem
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.examples.kuka import Kuka
from kompono.examples.manipulator import Manipulator

STEP = 1e-4  # [s]
STEPS = 2000
MACHINES: list[tuple[type[Subsystem], list[str]]] = [
    (Car, ["left", "right", "left_wheel", "right_wheel"]),
    (Car, ["left.damper", "right.damper"]),
    (Engine, ["cylinder1", "cylinder2", "cylinder3", "cylinder4"]),
    (Manipulator, ["arm"]),
    (Manipulator, ["arm.link2", "arm.link3"]),
    (Kuka, ["axis1", "axis2", "axis3", "axis4", "axis5", "axis6"]),
    (Kuka, ["axis6"]),
]


def microseconds(simulation: Simulation) -> float:
    """Per step, the best of several."""
    start = simulation.assemble().state
    times = []
    for _ in range(7):
        run = simulation.kernel.fixed("rk4", 0.0, start, step=STEP)
        begun = clock.perf_counter()
        run.advance(STEPS)
        times.append((clock.perf_counter() - begun) / STEPS)
    return 1e6 * min(times)


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    print("| machine | closed | instructions of the derivative | us per rk4 step | ratio |\n|---|---|--:|--:|--:|")
    for make, closed in MACHINES:
        simulations = [Simulation(make()), Simulation(make(), closed=closed)]
        for simulation in simulations:
            simulation.kernel.prepare(method="rk4")
        counts = [simulation.kernel.instructions["derivative"] for simulation in simulations]
        times = [microseconds(simulation) for simulation in simulations]
        names = ", ".join(closed) if len(closed) < 4 else f"{closed[0]} ... {closed[-1]}"
        print(
            f"| {make.__name__} | {names} | {counts[0]:,} -> {counts[1]:,} | {times[0]:.2f} -> {times[1]:.2f} |"
            f" {times[1] / times[0]:.1f} |"
        )


if __name__ == "__main__":
    main()
