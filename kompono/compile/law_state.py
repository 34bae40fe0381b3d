"""What is looked up between two chunks of a run: inputs when an event happens, and whether a gap is closed; and its
memory, and what laws do with states.
"""

from __future__ import annotations

from typing import Any

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


IDLE, ACTS, HOLDS = range(3)  # what laws do at a state: nothing, act without holding anything, hold something
TIED = 3  # they hold the same thing from two sides of the border of a closed part, see `law_ties`


def acts(program: Program, state: np.ndarray) -> int:
    """What laws do: while all gaps are open their rows need not be looked at, and what nothing holds is not brought
    back.
    """
    if program.opaque:
        return HOLDS  # nobody here knows
    places = program.worked_out.get("held")
    if places is None:
        first = len(program.coordinates) + len(program.speeds)
        gaps = [first + unit.modes[0] for unit in program.laws if unit.kind == 0]
        rubs = [first + unit.modes[0] for unit in program.laws if unit.kind != 0 and unit.contact < 0]
        places = program.worked_out["held"] = gaps, rubs
    gaps, rubs = places
    if state[gaps].any() or not state[rubs].all():
        return HOLDS
    return ACTS if rubs or not gaps else IDLE


def look(run: Any) -> None:
    """Have a run look what laws do at the state it has; who knows more than modes tell has given it a `level`."""
    block = run._block
    if run.level is None:
        block.acting = acts(run._program, run.state)
    else:
        block.acting = run.level(block.time, run.state, run._inputs_at(block.time), run._parameters)


def shortest(routine: str, program: Program, state: np.ndarray) -> str:
    """The routine to ask at a state: while all gaps are open, its twin says the same for less."""
    twin = f"open_{routine}"
    return twin if twin in program.routines and acts(program, state) == IDLE else routine


class LawStates:
    """States as laws change them at events; all of a state is here."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.program = kernel, kernel.program
        first = len(self.program.coordinates)
        self.speeds = slice(first, first + len(self.program.speeds))
        self.places = slice(self.speeds.stop, self.speeds.stop + len(self.program.modes))  # of modes

    def ask_modes(self, state: np.ndarray) -> None:
        """Say that modes at a state are wanted soon: who must be asked for them is asked with the next routine."""

    def modes(self, state: np.ndarray) -> np.ndarray:
        """All modes at a state, in the places units of laws name."""
        return state[self.places].copy()

    def modes_of_all(self, states: np.ndarray) -> np.ndarray:
        """The same of many states (n, state), row by row."""
        return states[:, self.places]

    def other_modes(self, modes: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The same modes, but those that are here at another state."""
        return self.modes(state)

    def with_modes(self, state: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """A state with other modes."""
        made = state.copy()
        made[self.places] = modes
        return made

    def faster(
        self, state: np.ndarray, base: np.ndarray, factor: float = 0.0, change: np.ndarray | None = None
    ) -> np.ndarray:  # fmt: skip
        """A state with the speeds of `base`, and a factor times a change of these as routines of laws give it."""
        made = state.copy()
        made[self.speeds] = base[self.speeds] if change is None else base[self.speeds] + factor * change
        return made

    def moved(self, state: np.ndarray, factor: float, rate: np.ndarray) -> np.ndarray:
        """state + factor * rate."""
        return state + factor * rate

    def lasting(self, state: np.ndarray) -> np.ndarray:
        """A state that is kept for good, as records are."""
        return state

    def check(self, state: np.ndarray) -> None:
        """Have whoever keeps a part of a state look whether that is finite; it is told when they are asked next."""

    def coasted(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, span: float
    ) -> np.ndarray:  # fmt: skip
        """A state with its coordinates moved on by a span [s] of their rates."""
        rate, made = self.kernel.evaluate("rates", time, state, inputs, parameters)[0], state.copy()
        made[: len(rate)] += span * rate
        return made


def zeros_on_a_line(size: int) -> np.ndarray:
    """Zeros that begin on a cache line, as wide loads and stores like it."""
    array = np.zeros(size + 8)
    first = -array.ctypes.data % 64 // 8
    return array[first : first + size]
