"""Closed parts on other processes (MPI ranks): the first one runs the model, the others keep parts and answer.

Every process declares the same model. The others translate and compile the functions of their own parts only. While a
run is going, messages are exchanged by native code on both sides; Python is asked only when sessions begin and end.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from kompono.compile import carry, jit
from kompono.compile.keeper_frames import ANSWER
from kompono.elsewhere.keeper import Keeper
from kompono.elsewhere.session import FRAME, KeptSession, PartSession
from kompono.errors import KomponoError, RunError

T = TypeVar("T")

FIRST = 0
_WORDS = 7302  # tag of what Python says to Python
_FUNCTIONS = {"send": "MPI_Send", "isend": "MPI_Isend", "recv": "MPI_Recv", "wait": "MPI_Wait"}


class RankWires:
    """What native code needs of the message library, and the processes of this run."""

    def __init__(self) -> None:
        from mpi4py import MPI  # whoever is on ranks has it

        self.mpi, self.group = MPI, MPI.COMM_WORLD
        self.rank, self.size = self.group.Get_rank(), self.group.Get_size()
        library = ctypes.CDLL(MPI.__file__)
        self.fields = {n: ctypes.cast(getattr(library, s), ctypes.c_void_p).value or 0 for n, s in _FUNCTIONS.items()}
        self.status = np.zeros(64, dtype=np.int64)  # more than any library's status has
        self.fields |= {"kind": MPI._handleof(MPI.DOUBLE), "group": MPI._handleof(self.group)}
        self.fields["status"] = self.status.ctypes.data

    def packed(self, names: Sequence[str], **more: int) -> np.ndarray:
        """Fields in an order, as 64-bit integers."""
        known = {**self.fields, **more}
        return np.array([known.get(name, 0) for name in names], dtype=np.uint64).view(np.int64)


class Over:
    """To a keeper on another rank."""

    problem: KomponoError | None = None

    def __init__(self, host: RankHost, number: int, lanes: int) -> None:
        found = carry.addresses()
        self.transmit, self.receive = found[carry.TRANSMIT], found[carry.RECEIVE]
        self._buffer = np.zeros(FRAME + 1)
        given = {"rank": host.rank, "number": number, "lanes": lanes, "buffer": self._buffer.ctypes.data}
        self._fields = host.wires.packed(carry.ASKING, **given)
        self.context, self._host, self._number = self._fields.ctypes.data, host, number

    def keep(self) -> bytes:
        """All the keeper knows, for one on another rank to go on."""
        return self._host.say("keep", self._number)

    def close(self) -> None:
        """The keeper is not needed any more."""
        self._host.say("close", self._number)


class RankHost:
    """Another rank as who keeps parts."""

    lasts, may_be_lost, is_here = True, False, False  # a rank that is lost ends all

    def __init__(self, wires: RankWires, rank: int) -> None:
        self.wires, self.rank, self._count = wires, rank, 0

    def say(self, *words: Any) -> Any:
        """Let Python there hear something, and wait for what it says."""
        self.wires.group.Send(np.array([-1.0]), self.rank, carry.FRAMES)
        self.wires.group.send(words, self.rank, _WORDS)
        answer = self.wires.group.recv(source=self.rank, tag=_WORDS)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def open(self, part: Any, lanes: int, kept: KeptSession | None = None) -> PartSession:
        """A session with a keeper of its own there."""
        number, size = self.say("open", part.path, lanes, kept and kept.line)
        return PartSession(Over(self, number, lanes), part.path, size, lanes, kept)

    def start(self, part: Any, session: PartSession, given: np.ndarray) -> np.ndarray:
        """x as it was assembled."""
        return session.start(given)


class PartKeeper:
    """What a rank does that keeps parts: it answers until it is let go."""

    def __init__(self, wires: RankWires, parts: Mapping[str, Any]) -> None:
        self.wires, self._parts = wires, parts
        self._keepers: list[Keeper | None] = []
        self._kept: dict[str, Any] = {}

    def serve(self) -> None:
        """Answer until the first rank says that it is over."""
        serve = jit.callable_at(carry.addresses()[carry.SERVE])
        buffer = np.zeros(FRAME + 1)
        while True:
            contexts = np.array([k.context if k else 0 for k in self._keepers], dtype=np.int64)
            answers = np.array([k.addresses[ANSWER] if k else 0 for k in self._keepers], dtype=np.int64)
            fields = self.wires.packed(
                carry.SERVING, rank=FIRST, buffer=buffer.ctypes.data, room=len(buffer), count=len(contexts),
                contexts=contexts.ctypes.data, answers=answers.ctypes.data,
            )  # fmt: skip
            if serve(ctypes.c_void_p(fields.ctypes.data)):
                raise RunError(f"rank {self.wires.rank}: a message was not understood.")
            word, *rest = self.wires.group.recv(source=FIRST, tag=_WORDS)
            if word == "end":
                self.wires.group.send(None, FIRST, _WORDS)
                return
            self.wires.group.send(self._heard(word, *rest), FIRST, _WORDS)

    def _heard(self, word: str, *rest: Any) -> Any:
        try:
            if word == "open":
                return self._open(*rest)
            if word == "keep":
                keeper = self._keepers[rest[0]]
                assert keeper is not None
                return keeper.snapshot()
            self._keepers[rest[0]] = None
        except Exception as error:
            return RunError(f"rank {self.wires.rank}: {type(error).__name__}: {error}")
        return None

    def _open(self, path: str, lanes: int, snapshot: bytes | None) -> tuple[int, int]:
        from kompono.translate.parts.far import kept_part

        if path not in self._kept:
            self._kept[path] = kept_part(self._parts[path])
        kept, functions = self._kept[path]
        keeper = Keeper(kept, functions, np.zeros(kept.size), lanes=lanes)
        if snapshot is not None:
            keeper.restore(snapshot)
        self._keepers.append(keeper)
        return len(self._keepers) - 1, kept.size


def placed(paths: Sequence[str], size: int, place: Mapping[str, int]) -> dict[str, int]:
    """The rank of each part: as `place` says, others by turns on all but the first, which runs the model."""
    for path, rank in place.items():
        if path not in paths:
            raise RunError(f"place names {path!r}, which is no closed part.", fix=f"Closed are: {', '.join(paths)}.")
        if type(rank) is not int or not 0 <= rank < size:
            raise RunError(f"place = {{{path!r}: {rank!r}}}: there are ranks 0 to {size - 1}.")
    others = [path for path in paths if path not in place]
    turns = {path: 1 + k % (size - 1) if size > 1 else 0 for k, path in enumerate(others)}
    return {path: {**turns, **place}[path] for path in paths}


def hosts(wires: RankWires, homes: Mapping[str, int]) -> dict[str, RankHost]:
    """Who keeps each part that is not on the first rank."""
    ranks = {rank: RankHost(wires, rank) for rank in sorted(set(homes.values())) if rank != FIRST}
    return {path: ranks[rank] for path, rank in homes.items() if rank != FIRST}


def on_ranks(parts: Sequence[Any], place: Mapping[str, int], lead: Callable[[dict[str, RankHost]], T]) -> T:
    """Let the first rank `lead`, given who keeps closed parts by path, and the others keep them. All call this with the
    parts of the same model (`translate.closed_parts`, with the same options as the simulation of the first), and all
    get what `lead` gave (it is pickled), or its error.
    """
    wires = RankWires()
    homes = placed([part.path for part in parts], wires.size, place)
    if wires.rank != FIRST:
        mine = {part.path: part for part in parts if homes[part.path] == wires.rank}
        if mine:
            PartKeeper(wires, mine).serve()
        word = wires.group.bcast(None, root=FIRST)
        if isinstance(word, BaseException):
            raise word
        return word
    word: Any = None
    try:
        word = lead(hosts(wires, homes))
    except BaseException as error:
        word = error
        raise
    finally:
        for rank in sorted(set(homes.values()) - {FIRST}):
            RankHost(wires, rank).say("end")
        wires.group.bcast(_carried(word), root=FIRST)
    return word


def _carried(word: Any) -> Any:
    """A result or an error as it can be sent."""
    try:
        pickle.loads(pickle.dumps(word))
    except Exception:
        return RunError(f"rank {FIRST}: {type(word).__name__}: {word}")
    return word
