"""Threads that help a run of a large model: they enter native code once and share its sweeps (see `pool`)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kompono.compile.host import processors
from kompono.compile.pool import STOP, WORDS
from kompono.translate.program import HEADER, TableRoutine

PAYS_FROM = 1_500_000  # instructions of an evaluation that can be shared: below, threads wait longer than they work


def spare_processors() -> int:
    """Processors this process may use and that others leave alone: a helper that must wait makes all wait."""
    busy = os.getloadavg()[0] - 1 if hasattr(os, "getloadavg") else 0.0  # one of them is us
    return max(1, processors() - max(0, round(busy)))


def shared_work(routine: Any, kernels: Any) -> int:
    """SX instructions of one evaluation in tasks that threads can share, all lanes counted once."""
    if not isinstance(routine, TableRoutine):
        return 0
    shared = [routine.tasks[first:end] for first, end in routine.phases.tolist() if end - first > 1]
    sweeps = [s for tasks in shared for begin, end in tasks.tolist() for s in routine.sweeps[begin:end].tolist()]
    return sum(rows * kernels[routine.loops[which].kernel].n_instructions() for which, _, rows, _ in sweeps)


class Helpers:
    """`count` threads besides the one that runs; `worker` is their native function."""

    def __init__(self, worker: Any, count: int) -> None:
        self._worker, self.count = worker, count
        memory = np.zeros(WORDS + 8, dtype=np.int64)
        shift = -(memory.ctypes.data // 8) % 8
        self._pool = memory[shift : shift + WORDS]

    @contextmanager
    def at_work(self, workspace: np.ndarray) -> Iterator[None]:
        """Help with whatever is evaluated on this workspace meanwhile."""
        address = self._pool.ctypes.data
        header = workspace[:HEADER].view(np.int64)
        self._pool[STOP] = 0
        threads = [threading.Thread(target=self._worker, args=(address,), daemon=True) for _ in range(self.count)]
        header[0] = address
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            header[0] = 0
            self._pool[STOP] = 1
            for thread in threads:
                thread.join()
