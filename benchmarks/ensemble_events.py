"""Ensembles with events, contact and friction: what lanes give, and a hundred thousand runs.

Processor time of all runs one by one (lanes=1) and on lanes, in turns, the best of some; translation, compilation and
starts are not in it. "alone" is the share of steps that a run made by itself, for it had an event there, or rested.
With a number as argument, `python benchmarks/ensemble_events.py 100000`, so many runs of each of some machines, each in
a process of its own: processor time, runs a second, and the most memory. Further arguments name some of them
(`... 100000 balls car`).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from chains import Chain
from tables import show

from kompono import Body, Ground, Simulation, Subsystem, simulate_many
from kompono import time as now
from kompono.compile import native_lanes
from kompono.library import DryFriction, EndStops, Gravity, JointEffort, Prismatic, Revolute, solids
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


class RubbingCrank(Subsystem):
    """A slider-crank whose slider rubs on its rail."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.arm, self.rod = (Body(solids.rod(mass=1.0, length=n, radius=0.02, axis="x")) for n in (0.2, 0.5))
        self.block = Body(solids.sphere(mass=1.0, radius=0.05))
        self.crank = Revolute(self.ground, self.arm.at(-0.1, 0, 0), axis="y", angle=1.0)
        self.pin = Revolute(self.arm.at(0.1, 0, 0), self.rod.at(-0.25, 0, 0), axis="y", angle=-1.3)
        self.slide = Prismatic(self.ground, self.block, axis="x", displacement=0.6)
        self.joint = Revolute(self.block, self.rod.at(0.25, 0, 0), axis="y")
        self.friction = DryFriction(self.slide, preload=2.0)


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


@dataclass
class Large:
    """A machine for very many runs of 1,000 steps, and what differs between them."""

    model: Callable[[], Subsystem]
    varied: str
    least: float
    most: float
    channels: str
    options: dict[str, Any] = field(default_factory=dict)


def large() -> dict[str, Large]:
    """By name; those of the discrete engine have steps of 10 us, the others of 1 ms."""
    from kompono.examples.car import Car
    from kompono.examples.reference.n_four_bar import NFourBar

    tiny: dict[str, Any] = {"engine": "discrete", "until": 0.01, "step": 1e-5}
    rocking = "feet.0.angle.rate", -2.0, -1.0, "feet.0.*"
    return {
        "balls": Large(Ball, "rail.displacement", 0.2, 2.0, "rail.*"),
        "stick-slip": Large(StickSlip, "rail.displacement", -0.05, 0.05, "rail.*"),
        "stopped-chain": Large(partial(StoppedChain, 6), "pins.0.angle.rate", 0.0, 8.0, "pins.*"),
        "chain-dopri5": Large(partial(Chain, 6), "pins.0.angle", 0.2, 1.0, "pins.*", {"method": "dopri5"}),
        "four-bar-dopri5": Large(partial(NFourBar, 1), *rocking, {"method": "dopri5"}),
        "car": Large(Car, "guide.displacement", 0.35, 0.36, "body.position.*"),
        "discrete-four-bar": Large(partial(NFourBar, 1), *rocking, tiny),
        "discrete-crank": Large(RubbingCrank, "crank.angle.rate", 1.0, 20.0, "slide.*", {**tiny, "contact": "soft"}),
        "discrete-stick-slip": Large(
            StickSlip, "rail.displacement", -0.05, 0.05, "rail.*", {**tiny, "contact": "soft"}
        ),
        "discrete-car": Large(Car, "guide.displacement", 0.35, 0.36, "body.position.*", tiny),
    }


def many(runs: int, name: str) -> None:
    """So many runs of a machine; one line."""
    case = large()[name]
    model, values = case.model(), np.random.default_rng(0).uniform(case.least, case.most, runs)
    options: dict[str, Any] = {"until": 1.0, "step": 1e-3, **case.options}
    warnings.simplefilter("ignore")  # that assembly moved what was not given
    simulate_many(model, **options, every=1000, initial={case.varied: values[:64]}, channels=case.channels)  # compiles
    begun, worked = time.perf_counter(), time.process_time()
    found = simulate_many(model, **options, every=1000, initial={case.varied: values}, channels=case.channels)
    spent, wall = time.process_time() - worked, time.perf_counter() - begun
    size, counts = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found.statistics
    events = sum(map(len, counts.get("events", ())))
    print(
        f"| {name} | {found.statistics['lanes']} | {counts['steps'] / runs:.0f} | {events / runs:.1f} | {spent:.1f} | "
        f"{wall:.1f} | {counts['seconds_start']:.1f} | {runs / spent:.0f} | {1e6 * spent / counts['steps']:.2f} | "
        f"{size:.0f} | {len(found.failed)} |",
        flush=True,
    )


def all_of_them(runs: str, names: Sequence[str]) -> None:
    """Each machine in a process of its own, so that memory is its own."""
    print(f"{runs} runs, ends recorded, {native_lanes()} lanes")
    print("| machine | lanes | steps | events | processor s | s | starts s | runs a s | us a step | MB | failed |")
    print("|---" + "|--:" * 10 + "|")
    sys.stdout.flush()
    for name in names or large():
        subprocess.run([sys.executable, __file__, runs, name, "--here"], check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            table()
        case [runs, name, "--here"]:
            many(int(runs), name)
        case [runs, *names]:
            all_of_them(runs, names)
