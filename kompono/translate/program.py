"""The product of translation: small symbolic kernels and the schedules that call them.

A *kernel* is a straight-line CasADi SX function from one column of scalars to another. Kernels are named by the hash of
their instructions, so equal components share them. A *routine* is one function of the whole model: a list of calls on
a workspace of doubles. Slots 0, 1, 2, ... of the workspace hold the routine's inputs (time, state, inputs,
parameters, in this order); every further slot is written by exactly one call. A small model is one call of one large
kernel, a large one is many calls of few kernels; nothing downstream needs to know which. A routine of a very large
model does not list its calls: it is a `TableRoutine`, kernels of component types that run over tables of offsets.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

IMPLICIT, PULL = (
    "implicit",
    "pull_",
)  # routines of `slopes`, and how those of `adjoint` begin


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
    workspace slot (int) it is read from, or its constant value (float). Of outputs that are sparse matrices `entries`
    has, in the place of an empty tuple, where each number lies in the whole one.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    calls: tuple[Call, ...]
    result: tuple[tuple[int | float, ...], ...]
    workspace: int
    entries: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True)

    def counts(self) -> dict[str, int]:
        """How often each kernel runs."""
        return dict(Counter(call.kernel for call in self.calls))


@dataclass(frozen=True, eq=False)
class Coded:
    """A kernel as code and numbers: `code` is a function of one column, that of the kernel and behind it the `numbers`;
    a model with other numbers may have the same code, which `digest` names. `length` is about that of the kernel in
    instructions; `called` are the names of closed functions it calls, also through others; `timed` is whether its
    first input, the time of a routine, matters; `text` is what the code is written as, if that is at hand.
    """

    code: Callable[[], ca.Function]
    digest: str
    numbers: np.ndarray
    length: int
    called: tuple[str, ...]
    timed: bool
    text: str = field(default="", repr=False)

    def as_data(self) -> Coded:
        """The same with its code at hand, which may go to another machine."""
        return replace(self, code=KnownCode(self.code()), text="")


@dataclass(frozen=True)
class KnownCode:
    """Code that is there."""

    function: ca.Function

    def __call__(self) -> ca.Function:
        return self.function


HEADER = 8  # doubles at the start of the workspace of a table routine that no kernel touches
ARRAYS = ("time", "state", "inputs", "parameters", "output", "work", "numbers")

Place = tuple[int, int, int]  # array (number in ARRAYS), column of the table (-1: none), offset from what it says


@dataclass(frozen=True)
class Column:
    """What one reference of a row means: scalar k of it lies at `row[start] + k * stride`.

    Among `numbers` an entry says where that is written: see `TableRoutine`.
    With several lanes this is where the first lane lies, the others right behind it (`spread` "lanes"); where all lanes
    read ("same"); or there are as many entries as lanes ("each"), followed by as many strides ("every").
    """

    start: int
    spread: str = "one"
    stride: int = 1


@dataclass(frozen=True)
class Loop:
    """A kernel that runs over rows of offsets: where each scalar of it is read and written, by row.

    With `lanes` > 1 one row stands for so many instances at once; `filled` is the place of the entry that says how many
    of them there are (the others repeat the last), -1 where all are.
    """

    kernel: str
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    table: int
    lanes: int
    columns: tuple[Column, ...]
    filled: int = -1


@dataclass(frozen=True, eq=False)
class Exchange:
    """What a process tells others, and hears from them, after so many phases of a routine.

    `kind` "gather": all tell all; "send" and "receive": with `peer` alone. `send` and `receive` are places in the
    workspace, in the order of the message; of a gathered one, that of all processes one after the other.
    """

    after: int
    kind: str
    peer: int
    send: np.ndarray
    receive: np.ndarray


@dataclass(frozen=True)
class Spread:
    """What a program is a part of: number of this process and of all, the size of the whole state, how many doubles
    each process tells the others in one evaluation.
    """

    rank: int
    ranks: int
    state_size: int
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TableRoutine(Routine):
    """A routine of a model with many equal components: sweeps over tables, one after the other.

    `sweeps` (n, 4) are (loop, first row, rows, 1 or -1: direction), `tables` (rows, columns) hold offsets into the
    arrays. `tasks` (m, 2) are ranges of sweeps, `phases` (p, 2) ranges of tasks that do not depend on each other;
    `exchanges` with other processes come between them.
    `output` among the arrays is the first output, there is no other; the first `HEADER` doubles of the workspace belong
    to the machine. `calls` and `result` are empty. `numbers` are data of the model, which the code does not depend on:
    numbers, and before them places among them (as the bits of an i64), at which those of an instance begin.
    """

    loops: tuple[Loop, ...] = ()
    tables: tuple[np.ndarray, ...] = ()
    sweeps: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int32))
    tasks: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    phases: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    exchanges: tuple[Exchange, ...] = ()
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def counts(self) -> dict[str, int]:
        """How often each kernel runs, lanes counted one by one."""
        found: dict[str, int] = {}
        for which, rows in zip(self.sweeps[:, 0].tolist(), self.sweeps[:, 2].tolist(), strict=True):
            loop = self.loops[which]
            found[loop.kernel] = found.get(loop.kernel, 0) + rows * loop.lanes
        return found


@dataclass(frozen=True)
class Channel:
    """A named, scalar quantity of the result."""

    name: str
    unit: str = ""
    angle: bool = False  # measured modulo a turn: unwrapped over time


@dataclass(frozen=True)
class LawUnit:
    """A one-sided (kind 0), dry (1) or planar (2) unit of a law: its first row among those of all laws, the number of
    the one-sided unit that must be closed for it to act (-1: none), which of the measured reactions limit it, where its
    modes are among those of the model (closed; slips; slips and direction), and its guard's number.

    `level` is that of a one-sided row, "position" or "speed", `impact` its law of restitution. Events (1), samples (2)
    or both (3) may make its gap or speed another one: `shifts`. Time moves, or may move, what is held in a `driven`
    machine. `side` is the number of the closed part it is in.
    """

    kind: int
    row: int
    contact: int
    first: int
    count: int
    modes: tuple[int, ...]
    guard: int
    path: str
    level: str = ""
    impact: str = "poisson"
    shifts: int = 0
    driven: bool = False
    side: int = 0


@dataclass(frozen=True)
class ControllerUnit:
    """A Python callable that the loop asks: the number of its rate, how many values it reads, and which modes hold its
    answers.
    """

    path: str
    rate: int
    reads: int
    modes: tuple[int, ...]


TIED = "tied_"  # how routines begin that are asked while laws are held from both sides of the border of a part
LAW_EVENTS = ("strikes", "closes", "opens", "sticks", "slips")  # what can happen to a unit of a law


def law_events(units: Sequence[LawUnit]) -> tuple[str, ...]:
    """Names of the guards of laws, then of what can happen to each."""
    return (*(unit.path for unit in units), *(f"{unit.path}.{what}" for unit in units for what in LAW_EVENTS))


@dataclass(frozen=True)
class Program:
    """Everything the compiler needs: kernels by content hash, routines by name, sizes and names of the state.

    Routines: `derivative` (state rate), `project` (state on the constraints; absent if there is nothing to project),
    `gap` (how far off the constraints a state is, 1 is what a stage may be), `outputs` (all channels), `conditions`
    (g, g_dot, G, u of what closes loops); `jacobian` (d rate / d state) and `implicit` (what implicit stages need, see
    `slopes`), both made on demand and absent where something is `hidden`; for assembly `rates`, `placement`,
    `normalize` (unit quaternions), `measured` (joints that close loops) and `holds` (positive where these are not half
    a turn off).
    """

    kernels: Mapping[str, ca.Function]
    routines: Mapping[str, Routine]
    coordinates: tuple[str, ...]  # names of q
    speeds: tuple[str, ...]  # names of v
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    channels: Sequence[Channel] = field(default=())
    modes: tuple[str, ...] = ()  # names of the discrete states, behind q and v in the state
    events: tuple[str, ...] = ()  # names of the guards: routine `guards`, and `switch_<k>` for each
    stops: tuple[int, ...] = ()  # numbers of the events that end a run
    independent: int = 0  # how many conditions are independent, if some of them
    slips: int = 0  # are implied by others wherever the machine can go
    locked: tuple[int, ...] = ()  # places in the state of coordinates and speeds that the conditions keep at zero
    away: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # functions that run elsewhere, by how their
    # names begin, and the paths of the parts they belong to
    spread: Spread | None = None  # if this is the part of one process
    opaque: tuple[tuple[str, int], ...] = ()  # parts kept elsewhere, with the length of their x: handles end the state
    modes_here: tuple[int, ...] = ()  # with such parts: `modes` as units of laws name them,
    modes_away: tuple[tuple[int, ...], ...] = ()  # and modes of laws that each part keeps
    laws: tuple[LawUnit, ...] = ()  # what changes structure: guards behind those of the events, switched by `settle`
    states: tuple[str, ...] = ()  # names of a model's own continuous states, behind the modes
    rates: tuple[tuple[float, float], ...] = ()  # periods and offsets [s] at which modes are sampled
    sampled: tuple[str, ...] = ()  # of each rate, the first that is sampled so
    catching: bool = False  # whether samples may switch conditions, which are met at once
    ticks: tuple[tuple[int, ...], ...] = ()  # numbers of rates that are due together: routines `tick_<k>`
    controllers: tuple[ControllerUnit, ...] = ()  # what they read is the second output of `tick_<k>`
    groups: tuple[tuple[int, ...], ...] = ()  # places of closed parts, or their handles, whose errors are levels
    hidden: tuple[str, ...] = ()  # paths of what nobody can differentiate: sealed parts, FMUs
    coded: Mapping[str, Coded] = field(default_factory=dict)  # kernels whose numbers can be exchanged
    iterated: tuple[str, ...] = ()  # networks that are solved by iteration: routine `iterated` tells whether that ends

    @property
    def state_size(self) -> int:
        """Length of the state (q, v, modes, own states, handles)."""
        own = len(self.coordinates) + len(self.speeds) + len(self.modes) + len(self.states)
        return own + len(self.opaque)

    @functools.cached_property
    def worked_out(self) -> dict[Any, Any]:
        """What others have worked out of it and need again and again."""
        return {}

    @functools.cached_property
    def mode_places(self) -> dict[int, int]:
        """Where modes are in the state, as units of laws name them; those that are kept elsewhere are not."""
        first, count = len(self.coordinates) + len(self.speeds), len(self.modes)
        named = self.modes_here if self.opaque else range(count)
        return {mode: first + k for k, mode in enumerate(named)}

    def outline(self, name: str) -> Routine:
        """A routine as those see it who call it: its name, inputs and outputs. One that has a twin for open gaps, of
        the same inputs and outputs, is not traced for that, nor is the twin for laws that are tied.
        """
        if name.startswith(TIED):
            plain = self.outline(name.removeprefix(TIED))
            return self.routines[name] if len(plain.calls) > 1 else replace(plain, name=name)
        twin = self.routines.get(f"open_{name}")
        return self.routines[name] if twin is None or len(twin.calls) > 1 else replace(twin, name=name)

    def only(self, names: Iterable[str]) -> Program:
        """The program reduced to these routines, as plain data that may go to another machine."""
        routines = {name: self.routines[name] for name in names}
        used = {name for routine in routines.values() for name in routine.counts()}
        kernels = {name: self.kernels[name] for name in used}
        coded = {name: self.coded[name].as_data() for name in used if name in self.coded}
        return replace(self, kernels=kernels, routines=routines, coded=coded)
