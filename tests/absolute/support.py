"""What the tests of the absolute engine share: models by name, states carried from one engine to the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from reference.support import example

from kompono import Body, Result, Simulation, Subsystem
from kompono.solve.integrate import Settings
from kompono.translate.starts.start import placed_state

MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "car": ("car", "Car", {}),
    "manipulator": ("manipulator", "Manipulator", {}),
    "engine": ("engine", "Engine", {"starter": False}),
    "four-bar": ("reference/four_bar", "FourBar", {}),
    "slider-crank": ("reference/slider_crank", "SliderCrank", {}),
    "squeezer": ("reference/andrews_squeezer", "AndrewsSqueezer", {}),
    "bennett": ("reference/bennett", "Bennett", {}),
    "bricard": ("reference/bricard", "Bricard", {}),
    "windows": ("reference/n_four_bar", "NFourBar", {"windows": 2}),
    "skew window": ("reference/n_four_bar", "NFourBar", {"windows": 1, "turn": (0.3, -0.5, 0.8)}),
    "top": ("reference/heavy_top", "HeavyTop", {}),
    "double pendulum": ("reference/double_pendulum", "DoublePendulum", {"rods": True, "angle1": 1.0, "angle2": 0.5}),
}


def instant(name: str) -> float:
    """A time [s] at which the model is in full motion."""
    return 0.002 if name == "squeezer" else 0.05


def build(name: str) -> Subsystem:
    """A new instance of a model."""
    file, kind, options = MODELS[name]
    return thickened(getattr(example(file), kind)(**options))


def thickened(model: Subsystem) -> Subsystem:
    """The same with some inertia where bodies have none: absolute coordinates need it, motion in a plane does not see
    it.
    """
    for body in (element for element in model.walk() if isinstance(element, Body)):
        moments, axes = np.linalg.eigh(np.asarray(body.solid.inertia, dtype=float))
        missing = axes @ np.diag(np.where(moments < 1e-12 * max(moments.max(), 1.0), 0.01, 0.0)) @ axes.T
        if missing.any():
            body.solid = replace(body.solid, inertia=body.solid.inertia + missing)
    return model


@cache
def simulation(name: str, engine: str = "absolute", projection: str | None = None) -> Simulation:
    """A translated model, interpreted; kept for other tests."""
    return Simulation(build(name), engine=engine, projection=projection, native=False)


def run(
    simulation: Simulation,
    until: float,
    step: float,
    *,
    rtol: float = 1e-10,
    stabilize: bool = True,
    channels: str | Iterable[str] = "*",
    initial: dict[str, float] | None = None,
) -> Result:
    """A run with DOP853 (interpreted) or dopri5 (native) that must succeed."""
    method = "dopri5" if hasattr(simulation.kernel, "fixed") else "DOP853"
    settings = Settings(method, until, step, 1, rtol, 1e-3 * rtol, stabilize)
    result = simulation.run(settings, channels=channels, initial=initial, progress=False)
    assert result.status.ok, result.status.message
    return result


def constants(simulation: Simulation, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and parameters."""
    return simulation.feed().at(time), simulation.parameters()


@cache
def moving_state(name: str, time: float) -> np.ndarray:
    """A state in full motion, in joint coordinates: from the start with some speeds to `time`."""
    tree = simulation(name, "relative")
    state = tree.assemble().state
    feed, parameters = constants(tree, 0.0)
    stages, h = 40, time / 40
    for k in range(stages):  # midpoint steps: any state will do, if it is consistent
        rate = tree.kernel.evaluate("derivative", k * h, state, feed, parameters)[0]
        middle = tree.kernel.evaluate("derivative", (k + 0.5) * h, state + h / 2 * rate, feed, parameters)[0]
        state = state + h * middle
        if "project" in tree.program.routines:
            state = tree.kernel.evaluate("project", (k + 1) * h, state, feed, parameters)[0]
    return state


def placed(name: str, other: Simulation, time: float) -> np.ndarray:
    """The same motion as a state of the absolute engine."""
    tree = simulation(name, "relative")
    state = moving_state(name, time)
    (values,) = tree.kernel.evaluate("placement", time, state, *constants(tree, time))
    return placed_state(other.translation.engine, values, tree.translation.engine, state)


def accelerations(simulation: Simulation, time: float, state: np.ndarray) -> dict[str, float]:
    """Linear and angular accelerations of all bodies."""
    (values,) = simulation.kernel.evaluate("outputs", time, state, *constants(simulation, time))
    named = zip(simulation.program.channels, values, strict=True)
    return {c.name: float(value) for c, value in named if "acceleration." in c.name}


def violations(simulation: Simulation, time: float, state: np.ndarray) -> tuple[float, float]:
    """Largest g and g_dot, quaternions of other length among the former."""
    g, g_dot, *_ = simulation.kernel.evaluate("conditions", time, state, *constants(simulation, time))
    lengths = [np.sum(e**2) - 1 for e in quaternions(simulation, state)]
    return float(np.abs([*g, *lengths]).max()), float(np.abs(g_dot).max())


def quaternions(simulation: Simulation, state: np.ndarray) -> np.ndarray:
    """(bodies, 4)."""
    count = len(simulation.translation.model.bodies)
    return state[: 7 * count].reshape(count, 7)[:, 3:]
