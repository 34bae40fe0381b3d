"""The three engines on the car and the engine: error over step, and error over computing time of a simulated second.

python benchmarks/three_engines.py      draws docs/images/three-engines.png and prints the numbers

Errors are the largest difference of a channel to dopri5 with rtol 1e-12 (relative engine), at instants 1 ms apart.
Computing time is processor time of the native loop, the best of three runs.
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kompono import Result, Simulation, simulate
from kompono.edges.plot import COLOURS, STYLE
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.solve.integrate import Settings, integrate

ROOT = Path(__file__).parents[1]
GRID = 1e-3
WAYS = {
    "relative": ("rk4", (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4)),
    "absolute": ("rk4", (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4)),
    "discrete": ("leapfrog", (1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6)),
}


@dataclass(frozen=True)
class Case:
    """A machine, how long it runs, and the channel that is compared."""

    name: str
    make: Any
    until: float
    channel: str
    unit: str
    initial: dict[str, float]


CASES = (
    Case("car", Car, 0.5, "body.position.z", "m", {}),
    Case("engine", lambda: Engine(starter=False), 0.1, "main.angle", "rad", {"main.angle.rate": 100.0}),
)


def points(case: Case, exact: Result) -> dict[str, list[tuple[float, float, float]]]:
    """By engine: step [s], error, seconds of computing per simulated second."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for engine, (method, steps) in WAYS.items():
        simulation = Simulation(case.make(), engine=engine)
        found[engine] = []
        for step in steps:
            every = max(1, round(2 * GRID / step))
            settings = Settings(method, case.until, step, every)
            result = simulation.run(settings, channels=case.channel, initial=case.initial, progress=False)
            if not result.status.ok:
                continue
            rows = np.round(result.time / GRID).astype(int)
            error = float(np.abs(result[case.channel] - exact[case.channel][rows]).max())
            found[engine].append((step, error, cost(simulation, settings, case)))
            print(f"{case.name:8s}{engine:10s}{step:9.2g} s  error {error:9.2e}  load {found[engine][-1][2]:8.4f}")
    return found


def cost(simulation: Simulation, settings: Settings, case: Case) -> float:
    """Processor time per simulated time."""
    feed = simulation.feed()
    state = simulation.assemble(case.initial, feed=feed).state
    parameters = simulation.completed(simulation.parameters(), state, feed, settings.step)
    best = np.inf
    for _ in range(3):
        begun = clock.process_time()
        integrate(simulation.problem(state, parameters, feed), settings, False)
        best = min(best, clock.process_time() - begun)
    return best / settings.until


def main() -> None:
    """Run everything and draw."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
        for row, case in zip(axes, CASES, strict=True):
            exact = simulate(
                case.make(), until=case.until, step=GRID, method="dopri5", rtol=1e-12, channels=case.channel,
                initial=case.initial,
            )  # fmt: skip
            for (engine, data), colour in zip(points(case, exact).items(), COLOURS, strict=False):
                steps, errors, costs = np.array(data).T
                label = f"{engine} ({WAYS[engine][0]})"
                size = 9 if engine == "relative" else 5  # its line lies under the next one's
                row[0].loglog(steps, errors, "o-", color=colour, label=label, markersize=size)
                row[1].loglog(costs, errors, "o-", color=colour, label=label, markersize=size)
            quantity = f"largest error of {case.channel} [{case.unit}]"
            row[0].set(title=f"{case.name}: error over step", xlabel="step [s]", ylabel=quantity)
            row[1].set(title=f"{case.name}: error over cost", xlabel="computing time / simulated time", ylabel=quantity)
            row[1].axvline(1.0, color="grey", linewidth=1, linestyle="--")
            row[1].text(
                0.93, 0.97, "real time", transform=row[1].get_xaxis_transform(), rotation=90, ha="right", va="top"
            )
            row[0].legend()
        path = ROOT / "docs" / "images" / "three-engines.png"
        figure.savefig(path, dpi=110)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
