"""How exact a closed part is whose port bears something very heavy: measured, where masses let one expect a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.compile import Interpreter
from kompono.translate.parts.heavy import heaviest_port

EXACT = 1e-7  # relative to the largest rate, that says nothing


def lost_digits(simulation: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> str:
    """How far rates by parts are, at a state, from those of the machine with its parts opened, in words; empty if that
    is nothing, or if they are no numbers, for then the run says why.
    """
    if "opened" not in simulation.program.routines:
        return ""
    plain, engine = Interpreter(simulation.program), simulation.translation.engine
    parts, whole = (plain.evaluate(name, time, state, inputs, parameters)[0] for name in ("derivative", "opened"))
    speeds = slice(engine.nq, engine.nq + engine.nv)
    error = float(np.abs(parts - whole)[speeds].max(initial=0.0) / max(np.abs(whole[speeds]).max(initial=0.0), 1e-300))
    if not np.isfinite(error) or error < EXACT:
        return ""
    port = heaviest_port(engine.compartment)
    assert port is not None
    return (
        f"{port.path}: what hangs on this port of a closed part is {port.ratio:.0e} times heavier than what carries it "
        f"inside, so accelerations are exact to {error:.0e} of the largest only. Make what carries it heavier, or "
        "leave the part open."
    )
