"""Events and modes: discrete states that change when an expression crosses zero (latches, counters, variable
structure).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, scalar, shown
from kompono.model.element import Element
from kompono.model.state import State
from kompono.model.symbol import Symbol


class Mode(Element, Symbol):
    """A discrete state: a number that is constant between events and may appear in any expression.

    `self.stage = Mode(0)`; a condition multiplied by a mode is switched on and off with it.
    """

    def __init__(self, start: float = 0.0) -> None:
        ca.SX.__init__(self, ca.SX.sym("mode"))
        self.start = number(start, "the start", finite=False, truth=True, fix="Give a number, e.g. Mode(0).")

    def _word(self) -> str:
        return f"the mode {self.label}"

    def _instead(self, path: str) -> str:
        return "A mode is changed by an Event; to start elsewhere set .start."

    def _check(self, where: str) -> None:
        if not math.isfinite(self.start):
            raise ModelError(f"the mode starts at {self.start!r}.", path=where, fix="Give a finite number.")


class Event(Element):
    """When `guard` goes from <= 0 to > 0, modes, and states of one's own, get new values: `Event(speed - limit,
    {self.stage: 1})`.

    The instant is located to 1e-12 s. Guard and new values may be expressions of time, coordinates, motion, inputs,
    modes and results (loads, accelerations, what laws do) as they are at the event. An event is armed when its guard
    was seen <= 0, at the start and again after it happened.
    """

    def __init__(self, guard: Any, changes: Mapping[Mode | State, Any]) -> None:
        if not isinstance(changes, Mapping) or not all(isinstance(mode, Mode | State) for mode in changes):
            raise ModelError(f"the changes {shown(changes)} are no new values by mode.", fix="Use {self.stage: 1}.")
        self.guard, self.changes = guard, list(changes.items())

    def _check(self, where: str) -> None:
        if isinstance(self.guard, ca.SX) and not self.guard.is_scalar():
            raise ModelError("a guard is one scalar expression.", path=where, fix="Declare one Event per condition.")
        self.guard = ca.SX(scalar(self.guard, "the guard", where, truth=True))
        if self.guard.is_constant():
            fix = "Write it with time, coordinates or motion."
            raise ModelError("the guard is a constant; it never crosses zero.", path=where, fix=fix)
        what, fix = "the new value of a mode", "Give a number or an expression, e.g. {self.stage: 1}."
        self.changes = [(mode, ca.SX(scalar(new, what, where, truth=True, fix=fix))) for mode, new in self.changes]
