"""Random models with random wrong values: what is wrong raises a KomponoError, what is right gives a result.

`KOMPONO_FUZZ=600` fuzzes for ten minutes, a third of them here; a failure prints its seed and the declarations,
`replay(seed)` repeats it.
"""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Iterable
from time import perf_counter
from typing import Any

from fuzz.asked import MANY, OPTIONS, Plain
from fuzz.machines import Clerk, Machine

from kompono import KomponoError, Simulation, Subsystem, cost, inspect, simulate, simulate_many
from kompono.solve.integrate import Settings

SECONDS = float(os.environ.get("KOMPONO_FUZZ", "12")) / 3
SHARES = (0.0, 0.005, 0.01, 0.02, 0.1)  # of arguments that are wrong, one after the other


def options_of(clerk: Clerk, names: Iterable[str]) -> dict[str, Any]:
    """Some options; values inside of mappings and pairs may be wrong as well."""
    chosen = {name: OPTIONS[name] for name in sorted(names) if clerk.random.random() < 0.3}
    for name, value in chosen.items():
        if isinstance(value, dict):
            chosen[name] = {path: clerk.value(inner, repr(inner))[0] for path, inner in value.items()}
    return {"until": 0.002, "cache": False, **chosen}


def use(clerk: Clerk, model: Subsystem) -> None:
    """Hand a model to something that takes one."""
    kind = clerk.pick("simulate", "simulate", "simulate_many", "inspect", "cost", "Simulation")
    if kind == "simulate":
        clerk.make(simulate, model, engine=clerk.pick("relative", "relative", "absolute"), **options_of(clerk, OPTIONS))
    elif kind == "simulate_many":
        clerk.make(simulate_many, model, runs=2, lanes=1, **options_of(clerk, MANY))
    elif kind == "inspect":
        clerk.make(inspect, model, cache=False, engine="relative", cut=(), nested_from=1000)
    elif kind == "cost":
        clerk.make(cost, model, ways=[("relative", "post-stabilization")])
    else:
        simulation = clerk.make(Simulation, model, cache=False, native=False, baumgarte=(1, 2), independent=())
        clerk.make(simulation.run, clerk.make(Settings, "RK45", 0.002, 1e-3, every=1, rtol=1e-6), channels="*")


def run(clerk: Clerk, seed: int) -> None:
    """Declare a model and use it; where nothing is wrong that is done now and then only, for it takes long."""
    if seed % 4 == 3:
        clerk.share = 0.15
        use(clerk, Plain())
        return
    model = Machine(clerk)
    if clerk.wrong or seed % 40 == 0:
        use(clerk, model)


def replay(seed: int) -> str:
    """What went wrong with a seed: nothing, or the declarations and the traceback."""
    clerk = Clerk(seed, SHARES[seed % len(SHARES)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(clerk, seed)
        except KomponoError as error:
            if not error.path or not error.fix:
                return f"seed {seed}: an error without a path or a fix: {error}"
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
    while (perf_counter() - begun < SECONDS or seed <= 20) and len(failures) < 5:
        failure = replay(seed)
        seed += 1
        if failure:
            failures.append(failure)
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
