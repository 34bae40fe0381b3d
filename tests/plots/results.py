"""Small results to draw: made from formulas, so that every curve is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.result import Result


def some(names: list[str], units: dict[str, str] | None = None, rows: int = 20, **more: Any) -> Result:
    """A result whose channel k is k sin 6 t."""
    time = np.linspace(0, 1, rows)
    return Result(time, names, np.outer(np.sin(6 * time), np.arange(len(names))), units=units, **more)


def wave(rows: int = 101, gain: float = 1.0, until: float = 1.0, **more: Any) -> Result:
    """Position and velocity of an oscillator."""
    time = np.linspace(0, until, rows)
    table = gain * np.column_stack([np.sin(6 * time), 6 * np.cos(6 * time)])
    units = {"mass.position.x": "m", "mass.velocity.x": "m/s"}
    return Result(time, list(units), table, units=units, model="Wave", **more)
