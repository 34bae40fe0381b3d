"""Functions of an FMU for model exchange as CasADi functions: rates and outputs of time, states and inputs.

They stand in expressions of a model like any closed function. Native code calls the FMU by address (see
`compile.foreign`), the interpreter through FMPy. Outputs that do not depend on inputs have a function of their own
without them, so that what is fed back through an FMU is seen to be no algebraic loop.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np

from kompono.callback import Callback
from kompono.errors import RunError
from kompono.foreign.discrete import Epochs
from kompono.foreign.instance import NEVER, Instance
from kompono.foreign.places import Placed, find_placed
from kompono.foreign.told import Variable
from kompono.given import CLOSED

RATES, STILL, THROUGH, GUARDS, EVENT = range(5)  # rates; outputs without and with inputs; indicators; what happens
Answer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))


@dataclass(frozen=True)
class Described:
    """A function: whether it takes inputs, and the value references it gives (none: rates)."""

    inputs: bool
    references: tuple[int, ...]
    results: int


class Functions(Placed):
    """The functions of one instance; `answers` are callbacks for native code, where that cannot call the FMU itself."""

    answers: Mapping[int, Any] = MappingProxyType({})

    def __init__(self, instance: Instance, still: Sequence[Variable], through: Sequence[Variable]) -> None:
        super().__init__("fmu")
        self.instance, told = instance, instance.told
        self.states, self.inputs = len(told.states), tuple(v.reference for v in told.inputs)
        self.lock = (ctypes.c_int64 * 1)()  # for native code: an instance answers one at a time
        self.described = {
            RATES: Described(True, (), self.states),
            STILL: Described(False, tuple(v.reference for v in still), len(still)),
            THROUGH: Described(True, tuple(v.reference for v in through), len(through)),
        }
        self.epochs: Epochs | None = None
        if told.indicators or instance.next_event < NEVER:
            self.epochs = self._make_epochs()
            self.described[GUARDS] = Described(True, (), told.indicators)
            self.described[EVENT] = Described(True, (), self.epochs.size)
        self.asked = Answer(self._restore), Answer(self._event)  # for native code: another epoch, an event
        self.native = {n: _Native(self, n) for n, known in self.described.items() if known.results}

    def _make_epochs(self) -> Epochs:
        return Epochs(self.instance, self.inputs)

    def makers(self) -> Mapping[int, Callable[[], ca.Function]]:
        return {number: lambda native=native: native for number, native in self.native.items()}

    def arguments(self, number: int) -> int:
        """How many numbers a function takes: time, states, perhaps inputs, perhaps the epoch."""
        inputs = len(self.inputs) if self.described[number].inputs else 0
        return 1 + self.states + inputs + (self.epochs is not None)

    def _restore(self, given: Any, _: Any) -> int:
        assert self.epochs is not None
        try:
            self.epochs.restore(given[0])
        except Exception:
            return 3
        return 0

    def _event(self, given: Any, taken: Any) -> int:
        assert self.epochs is not None
        try:
            answer = self.epochs.event(np.array(given[: self.arguments(EVENT)]))
        except Exception:
            return 3
        for k, value in enumerate(answer.tolist()):
            taken[k] = value
        return 0

    def call(self, number: int, column: ca.SX) -> ca.SX:
        """What a function gives for a column of expressions."""
        return self.native[number](column)

    def evaluate(self, number: int, column: np.ndarray) -> np.ndarray:
        """The same for numbers, through FMPy."""
        described, instance = self.described[number], self.instance
        fmu = instance._fmu
        if number == EVENT and self.epochs is not None:
            return self.epochs.event(column)
        if self.epochs is not None:
            self.epochs.restore(float(column[-1]))
            column = column[:-1]
        state = (ctypes.c_double * max(self.states, 1))(*column[1 : 1 + self.states])
        try:
            fmu.setTime(float(column[0]))
            if self.states:
                fmu.setContinuousStates(state, self.states)
            if described.inputs and self.inputs:
                instance.write(self.inputs, column[1 + self.states :].tolist())
            if number == GUARDS and self.epochs is not None:
                return self.epochs.guards()
            if number != RATES:
                return instance.read(described.references)
            rates = (ctypes.c_double * max(self.states, 1))()
            get = fmu.getDerivatives if instance.told.version == 2 else fmu.getContinuousStateDerivatives
            get(rates, self.states)
            return np.array(rates[: self.states])
        except RunError:
            raise
        except Exception as error:
            raise RunError(f"the FMU failed: {error}", path=instance.told.path) from error


class _Native(Callback):
    """A function of an FMU for CasADi."""

    def __init__(self, owner: Functions, number: int) -> None:
        name, results = f"{owner.stem}_{number}", owner.described[number].results
        CLOSED.add(name)
        super().__init__(name, owner.arguments(number), results, {"enable_fd": True})
        self._owner, self._number = weakref.ref(owner), number

    def eval(self, arguments: Any) -> list[Any]:
        owner = self._owner()
        assert owner is not None
        try:
            return [ca.DM(owner.evaluate(self._number, np.array(arguments[0], dtype=float).ravel()))]
        except RunError:  # as in native code: what fails is not a number, which ends the step
            return [ca.DM(np.full(self._sizes[1], np.nan))]


def find(name: str) -> tuple[Functions, int] | None:
    """Whose function a name is, and its number there; None for any other function."""
    found = find_placed(name)
    return (found[0], found[1]) if found is not None and isinstance(found[0], Functions) else None
