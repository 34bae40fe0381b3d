"""Processes as threads: the functions of a message library, enough of it for native code, written in Python.

Native code calls them through the same wires as the real ones; each thread is told apart by its group handle.
"""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.compile.messages import Wires

_I, _L, _P = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
_GATHER = ctypes.CFUNCTYPE(_I, _P, _I, _L, _P, _P, _P, _L, _L)
_SEND = ctypes.CFUNCTYPE(_I, _P, _I, _L, _I, _I, _L)
_RECEIVE = ctypes.CFUNCTYPE(_I, _P, _I, _L, _I, _I, _L, _L)


def _array(address: int, count: int, kind: Any) -> np.ndarray:
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (count,)) if count else np.zeros(0)


class Post:
    """What passes between `size` threads; `messages` counts what was sent."""

    def __init__(self, size: int) -> None:
        self.size, self.messages = size, 0
        self._barrier = threading.Barrier(size)
        self._boxes: dict[tuple[int, int], queue.Queue] = {}
        self._told: list[np.ndarray] = [np.zeros(0)] * size
        self._functions = _GATHER(self._gather), _SEND(self._send), _RECEIVE(self._receive)
        for k in range(size):
            for j in range(size):
                self._boxes[k, j] = queue.Queue()

    def wires(self, rank: int, counts: tuple[int, ...], largest: int) -> Wires:
        """What native code of one thread needs."""
        names = ("gather", "send", "receive")
        functions = {n: ctypes.cast(f, _P).value or 0 for n, f in zip(names, self._functions, strict=True)}
        return Wires(functions, {"group": rank, "kind": 8, "status": 0}, counts, largest)

    def _gather(self, out: int, count: int, _: int, heard: int, counts: int, starts: int, __: int, rank: int) -> int:
        self._told[rank] = _array(out, count, ctypes.c_double).copy()
        self.messages += 1
        self._barrier.wait()
        sizes, places = (_array(table, self.size, ctypes.c_int32) for table in (counts, starts))
        for k, part in enumerate(self._told):
            assert len(part) == sizes[k]
            _array(heard + 8 * int(places[k]), len(part), ctypes.c_double)[:] = part
        self._barrier.wait()
        return 0

    def _send(self, out: int, count: int, _: int, peer: int, __: int, rank: int) -> int:
        self.messages += 1
        self._boxes[rank, peer].put(_array(out, count, ctypes.c_double).copy())
        return 0

    def _receive(self, heard: int, count: int, _: int, peer: int, __: int, rank: int, ___: int) -> int:
        part = self._boxes[peer, rank].get(timeout=60)
        assert len(part) == count
        _array(heard, count, ctypes.c_double)[:] = part
        return 0


def in_step(jobs: list[Callable[[], Any]]) -> list[Any]:
    """All jobs at once, each in a thread of its own; their results."""
    results: list[Any] = [None] * len(jobs)

    def work(k: int) -> None:
        results[k] = jobs[k]()

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    return results
