"""How exact a closed part is whose port bears something very heavy: measured, where masses let one expect a loss.

Parts that can be opened are compared with the machine in which they are. Of sealed ones nobody has the inside: there
the state is moved by its last digit, and what that does to the rates is what rounding does to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import Interpreter

if TYPE_CHECKING:
    from kompono.translate.parts.heavy import HeavyPort

EXACT = 1e-7  # relative to the largest rate, that says nothing
TIMES = 8  # that the last digits are moved


def lost_digits(simulation: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> str:
    """How exact rates by parts are at a state, in words; empty if nothing is lost, or if they are no numbers, for then
    the run says why.
    """
    engine = simulation.translation.engine
    port: HeavyPort | None = getattr(engine, "heaviest_port", None)
    if port is None:
        return ""
    plain, speeds = Interpreter(simulation.program), slice(engine.nq, engine.nq + engine.nv)

    def rates(name: str, x: np.ndarray) -> np.ndarray:
        return plain.evaluate(name, time, x, inputs, parameters)[0][speeds]

    parts = rates("derivative", state)
    others = [rates("opened", state)] if port.opens else [rates("derivative", x) for x in _beside(state)]
    largest = max(np.abs(others[0]).max(initial=0.0), 1e-300)
    error = float(max(np.abs(parts - other).max(initial=0.0) for other in others) / largest)
    if not np.isfinite(error) or error < EXACT:
        return ""
    way = "leave the part open" if port.opens else "ask its author for a heavier port"
    return (
        f"{port.path}: what hangs on this port of a closed part is {port.ratio:.0e} times heavier than what carries it "
        f"inside, so accelerations are exact to {error:.0e} of the largest only. Make what carries it heavier, or "
        f"{way}."
    )


def _beside(state: np.ndarray) -> list[np.ndarray]:
    """States that differ in the last digits."""
    random = np.random.default_rng(1)
    signs = random.choice([-1.0, 1.0], (TIMES, len(state)))
    return [state * (1 + sign * np.finfo(float).eps) for sign in signs]
