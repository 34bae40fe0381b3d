"""Events of an FMU in model exchange: its discrete state by number, so that its functions stay functions.

What an FMU computes depends on what happened in it before. Here that is a number, the *epoch*, which is a mode of the
component: each event gives a new one, and the state of the FMU behind it is kept. Whoever asks with another epoch (a
run that begins anew, another member of an ensemble, a step that is tried again) gets the answer of that epoch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from kompono.errors import ModelError, RunError
from kompono.foreign.instance import NEVER, Instance

KEPT = 512  # epochs whose states are kept; the first always is
_FIRST = 0.0


class Epochs:
    """The discrete states of an instance, one for each epoch."""

    def __init__(self, instance: Instance, inputs: Sequence[int]) -> None:
        self.instance, self._inputs, self._fmu = instance, list(inputs), instance._fmu
        self._states, self._indicators = len(instance.told.states), instance.told.indicators
        self.current = (ctypes.c_double * 1)(_FIRST)  # where native code looks
        self._last, self._answer = b"", np.zeros(0)
        self._kept: dict[float, Any] = {}
        self._count = 0
        try:
            self._kept[_FIRST] = self._fmu.getFMUState()
        except Exception as error:
            raise ModelError(
                "it has events and its state cannot be taken, so model exchange cannot follow it.",
                path=instance.told.path, fix="Use kind='cs' with every=..., if it has co-simulation.",
            ) from error  # fmt: skip
        self.first_sides = self._sides()

    @property
    def size(self) -> int:
        """How many numbers an event gives: epoch, time of the next, sides of the indicators, states."""
        return 2 + self._indicators + self._states

    def restore(self, epoch: float) -> None:
        """Be in an epoch."""
        if epoch == self.current[0]:
            return
        if epoch not in self._kept:
            raise RunError(f"the FMU has forgotten what it was {KEPT} events ago.", path=self.instance.told.path)
        self._fmu.setFMUState(self._kept[epoch])
        self.current[0] = epoch

    def guards(self) -> np.ndarray:
        """Its event indicators now."""
        values = (ctypes.c_double * max(self._indicators, 1))()
        if self._indicators:
            self._fmu.getEventIndicators(values, self._indicators)
        return np.array(values[: self._indicators])

    def _sides(self) -> list[float]:
        return [1.0 if value > 0 else -1.0 for value in self.guards()]

    def event(self, column: np.ndarray) -> np.ndarray:
        """An event at (time, states, inputs, epoch); asked twice in a row, it gives the same."""
        key = column.tobytes()
        if key != self._last:
            self._answer, self._last = self._happen(column), key
        return self._answer

    def _happen(self, column: np.ndarray) -> np.ndarray:
        count, fmu = self._states, self._fmu
        self.restore(float(column[-1]))
        fmu.setTime(float(column[0]))
        state = (ctypes.c_double * max(count, 1))(*column[1 : 1 + count])
        if count:
            fmu.setContinuousStates(state, count)
        if self._inputs:
            self.instance.write(self._inputs, column[1 + count : -1].tolist())
        fmu.enterEventMode()
        following = self.instance.settle()
        if count:
            fmu.getContinuousStates(state, count)
        fmu.enterContinuousTimeMode()
        self._count += 1
        self.current[0] = epoch = float(self._count)
        self._kept[epoch] = fmu.getFMUState()
        self._forget()
        ahead = following if following > column[0] else NEVER
        return np.array([epoch, ahead, *self._sides(), *state[:count]])

    def _forget(self) -> None:
        while len(self._kept) > KEPT:
            oldest = min(epoch for epoch in self._kept if epoch != _FIRST)
            self._fmu.freeFMUState(self._kept.pop(oldest))
