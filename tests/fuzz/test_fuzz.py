"""Random models with random wrong values: what is wrong raises a KomponoError, what is right gives a result.

`KOMPONO_FUZZ=600` fuzzes for ten minutes; a failure prints its seed and the declarations, `replay(seed)` repeats it.
"""

from __future__ import annotations

import os
import traceback
import warnings
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from fuzz.machines import Clerk, Machine

from kompono import KomponoError, Simulation, cost, inspect, simulate, simulate_many

SECONDS = float(os.environ.get("KOMPONO_FUZZ", "30"))
SHARES = (0.0, 0.005, 0.01, 0.02, 0.1)  # of arguments that are wrong, one after the other
OPTIONS: dict[str, Any] = {
    "step": 1e-3, "method": "rk4", "rtol": 1e-8, "atol": 1e-11, "every": 1, "channels": "*", "inputs": {}, "initial": {},
    "parameters": {"stiffness": 20.0}, "stabilize": True, "cut": (), "independent": (), "projection": None,
    "metric": None, "baumgarte": (20.0, 20.0), "threads": 1, "stiffness": None, "damping": None, "progress": False,
    "realtime": False, "watcher": None,
}  # fmt: skip


def run(clerk: Clerk, deep: bool) -> None:
    """Declare a model and, if that was allowed and `deep`, use it in some way."""
    model = Machine(clerk)
    if not deep and clerk.wrong == 0:
        return
    options = {name: OPTIONS[name] for name in clerk.random.choice(list(OPTIONS), 3, replace=False)}
    options["until"] = 0.002
    use = clerk.pick("simulate", "simulate", "simulate_many", "inspect", "cost", "Simulation")
    if use == "simulate":
        clerk.make(simulate, model, cache=False, engine=clerk.pick("relative", "absolute", "discrete"), **options)
    elif use == "simulate_many":
        many = {name: value for name, value in options.items() if name not in ("realtime", "watcher")}
        clerk.make(simulate_many, model, cache=False, runs=2, lanes=1, **many)
    elif use == "inspect":
        clerk.make(inspect, model, cache=False, engine="relative", cut=(), nested_from=1000)
    elif use == "cost":
        clerk.make(cost, model, ways=[("relative", "post-stabilization")])
    else:
        clerk.make(Simulation, model, cache=False, native=False, baumgarte=(1, 2), independent=())


def replay(seed: int) -> str:
    """What went wrong with a seed: nothing, or the declarations and the traceback."""
    clerk = Clerk(seed, SHARES[seed % len(SHARES)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(clerk, deep=seed % 40 == 0)
        except KomponoError as error:
            if not str(error).strip():
                return f"seed {seed}: an error without words"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            model = "\n  ".join(clerk.calls)
            text = "".join(traceback.format_exception(error))
            return f"seed {seed}:\n  {model}\n{text}"
    return ""


def test_wrong_values_anywhere_are_refused_in_words() -> None:
    """Only a KomponoError or a result: no TypeError, ValueError, RuntimeError of a library, no crash."""
    begun, seed, failures = perf_counter(), 0, []
    while perf_counter() - begun < SECONDS and len(failures) < 5:
        failure = replay(seed)
        seed += 1
        if failure:
            failures.append(failure)
    assert seed > 20
    assert not failures, "\n\n".join(failures)


def test_the_models_themselves_are_right() -> None:
    """Without wrong values most random models can be declared, so that what is refused above is a wrong value."""
    good = 0
    for seed in range(40):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Machine(Clerk(seed, 0.0))
            good += 1
        except KomponoError:
            pass
    assert good >= 25, good


def test_wrong_values_are_met_and_refused() -> None:
    """The fuzzer does find wrong values, and they are refused while the model is declared."""
    refused = 0
    for seed in range(100):
        clerk = Clerk(seed, 0.2)
        try:
            Machine(clerk)
        except KomponoError:
            refused += clerk.wrong > 0
    assert refused > 80, refused
    assert np.isfinite(refused)
