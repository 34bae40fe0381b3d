"""Ensembles whose runs choose their steps (dopri5): processor time one by one and on lanes, in one thread.

python benchmarks/chosen_lanes.py

64 runs of each machine with another parameter, made three times one by one and on lanes in turn; the least of each
counts, with starts, channels and Python around the loop. `off` is the largest
difference of a channel between both.
"""

from __future__ import annotations

import sys
import time as clock
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

import casadi as ca  # noqa: E402
import numpy as np  # noqa: E402
from tables import show  # noqa: E402

from kompono import Body, Ground, Parameter, Subsystem, simulate_many, time  # noqa: E402
from kompono.library import Gravity, JointEffort, Revolute, RotationalSpringDamper, Spherical, solids  # noqa: E402

UNTIL = 50.0  # [s]


class FourBar(Subsystem):
    """A loop on a spring that a torque of time swings."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.k = Ground(), Gravity((0, -9.81, 0)), Parameter(20.0)
        self.crank, self.coupler, self.rocker = (
            Body(solids.rod(mass=n, length=n, radius=0.05, axis="x")) for n in (1.0, 3.0, 2.5)
        )
        self.bearing = Revolute(self.ground, self.crank.at(-0.5, 0, 0), axis="z", angle=0.75)
        self.pivot = Revolute(self.ground.at(3.0, 0, 0), self.rocker.at(-1.25, 0, 0), axis="z", angle=1.52)
        self.crank_pin = Revolute(self.crank.at(0.5, 0, 0), self.coupler.at(-1.5, 0, 0), axis="z", angle=-0.1)
        self.rocker_pin = Revolute(self.rocker.at(1.25, 0, 0), self.coupler.at(1.5, 0, 0), axis="z")
        self.spring = RotationalSpringDamper(self.bearing, k=self.k, c=1.0)
        self.push = JointEffort(self.bearing, 2.0 * ca.cos(4.0 * time))


class Chain(Subsystem):
    """Six pendula with dampers."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.k = Ground(), Gravity((0, -9.81, 0)), Parameter(0.5)
        self.rods = [Body(solids.rod(mass=1.0, length=0.3, radius=0.02, axis="x")) for _ in range(6)]
        ends = [self.ground, *(rod.at(0.15, 0, 0) for rod in self.rods)]
        self.pins = [Revolute(a, b.at(-0.15, 0, 0), axis="z", angle=0.2) for a, b in zip(ends, self.rods, strict=False)]
        self.dampers = [RotationalSpringDamper(pin, k=0.0, c=self.k) for pin in self.pins]


class Top(Subsystem):
    """A body on a ball joint."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.k = Ground(), Gravity(), Parameter(1.0)
        self.body = Body(solids.box(mass=self.k, size=(0.1, 0.2, 0.3)))
        self.hang = Spherical(self.ground, self.body.at(0.1, 0.2, 0.5), wx=1.0, wy=-2.0)


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    rows = []
    machines = [("four-bar", FourBar, "bearing.angle"), ("chain", Chain, "pins.5.angle"), ("top", Top, "hang.wx")]
    for name, make, channel in machines:
        model = make()
        given = {"k": np.linspace(0.5, 2.0, 64) * model.k.value}
        for rtol in (1e-6, 1e-9):
            best, last = {}, {}
            for lanes in (1, None) * 4:
                begun = clock.process_time()
                last[lanes] = simulate_many(
                    model, parameters=given, until=UNTIL, step=0.1, method="dopri5", rtol=rtol, threads=1,
                    lanes=lanes, channels=[channel],
                )  # fmt: skip
                best[lanes] = min(best.get(lanes, np.inf), clock.process_time() - begun)
            steps = last[1].statistics["steps"]
            off = np.abs(np.asarray(last[1][channel]) - np.asarray(last[None][channel])).max()
            one, wide = (1e6 * best[lanes] / steps for lanes in (1, None))
            rows.append((name, f"{rtol:g}", str(steps), f"{one:.2f}", f"{wide:.2f}", f"{one / wide:.1f}", f"{off:.0e}"))
    heads = ("machine", "rtol", "steps of all", "us a step: alone", "on lanes", "gain", "off")
    show(f"64 runs of dopri5 over {UNTIL:g} s, one thread", heads, rows)


if __name__ == "__main__":
    main()
