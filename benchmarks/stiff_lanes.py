"""Stiff ensembles on lanes: what is gained, and how many steps four runs would need if they made them together.

python benchmarks/stiff_lanes.py

First, 64 runs of esdirk4 of each machine, one by one and on lanes in turn in one thread, the least processor time of
three, with starts, channels and Python around the loop; `off` is the largest difference of a channel between both.

Every run of an ensemble chooses its own steps. With common ones four runs would make the same, at each time the
shortest that any of them needs, and as many Newton iterations as the slowest. Steps are read from runs one by one;
what four need together is the integral of one over the shortest of their steps. Ensembles: a governor whose stiffness
differs by a factor of ten, a load on a stiff shaft whose speed does, and a motor whose arm starts elsewhere.
"""

from __future__ import annotations

import sys
import time as clock
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from stiff_others import Motor, Shaft  # noqa: E402
from tables import show  # noqa: E402

from kompono import Simulation, Subsystem, simulate_many  # noqa: E402
from kompono.examples.reference.flyball_governor import FlyballGovernor  # noqa: E402

RTOL = 1e-6


def steps_of(simulation: Simulation, until: float, initial: dict[str, float]) -> np.ndarray:
    """When the steps of a run begin and end [s]."""
    parameters, feed = simulation.parameters(None), simulation.feed()
    state = simulation.assemble(initial, parameters=parameters, feed=feed).state
    run = simulation.kernel.adaptive(
        0.0, state, until=until, rtol=RTOL, atol=1e-3 * RTOL, method="esdirk4", capacity=200_000, parameters=parameters
    )
    while not run.done:
        run.advance(1000)
    return run.take()[:, 0]


def together(runs: Sequence[np.ndarray]) -> float:
    """How many steps all runs would make if each was the shortest that one of them makes there."""
    times = np.unique(np.concatenate(runs))
    middles = (times[1:] + times[:-1]) / 2
    lengths = [np.diff(run)[np.clip(np.searchsorted(run, middles) - 1, 0, len(run) - 2)] for run in runs]
    shortest = np.min(lengths, axis=0)
    return float(np.sum(np.diff(times) / shortest))


def gains() -> None:
    """Print what lanes gain."""
    rows = []
    machines: list[tuple[str, Subsystem, float, str, str, tuple[float, float]]] = [
        ("governor x 100", FlyballGovernor(factor=100), 10.0, "guide.displacement", "bearing.angle.rate", (5.5, 7.0)),
        ("shaft", Shaft(), 1.0, "far.angle", "far.angle.rate", (1.0, 10.0)),
        ("motor", Motor(), 2.0, "axle.angle", "axle.angle", (0.1, 1.0)),
    ]
    for name, model, until, channel, start, span in machines:
        for rtol in (1e-6, 1e-8):
            best, last = {}, {}
            for lanes in (1, None) * 4:
                begun = clock.process_time()
                last[lanes] = simulate_many(
                    model, initial={start: np.linspace(*span, 64)}, until=until, step=until / 20, method="esdirk4",
                    rtol=rtol, atol=1e-3 * rtol, threads=1, lanes=lanes, channels=[channel],
                )  # fmt: skip
                best[lanes] = min(best.get(lanes, np.inf), clock.process_time() - begun)
            off = np.abs(np.asarray(last[1][channel]) - np.asarray(last[None][channel])).max()
            one, wide = 1e3 * best[1], 1e3 * best[None]
            steps = str(last[1].statistics["steps"])
            rows.append((name, f"{rtol:g}", steps, f"{one:.0f}", f"{wide:.0f}", f"{one / wide:.1f}", f"{off:.0e}"))
    heads = ("ensemble", "rtol", "steps of all", "ms: alone", "on lanes", "gain", "off")
    show("64 runs of esdirk4, one thread", heads, rows)


def main() -> None:
    """Print tables."""
    warnings.simplefilter("ignore")
    gains()
    random, rows = np.random.default_rng(0), []
    kinds: list[tuple[str, Callable[[int], Subsystem], float, str, Callable[[int], float] | None]] = [
        ("governor x 100, stiffness by 10", lambda k: FlyballGovernor(factor=100 * 10 ** (k / 3)), 10.0, "", None),
        ("shaft, start by 10", lambda _: Shaft(), 1.0, "far.angle.rate", lambda k: 10.0 ** (k / 3)),
        ("motor, start by 10 %", lambda _: Motor(), 2.0, "axle.angle", lambda _: 0.3 * (1 + 0.1 * random.random())),
        ("motor, start by 5", lambda _: Motor(), 2.0, "axle.angle", lambda k: 0.3 * 5 ** (k / 3)),
    ]
    for name, make, until, start, value in kinds:
        runs = []
        for k in range(4):
            simulation = Simulation(make(k))
            runs.append(steps_of(simulation, until, {start: value(k)} if value else {}))
        counts, common = [len(run) - 1 for run in runs], together(runs)
        rows.append((name, " ".join(map(str, counts)), f"{common:.0f}", f"{common / np.mean(counts):.2f}"))
    show(f"esdirk4 at rtol {RTOL:g}", ("ensemble", "steps one by one", "together", "times the mean"), rows)


if __name__ == "__main__":
    main()
