"""A session: one part elsewhere in one run, as native code of its owner knows it (`compile.desk`).

A state of the run has a handle of the session; whoever has the state can ask the part about it as long as the session
is open.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kompono.compile import desk, jit
from kompono.compile.far import (
    HEADER,
    LASTING,
    MOST_LANES,
    NUMBER_BITS,
    OPERATION,
    PINNED,
    SESSION_BITS,
    VECTOR,
    Broken,
    Op,
)  # fmt: skip
from kompono.compile.keeper_frames import RECEIVE, TRANSMIT
from kompono.elsewhere.keeper import REPLY, Keeper
from kompono.errors import KomponoError, RunError

FRAME = 1 << 16  # doubles of the largest frame
_TOGETHER = 1 << 15  # doubles of questions, and of replies, that are put together
_POSTED = 1 << 14  # left for what is asked when posted operations are sent by themselves
KEPT = ("index", "next", "next_pinned", "sequence", "round_trips")  # fields of a session that goes on
_lock = threading.Lock()
_counter = itertools.count()
_open: weakref.WeakValueDictionary[int, PartSession] = weakref.WeakValueDictionary()

_TRANSMIT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_RECEIVE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class FrameCarrier(Protocol):
    """How frames travel: addresses of two native functions, and what they are given first."""

    transmit: int
    receive: int
    context: int
    problem: KomponoError | None

    def keep(self) -> bytes | None:
        """What another process needs to go on from here; None if none can."""
        ...

    def close(self) -> None:
        """The session is over."""
        ...


class Here:
    """To a keeper in this process."""

    problem: KomponoError | None = None

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.transmit, self.receive = keeper.addresses[TRANSMIT], keeper.addresses[RECEIVE]
        self.context = keeper.context

    def keep(self) -> bytes:
        """All the keeper knows."""
        return self.keeper.snapshot()

    def close(self) -> None:
        """Nothing is left to be done."""


class Through:
    """Over a line that carries bytes: `post(frame)` gives a ticket, `collect(ticket)` the reply."""

    def __init__(self, line: Any) -> None:
        self.line, self.context = line, 0
        self.problem: KomponoError | None = None
        self._ticket: Any = None
        self._functions = _TRANSMIT(self._transmit), _RECEIVE(self._receive)
        self.transmit, self.receive = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions)

    def _transmit(self, _: int, frame: int, length: int) -> int:
        try:
            self._ticket = self.line.post(ctypes.string_at(frame, 8 * length))
        except KomponoError as problem:
            self.problem = problem
            return -1
        except BaseException as problem:  # nothing may leave a function that native code calls
            self.problem = RunError(f"{type(problem).__name__}: {problem}")
            return -1
        return 0

    def _receive(self, _: int, reply: int, room: int) -> int:
        try:
            data = self.line.collect(self._ticket)
        except KomponoError as problem:
            self.problem = problem
            return -1
        except BaseException as problem:
            self.problem = RunError(f"{type(problem).__name__}: {problem}")
            return -1
        if len(data) % 8 or len(data) > 8 * room:
            return -1
        ctypes.memmove(reply, data, len(data))
        return len(data) // 8

    def keep(self) -> bytes | None:
        """What the line keeps of it, if it does."""
        return self.line.keep() if hasattr(self.line, "keep") else None

    def close(self) -> None:
        """Say so on the line; whether anybody hears it does not matter any more."""
        with suppress(KomponoError):
            self.line.close()


@dataclass(frozen=True)
class KeptSession:
    """Where a session was, and what its line needs to go on from there."""

    fields: dict[str, int]
    line: bytes


class PartSession:
    """One part in one run on so many lanes; `path` is the part's, for people. `kept` is where it goes on."""

    def __init__(
        self, carrier: FrameCarrier, path: str, size: int, lanes: int = 1, kept: KeptSession | None = None
    ) -> None:  # fmt: skip
        if not 1 <= lanes <= MOST_LANES:
            raise RunError(f"a part elsewhere runs on 1 to {MOST_LANES} lanes, not on {lanes}.", path=path)
        self.carrier, self.path, self.size, self.lanes = carrier, path, size, lanes
        self._out, self._reply = np.zeros(FRAME), np.zeros(REPLY + HEADER + lanes)
        self.flags = np.zeros(lanes)
        self._aside, self._modes_of = np.zeros(0), b""  # modes that were told, and of which state
        self._fields = np.zeros(len(desk.FIELDS), dtype=np.int64)
        before = {} if kept is None else kept.fields
        self.index = _enter(self, before.get("index"))
        self.goes_on = kept is not None
        given = {
            "transmit": carrier.transmit, "receive": carrier.receive, "context": carrier.context,
            "out": self._out.ctypes.data, "out_length": HEADER, "out_room": FRAME, "reply": self._reply.ctypes.data,
            "reply_room": len(self._reply), "next": 1, "next_pinned": PINNED, "flags": self.flags.ctypes.data,
            "lanes": lanes, "aside_out": self._aside.ctypes.data, **before, "index": self.index,
        }  # fmt: skip
        for name, value in given.items():
            self[name] = value
        self._sync = jit.callable_at(desk.sync_address())

    def __getitem__(self, field: str) -> int:
        return int(self._fields[desk.FIELDS.index(field)])

    def __setitem__(self, field: str, value: int) -> None:
        self._fields[desk.FIELDS.index(field)] = value

    @property
    def round_trips(self) -> int:
        """Replies so far."""
        return self["round_trips"]

    def start(self, offsets: np.ndarray, normalize: int | None = None) -> np.ndarray:
        """The handle (lanes,) of the start of the part, moved by offsets (size,) or (size, lanes); then brought to unit
        lengths by its function `normalize`, if that has a number.
        """
        given = np.asarray(offsets, dtype=float)
        rows = np.zeros((self.size, self.lanes)) + (given[:, None] if given.ndim == 1 else given)
        if normalize is None:
            return self._post(Op.START, rows, LASTING)
        return self._post(Op.FUNCTION + normalize, self._post(Op.START, rows, VECTOR)[None, :], LASTING)

    def combine(self, base: np.ndarray, factor: float, vector: np.ndarray) -> np.ndarray:
        """The handle of base + factor * vector, of handles (lanes,)."""
        rows = np.array([base, np.full(self.lanes, factor), vector])
        return self._post(Op.COMBINE, rows, VECTOR)

    def with_speeds(self, state: np.ndarray, base: np.ndarray) -> np.ndarray:
        """The handle of a state with the speeds of another one, of handles (lanes,)."""
        return self._post(Op.COMBINE_SPEEDS, np.array([state, base]), VECTOR)

    def push(self, state: np.ndarray, factor: float, jump: np.ndarray) -> np.ndarray:
        """The handle of a state whose speeds have changed by factor * jump, of handles (lanes,)."""
        return self._post(Op.PUSH, np.array([state, np.full(self.lanes, factor), jump]), VECTOR)

    def settle(self, state: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """The handle of a state (lanes,) with these modes of laws (count, lanes)."""
        return self._post(Op.SETTLE, np.concatenate([state[None, :], modes]), VECTOR)

    def pin(self, state: np.ndarray) -> np.ndarray:
        """The handle of the same state, kept as records are."""
        return self._post(Op.PIN, state[None, :], LASTING)

    def check(self, state: np.ndarray) -> None:
        """Have a flag raised if a state is not finite."""
        self._put(Op.CHECK, 0, np.asarray(state, dtype=float))

    def ask_modes(self, states: np.ndarray, count: int) -> None:
        """Ask for modes of laws at states by their handles (n, lanes), with whatever is asked next."""
        if self["aside"] or self["out_length"] > _POSTED:  # much is asked beside it
            self.sync()
        self._modes_of, self._aside = states.tobytes(), np.full(len(states) * count * self.lanes, np.nan)
        for state in states:
            self._put(Op.MODES, 0, np.asarray(state, dtype=float))
        self["aside_out"] = self._aside.ctypes.data
        self["wanted"] = self["aside"] = len(self._aside)

    def modes(self, states: np.ndarray, count: int) -> np.ndarray:
        """Modes of laws (n, count, lanes) at states by their handles (n, lanes); NaN if nobody answers."""
        found = np.zeros((len(states), count, self.lanes))
        most = max(min(_TOGETHER // (OPERATION + self.lanes), _TOGETHER // max(count * self.lanes, 1)), 1)
        for first in range(0, len(states), most) if count else ():
            some = states[first : first + most]
            if self._modes_of != some.tobytes():
                self.ask_modes(some, count)
            if self["aside"]:
                self.sync()
            self._modes_of = b""
            found[first : first + most] = self._aside.reshape(len(some), count, self.lanes)
        return found

    def _post(self, op: int, rows: np.ndarray, kind: int) -> np.ndarray:
        field = "next" if kind == VECTOR else "next_pinned"
        number = self[field]
        self._put(op, number, rows.ravel())
        self[field] = number + 1
        return np.full(self.lanes, float((self.index << NUMBER_BITS) + number))

    def _put(self, op: int, number: int, arguments: np.ndarray) -> None:
        """Append an operation to the frame; one without room is sent first."""
        end = OPERATION + len(arguments)
        if self["out_length"] + end > FRAME - _POSTED:
            self.sync()
        place = self["out_length"]
        self._out[place : place + OPERATION] = int(op), number, len(arguments)
        self._out[place + OPERATION : place + end] = arguments
        self["out_length"] = place + end

    @property
    def first(self) -> np.ndarray:
        """The handle (lanes,) of its start, which the keeper may have forgotten."""
        return np.full(self.lanes, float((self.index << NUMBER_BITS) + PINNED))

    def keep(self) -> KeptSession | None:
        """What another process needs to go on from here; None if none can."""
        line = self.carrier.keep() if self.sync() else None
        return None if line is None else KeptSession({name: self[name] for name in KEPT}, line)

    def sync(self) -> bool:
        """Send what was posted and wait for the reply; whether all is well."""
        self._sync(ctypes.c_void_p(self._fields.ctypes.data))
        return self["broken"] == 0

    @property
    def problem(self) -> KomponoError | None:
        """Why the part cannot be asked any more."""
        if self["broken"] == 0:
            return None
        words = {
            Broken.FORM: "a message was not understood on the other side",
            Broken.FORGOTTEN: "the other side has forgotten a state that is still needed",
            Broken.LINK: "there was no reply, or one to another message",
            Broken.REFUSED: "the other side does not answer what would show the inside of the part",
        }
        return self.carrier.problem or RunError(f"{words.get(Broken(self['broken']), 'it broke')}.", path=self.path)

    def close(self) -> None:
        """Let its place be used by others; handles of it mean nothing any more."""
        if self.index:
            _leave(self.index)
            self.index = 0
            self.carrier.close()

    def __del__(self) -> None:
        if getattr(self, "index", 0):
            self.close()


def session_of(handle: float) -> PartSession | None:
    """The open session a handle belongs to."""
    return _open.get(int(handle) >> NUMBER_BITS) if 0 < handle < 1 << (NUMBER_BITS + SESSION_BITS) else None


def _table() -> Any:
    return (ctypes.c_void_p * (1 << SESSION_BITS)).from_address(desk.table_address())


def _enter(session: PartSession, wanted: int | None) -> int:
    """A place in the table; that of a session that goes on is in all its handles."""
    with _lock:
        most = (1 << SESSION_BITS) - 1  # a place is not used again at once: old handles shall find nobody
        index = next((k for _ in range(most) if (k := 1 + next(_counter) % most) not in _open), 0)
        if not index:
            raise RunError(f"there are {1 << SESSION_BITS} parts elsewhere in runs of this process already.")
        if wanted is not None:
            index = wanted
            if not 0 < index <= most or index in _open:
                fix = "Let that end first, or go on in a process of its own."
                raise RunError("another run of this process is where this one was.", path=session.path, fix=fix)
        _open[index] = session
        _table()[index] = session._fields.ctypes.data
        return index


def _leave(index: int) -> None:
    with _lock:
        _table()[index] = None
        _open.pop(index, None)
