"""How far off: errors of the methods with fixed steps, drift of the loop conditions, change of energy.

Errors are the largest over all recorded steps against dopri5 with rtol 1e-12; that run itself is compared with values
computed independently (see REFERENCE). Drift is the largest violation of any loop condition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tables import show

from kompono import Result, simulate
from kompono.examples.car import Car
from kompono.examples.manipulator import Manipulator
from kompono.examples.reference.n_four_bar import NFourBar

BODY, WHEEL = "body.position.z", "left_wheel.ring.position.z"
BEARINGS = [f"arm.link{k}.motor.bearing.angle" for k in (1, 2, 3)]
REFERENCE = {  # from minimal coordinates, 45 digits (car) and 34 digits (manipulator), as printed
    "car": {BODY: 0.9070362884285, WHEEL: 0.3418828421508},
    "manipulator": dict(zip(BEARINGS, (0.000156798661, 2.498479759093, 0.236485385359), strict=True)),
}


def main() -> None:
    """One line per run."""
    rows = [
        *compare("car", Car, 1.5, [("rk4", 1e-3, 1), ("rk4", 5e-4, 2), ("rk2", 1e-2, 1), ("adams", 1e-3, 1)]),
        *compare("manipulator", Manipulator, 5.0, [("adams", 1e-4, 10), ("rk4", 1e-4, 10), ("rk4", 1e-3, 1)]),
        *(conserve(windows) for windows in (2, 10)),
    ]
    show("Accuracy", ("model", "method", "largest error", "drift of position", "of velocity", "energy"), rows)


def compare(name: str, model: Any, until: float, runs: list[tuple[str, float, int]]) -> list[tuple[str, ...]]:
    """Runs of a model against dopri5, and dopri5 against the reference values at the end."""
    kept = [*REFERENCE[name], "drift.*"]
    rows = []
    for method, step, every in runs:
        exact = simulate(model(), until=until, step=step * every, method="dopri5", rtol=1e-12, channels=kept)
        result = simulate(model(), until=until, step=step, every=every, method=method, channels=kept)
        error = max(np.abs(result[channel] - exact[channel]).max() for channel in REFERENCE[name])
        rows.append((name, f"{method}, {1e3 * step:g} ms", f"{error:.1e}", *drift(result), ""))
        off = max(abs(exact[channel][-1] - value) for channel, value in REFERENCE[name].items())
    return [(name, "dopri5, rtol 1e-12", f"{off:.0e}", *drift(exact), ""), *rows]


def conserve(windows: int) -> tuple[str, ...]:
    """A row of four-bars through its singular positions for 10 s."""
    result = simulate(NFourBar(windows), until=10.0, step=1e-3, channels=["energy.*", "drift.*"])
    energy = result["energy.total"]
    change = np.abs(energy - energy[0]).max() / result["energy.kinetic"].max()
    return f"four-bars, N = {windows}", "rk4, 1 ms", "", *drift(result), f"{change:.0e}"


def drift(result: Result) -> tuple[str, str]:
    """Largest violation on coordinates and on velocities; a tree has none."""
    worst = result["drift.position"].max(), result["drift.velocity"].max()
    return (f"{worst[0]:.0e}", f"{worst[1]:.0e}") if any(worst) else ("", "")


if __name__ == "__main__":
    main()
