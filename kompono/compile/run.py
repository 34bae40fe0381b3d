"""A run in native code, chunk by chunk.

A run owns its state, its records and everything its method remembers; `advance` enters native code once and returns a
`ChunkEnd`. Cutting a run into chunks changes nothing in its result, and runs in different threads do not disturb each
other: native code runs with the interpreter's lock released.
"""

from __future__ import annotations

import ctypes
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile import sampling, straight_slip
from kompono.compile.block import Block, ChunkEnd, guard_count, layout
from kompono.compile.crowd import CALM, Crowd
from kompono.compile.helpers import Helpers
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_state import HOLDS, IDLE, acts, inputs_at, look, zeros_on_a_line
from kompono.compile.law_ties import note_ties
from kompono.compile.paced import WISH, Leaning, come_closer, comes_closer
from kompono.compile.settle_block import SettleMemory
from kompono.compile.slow_slip import PLANAR
from kompono.compile.tiers import Takeover
from kompono.compile.walls.places import Places
from kompono.errors import NoForces, RunError
from kompono.translate.program import Program

FAR = 1 << 62
_BUFFER = 1 << 23  # doubles of the record buffer at most: 64 MiB
FEW = 8  # units of laws for which native code to settle them is there from the start
EVENTS = 64  # room in the first event log

# (time, state, inputs, parameters, units of laws whose guards fired, step) -> state, and numbers of what happened
Settle = Callable[[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float], tuple[np.ndarray, list[int]]]


