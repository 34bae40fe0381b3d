"""What it costs to keep a state on the conditions: engines and projections compared on the examples.

Operations are counted from the traced kernels, as `kompono cost` does. Times are processor time of one rk4 step, least
of some runs of 500. Drift is the largest violation on both levels in such a run, difference the largest one of any
position from the run in joint coordinates at the same times.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from evaluation import seconds
from tables import show

from kompono import Simulation, Subsystem, cost
from kompono.costs import WAYS, Way
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.examples.manipulator import Manipulator
from kompono.solve.integrate import Settings

STEP, STEPS = 1e-4, 500


def main() -> None:
    """One line per model and way."""
    rows = []
    for kind in (Car, Manipulator, Engine):
        exact = None
        for way in WAYS:
            counted = cost(kind(), [way]).ways[0]
            row, exact = measure(kind(), counted, exact)
            rows.append((kind.__name__.lower(), counted.engine, counted.projection, *row))
            print(f"  {kind.__name__} {' '.join(way)} done", file=sys.stderr)
    head = ("model", "engine", "projection", "derivative", "projection", "rk4 step", "us", "drift", "difference")
    show("Operations of one derivative, one projection and one rk4 step, its time, and what it keeps", head, rows)


def measure(model: Subsystem, way: Way, exact: Any) -> tuple[tuple[str, ...], Any]:
    """The line of one way, and the positions others are compared with."""
    chosen = {"engine": way.engine, **({"projection": way.projection} if way.engine == "absolute" else {})}
    simulation = Simulation(model, **chosen)
    result = simulation.run(
        Settings("rk4", until=STEPS * STEP, step=STEP, every=10), channels=["*.position.*", "drift.*"], progress=False
    )
    places = result.select("*.position.*").names
    positions = np.column_stack([result[name] for name in places])
    drift = max(result["drift.position"].max(), result["drift.velocity"].max())
    start = simulation.assemble().state
    simulation.kernel.prepare(method="rk4")
    spent = seconds(lambda: simulation.kernel.fixed("rk4", 0.0, start, step=STEP, every=STEPS).advance(STEPS))
    off = "" if exact is None else f"{np.abs(positions - exact).max():.0e}"
    counts = [f"{count:,}" for count in (way.derivative, way.project, way.step(4))]
    row = (*counts, f"{1e6 * spent / STEPS:.1f}", f"{drift:.0e}" if drift else "", off)
    return row, positions if exact is None else exact


if __name__ == "__main__":
    main()
