"""Many runs of one machine at once, each from its own start: rk4 steps a second of 256 runs on all cores.

What does not grow with the steps (translation, start, the model's compilation) is taken off by a second measurement
with one step; the faster engine takes more steps to make up for it. Wall time is what a user sees, but other programs
take their share of the cores; steps per second of processor time, of all threads together, is what can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machines import cases
from parts import Machine

import kompono

BATCH, REPEATS = 256, 3
Work = Callable[[int], Any]


def batches(machines: dict[str, Machine], threads: int) -> tuple[list[dict[str, Any]], list[str]]:
    """One row per machine and engine, and what is missing."""
    rows, missing = [], []
    for name, machine in machines.items():
        for engine, make, steps in (("Kompono, simulate_many", _kompono, 10_000), ("MuJoCo, rollout", _mujoco, 500)):
            try:
                work = make(name, machine, threads)
                spent = _least(work, steps) - _least(work, 1)
            except Exception as error:
                missing.append(f"{name}, {BATCH} runs at once: {engine} not run, {error}")
                continue
            speeds = dict(
                zip(("steps a second", "a processor second"), (BATCH * (steps - 1) / spent).tolist(), strict=True)
            )
            rows.append({"machine": name, "engine": engine, "threads": threads, **speeds})
    return rows, missing


def _least(work: Work, steps: int) -> np.ndarray:
    """The least wall and processor times of some repeats, the first not counted."""
    work(steps)
    spent = []
    for _ in range(REPEATS):
        begun, before = time.perf_counter(), time.process_time()
        work(steps)
        spent.append((time.perf_counter() - begun, time.process_time() - before))
    return np.min(spent, axis=0)


def _mujoco(_name: str, machine: Machine, threads: int) -> Work:
    from mujoco_peer import ensemble

    return ensemble(machine, BATCH, threads)


def _kompono(name: str, machine: Machine, threads: int) -> Work:
    if not hasattr(kompono, "simulate_many"):
        raise RuntimeError("this version has no simulate_many")
    (case,) = [case for case in cases() if case.name == name]
    first = machine.links[0]
    spread = np.linspace(0.9, 1.1, BATCH)
    initial = {first.channel: first.start[0] * spread, f"{first.channel}.rate": first.start[1] * spread}
    options = {"step": 1e-3, "method": "rk4", "channels": (first.channel,), "threads": threads, "progress": False}

    def work(steps: int) -> Any:
        return kompono.simulate_many(
            case.model(), runs=BATCH, initial=initial, until=steps * 1e-3, every=steps, **options
        )

    return work