class Run(ABC):
    """What runs of fixed and of adaptive steps have in common. Made by `Kernel.fixed` and `Kernel.adaptive`."""

    elsewhere: Places | None = None  # where parts run that do not run here
    losses = 0  # there, before this run
    settle: Settle | None = None  # chooses the modes of laws
    asking: Any = None  # Python callables, kept alive while the loop may call them
    leaps: list[tuple[str, float, float]]  # steps over crowded events: the unit, where they began and ended [s]
    jam, implicit = "", False  # where no forces of laws fit, and why; whether stages are solved for
    settler: Callable[[int], tuple[Any, ...]] | None = None  # gives native code that settles some events
    settling: SettleMemory | None = None  # what that works on
    _counted = 0  # events so far, when that was last asked for
    takeover: Takeover | None = None  # gives native code in the place of what is walked
    shall_end: Callable[[], bool] = staticmethod(lambda: False)  # whether somebody wants it to end
    whole: Callable[[int], tuple[Any, Takeover | None]] | None = None  # the loop that can go on when a gap closes
    level: Callable[[float, np.ndarray, np.ndarray, np.ndarray], int] | None = None  # what laws do there
    tied: tuple[float, str] | None = None  # since when [s] forces may be rounding, and why: the first
    note_untold: Callable[[], object] = staticmethod(lambda: None)  # looks whether that is so, where parts cannot say

    def __init__(
        self, program: Program, function: Any, time: float, state: ArrayLike, parameters: ArrayLike,
        inputs: ArrayLike | tuple[ArrayLike, ArrayLike] | None, capacity: int, project: bool, lanes: Lanes = ONE,
        helpers: Helpers | None = None,
    ) -> None:  # fmt: skip
        self._program, self._function, self._lanes, self._helpers = program, function, lanes, helpers
        self._places = layout(program, lanes, self.implicit)
        self._memory = zeros_on_a_line(self._places["end"][0])
        self._vector("lost")[:] = math.inf
        self._block = Block(start=time, time=time, old_error=1e-4, projecting=project, record_count=FAR)
        self._block.memory = self._memory.ctypes.data
        self._parameters = zeros_on_a_line(lanes.count * len(program.parameters))
        self._parameters[:] = vector("parameters", parameters, self._parameters.size)
        self._block.parameters = self._parameters.ctypes.data
        width = 1 + self.state.size + len(program.inputs)
        self._buffer = np.empty((max(min(capacity, _BUFFER // width), 2 if program.laws else 1), width))
        self._block.records, self._block.capacity = self._buffer.ctypes.data, len(self._buffer)
        self._guards = guard_count(program)
        self._set_log(np.zeros((EVENTS + self._guards if self._guards else 0, 2)))
        self._vector("counted")[:] = sampling.counted_until(program.rates, time)
        self._vector("sampling")[:] = sampling.told(program.rates)
        self._stop = np.zeros(1, dtype=np.int32)
        self._block.stop = self._stop.ctypes.data
        self.set_inputs(np.zeros(len(program.inputs)) if inputs is None else inputs)
        self.state[:] = vector("state", state, self.state.size)
        self._block.acting = acts(self._program, self.state)
        self._address = ctypes.addressof(self._block)
        self.crowd, self.leaps = Crowd(len(program.laws)), []
        self._in_planes = [k for k, unit in enumerate(program.laws) if unit.kind == PLANAR]

    def _vector(self, name: str) -> np.ndarray:
        offset, size = self._places[name]
        return self._memory[offset : offset + size]

    @property
    def unanswered(self) -> str:
        """Which part that runs elsewhere was lost since the run began, and why; empty if all is well."""
        if self.elsewhere is None or self.elsewhere.losses == self.losses:
            return ""
        return self.elsewhere.last_trouble

    @property
    def time(self) -> float:
        """Time of the state."""
        return self._block.time

    @property
    def state(self) -> np.ndarray:
        """The state (q, v) now: a view, valid as long as the run. Write to it only through `restart`.

        With several lanes, element i of all lanes, then element i + 1; so in parameters and records.
        """
        return self._vector("state")

    @property
    def lost(self) -> np.ndarray:
        """When each lane (of several) ceased to be finite: the time of its last good state, or infinity."""
        return self._vector("lost").copy()

    @property
    def evaluations(self) -> int:
        """How often the rate was evaluated."""
        return self._block.evaluations

    @property
    def accepted(self) -> int:
        """Steps taken."""
        return self._block.accepted

    @property
    def rejected(self) -> int:
        """Steps tried in vain."""
        return self._block.rejected

    @property
    def stop_flag(self) -> np.ndarray:
        """One int32; whoever sets it to 1, from any thread, ends the running chunk with `ChunkEnd.STOPPED`."""
        return self._stop

    @property
    def rows(self) -> int:
        """Records waiting in the buffer."""
        return self._block.rows

    @property
    def events(self) -> np.ndarray:
        """All events so far, one per row: time, and the number of the guard that fired."""
        return self._log[: self._block.log_rows].copy()

    @property
    def guard_values(self) -> np.ndarray:
        """The values of the guards where they were last looked at."""
        return self._vector("values").copy()

    def _set_log(self, log: np.ndarray) -> None:
        self._log, self._block.log, self._block.log_capacity = log, log.ctypes.data, len(log)

    def take(self) -> np.ndarray:
        """The records (time, state..., inputs...) since the last `take`, one per row; the buffer is empty then."""
        records = self._buffer[: self._block.rows].copy()
        self._block.rows = 0
        return records

    def set_inputs(self, inputs: ArrayLike | tuple[ArrayLike, ArrayLike]) -> None:
        """Hold these values from now on, or follow a table (times, values of shape (rows, inputs)) linearly.

        A table may jump: two rows at the same time, of which the second counts from then on.
        """
        size = len(self._program.inputs)
        if isinstance(inputs, tuple) and len(inputs) == 2 and np.ndim(inputs[0]) == 1 and np.size(inputs[1]):
            times = np.array(inputs[0], dtype=float)
            values = np.array(inputs[1], dtype=float).reshape(len(times), -1)
        else:
            times, values = np.zeros(1), vector("inputs", inputs, size).reshape(1, size)  # type: ignore[arg-type]
        if values.shape != (len(times), size) or not len(times) or np.any(np.diff(times) < 0):
            raise RunError(
                f"a table of {size} inputs has rising times, and {size} values each.", fix="Sort it by time."
            )
        self._table = times, np.ascontiguousarray(values)
        self._block.table_times, self._block.table_values = times.ctypes.data, self._table[1].ctypes.data
        self._block.table_rows = len(times)
        self._block.history = self._block.checked = self._block.rated = 0  # those so far belong to other inputs

    def hold(self, values: np.ndarray) -> None:
        """Hold these values (inputs,) from now on; as `set_inputs`, for whoever does so thousands of times."""
        if len(self._table[0]) != 1:
            self.set_inputs(values)
            return
        self._table[1][0] = values
        self._block.history = self._block.checked = self._block.rated = 0

    def advance(self, steps: int) -> ChunkEnd:
        """Go on by so many steps (adaptive: attempts) or until something ends the chunk."""
        if self._in_planes and self._equal_steps:
            straight_slip.allow(self)
        with self._helpers.at_work(self._vector("work")) if self._helpers else nullcontext():
            return self._advance(steps)

    def _advance(self, steps: int) -> ChunkEnd:
        goal = self._taken + steps
        if self.takeover is not None:
            self._function = self.takeover(self._block.evaluations)
        if self.settling is not None:
            self._prepare_settling()
        elif self.settler is not None and len(self._program.laws) <= FEW:
            self._settle_natively()
        while True:
            if self.whole is not None and self._block.acting > (IDLE if self.level is None else HOLDS):
                self._function, self.takeover = self.whole(self._block.evaluations)
                self.whole = None
            self._block.budget, self._block.waiting = goal - self._taken, self.whole is not None and self.level is None
            ended = self._after(ChunkEnd(self._function(self._address)))
            if ended is not None:
                return ended

    def _settle_natively(self) -> None:
        """From here on a native function settles what it can."""
        assert self.settler is not None
        first, memory = self._guards - len(self._program.laws), SettleMemory(self._program, self.crowd)
        given = {"state": self.state, "parameters": self._parameters, "fired": self._vector("pending")[first:]}
        memory.belong(time=self._vector("time"), inputs=self._vector("inputs"), **given)
        self.settling, self._block.settling = memory, memory.address
        self._prepare_settling()

    def _prepare_settling(self) -> None:
        """Tell native code the steps, and have the best there is of it."""
        assert self.settling is not None
        assert self.settler is not None
        laws, events = self.settling.block, self._block.log_rows
        functions = self.settler(events - self._counted)
        laws.step, laws.usual_step, self._counted = self._equal_steps, self._usual_step, events
        own, view, respond, *again = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
        self._block.settler, laws.view, laws.respond, laws.again = own, view, respond, again[0] if again else view

    def _after(self, status: ChunkEnd) -> ChunkEnd | None:
        """Do what native code asked for when it ended so; how the chunk ended, None if it goes on."""
        if status is ChunkEnd.LAWS:
            try:
                self._settle()
            except NoForces as found:
                self.jam = found.message
                return ChunkEnd.NO_FORCES
            return None
        if status is ChunkEnd.STRAIGHT:
            straight_slip.mark(self)
            self._block.checked = self._block.rated = 0
            self._begin_anew()
            return None
        if status is ChunkEnd.LOOK:
            look(self)
            self.note_untold()
        if status in (ChunkEnd.LOOK, ChunkEnd.CLOSED):
            return None
        if status is ChunkEnd.LONG:
            return ChunkEnd.STOPPED if self.shall_end() else None
        if status is ChunkEnd.LOG_FULL:
            self._set_log(np.concatenate([self._log, np.zeros_like(self._log)]))
            return None
        status = self._explained(status)
        return self._heard(status) if self._program.opaque else status

    def _explained(self, status: ChunkEnd) -> ChunkEnd:
        """The status, by another name where laws are why numbers were lost."""
        lost = (ChunkEnd.NOT_FINITE, ChunkEnd.GUARD_NOT_FINITE, ChunkEnd.STEP_TOO_SMALL)
        if self.settle is None or status not in lost:
            return status
        ask = cast(Any, self.settle).unsettled
        self.jam = ask(self.time, self.state.copy(), self._inputs_at, self._parameters, self._usual_step)
        return ChunkEnd.NO_FORCES if self.jam else status

    def _settle(self) -> None:
        """Let the laws that ask for it change their modes, and speeds where something strikes."""
        assert self.settle is not None
        block, first = self._block, self._guards - len(self._program.laws)
        pending, armed = self._vector("pending"), self._vector("armed")
        fired = np.flatnonzero(pending[first:] > 0)
        now = block.time, self.state, inputs_at(self._table, block.time), self._parameters
        looked = np.array_equal(self._vector("looked"), self.state)  # with its handles: it is that state
        told = cast(Any, self.settle).now
        told.known = self._vector("beside").copy() if looked else np.zeros(0)
        recent = self.crowd.recent(block.time, self._usual_step, fired.tolist())
        paced, shares = self._vector("paced"), self._vector("slopes")[self._in_planes]
        closer = comes_closer(paced, shares, block.finest)
        leaning = Leaning(2.0 ** min(max(recent - CALM, 0), 60), closer, bool(paced[WISH]))
        told.leaning, told.turned = leaning, False
        try:
            self.state[:], happened = self.settle(*now, fired, self._equal_steps)
        finally:
            told.leaning = Leaning()
        note_ties(self)
        come_closer(paced, leaning.shortest, block.finest, block.time)
        straight_slip.settled(paced, leaning, told.turned, block.time, self._equal_steps)
        look(self)
        pending[first:] = armed[first:] = 0.0
        self._vector("spared")[first:] = self._vector("seen")[first:] = 0.0
        block.checked, block.rated, block.settled = 0, 0, 1
        self._begin_anew()
        self._log_events([(block.time, float(number)) for number in happened])
        if self.settler is not None and self.settling is None:
            self._settle_natively()
        crowded = self.crowd.count(block.time, self._usual_step, {int(unit) for unit in fired})
        if crowded >= 0:
            self._leap(crowded)

    def _leap(self, unit: int) -> None:
        """Make one step over all that happens, for events of a unit crowd here."""
        block, end = self._block, min([self._next_end(), *self._next_samples()])
        if not end > block.time:
            return
        assert self.settle is not None
        begun, leap = block.time, cast(Any, self.settle).leap
        state, happened = leap(begun, self.state, self._inputs_at, self._parameters, end - begun)
        come_closer(self._vector("paced"), 0.0, block.finest, end)
        now, nobody = (end, state, self._inputs_at(end), self._parameters), np.zeros(0, dtype=int)
        self.state[:], more = self.settle(*now, nobody, self._equal_steps)
        self._arrive(end)
        note_ties(self)
        look(self)
        self._log_events([(end, float(number)) for number in (*happened, *more)])
        self.leaps.append((self._program.laws[unit].path, begun, end))

    def _next_samples(self) -> list[float]:
        """The next instant of each rate at which modes are sampled [s]."""
        rates = zip(self._vector("counted").tolist(), self._program.rates, strict=True)
        return [offset + count * every for count, (every, offset) in rates]

    @property
    @abstractmethod
    def _usual_step(self) -> float:
        """The step [s] a user asked for."""

    @abstractmethod
    def _next_end(self) -> float:
        """Where a step over crowded events ends [s]."""

    def _arrive(self, end: float) -> None:
        """Be at the end of such a step."""
        self._block.time, self._block.settled = end, 0
        self._block.accepted += 1

    def _inputs_at(self, time: float) -> np.ndarray:
        """Inputs as the native loop sees them at a time [s]."""
        return inputs_at(self._table, time)

    def _log_events(self, entries: list[tuple[float, float]]) -> None:
        block = self._block
        while block.log_rows + len(entries) > len(self._log):
            self._set_log(np.concatenate([self._log, np.zeros_like(self._log)]))
        for entry in entries:
            self._log[block.log_rows] = entry
            block.log_rows += 1

    def _heard(self, status: ChunkEnd) -> ChunkEnd:
        """The status when parts elsewhere have told what they have to."""
        from kompono.compile import desk

        handles = self.state.reshape(self._program.state_size, -1)[-len(self._program.opaque) :, 0]
        flags = [desk.heard(handle) for handle in handles]
        if any(flag is None for flag in flags):
            return ChunkEnd.ELSEWHERE
        bad = np.max([flag for flag in flags if flag is not None], axis=0) > 0
        if len(bad) > 1:
            lost = self._vector("lost")
            lost[bad] = np.minimum(lost[bad], self.time)
            return status
        return ChunkEnd.NOT_FINITE if bad[0] and status is ChunkEnd.OK else status

    @property
    @abstractmethod
    def _taken(self) -> int:
        """What the budget of a chunk counts."""

    @property
    def _equal_steps(self) -> float:
        """The length of the steps [s], 0 if they vary."""
        return 0.0

    def _begin_anew(self) -> None:
        """What comes does not smoothly continue what was."""
        self._block.history = 0

    def _forget(self) -> None:
        """Nothing that happened before has a meaning for what comes."""
        block = self._block
        block.history = block.checked = block.inside = block.event_count = block.rated = 0
        self._vector("counted")[:] = sampling.counted_until(self._program.rates, block.time)
        if self._guards:
            self._vector("armed")[:] = self._vector("pending")[:] = 0.0
        if self._program.laws:
            self._vector("spared")[:] = self._vector("seen")[:] = self._vector("paced")[:] = 0.0


def vector(name: str, values: ArrayLike, size: int) -> np.ndarray:
    """A contiguous copy of a vector of the right size."""
    array = np.array(values, dtype=float).reshape(-1)
    if array.size != size:
        raise RunError(f"{name} has {array.size} values, the program needs {size}.", fix=f"Give {size}.")
    return array
