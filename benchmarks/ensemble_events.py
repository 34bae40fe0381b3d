"""Ensembles with events, contact and friction: what lanes give, and a hundred thousand runs.

Processor time of all runs one by one (lanes=1) and on lanes, in turns, the best of some; translation, compilation and
starts are not in it. "alone" is the share of steps that a run made by itself, for it had an event there, or rested.
With a number as argument, `python benchmarks/ensemble_events.py 100000`, so many runs of the ball, with their time and
memory.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from chains import Chain
from tables import show

from kompono import Body, Ground, Simulation, Subsystem, simulate_many
from kompono import time as now
from kompono.compile import native_lanes
from kompono.library import DryFriction, EndStops, Gravity, JointEffort, Prismatic, solids
from kompono.many.start import start_all
from kompono.many.vary import parameter_table, vary
from kompono.selection import select_outputs
from kompono.solve.integrate import Settings
from kompono.solve.many import Batch, prepare, run_batch
from kompono.solve.progress import Progress

RUNS, REPEATS = 64, 3


class Ball(Subsystem):
    """Falls on a floor, and bounces until it rests."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.ball, axis="z", displacement=1.0)
        self.floor = EndStops(self.rail, lower=0.0, restitution=0.7)


class StickSlip(Subsystem):
    """Den Hartog's oscillator, which sticks and slips (n06)."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.mass, axis="x")
        self.drive = JointEffort(self.rail, -100 * self.rail.displacement + 5 * ca.cos(4 * now))
        self.friction = DryFriction(self.rail, preload=1.962)


class StoppedChain(Chain):
    """A chain of pendulums; stops keep each from folding."""

    def __init__(self, links: int) -> None:
        super().__init__(links)
        self.stops = [EndStops(pin, -1.1, 1.1, restitution=0.3) for pin in self.pins]


@dataclass
class Case:
    """A machine, what differs between its runs, and how they are made."""

    name: str
    model: Subsystem
    varied: str
    least: float
    most: float
    until: float
    step: float = 1e-3
    method: str = "rk4"

    def batch(self, lanes: int, simulation: Simulation) -> Batch:
        """All runs."""
        values = np.random.default_rng(0).uniform(self.least, self.most, RUNS)
        settings = Settings(self.method, self.until, self.step, every=round(self.until / self.step))
        variation = vary(None, {self.varied: values}, None)
        feed = simulation.feed()
        starts = start_all(simulation, variation, parameter_table(simulation, variation), feed, settings)
        outputs = select_outputs(simulation.translation, "drift.position")
        return Batch(settings, outputs, starts.states, starts.parameters, lanes)


def cases() -> list[Case]:
    """What is timed."""
    from kompono.examples.engine import Engine

    return [
        Case("engine, modes of its starter", Engine(), "main.angle.rate", 0.0, 3.0, 3.0),
        Case("chain of 6, stops struck rarely", StoppedChain(6), "pins.0.angle", 0.2, 1.0, 10.0),
        Case("stick-slip oscillator", StickSlip(), "rail.displacement", -0.05, 0.05, 20.0),
        Case("bouncing ball, until it rests", Ball(), "rail.displacement", 0.2, 2.0, 10.0),
    ]


def timed(simulation: Simulation, batch: Batch) -> tuple[float, dict[str, int]]:
    """Processor time [s] of all runs, and what they counted."""
    prepare(simulation.kernel, batch)
    begun = time.process_time()
    with Progress(1.0, show=False) as progress:
        parts = run_batch(simulation.kernel, batch, simulation.feed, lambda _: None, 1, progress)  # type: ignore
        outcomes = [outcome for _, several in parts for outcome in several]
    spent = time.process_time() - begun
    assert all(outcome.ok for outcome in outcomes), next(one.message for one in outcomes if not one.ok)
    counts = {name: sum(one.statistics.get(name, 0) for one in outcomes) for name in ("steps", "steps_on_lanes")}
    return spent, {**counts, "events": sum(len(one.statistics["events"]) for one in outcomes)}


def compare(case: Case) -> tuple[Any, ...]:
    """A line of the table."""
    simulation = Simulation(case.model)
    batches = {lanes: case.batch(lanes, simulation) for lanes in (1, native_lanes())}
    best: dict[int, float] = {}
    counts: dict[str, int] = {}
    for _ in range(REPEATS):
        for lanes, batch in batches.items():
            spent, counts = timed(simulation, batch)
            best[lanes] = min(spent, best.get(lanes, np.inf))
    one, wide = best.values()
    alone = 1 - counts["steps_on_lanes"] / counts["steps"]
    each = [f"{1e6 * spent / counts['steps']:.3f}" for spent in (one, wide)]
    print(f"  {case.name} done", file=sys.stderr)
    return (case.name, f"{counts['events'] / RUNS:.1f}", f"{100 * alone:.2f} %", *each, f"{one / wide:.1f}")


def table() -> None:
    """One line a machine."""
    show(
        f"Ensembles with events: {RUNS} runs, us of one processor a step, {native_lanes()} lanes",
        ("machine", "events a run", "alone", "one by one", "on lanes", "gain"),
        [compare(case) for case in cases()],
    )


def many(runs: int) -> None:
    """So many balls, a second each."""
    begun, worked = time.perf_counter(), time.process_time()
    heights = np.random.default_rng(0).uniform(0.2, 2.0, runs)
    found = simulate_many(Ball(), until=1.0, every=1000, initial={"rail.displacement": heights}, channels="rail.*")
    assert not found.failed
    spent, wall = time.process_time() - worked, time.perf_counter() - begun
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    count = sum(map(len, found.statistics["events"]))
    print(f"{runs} balls, {count} events: {spent:.1f} s of processor, {wall:.1f} s, {size:.0f} MB at most")
    print({name: round(value, 2) for name, value in found.statistics.items() if name.startswith("seconds")})


if __name__ == "__main__":
    many(int(sys.argv[1])) if len(sys.argv) > 1 else table()
