"""Large models of equal components: chains and trees of 1,000 to 100,000 bodies.

python benchmarks/large.py                          all tables (several minutes, 1 GB)
python benchmarks/large.py chain 10000              one line: a nested chain of so many bodies
python benchmarks/large.py tree 10000 --threads 2   one line: a tree, on so many threads
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute, solids

ROD = solids.rod(mass=1.0, length=0.2, radius=0.02)


class Link(Subsystem):
    """One rod of 0.2 m."""

    def __init__(self) -> None:
        self.rod = Body(ROD)
        self.first = self.last = self.rod
        self.expose(self.rod)


class Row(Subsystem):
    """Equal parts in a row, on revolute joints about the given axes in turn."""

    def __init__(self, make: Callable[[], Subsystem], axes: str, count: int = 10) -> None:
        self.parts = [make() for _ in range(count)]
        self.pins = [
            Revolute(a.last.at(0, 0, -0.1), b.first.at(0, 0, 0.1), axis=axes[k % len(axes)], angle=0.3)
            for k, (a, b) in enumerate(zip(self.parts, self.parts[1:], strict=False))
        ]
        self.first, self.last = self.parts[0].first, self.parts[-1].last
        self.expose(self.first, self.last)


class Chain(Subsystem):
    """A hanging chain of 10, 100, 1,000, ... links, nested by tens."""

    def __init__(self, bodies: int = 1000) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        make: Callable[[], Subsystem] = Link
        for level in range(len(str(bodies)) - 1):
            make = lambda make=make, level=level: Row(make, "xy" if level == 0 else "y")  # noqa: E731
        self.chain = make()
        self.pin = Revolute(self.ground, self.chain.first.at(0, 0, 0.1), axis="y", angle=0.3)


class Crown(Subsystem):
    """A branch with crowns on it."""

    def __init__(self, levels: int, ways: int) -> None:
        self.stem = Stem()
        self.first = self.stem.rods[0]
        self.expose(self.first)
        if levels > 1:
            self.crowns = [Crown(levels - 1, ways) for _ in range(ways)]
            self.pins = [
                Revolute(self.stem.rods[-1].at(0, 0, -0.1), crown.first.at(0, 0, 0.1), axis="y", angle=k - 0.5)
                for k, crown in enumerate(self.crowns)
            ]


class Stem(Subsystem):
    """Four rods in a row."""

    def __init__(self) -> None:
        self.rods = [Body(ROD) for _ in range(4)]
        self.pins = [
            Revolute(a.at(0, 0, -0.1), b.at(0, 0, 0.1), axis="xy"[k % 2], angle=0.2)
            for k, (a, b) in enumerate(zip(self.rods, self.rods[1:], strict=False))
        ]
        self.expose(*self.rods)


class Tree(Subsystem):
    """Crowns of `ways` branches at each fork, hung on a ground: 4 (ways^levels - 1) / (ways - 1) bodies each."""

    def __init__(self, bodies: int = 1000, ways: int = 2) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        levels = max(1, round(np.log(bodies / 4 * (ways - 1) + 1) / np.log(ways)))
        self.crown = Crown(levels, ways)
        self.pin = Revolute(self.ground, self.crown.first.at(0, 0, 0.1), axis="y", angle=0.3)


MODELS: dict[str, Callable[[int], Subsystem]] = {"chain": Chain, "tree": Tree}


def measure(name: str, bodies: int, threads: int | None) -> dict[str, float]:
    """Seconds (processor time) and bytes of one model, from its declaration to steps of rk4."""
    from kompono.simulation import Simulation
    from kompono.solve.integrate import Settings

    before = memory()
    clock = time.process_time()
    model = MODELS[name](bodies)
    built, clock = time.process_time() - clock, time.process_time()
    declared = memory()
    simulation = Simulation(model, threads=threads, cache=False)
    translated, clock = time.process_time() - clock, time.process_time()
    simulation.kernel.prepare("derivative", "rk4")
    compiled = time.process_time() - clock
    start = simulation.assemble().state
    count = len(simulation.translation.model.bodies)
    single = evaluation(simulation, start)
    wall, processor = stepping(simulation, start, single)
    peak = memory()
    wanted = simulation.translation.engine.cells[-1].links[-1].carrier
    last = f"{simulation.translation.model.path(wanted)}.position.z"
    result = simulation.run(Settings("rk4", 5e-3, 1e-3, every=5), channels=["energy.total", last])
    energy = result["energy.total"]
    return {
        "bodies": count,
        "types": len(simulation.translation.engine.examples),
        "build": built,
        "translate": translated,
        "compile": compiled,
        "evaluation": single,
        "per body": single / count,
        "wall": wall,
        "processor": processor,
        "declared": (declared - before) / count,
        "memory": (peak - before) / count,
        "energy": abs(energy[-1] / energy[0] - 1),
        "ok": result.status.ok,
    }


def memory() -> float:
    """Most memory this process ever had [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def evaluation(simulation, state: np.ndarray) -> float:
    """Processor seconds of one derivative on one thread, the best of several, native code alone."""
    kernel = simulation.kernel
    kernel.evaluate("derivative", 0.0, state)
    evaluator = kernel._evaluators["derivative"]
    best = np.inf
    for _ in range(max(20, 1_000_000 // len(state))):
        clock = time.process_time()
        evaluator.function(evaluator._address)
        best = min(best, time.process_time() - clock)
    return best


def stepping(simulation, state: np.ndarray, guess: float) -> tuple[float, float]:
    """Seconds of one step of rk4, by the wall clock and of processors: the best of several chunks.

    Chunks are short, `guess` seconds per evaluation: on a shared machine longer ones are interrupted.
    """
    run = simulation.kernel.fixed("rk4", 0.0, state, step=1e-5, every=1 << 40)
    steps = max(1, int((2e-3 if simulation.kernel.threads == 1 else 2e-2) / (4 * guess)))
    wall = processor = np.inf
    for _ in range(30):
        clock, spent = time.perf_counter(), time.process_time()
        run.advance(steps)
        wall = min(wall, (time.perf_counter() - clock) / steps)
        processor = min(processor, (time.process_time() - spent) / steps)
    return wall, processor


def main() -> None:
    """One line in this process, or all of them in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", choices=list(MODELS))
    parser.add_argument("bodies", nargs="?", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if given.model:
        m = measure(given.model, given.bodies, given.threads)
        cells = [
            given.model, f"{m['bodies']:,}", given.threads, m["types"], f"{m['build']:.2f}", f"{m['translate']:.2f}",
            f"{m['compile']:.2f}", f"{1e6 * m['evaluation']:,.0f}", f"{1e9 * m['per body']:.1f}",
            f"{1e3 * m['processor']:.3f}", f"{1e3 * m['wall']:.3f}", f"{m['declared'] / 1e3:.1f}",
            f"{m['memory'] / 1e3:.1f}", f"{m['energy']:.0e}",
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")
        return
    print("| model | bodies | threads | types | build s | translate s | compile s | evaluation us | per body ns |"
          " rk4 step ms | by the clock ms | declared kB/body | peak kB/body | energy |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for name in MODELS:
        for bodies in (1_000, 10_000, 100_000):
            for threads in (1,) if name == "chain" else (1, 2):
                subprocess.run([sys.executable, __file__, name, str(bodies), "--threads", str(threads)], check=True)


if __name__ == "__main__":
    main()
