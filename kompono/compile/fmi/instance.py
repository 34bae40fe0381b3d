"""What a library of an FMU is made from, and the memory of one instance of it.

An instance is one run of eight-byte words. Its first few are addresses of the importer; all that follows is its state,
which `fmi2GetFMUstate` copies as it is. The memory of Kompono's own step loop (`compile.block.layout`) is a part of it,
and its `state` is that of the FMU: model exchange and co-simulation see the same numbers.

A value reference is a number into one table: time, states, their derivatives, inputs, parameters, outputs, modes, event
indicators.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kompono.compile.block import guard_count, layout
from kompono.compile.fmi.tangent import continuous_places
from kompono.translate.program import Program, Routine

ENVIRONMENT, LOGGER, NAME, SAVED = 0, 1, 2, 4  # words of an instance; from the last on they are its state
FIXED, STATE, INPUT, PARAMETER, RATE, OUTPUT, GUARD = range(7)  # what a variable is, for those who get and set it
LOG_ROWS = 64  # events that one call may write down; nobody reads them


@dataclass(frozen=True, eq=False)
class FmuModel:
    """A model on its way into an FMU: its program, what it starts with, and what its importer is told.

    `outputs` gives the values of all outputs, `tangent` (see `tangent`) their derivatives and those of the rates.
    """

    program: Program
    outputs: Routine
    tangent: Routine | None
    state: np.ndarray
    inputs: np.ndarray
    parameters: np.ndarray
    token: str
    step: float  # of co-simulation [s]
    tolerance: float  # where the importer names none
    kinds: tuple[str, ...]  # "me", "cs"

    @property
    def continuous(self) -> int:
        """Number of continuous states: the state without its modes."""
        return len(self.continuous_places)

    @cached_property
    def continuous_places(self) -> list[int]:
        """Where they are in the state."""
        return continuous_places(self.program)

    @property
    def state_names(self) -> list[str]:
        """Their names."""
        return [*self.program.coordinates, *self.program.speeds, *self.program.states]

    @property
    def guards(self) -> int:
        """Number of event indicators."""
        return guard_count(self.program)

    @property
    def output_count(self) -> int:
        """Number of outputs that are computed."""
        return self.outputs.outputs[0][1]

    @cached_property
    def references(self) -> dict[str, int]:
        """The first value reference of each kind of variable, `end` behind the last."""
        counts = {
            "time": 1, "state": self.continuous, "rate": self.continuous, "input": len(self.program.inputs),
            "parameter": len(self.program.parameters), "output": self.output_count, "mode": len(self.program.modes),
            "guard": self.guards,
        }  # fmt: skip
        first, found = 0, {}
        for name, count in counts.items():
            found[name] = first
            first += count
        return found | {"end": first}

    @cached_property
    def places(self) -> dict[str, int]:
        """The first word of each part of an instance, `end` behind the last."""
        own = layout(self.program)
        seeds = 0 if self.tangent is None else self.tangent.inputs[3][1] - len(self.program.parameters)
        sensitivities = 0 if self.tangent is None else self.tangent.outputs[0][1]
        routines = [self.outputs, *([self.tangent] if self.tangent else [])]
        sizes = {
            "stamp": 1, "running": 1, "time": 1, "tolerance": 1, "known": 3, "never": 1, "instant": 1,
            "memory": own["end"][0],
            "input": len(self.program.inputs), "parameter": len(self.program.parameters), "seed": seeds,
            "output": self.output_count, "indicator": self.guards, "margin": self.guards,
            "sensitivity": sensitivities, "log": 2 * (LOG_ROWS + self.guards) if self.guards else 0,
            "work": max(routine.workspace for routine in routines),
        }  # fmt: skip
        place, found = SAVED, {}
        for name, size in sizes.items():
            found[name] = place
            place += size
        return found | {"end": place}

    def memory(self, vector: str) -> int:
        """The word where a vector of the step loop begins."""
        return self.places["memory"] + layout(self.program)[vector][0]

    @cached_property
    def stamp(self) -> int:
        """A number that tells states of this FMU from others."""
        return int.from_bytes(hashlib.blake2b(self.token.encode(), digest_size=7).digest(), "little")

    @cached_property
    def table(self) -> np.ndarray:
        """For each value reference (n, 3): the word it is kept in, what it is, and its place among those by which, or
        of which, derivatives are taken (-1: none).
        """
        nx, nu, program = self.continuous, len(self.program.inputs), self.program
        state, rate, own = self.memory("state"), self.memory("rate0"), self.continuous_places
        modes = state + len(program.coordinates) + len(program.speeds)
        rows = [(self.places["time"], FIXED, -1)]
        rows += [
            (first + place, kind, i) for first, kind in ((state, STATE), (rate, RATE)) for i, place in enumerate(own)
        ]
        parts = [
            (self.places["input"], nu, INPUT, nx),
            (self.places["parameter"], len(program.parameters), PARAMETER, nx + nu),
            (self.places["output"], self.output_count, OUTPUT, nx), (modes, len(program.modes), FIXED, -1),
            (self.places["indicator"], self.guards, GUARD, nx + self.output_count),
        ]  # fmt: skip
        rows += [
            (place + i, kind, -1 if first < 0 else first + i)
            for place, count, kind, first in parts
            for i in range(count)
        ]
        return np.array(rows, dtype=np.int32).reshape(-1, 3)
