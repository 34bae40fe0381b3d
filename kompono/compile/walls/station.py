"""A worker process that answers for the functions of one part: started when it is first needed, given code, ended.

Nothing of it outlives this process. Its memory and its socket have no names; it reads the end of the socket when this
process ends, however that comes about. It has no terminal, so that Ctrl-C is for this process alone.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time as clock
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kompono.compile import assembler, jit
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE
from kompono.compile.walls import ask, channel, filters
from kompono.errors import CompileError

START = 60.0  # [s] a worker may need until it is ready
_PROGRAM = Path(__file__).with_name("worker.py")


def available() -> bool:
    """Whether there can be worker processes: they need sockets and memory as POSIX has them."""
    return os.name == "posix"


@functools.cache
def ask_object() -> bytes:
    """The side of the owner as machine code."""
    return _assembled(ask.ask_text())


@functools.cache
def _serve_object() -> bytes:
    return _assembled(ask.serve_text())


@functools.cache
def _native(name: str) -> Any:
    """What Python calls of the native side."""
    texts = {ask.ENTER: ask.enter_text, ask.HOLD: ask.hold_text}
    return jit.load([ask_object(), _assembled(texts[name]())], name)


def hold(address: int) -> None:
    """Wait until no thread asks by a channel; from then on all wait, until there is a zero in LOCK."""
    _native(ask.HOLD)(address)


def _assembled(text: str) -> bytes:
    return assembler.assemble(prelude(text, ONE) + ask.declarations() + text, loops=True)


class Worker:
    """One process, from its start to its end."""

    def __init__(self, memory: channel.Shared) -> None:
        import llvmlite

        here, there = socket.socketpair()
        site = str(Path(llvmlite.__file__).parents[1])
        files = (there.fileno(), memory.file)
        path = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}  # nothing else of ours
        command = [sys.executable, "-I", "-S", str(_PROGRAM), *map(str, files), str(channel.SIZE), site]
        with there:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=files,
                start_new_session=True, env=path, cwd="/",
            )  # fmt: skip
            self.far = there.fileno()  # its number there
        self.socket = here

    def send(self, objects: Sequence[bytes], symbols: Sequence[tuple[int, str]], locks: Sequence[bytes] = ()) -> None:
        """One message (see `worker`)."""
        head = {"objects": [*map(len, objects)], "symbols": list(symbols), "locks": [*map(len, locks)]}
        self.socket.sendall(b"".join([json.dumps(head).encode(), b"\n", *locks, *objects]))

    def complaint(self) -> str:
        """What it said before it ended."""
        assert self.process.stderr is not None
        lines = self.process.stderr.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def end(self) -> None:
        """End it, whatever it is doing."""
        self.socket.close()
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


class Station:
    """Functions by number, answered for by a worker; one that is `locked` can do nothing else (Linux)."""

    asks = ask.ASK

    def __init__(self, name: str, *, locked: bool) -> None:
        self.name, self.locked = name, locked
        self._words = channel.Words(channel.WORDS)
        self._words[channel.LOOKS] = ask.LOOKS
        self._numbers: dict[str, int] = {}
        self._loads: list[tuple[list[bytes], list[tuple[int, str]]]] = []
        self._sent = 0  # of these
        self._known: set[str] = set()
        self._lock = threading.RLock()
        self._running: list[Any] = []  # memory both have, and the worker
        self._end = weakref.finalize(self, _close, self._running)
        _all.add(self)

    @property
    def address(self) -> int:
        """Of the channel, for native code."""
        return self._words.address

    @property
    def process(self) -> int | None:
        """The number of the worker, if there is one."""
        return self._running[1].process.pid if len(self._running) > 1 else None

    def number(self, symbol: str) -> int:
        """What a function is asked for by."""
        with self._lock:
            return self._numbers.setdefault(symbol, len(self._numbers))

    def add(self, objects: Sequence[bytes], symbols: Sequence[str]) -> None:
        """Some more functions, which are in these objects."""
        with self._lock:
            new = [(self.number(symbol), symbol) for symbol in symbols if symbol not in self._known]
            if new:
                self._loads.append((list(objects), new))
                self._known |= {symbol for _, symbol in new}

    def ready(self) -> None:
        """Have all that was added ready to be asked for."""
        with self._lock:
            self.revive()
            if self.process is None and self._loads:
                self._start()
            while self._sent < len(self._loads):
                self._send(*self._loads[self._sent])
                self._sent += 1

    def _start(self) -> None:
        """A worker with all code there is, as one."""
        if not self._running:
            self._running.append(channel.Shared())
        memory = self._running[0]
        words = memory.words
        words[channel.READY] = words[channel.ASLEEP] = words[channel.WAITING] = 0
        words[channel.ANSWER] = words[channel.REQUEST]  # nobody waits for what the last one did not answer
        worker = Worker(memory)
        self._running[1:] = [worker]
        self._words[channel.SHARED], self._words[channel.SOCKET] = memory.address, worker.socket.fileno()
        locks = [filters.linking(worker.far), filters.running(worker.far)] if self.locked else []
        objects = list({data: None for given, _ in self._loads for data in given})
        symbols = [pair for _, given in self._loads for pair in given]
        self._try(lambda: worker.send([_serve_object()], [], locks))
        self._try(lambda: worker.send(objects, symbols))
        self._wait(1)
        self._words[channel.BROKEN] = 0
        self._loads, self._sent = [(objects, symbols)], 1

    def _send(self, objects: list[bytes], symbols: list[tuple[int, str]]) -> None:
        """Give a worker that is running more code."""
        if self.locked:
            raise CompileError(f"the worker of {self.name} is locked, it takes no more code.")
        count = self._running[0].words[channel.READY] + 1
        words = (ctypes.c_int64 * 7)(self.address, ask.LOAD, 0, 0, 0, 0, 1)
        _native(ask.ENTER)(ctypes.addressof(words))
        self._try(lambda: self._running[1].send(objects, symbols))
        self._wait(count)

    def _try(self, send: Any) -> None:
        try:
            send()
        except OSError:
            self._fail(self._why())

    def _wait(self, count: int) -> None:
        memory, worker = self._running
        begun = clock.monotonic()
        while memory.words[channel.READY] != count:
            if memory.words[channel.READY] < 0:
                self._fail(f"the machine code could not be linked: {memory.text()}")
            if worker.process.poll() is not None:
                self._fail(self._why())
            if clock.monotonic() - begun > START:
                self._fail(f"its worker process was not ready after {START:g} s")
            clock.sleep(2e-4)

    def _fail(self, why: str) -> None:
        worker = self._running[1]
        said = worker.complaint() if worker.process.poll() is not None else ""
        worker.end()
        del self._running[1:]
        raise CompileError(f"{self.name}: {why}{said}.")

    @property
    def broken(self) -> bool:
        """Whether the worker gives no answers any more."""
        return bool(self._words[channel.BROKEN])

    def trouble(self) -> str:
        """Why, in words; empty if all is well."""
        with self._lock:
            return self._why() if self.broken else ""

    def _why(self) -> str:
        if self._words[channel.BROKEN] == channel.SILENT:
            return f"its worker process gave no answer for {ask.PATIENCE} s"
        code = None
        if self.process is not None:
            try:
                code = self._running[1].process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                return "its worker process closed its connection"
        return _ending(code)

    def revive(self) -> None:
        """A new worker in the place of one that is lost, with the same code; threads that ask wait for it."""
        if not self.broken:
            return
        with self._lock:
            hold(self.address)
            try:
                if self.broken:
                    for worker in self._running[1:]:
                        worker.end()
                    del self._running[1:]
                    self._start()
            finally:
                self._words[channel.LOCK] = 0

    def leave(self) -> None:
        """This process is a copy of the one that started the worker, which is not ours to ask or to end."""
        if self._running:
            self._left = list(self._running)  # lives on: what it has is in use elsewhere
            self._running.clear()
            self._words[channel.LOCK], self._words[channel.BROKEN] = 0, channel.LOST
        self._lock = threading.RLock()

    def close(self) -> None:
        """End the worker; nobody may ask it any more."""
        with self._lock:
            _close(self._running)


_all: weakref.WeakSet[Station] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [station.leave() for station in list(_all)])


def _close(running: list[Any]) -> None:
    """End a worker and give its memory back."""
    memory, workers = running[:1], running[1:]
    running.clear()
    for worker in workers:
        worker.end()
    for each in memory:
        each.close()


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and -code == getattr(signal, "SIGSYS", None):
        return (
            "its code tried what the wall forbids (a call of the system, such as to open a file or a connection), "
            "and its process was killed"
        )
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"its worker process was ended by {name}"
    return f"its worker process ended (code {code})"
