"""A keeper as an object: the state of one part in one run, and replies to frames.

It can be asked in this process by address, or by frames of bytes from anywhere; its state can be taken away and put
back, so that a run goes on with the same bits in another process.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from kompono.compile import jit
from kompono.compile.far import HEADER, OPERATION, RING, Op
from kompono.compile.keeper_frames import ANSWER, CONTEXT
from kompono.compile.keeper_operation import rows_of
from kompono.compile.kept import place_keeper
from kompono.errors import RemoteError
from kompono.sealed.kept import KeptPart

BOOK = 1 << 11  # recorded states that are kept
REPLY = 1 << 16  # doubles of the largest reply
_SNAPSHOT = struct.Struct("<8sqqqqq")
_MARK = b"KOMPKEP3"
_LOOKS = (Op.COMPARE, Op.ERROR, Op.MODES)


def _evaluations(frame: list[float]) -> int:
    """How many evaluations a frame is: as many as it asks any one function, or look, for, and one if it asks none. So
    who puts many questions into a frame has asked as often as who sends many frames.
    """
    asked: Counter[float] = Counter()
    place = HEADER
    while place + OPERATION <= len(frame):
        op, _, count = frame[place : place + OPERATION]
        if op >= Op.FUNCTION or op in _LOOKS:
            asked[op] += 1
        if not 0 <= count <= len(frame):
            break  # what is behind makes no sense, and is not answered
        place += OPERATION + int(count)
    return max(asked.values(), default=1)


class Keeper:
    """What keeps x of a part: made of its functions and the start of x (size,), for so many lanes."""

    def __init__(
        self, part: KeptPart, functions: Mapping[str, ca.Function], start: Sequence[float] | np.ndarray, *,
        lanes: int = 1, book: int = BOOK, cache: bool = True,
    ) -> None:  # fmt: skip
        self.part, self.lanes, self.evaluations = part, lanes, 0
        self.addresses, self._code = place_keeper(part, functions, lanes, cache)
        self._answer = jit.callable_at(self.addresses[ANSWER])
        span = rows_of(part) * lanes
        self._ring, self._tags = np.zeros((RING, span)), np.zeros(RING, dtype=np.int64)
        self._book, self._book_tags = np.zeros((book, span)), np.zeros(book, dtype=np.int64)
        self._start = np.ascontiguousarray(np.repeat(np.asarray(start, dtype=float), lanes))
        self._reply = np.zeros(REPLY + HEADER + lanes)
        self._context = np.zeros(len(CONTEXT), dtype=np.int64)
        for name, array in (
            ("ring", self._ring), ("tags", self._tags), ("book", self._book), ("book_tags", self._book_tags),
            ("start", self._start), ("reply", self._reply),
        ):  # fmt: skip
            self._context[CONTEXT.index(name)] = array.ctypes.data
        self._context[CONTEXT.index("room")] = len(self._reply)
        self._context[CONTEXT.index("book_rows")] = book
        self._lock = threading.Lock()

    @property
    def context(self) -> int:
        """The address native code knows it by."""
        return self._context.ctypes.data

    def answer(self, frame: bytes) -> bytes:
        """The reply to a frame; one that makes no sense is replied to with a status."""
        given = np.frombuffer(frame[: len(frame) // 8 * 8], dtype="<f8").astype(np.float64)
        with self._lock:
            self._context[CONTEXT.index("frame")] = given.ctypes.data
            self._context[CONTEXT.index("length")] = len(given) if len(frame) % 8 == 0 else 0
            self._answer(ctypes.c_void_p(self.context))
            self.evaluations += self.lanes * _evaluations(given.tolist())
            return self._reply[: self._context[CONTEXT.index("replied")]].astype("<f8").tobytes()

    def snapshot(self) -> bytes:
        """All vectors and all recorded states; always as many bytes."""
        with self._lock:
            sizes, names = (self._ring.shape[1], RING, len(self._book)), int(self._context[CONTEXT.index("names")])
            head = _SNAPSHOT.pack(_MARK, *sizes, self.evaluations, names)
            tags = np.concatenate([self._tags, self._book_tags]).astype("<i8")
            vectors = np.concatenate([self._ring, self._book]).astype("<f8")
            return head + tags.tobytes() + vectors.tobytes()

    def restore(self, data: bytes) -> None:
        """Be where a snapshot was taken."""
        rows, span = RING + len(self._book), self._ring.shape[1]
        if len(data) != _SNAPSHOT.size + 8 * rows * (1 + span):
            raise RemoteError("what was kept of the part does not fit it.")
        mark, *sizes, evaluations, names = _SNAPSHOT.unpack_from(data)
        tags = np.frombuffer(data, dtype="<i8", count=rows, offset=_SNAPSHOT.size)
        if mark != _MARK or sizes != [span, RING, len(self._book)] or min(evaluations, names) < 0 or np.any(tags < 0):
            raise RemoteError("what was kept of the part does not fit it.")
        vectors = np.frombuffer(data, dtype="<f8", offset=_SNAPSHOT.size + 8 * rows).reshape(rows, span)
        with self._lock:
            self._tags[:], self._book_tags[:], self.evaluations = tags[:RING], tags[RING:], evaluations
            self._ring[:], self._book[:] = vectors[:RING], vectors[RING:]
            self._context[CONTEXT.index("names")] = names
