"""What closing parts costs: SX instructions and time of an rk4 step, open and closed, in one run; and what it costs to
have them sealed, in processes of their own, or as WebAssembly.

Run it with `python benchmarks/parts.py`. Keys of its own are made in a folder that is gone at the end. Processes that
wait for each other want a processor each: on a machine that is busy otherwise they show that, and nothing else.
"""

from __future__ import annotations

import os
import tempfile
import time as clock
import warnings
from collections.abc import Iterator
from pathlib import Path

from kompono import Sealed, Simulation, Subsystem, seal
from kompono.examples.car import Car, standing_damper
from kompono.examples.engine import Engine
from kompono.examples.kuka import Kuka
from kompono.examples.manipulator import Manipulator
from kompono.sealed import keys

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


def dampers(file: Path) -> Iterator[tuple[str, Simulation]]:
    """The car with its two dampers in every way a part can be."""
    closed = ["left.damper", "right.damper"]
    yield "open", Simulation(Car())
    yield "closed", Simulation(Car(), closed=closed)
    yield "closed, in two processes", Simulation(Car(), closed=closed, isolate=closed)
    for wall, name in ((None, "sealed"), ("process", "sealed, in a locked process"), ("wasm", "sealed, WebAssembly")):
        yield name, Simulation(Car(damper=lambda wall=wall: Sealed(file, wall=wall)))


def walls() -> None:
    """Print what walls cost."""
    print("\n| both dampers of the car | us per rk4 step |\n|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KOMPONO_CONFIG"] = folder
        keys.make("Benchmark")
        seal(standing_damper(), Path(folder) / "damper.part")
        for name, simulation in dampers(Path(folder) / "damper.part"):
            simulation.kernel.prepare(method="rk4")
            print(f"| {name} | {microseconds(simulation):.1f} |", flush=True)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    closing()
    walls()


def closing() -> None:
    """Print what closing costs."""
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
