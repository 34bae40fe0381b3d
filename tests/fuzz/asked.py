"""What runs, results and reports may be asked for: each option by name, to be replaced by a wrong value."""

from __future__ import annotations

import functools
from typing import Any

from fuzz.callables import Case

from kompono import (
    Body,
    Ground,
    Input,
    Parameter,
    Simulation,
    Subsystem,
    cost,
    evaluate,
    inspect,
    simulate,
    simulate_many,
)
from kompono.library import JointEffort, Revolute, solids
from kompono.realtime import RealTime
from kompono.solve.integrate import Settings

OPTIONS: dict[str, Any] = {
    "step": 1e-3, "rtol": 1e-8, "atol": 1e-11, "every": 1, "channels": "*", "inputs": {"push": 1.0},
    "initial": {"joints.0.angle": 0.1}, "parameters": {"stiffness": 20.0}, "stabilize": True, "cut": (),
    "independent": (), "projection": None, "metric": None, "baumgarte": (20.0, 20.0), "threads": 1, "stiffness": None,
    "damping": None, "progress": False, "realtime": False, "watcher": None, "method": "rk4", "guard_checks": 1,
    "max_steps": None, "closed": (), "before": None, "isolate": (), "ranks": False, "place": None,
    "contact": "events", "errors": "whole", "begin": 0.0, "start": None,
}  # fmt: skip
ALONE = {
    "begin",
    "start",
    "realtime",
    "watcher",
    "before",
    "stiffness",
    "damping",
    "ranks",
    "place",
}  # that many runs do not take
FILES = {"hdf5", "resume"}  # options that are files, met elsewhere
MANY = set(OPTIONS) - ALONE


class Plain(Subsystem):
    """A good model with something of each kind to name, for options alone."""

    def __init__(self) -> None:
        self.stiffness = Parameter(10.0)
        self.push = Input(0.0)
        self.ground = Ground()
        self.bodies = [Body(solids.sphere(mass=1.0, radius=0.1))]
        self.joints = [Revolute(self.ground, self.bodies[0].at(0, 0, 1), axis="y")]
        self.spring = JointEffort(self.joints[0], self.push - self.stiffness * self.joints[0].angle)


@functools.cache
def _ready() -> tuple[Any, Any, Any, Any]:
    """A model, its simulation, a result of it and an ensemble."""
    model = Plain()
    result = simulate(model, until=0.002, progress=False)
    ensemble = simulate_many(model, until=0.002, runs=2, progress=False)
    return model, Simulation(model, native=False), result, ensemble


def requests() -> list[Case]:
    """All of them, with options that are right."""
    model, simulation, result, ensemble = _ready()
    making = {
        "engine": "relative", "cut": (), "independent": (), "projection": None, "metric": None, "baumgarte": (1, 2),
        "threads": None, "nested_from": 1000, "stiffness": None, "damping": None, "cache": True,
        "elsewhere": None,
    }  # fmt: skip
    run = {"until": 0.002, "engine": "relative", "native": True, "cache": True, **OPTIONS}
    many = {name: value for name, value in run.items() if name not in ALONE}
    settings = {
        "method": "RK45", "until": 0.002, "step": 1e-3, "every": 1, "rtol": 1e-6, "atol": 1e-8, "stabilize": True,
        "guard_checks": 1, "max_steps": None, "begin": 0.0,
    }  # fmt: skip
    asked = {"time": 0.1, "channels": "*", "inputs": {"push": 1.0}, "parameters": {"stiffness": 2.0}}
    at = {"at": {"joints.0.angle": 0.1}, **asked}
    live = {"frame": 0.001, "keep": 1.0, "clock": None}
    return [
        Case("simulate", simulate, lambda: {"model": model, **run}),
        Case("simulate_many", simulate_many, lambda: {"model": model, "runs": 2, "lanes": 1, "client": None, **many}),
        Case("evaluate", evaluate, lambda: {"model": model, "engine": "relative", **at}),
        Case("evaluate a Simulation", functools.partial(evaluate, simulation), lambda: dict(at)),
        Case("inspect", inspect, lambda: {"model": model, **making}),
        Case("cost", cost, lambda: {"model": model, "ways": [("relative", "post-stabilization")]}),
        Case("Simulation", functools.partial(Simulation, native=False), lambda: {"model": model, **making}),
        Case("Simulation.run", lambda **given: simulation.run(Settings(**given)), lambda: dict(settings)),
        Case("Simulation.run", simulation.run, lambda: {"settings": Settings("RK45", 0.002, 1e-3), "channels": "*"}),
        Case("Simulation.assemble", simulation.assemble, lambda: {"initial": {"joints.0.angle": 0.1}, "time": 0.0}),
        Case("Simulation.parameters", simulation.parameters, lambda: {"given": {"stiffness": 2.0}}),
        Case("Simulation.feed", simulation.feed, lambda: {"given": {"push": 2.0}}),
        Case("realtime", lambda **given: simulate(model, until=0.002, realtime=RealTime(**given)), lambda: dict(live)),
        Case("Result.at", result.at, lambda: {"time": 0.001}),
        Case("Result[]", lambda name: result[name], lambda: {"name": "time"}),
        Case("Result.select", result.select, lambda: {"patterns": "*.angle"}),
        Case("Ensemble[]", lambda name: ensemble[name], lambda: {"name": "time"}),
        Case("Ensemble.run", ensemble.run, lambda: {"i": 1}),
        Case("Ensemble.select", ensemble.select, lambda: {"patterns": "*.angle"}),
    ]
