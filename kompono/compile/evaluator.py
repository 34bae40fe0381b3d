"""One routine of a program, evaluated at one state after the other."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from kompono.compile.lanes import ONE
from kompono.compile.objects import Objects
from kompono.errors import RunError
from kompono.translate.program import Routine


class Unanswered(RunError):
    """A part that runs elsewhere gives no answers any more."""


class Evaluator:
    """One routine behind buffers that are made once, so that a call costs little more than the routine."""

    def __init__(self, objects: Objects, routine: Routine) -> None:
        self._places = objects.places
        self.function = objects.map_function(routine.name, ONE)
        self._name, self._objects = (routine.name, objects) if objects.map_walks(routine.name, ONE) else ("", None)
        self._sizes = tuple(size for _, size in routine.inputs)
        self._inputs = [np.zeros(size) for size in self._sizes]
        self._outputs = [np.zeros(size) for _, size in routine.outputs]
        self.work = np.zeros(max(routine.workspace, 1))
        addresses = [n for array in (*self._inputs, *self._outputs) for n in (array.ctypes.data, 0)]
        self._block = np.array([1, *addresses, self.work.ctypes.data], dtype=np.int64)
        self._address = ctypes.c_void_p(self._block.ctypes.data)
        self._lock = threading.Lock()

    def __call__(self, time: float, state: Any, inputs: Any, parameters: Any) -> tuple[np.ndarray, ...]:
        sizes = (1, len(state), len(inputs), len(parameters))
        if sizes != self._sizes:
            fix = "Give as many as the program has."
            raise RunError(f"time, state, inputs, parameters have {sizes} values instead of {self._sizes}.", fix=fix)
        with self._lock:
            if self._objects is not None:
                self._count()
            clock, first, second, third = self._inputs
            clock[0] = time
            first[:] = state
            if sizes[2]:
                second[:] = inputs
            if sizes[3]:
                third[:] = parameters
            if self._places:
                self._elsewhere()
            else:
                self.function(self._address)
            return tuple([output.copy() for output in self._outputs])

    def _count(self) -> None:
        """Take native code when the routine was asked often."""
        assert self._objects is not None
        self.function = self._objects.map_function(self._name, ONE, 1)
        if not self._objects.map_walks(self._name, ONE):
            self._objects = None

    def _elsewhere(self) -> None:
        """The same for a model with parts that run elsewhere, which may be lost."""
        for _ in range(2):  # what was lost before or just now is put right once
            self._places.revive()
            self.function(self._address)
            if not self._places.broken:
                return
        raise Unanswered(f"{self._places.last_trouble}.")
