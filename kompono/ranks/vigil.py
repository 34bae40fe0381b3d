"""Who has died, when the rest is told to end.

If a process of a run is killed, the message library ends the others: a signal, and a quarter of a second later the end.
The first process is then most likely waiting inside a message, where no Python runs. So a thread of its own hears the
signal and says which process is gone and what it had, as far as it was on the same computer.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from types import TracebackType
from typing import Self

from kompono.ranks.world import World

MOST = 8  # processes that are listed


class Vigil:
    """`with Vigil(world, name):` in every process; the first one keeps it. `name` is what a process has."""

    def __init__(self, world: World, name: str) -> None:
        self._others = world.group.allgather((socket.gethostname(), os.getpid(), name))
        self._keeps = world.leads and world.size > 1 and threading.current_thread() is threading.main_thread()
        self._pipe: tuple[int, int] | None = None
        self._before = -1

    def __enter__(self) -> Self:
        if self._keeps:
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[1], False)
            self._before = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
            threading.Thread(target=self._watch, args=(self._pipe[0],), daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pipe is not None:
            signal.set_wakeup_fd(self._before)
            os.close(self._pipe[1])  # the thread sees its end

    def _watch(self, source: int) -> None:
        while heard := os.read(source, 1):
            if heard[0] == signal.SIGTERM:
                print(f"kompono: {self.lost()}", file=sys.stderr, flush=True)
        os.close(source)

    def lost(self) -> str:
        """Who is not there any more, in words."""
        here = socket.gethostname()
        gone = [
            f"rank {rank} ({name}) has died"
            for rank, (host, number, name) in enumerate(self._others)
            if host == here and not _lives(number)
        ]
        if gone:
            return "; ".join(gone[:MOST]) + ". All others end."
        parts = [f"rank {rank} has {name}" for rank, (_, _, name) in enumerate(self._others)]
        return f"told to end. {'; '.join(parts[:MOST])}{'; ...' if len(parts) > MOST else ''}."


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except ProcessLookupError:
        return False
    except OSError:  # not ours, or a system without /proc
        return True
