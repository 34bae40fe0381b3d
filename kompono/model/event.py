"""Events and modes: discrete states that change when an expression crosses zero (latches, counters, variable
structure).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.model.element import Element
from kompono.model.symbol import Symbol


class Mode(Element, Symbol):
    """A discrete state: a number that is constant between events and may appear in any expression.

    `self.stage = Mode(0)`; a condition multiplied by a mode is switched on and off with it.
    """

    def __init__(self, start: float = 0.0) -> None:
        ca.SX.__init__(self, ca.SX.sym("mode"))
        self.start = float(start)

    def _word(self) -> str:
        return f"the mode {self.label}"

    def _instead(self, path: str) -> str:
        return "A mode is changed by an Event; to start elsewhere set .start."

    def _check(self, where: str) -> None:
        if not math.isfinite(self.start):
            raise ModelError(f"the mode starts at {self.start!r}.", path=where, fix="Give a finite number.")


class Event(Element):
    """When `guard` goes from <= 0 to > 0, modes get new values: `Event(speed - limit, {self.stage: 1})`.

    The instant is located to 1e-12 s. New values may be expressions of time, coordinates, motion, inputs and modes as
    they are at the event. An event is armed again when its guard was seen <= 0.
    """

    def __init__(self, guard: Any, changes: Mapping[Mode, Any]) -> None:
        self.guard = ca.SX(guard)
        self.changes = [(mode, ca.SX(value)) for mode, value in changes.items()]

    def _check(self, where: str) -> None:
        if not self.guard.is_scalar():
            raise ModelError("a guard is one scalar expression.", path=where, fix="Declare one Event per condition.")
        if self.guard.is_constant():
            raise ModelError("the guard is a constant; it never crosses zero.", path=where)
        for mode, value in self.changes:
            if not isinstance(mode, Mode) or not value.is_scalar():
                raise ModelError("an event changes modes to scalar values.", path=where, fix="{self.stage: 1}")
