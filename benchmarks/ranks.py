"""Large trees and chains on MPI ranks: same bits, time of a step, what a message costs, memory of each process.

python benchmarks/ranks.py                        chain and trees of up to 131,000 bodies on 1, 2, 4 ranks
python benchmarks/ranks.py tree 131068 2          one line: so many bodies on so many ranks
python benchmarks/ranks.py latency 2              messages alone, called from Python: 4, 27, 270, 2,700 numbers
python benchmarks/ranks.py model                  the predictions of docs/theory/spread.md

Needs `pip install kompono[mpi]`. More ranks than processors wait for each other: such lines show bits, not speed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from large import Link, Row, Tree

from kompono import Ground, Subsystem
from kompono.library import Gravity, Revolute
from kompono.ranks.placement import SHARED, place

ALL = (("tree", 1020), ("tree", 2044), ("tree", 8188), ("tree", 131068), ("chain", 131072))
STEPS = 20
SECONDS = 10.0  # of looking for the shortest time of a step
COLUMNS = ("model", "bodies", "ranks", "cut", "wall s", "evaluation us", "message us", "rk4 step ms", "peak MB", "bits")


class Chain(Subsystem):
    """A hanging chain of a power of two of links, nested by eights."""

    def __init__(self, bodies: int = 4096) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        make: Callable[[], Subsystem] = Link
        left, axes = bodies, "xy"
        while left > 1:
            count = min(left, 8)
            make, left = functools.partial(Row, make, axes, count), left // count
            axes = "y"
        self.chain = make()
        self.pin = Revolute(self.ground, self.chain.first.at(0, 0, 0.1), axis="y", angle=0.3)


MODELS: dict[str, Callable[[int], Subsystem]] = {"chain": Chain, "tree": Tree}


def main(arguments: list[str]) -> None:
    """One line, or all."""
    if arguments[:1] == ["member"]:
        member(arguments[1], int(arguments[2]))
    elif arguments[:1] == ["latency"]:
        launch(int(arguments[1]), ["messages"])
    elif arguments[:1] == ["messages"]:
        messages()
    elif arguments[:1] == ["model"]:
        predict()
    elif arguments:
        launch(int(arguments[2]), ["member", *arguments[:2]])
    else:
        print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
        for name, bodies in ALL:
            for ranks in (1, 2, 4):
                launch(ranks, ["member", name, str(bodies)])


def launch(ranks: int, arguments: list[str]) -> None:
    """Run this file on ranks."""
    from kompono.ranks.launch import launch

    code = launch(ranks, [sys.executable, __file__, *arguments])
    if code:
        raise SystemExit(code)


def member(name: str, bodies: int) -> None:
    """What each process does; the first prints."""
    from kompono.ranks import Wish, on_ranks
    from kompono.ranks.world import World
    from kompono.simulation import Simulation

    begun = time.perf_counter()
    model = MODELS[name](bodies)
    made = on_ranks(model, Wish(), lambda: Simulation(model, nested_from=1), steps)
    seconds = time.perf_counter() - begun
    world = World()
    peaks = world.group.gather(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if world.leads:
        cut, evaluation, message, step, bits = made
        times = f"{seconds:.0f}", f"{1e6 * evaluation:.0f}", f"{1e6 * message:.1f}", f"{1e3 * step:.3f}"
        line = (name, f"{bodies:,}", world.size, cut, *times, " ".join(f"{p:.0f}" for p in peaks), bits)
        print("| " + " | ".join(map(str, line)) + " |", flush=True)


def steps(simulation) -> tuple[str, float, float, float, str]:
    """The way of cutting, seconds of an evaluation, a message and a step of rk4, the shortest of many, and a hash of
    the state after `STEPS` steps.
    """
    kernel = simulation.kernel
    cut = "levels" if any(told.kind != "gather" for told in _exchanges(kernel)) else "forks"
    start = simulation.assemble().state
    kernel.prepare(method="rk4")
    run = kernel.fixed("rk4", 0.0, start, step=1e-3, every=10**9)
    if run.advance(STEPS).name != "OK":
        raise SystemExit("the run has failed")
    bits = hashlib.sha256(run.state.tobytes()).hexdigest()[:12]
    looks = [kernel.ask("timing", 0.0, start, np.zeros(0), np.zeros(0)) for _ in range(20)]
    count, best, end = max(1, 20_000 // len(start)), np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        run.restart(0.0, start)
        begun = time.perf_counter()
        run.advance(count)
        best = min(best, (time.perf_counter() - begun) / count)
        run.take()
    return cut, min(e for e, _ in looks), min(m for _, m in looks), best, bits


def _exchanges(kernel):
    return kernel.member.kernel.program.routines["derivative"].exchanges


def messages() -> None:
    """Seconds of gathered messages, called from Python."""
    from kompono.ranks.world import World

    world = World()
    for count in (4, 27, 270, 2700):
        seconds = world.latency((count,) * world.size, 2000)
        if world.leads:
            print(f"{world.size} ranks, {count:5d} numbers each: {1e6 * seconds:7.2f} us")


BODY = {"cache": 17e-9, "memory": 39e-9}  # s a body and evaluation of a tree on lanes, by where its state is
HOP = {"shared memory": 1.2e-6, "20 us a hop": 20e-6}  # s of a message from one process to another, from native code
NUMBER = 2e-9  # s of each number more


def predict() -> None:
    """See docs/theory/spread.md: one evaluation of a binary tree of stems with four bodies each, placed as ever."""
    print("| bodies | ranks | shared | of the fullest | numbers told | one process us | " + " | ".join(HOP) + " |")
    print("|--:|--:|--:|--:|--:|--:|" + "--:|" * len(HOP))
    for levels in (8, 11, 15, 18):
        owners = (np.arange(2**levels - 1) - 1) // 2
        weights = np.full(len(owners), 4.0)
        alone = weights.sum() * BODY["cache" if levels < 13 else "memory"]
        for ranks in (2, 4, 16, 64, 256, 1024, 10_000):
            found = place(owners, weights, ranks)
            shared = weights[found.homes == SHARED].sum()
            own = found.work - shared
            cuts = np.count_nonzero((found.homes != SHARED) & (found.homes[owners] == SHARED))
            steady = shared * BODY["cache"] + own * BODY["cache" if own < 40_000 else "memory"]
            times = [steady + hop * np.ceil(np.log2(ranks)) + 27 * cuts * NUMBER for hop in HOP.values()]
            words = [f"{1e6 * t:,.0f} ({alone / t:.1f})" for t in times]
            numbers = f"{shared:,.0f} | {own:,.0f} | {27 * cuts:,}"
            print(f"| {weights.sum():,.0f} | {ranks:,} | {numbers} | {1e6 * alone:,.0f} | " + " | ".join(words) + " |")


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    main(sys.argv[1:])
