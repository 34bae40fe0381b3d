"""What is looked up between two chunks of a run: inputs when an event happens, and whether a gap is closed; and its
memory.
"""

from __future__ import annotations

import numpy as np

from kompono.translate.program import Program


def inputs_at(table: tuple[np.ndarray, np.ndarray], time: float) -> np.ndarray:
    """Inputs as the native loop sees them at a time: linear between rows (times, values), the second of two counts."""
    times, values = table
    if len(times) == 1:
        return values[0]
    low = max(int(np.searchsorted(times, time, side="right")) - 1, 0)
    high = min(low + 1, len(times) - 1)
    span = times[high] - times[low]
    share = (time - times[low]) / span if span > 0 and time > times[low] else 0.0
    return values[low] + share * (values[high] - values[low])


def acts(program: Program, state: np.ndarray) -> bool:
    """Whether a gap of a law is closed: otherwise its rows need not be looked at."""
    first = len(program.coordinates) + len(program.speeds)
    places = [first + unit.modes[0] for unit in program.laws if unit.kind == 0]
    return bool(np.any(state[places])) if places else True


def zeros_on_a_line(size: int) -> np.ndarray:
    """Zeros that begin on a cache line, as wide loads and stores like it."""
    array = np.zeros(size + 8)
    first = -array.ctypes.data % 64 // 8
    return array[first : first + size]
