"""Kompono and other simulators on the same machines with the same numbers, in one run on one core.

python benchmarks/compare.py                    all (`make bench` installs the peers first)
python benchmarks/compare.py car 'chain, 6'     some, only printed

Times are processor time of one rk4 step of 1 ms, least of many runs, engines in turn so that none has the quiet
moments to itself. Errors are those of positions against dopri5 with rtol 1e-12. A peer that is less accurate than
Kompono is run again with 1/2, 1/4, 1/8 and 1/16 of the step until it is not; its time is then that of all steps in a
millisecond. A peer that is missing or cannot run a machine is named with its reason.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before anything with threads is imported

import importlib
import json
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "peers"), str(HERE)]  # both have a module `parts`

import kompono_peer  # noqa: E402
import sheets  # noqa: E402
from batches import batches  # noqa: E402
from judge import Record, Verdict, verdict  # noqa: E402
from machines import Case, cases  # noqa: E402
from parts import Machine  # noqa: E402

PEERS = ("mujoco", "pinocchio", "drake", "exudyn")
STEP = 1e-3
ROUNDS, BUDGET, LONG = 15, 8.0, 0.03  # repeats at most, seconds for all engines of a machine, seconds of one run
AS_GOOD, GOOD = 2.0, 1e-10  # equally accurate: at most this times Kompono's error, or below this [m]
FINER = (2, 4, 8, 16)


@dataclass
class Entry:
    """An engine on a machine: seconds for 1 ms of motion with steps of 1 ms / `finer`."""

    machine: str
    engine: str
    how: str
    finer: int
    error: float
    energy: float | None
    gap: float | None
    seconds: float = float("inf")


def main() -> None:
    """Measure, print, save."""
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:]
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    peers, missing = load()
    entries: list[Entry] = []
    machines: dict[str, Machine] = {}
    for case in cases():
        if not chosen or case.name in chosen:
            print(f"  {case.name}", file=sys.stderr, flush=True)
            found, absent, machines[case.name] = compare(case, peers)
            entries, missing = entries + found, missing + absent
    os.sched_setaffinity(0, cores)
    many, absent = batches({k: m for k, m in machines.items() if k in ("chain, 6", "inline-four")}, len(cores))
    text = sheets.text(entries, missing + absent, many, {peer.NAME: peer.version() for peer in peers})
    print(text)
    if not chosen:
        (HERE / "results.md").write_text(text + "\n", encoding="utf-8")
        saved = {"entries": [asdict(e) for e in entries], "not run": missing + absent, "ensembles": many}
        (HERE / "results.json").write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")


def load() -> tuple[list[Any], list[str]]:
    """The peers that are there, and why others are not."""
    peers, missing = [], []
    for name in PEERS:
        try:
            peer = importlib.import_module(f"{name}_peer")
            peer.version()
            peers.append(peer)
        except Exception as error:
            missing.append(f"{name}: not run, {type(error).__name__}: {error}")
    return peers, missing


def compare(case: Case, peers: list[Any]) -> tuple[list[Entry], list[str], Machine]:
    """All engines on one machine."""
    count = round(case.until / STEP)
    every = max(1, count // 20)
    ours = kompono_peer.Runner(case)
    exact, machine = ours.reference(count, every), case.machine()
    ours.set_start(machine)
    judgement = verdict(ours.record(count, every), exact)
    running = [(ours, entry(case, kompono_peer.NAME, ours, judgement, 1))]
    bound, absent = max(AS_GOOD * judgement.error, GOOD), []
    for peer in peers:
        try:
            for k, runner in enumerate(peer.runners(case, machine, STEP)):
                found = judged(case, peer, runner, machine, exact, (count, every, k, bound))
                running += found
        except Exception as error:
            absent.append(f"{case.name}: {peer.NAME} not run, {error}")
    measure(running, count)
    return [entry for _, entry in running], absent, machine


def judged(
    case: Case, peer: Any, runner: Any, machine: Machine, exact: Record, how: tuple[int, int, int, float]
) -> list[tuple[Any, Entry]]:
    """A peer with steps of 1 ms, and, if it needs them to be as accurate as Kompono, with smaller ones."""
    count, every, k, bound = how
    begun = time.perf_counter()
    judgement = verdict(runner.record(count, every), exact)
    spent = time.perf_counter() - begun
    found = [(runner, entry(case, runner.label, runner, judgement, 1))]
    for finer in FINER if judgement.error > bound else ():
        before = judgement.error
        if spent * finer > 4:
            break
        runner = peer.runners(case, machine, STEP / finer)[k]
        judgement = verdict(runner.record(count * finer, every * finer), exact)
        if judgement.error <= bound:
            return [*found, (runner, entry(case, runner.label, runner, judgement, finer))]
        if judgement.error > before / 1.5:
            break
    return found


def entry(case: Case, label: str, runner: Any, judgement: Verdict, finer: int) -> Entry:
    """A line of the results, not yet timed."""
    return Entry(case.name, label, runner.how, finer, judgement.error, judgement.energy, judgement.gap)


def measure(running: list[tuple[Any, Entry]], count: int) -> None:
    """Time all engines in turn and keep the least of each."""
    counts = [calibrated(runner, count * entry.finer) for runner, entry in running]
    begun = time.perf_counter()
    for turn in range(ROUNDS):
        if turn and time.perf_counter() - begun > BUDGET:
            break
        for (runner, entry), steps in zip(running, counts, strict=True):
            entry.seconds = min(entry.seconds, once(runner, steps) * entry.finer / steps)


def calibrated(runner: Any, most: int) -> int:
    """How many steps to time at once: a run of some ten milliseconds, at most as many as the motion has."""
    steps = 1
    while steps < most and once(runner, steps) < LONG:
        steps = min(2 * steps, most)
    return steps


def once(runner: Any, steps: int) -> float:
    """Processor time of a run."""
    begun = time.process_time()
    runner.steps(steps)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
