"""Many runs of one machine at once: steps a second of 256 runs on all cores, each from its own start speeds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from machines import cases
from walk import Machine

BATCH, STEPS, REPEATS = 256, 200, 5


def ensembles(machines: dict[str, Machine], threads: int) -> tuple[list[dict[str, Any]], list[str]]:
    """One row per machine and engine, and what is missing."""
    rows, missing = [], []
    for name, machine in machines.items():
        for engine, run in (("Kompono, simulate_many", _kompono), ("MuJoCo, rollout", _mujoco)):
            try:
                speed = run(name, machine, threads)
                rows.append({"machine": name, "engine": engine, "threads": threads, "steps per second": speed})
            except Exception as error:
                missing.append(f"{name}, {BATCH} runs at once: {engine} not run, {type(error).__name__}: {error}")
    return rows, missing


def _mujoco(_name: str, machine: Machine, threads: int) -> float:
    from mujoco_peer import ensemble

    return ensemble(machine, BATCH, STEPS, threads, REPEATS)


def _kompono(name: str, machine: Machine, threads: int) -> float:
    from kompono import simulate_many  # type: ignore[attr-defined]

    (case,) = [case for case in cases() if case.name == name]
    first = machine.links[0].channel
    speeds = machine.links[0].start[1] * np.linspace(0.9, 1.1, BATCH)
    spent = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        simulate_many(
            case.model(), runs=BATCH, initial={f"{first}.rate": speeds}, until=STEPS * 1e-3, step=1e-3, method="rk4",
            channels=(first,), every=STEPS, threads=threads,
        )  # fmt: skip
        spent.append(time.perf_counter() - begun)
    return BATCH * STEPS / min(spent)
