"""The product of translation: small symbolic kernels and the schedules that call them.

A *kernel* is a straight-line CasADi SX function from one column of scalars to another. Kernels are named by the hash of
their instructions, so equal components share them. A *routine* is one function of the whole model: a list of calls on
a workspace of doubles. Slots 0, 1, 2, ... of the workspace hold the routine's inputs (time, state, inputs,
parameters, in this order); every further slot is written by exactly one call. A small model is one call of one large
kernel, a large one is many calls of few kernels; nothing downstream needs to know which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import casadi as ca


@dataclass(frozen=True)
class Call:
    """One call of a kernel: the slot each scalar input is read from, the slot each scalar output is written to."""

    kernel: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    path: str = ""  # the component that caused it, for people


@dataclass(frozen=True)
class Routine:
    """A schedule of calls from (time, state, inputs, parameters) to named outputs.

    `inputs` and `outputs` are (name, size) pairs; `result` gives for each output in turn, scalar by scalar, the
    workspace slot (int) it is read from, or its constant value (float).
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    calls: tuple[Call, ...]
    result: tuple[tuple[int | float, ...], ...]
    workspace: int


@dataclass(frozen=True)
class Channel:
    """A named, scalar quantity of the result."""

    name: str
    unit: str = ""
    angle: bool = False  # measured modulo a turn: unwrapped over time


@dataclass(frozen=True)
class Program:
    """Everything the compiler needs: kernels by content hash, routines by name, sizes and names of the state.

    Routines: `derivative` (state rate), `project` (state on the constraints; absent if there is nothing to project),
    `gap` (how far off the constraints a state is, 1 is what a stage may be), `outputs` (all channels), `conditions`
    (g, g_dot, G, u of what closes loops), `kept` (which rows have multipliers), `jacobian` (d rate / d state, on
    demand).
    """

    kernels: Mapping[str, ca.Function]
    routines: Mapping[str, Routine]
    coordinates: tuple[str, ...]  # names of q
    speeds: tuple[str, ...]  # names of v
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    channels: tuple[Channel, ...] = field(default=())
    modes: tuple[str, ...] = ()  # names of the discrete states, the tail of the state
    events: tuple[str, ...] = ()  # names of the guards: routine `guards`, and `switch_<k>` for each

    @property
    def state_size(self) -> int:
        """Length of the state (q, v, modes)."""
        return len(self.coordinates) + len(self.speeds) + len(self.modes)

    def only(self, names: Iterable[str]) -> Program:
        """The program reduced to these routines, as plain data that may go to another machine."""
        routines = {name: self.routines[name] for name in names}
        used = {call.kernel for routine in routines.values() for call in routine.calls}
        return replace(self, kernels={name: self.kernels[name] for name in used}, routines=routines)
