"""How exact a closed part is whose port bears something very heavy, and a very light body on a lever in absolute
coordinates: measured, where masses let one expect a loss.

Parts that can be opened are compared with the machine in which they are. Of sealed ones nobody has the inside: there,
and on levers, the state is moved by its last digit, and what that does to the rates is what rounding does to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import Interpreter

if TYPE_CHECKING:
    from kompono.translate.engines.light import LightLever
    from kompono.translate.parts.heavy import HeavyPort

EXACT = 1e-7  # relative to the largest rate, that says nothing
TIMES = 8  # that the last digits are moved


def lost_digits(simulation: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> str:
    """How exact rates are at a state, in words; empty if nothing is lost, or if they are no numbers, for then the run
    says why.
    """
    return _at_port(simulation, time, state, inputs, parameters) or _on_lever(
        simulation, time, state, inputs, parameters
    )


def _at_port(simulation: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> str:
    engine = simulation.translation.engine
    port: HeavyPort | None = getattr(engine, "heaviest_port", None)
    if port is None:
        return ""
    plain, speeds = Interpreter(simulation.program), slice(engine.nq, engine.nq + engine.nv)

    def rates(name: str, x: np.ndarray) -> np.ndarray:
        return plain.evaluate(name, time, x, inputs, parameters)[0][speeds]

    parts = rates("derivative", state)
    others = [rates("opened", state)] if port.opens else [rates("derivative", x) for x in _beside(state)]
    error = _apart(parts, others)
    if not error >= EXACT:
        return ""
    way = "leave the part open" if port.opens else "ask its author for a heavier port"
    return (
        f"{port.path}: what hangs on this port of a closed part is {port.ratio:.0e} times heavier than what carries it "
        f"inside, so accelerations are exact to {error:.0e} of the largest only. Make what carries it heavier, or "
        f"{way}."
    )


def _on_lever(simulation: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> str:
    engine = simulation.translation.engine
    lever: LightLever | None = getattr(engine, "lightest_lever", None)
    if lever is None:
        return ""
    speeds = slice(engine.nq, engine.nq + engine.nv)

    def rates(x: np.ndarray, name: str = "derivative") -> np.ndarray:
        found = simulation.kernel.evaluate(name, time, x, inputs, parameters)[0]
        return found[speeds] if name == "derivative" else found

    free = "law_free" in simulation.program.routines  # what sticks does not accelerate
    scale = np.abs(rates(state, "law_free")).max(initial=0.0) if free else 0.0
    error = _apart(rates(state), [rates(x) for x in _beside(state)], scale)
    if not error >= EXACT:
        return ""
    return (
        f"{lever.path}: the body's least moment of inertia is {lever.ratio:.0e} of what its mass has on the lever it "
        f"is held by, so accelerations in absolute coordinates are exact to {error:.0e} of the largest only. Give it a "
        "larger moment of inertia, or use engine='relative'."
    )


def _apart(rates: np.ndarray, others: list[np.ndarray], scale: float = 0.0) -> float:
    """How far rates are from others, of the largest, which is at least `scale`; 0 where that is no number."""
    largest = max(np.abs(others[0]).max(initial=0.0), scale, 1e-300)
    error = float(max(np.abs(rates - other).max(initial=0.0) for other in others) / largest)
    return error if np.isfinite(error) else 0.0


def _beside(state: np.ndarray) -> list[np.ndarray]:
    """States that differ in the last digits."""
    random = np.random.default_rng(1)
    signs = random.choice([-1.0, 1.0], (TIMES, len(state)))
    return [state * (1 + sign * np.finfo(float).eps) for sign in signs]
