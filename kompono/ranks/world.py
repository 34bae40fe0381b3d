"""The processes of a run and the message library (MPI) between them.

Native code calls three functions of the library by address, found in what mpi4py has loaded. Python uses it for the
rest: commands, states, results. Whoever waits for a command sleeps a little between looks, so that a processor shared
with the one that is at work is left to it.

A process that fails while others wait for it ends all: there is no way to tell a process that waits inside a message.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from kompono.compile.messages import Wires
from kompono.errors import RunError
from kompono.result import extra

T = TypeVar("T")
_FUNCTIONS = {"gather": "MPI_Allgatherv", "send": "MPI_Send", "receive": "MPI_Recv"}
_PATIENCE = 2e-3  # s of looking before sleeping
_NAP = 2e-4  # s
_STATUS = 64  # bytes and more than any library's status has
FIRST = 0  # the process that leads


@dataclass(frozen=True)
class Dismissal:
    """The last that is said in a run: its result, or an error."""

    word: Any


class World:
    """All processes that were started together."""

    dismissed = False  # whether the first one has let the others go

    def __init__(self) -> None:
        try:
            self._mpi = extra("mpi4py.MPI", "mpi")
        except RuntimeError as error:
            fix = "Try: pip install 'kompono[mpi]'"
            raise RunError(f"mpi4py finds no MPI library: {error}", fix=fix) from error
        self.group = self._mpi.COMM_WORLD
        self.rank, self.size = self.group.Get_rank(), self.group.Get_size()
        self._status = np.zeros(_STATUS, dtype=np.int64)

    @property
    def leads(self) -> bool:
        """Whether this is the first process."""
        return self.rank == FIRST

    def wires(self, counts: tuple[int, ...], largest: int) -> Wires:
        """What native code needs to talk; `counts` numbers are told by each process in an evaluation."""
        library = ctypes.CDLL(self._mpi.__file__)
        functions = {
            name: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
            for name, symbol in _FUNCTIONS.items()
        }
        of = self._mpi._handleof
        handles = {"group": of(self.group), "kind": of(self._mpi.DOUBLE), "status": self._status.ctypes.data}
        return Wires(functions, handles, counts, largest)

    def agreed(self, make: Callable[[], T]) -> T:
        """What each process makes; if one cannot, none goes on: it raises its error, the others tell of it."""
        made, error = None, None
        try:
            made = make()
        except (Exception, KeyboardInterrupt, SystemExit) as failure:
            error = failure
        told = self.group.allgather(None if error is None else f"{type(error).__name__}: {error}")
        if error is not None:
            raise error
        for rank, why in enumerate(told):
            if why is not None:
                raise RunError(f"rank {rank}: {why}")
        return cast(T, made)

    def say(self, command: Any) -> None:
        """Tell all others something; they `hear` it."""
        data = np.frombuffer(pickle.dumps(command), dtype=np.uint8).copy()
        self.group.Ibcast(np.array([len(data)]), root=FIRST).Wait()
        self.group.Bcast(data, root=FIRST)

    def dismiss(self, word: Any) -> None:
        """Let the others go, with a result or an error, unless that was done before."""
        if not World.dismissed:
            World.dismissed = True
            self.say(Dismissal(_carried(word) if isinstance(word, BaseException) else word))

    def hear(self) -> Any:
        """What the first process says next."""
        size = np.zeros(1, dtype=np.int64)
        request = self.group.Ibcast(size, root=FIRST)
        begun = time.perf_counter()
        while not request.Test():
            if time.perf_counter() - begun > _PATIENCE:
                time.sleep(_NAP)
        data = np.empty(int(size[0]), dtype=np.uint8)
        self.group.Bcast(data, root=FIRST)
        return pickle.loads(data.tobytes())  # from a process of the same run

    def collect(self, part: np.ndarray) -> list[np.ndarray]:
        """The parts (rows, n) of all processes, on the first one; as many rows everywhere."""
        sizes = self.group.gather(part.shape, root=FIRST)
        flat = np.ascontiguousarray(part, dtype=float).ravel()
        if not self.leads:
            self.group.Gatherv(flat, None, root=FIRST)
            return []
        counts = [rows * columns for rows, columns in sizes]
        whole = np.empty(sum(counts))
        self.group.Gatherv(flat, [whole, counts], root=FIRST)
        return [p.reshape(s) for p, s in zip(np.split(whole, np.cumsum(counts)[:-1]), sizes, strict=True)]

    def latency(self, counts: tuple[int, ...], times: int = 50) -> float:
        """Seconds of one message by which all tell all so many numbers, the shortest of some; all must ask."""
        out, heard = np.zeros(counts[self.rank]), np.zeros(sum(counts))
        best = np.inf
        for _ in range(times):
            begun = time.perf_counter()
            self.group.Allgatherv(out, [heard, list(counts)])
            best = min(best, time.perf_counter() - begun)
        return best

    def fail(self, error: BaseException, what: str) -> NoReturn:
        """End all processes, saying why."""
        print(f"kompono: rank {self.rank}{what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        self.group.Abort(1)
        raise SystemExit(1)  # the library has ended us before


def _carried(error: BaseException) -> BaseException:
    """An error as it can be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RunError(f"rank {FIRST}: {type(error).__name__}: {error}")
    return error
