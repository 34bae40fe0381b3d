"""An FMU in a process of its own, which can do nothing but compute (`lock`): the same to its user as one in this
process, at some tens of microseconds a question.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import kompono.errors as errors
from kompono.errors import KomponoError, ModelError, RunError
from kompono.foreign import lock
from kompono.foreign.archive import Unpacked
from kompono.foreign.code import Answer, Functions
from kompono.foreign.instance import Instance
from kompono.foreign.opened import told_data
from kompono.foreign.told import Told, Variable

PATIENCE = 60.0  # [s] for an answer
_PROGRAM = Path(__file__).with_name("room.py")


class IsolatedInstance(Instance):
    """An instance behind a wall."""

    def __init__(self, unpacked: Unpacked, told: Told, kind: str, values: Mapping[str, float]) -> None:
        self.unpacked, self.told, self.kind, self.values = unpacked, told, kind, dict(values)
        if not lock.available():
            raise ModelError("a wall around an FMU needs Linux.", path=told.path, fix="Use trust=True if you do.")
        self._turn = threading.Lock()
        here, there = socket.socketpair()
        here.settimeout(PATIENCE)
        places = [str(Path(__file__).parents[2]), *(p for p in sys.path if p)]
        command = [sys.executable, "-I", str(_PROGRAM), str(there.fileno()), *places]
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "HOME") if name in os.environ}
        with there:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(there.fileno(),), start_new_session=True, env=kept, cwd=str(unpacked.folder),
            )  # fmt: skip
        self._socket, self._line = here, here.makefile("rwb")
        self._end = weakref.finalize(self, _close, self._process, self._line, here)
        first = {"told": told_data(told), "folder": str(unpacked.folder), "members": unpacked.members, "kind": kind,
                 "values": dict(values), "lock": True}  # fmt: skip
        (self.next_event,) = self._exchange(first)

    def ask(self, op: str, *given: Any) -> list[float]:
        """What the process answers."""
        with self._turn:
            return self._exchange([op, given])

    def _exchange(self, message: Any) -> list[float]:
        try:
            self._line.write(json.dumps(message).encode() + b"\n")
            self._line.flush()
            text = self._line.readline()
        except (OSError, ValueError) as error:
            text, why = b"", "does not answer" if isinstance(error, TimeoutError) else "has ended"
        else:
            why = "has ended"
        if not text:
            raise RunError(f"its process {why}: the FMU crashed, hung, or did what it may not.", path=self.told.path)
        answer = json.loads(text)
        if "wrong" in answer:
            kind: Any = getattr(errors, str(answer.get("kind")), RunError)
            kind = kind if isinstance(kind, type) and issubclass(kind, KomponoError) else RunError
            text = str(answer["wrong"]).removeprefix(f"{self.told.path}: ")
            raise kind(text, path=self.told.path)
        return answer["values"]

    def begin(self) -> None:
        self.ask("begin")

    def write(self, references: Sequence[int], values: Sequence[float]) -> None:
        self.ask("write", list(references), [float(value) for value in values])

    def read(self, references: Sequence[int]) -> np.ndarray:
        return np.array(self.ask("read", list(references)), dtype=float)

    def step(self, time: float, size: float) -> None:
        self.ask("step", time, size)

    def end(self) -> None:
        self._end()


def _close(process: Any, *files: Any) -> None:
    process.kill()
    process.wait()
    for file in files:
        try:
            file.close()
        except OSError:
            continue


class _FarEpochs:
    """What is known here of the discrete states of an FMU elsewhere."""

    def __init__(self, sides: Sequence[float], size: int) -> None:
        self.first_sides, self.size = list(sides), size


class IsolatedFunctions(Functions):
    """The functions of an FMU in model exchange, behind a wall."""

    instance: IsolatedInstance

    def __init__(self, instance: IsolatedInstance, still: Sequence[Variable], through: Sequence[Variable]) -> None:
        self._sides = instance.ask("functions", [v.name for v in still], [v.name for v in through])
        super().__init__(instance, still, through)
        self.answers = {n: Answer(lambda given, taken, n=n: self._answer(n, given, taken)) for n in self.described}

    def _make_epochs(self) -> Any:
        return _FarEpochs(self._sides, 2 + self.instance.told.indicators + self.states)

    def _answer(self, number: int, given: Any, taken: Any) -> int:
        """For native code: answer a column."""
        try:
            values = self.evaluate(number, np.array(given[: self.arguments(number)]))
        except KomponoError:
            return 3
        ctypes.memmove(taken, np.ascontiguousarray(values).ctypes.data, 8 * len(values))
        return 0

    def evaluate(self, number: int, column: np.ndarray) -> np.ndarray:
        return np.array(self.instance.ask("evaluate", number, [float(value) for value in column]), dtype=float)
