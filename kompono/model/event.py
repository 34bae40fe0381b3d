"""Events and modes: discrete states that change when an expression crosses zero (latches, counters, variable
structure), or at equal intervals (sampled control).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, scalar, shown, text
from kompono.model.element import Element
from kompono.model.state import State
from kompono.model.symbol import Symbol

_DOES = "Give new values, {self.stage: 1}, or stop=True."


class Mode(Element, Symbol):
    """A discrete state: a number that is constant between events and may appear in any expression.

    `self.stage = Mode(0)`; a condition multiplied by a mode is switched on and off with it.

    `self.u = Mode(0.0, every=1e-3)` is sampled: at `offset`, `offset + every`, ... [s] it becomes what
    `self.u.next = expression` says. All that are due at an instant follow from the values before it; `other.next` in an
    expression is what the other becomes at that instant (between its instants, what it is). The expression may use
    results.
    """

    def __init__(self, start: float = 0.0, *, every: float | None = None, offset: float = 0.0, unit: str = "") -> None:
        ca.SX.__init__(self, ca.SX.sym("mode"))
        self.start = number(start, "the start", finite=False, truth=True, fix="Give a number, e.g. Mode(0).")
        self.every = None if every is None else number(every, "every [s]", positive=True, fix="Use e.g. every=1e-3.")
        self.offset = number(offset, "the offset [s]", fix="Use e.g. offset=0.0.")
        self.unit = text(unit, "the unit", fix='Use a text, e.g. unit="V".')
        self._next: Next | None = None
        self._becomes: ca.SX | None = None
        if self.offset < 0 or (every is None and self.offset):
            why = "the offset is negative" if self.offset < 0 else "an offset needs a period"
            raise ModelError(f"{why}.", fix="Use e.g. Mode(0.0, every=1e-3, offset=5e-4).")

    @property
    def next(self) -> ca.SX:
        """What it becomes when it is sampled."""
        if self._next is None:
            self._next = Next(self)
        return self._next

    @next.setter
    def next(self, value: Any) -> None:
        if self.every is None:
            raise ModelError(
                "it is not sampled, so it has no next value.", path=self.label,
                fix="Say how often, Mode(0.0, every=1e-3), or change it by an Event.",
            )  # fmt: skip
        self._becomes = ca.SX(scalar(value, "the next value", self.label, truth=True))

    def _word(self) -> str:
        return f"the mode {self.label}"

    def _vain(self) -> Mapping[str, str]:
        return {"rate": "A mode changes at events and samples; what has a rate is a State."}

    def _instead(self, path: str) -> str:
        if self.every is not None:
            return "A sampled mode becomes what its .next says; to start elsewhere set .start."
        return "A mode is changed by an Event; to start elsewhere set .start."

    def _check(self, where: str) -> None:
        if not math.isfinite(self.start):
            raise ModelError(f"the mode starts at {self.start!r}.", path=where, fix="Give a finite number.")


class Next(Element, Symbol):
    """What a mode becomes, as a symbol; it belongs to the mode."""

    def __init__(self, mode: Mode) -> None:
        ca.SX.__init__(self, ca.SX.sym("next"))
        self.mode = mode
        self._owner, self._name = mode, "next"  # type: ignore[assignment]

    def _word(self) -> str:
        return f"the next value of the mode {self.mode.label}"


def check_samples(modes: Iterable[Mode], path: Callable[[Element], str]) -> None:
    """Raise ModelError for a sampled mode that becomes nothing."""
    for mode in modes:
        if mode.every is not None and mode._becomes is None:
            fix = "Write e.g. self.u.next = 2.0 * self.error, or leave every= out."
            raise ModelError("the sampled mode has no next value.", path=path(mode), fix=fix)


class Event(Element):
    """When `guard` goes from <= 0 to > 0, modes, and states of one's own, get new values: `Event(speed - limit,
    {self.stage: 1})`.

    The instant is located to 1e-12 s. Guard and new values may be expressions of time, coordinates, motion, inputs,
    modes and results (loads, accelerations, what laws do) as they are at the event. An event is armed when its guard
    was seen <= 0, at the start and again after it happened. With `stop=True` the run ends there, as planned; such an
    event need not change anything.
    """

    def __init__(self, guard: Any, changes: Mapping[Mode | State, Any] | None = None, *, stop: bool = False) -> None:
        if not isinstance(stop, bool):
            raise ModelError(f"stop is {shown(stop)}.", fix="Use stop=True to end a run there.")
        if changes is None and not stop:
            raise ModelError("the event does nothing.", fix=_DOES)
        changes, self.stop = {} if changes is None else changes, stop
        if not isinstance(changes, Mapping) or not all(isinstance(mode, Mode | State) for mode in changes):
            fix = "Use {self.stage: 1}. Modes and states of your own change there, coordinates and speeds do not."
            raise ModelError(f"the changes {shown(changes)} are no new values by mode.", fix=fix)
        self.guard, self.changes = guard, list(changes.items())

    def _check(self, where: str) -> None:
        if isinstance(self.guard, ca.SX) and not self.guard.is_scalar():
            raise ModelError("a guard is one scalar expression.", path=where, fix="Declare one Event per condition.")
        self.guard = ca.SX(scalar(self.guard, "the guard", where, truth=True))
        if self.guard.is_constant():
            fix = "Write it with time, coordinates or motion."
            raise ModelError("the guard is a constant; it never crosses zero.", path=where, fix=fix)
        if self.guard.op() in (ca.OP_EQ, ca.OP_NE):
            fix = "Write a difference, time - 0.5, which rises through zero; its negative for a value that falls."
            raise ModelError("the guard is an equality, which holds for an instant only.", path=where, fix=fix)
        if not (self.changes or self.stop or isinstance(self, Indicated)):
            raise ModelError("the event does nothing.", path=where, fix=_DOES)
        what, fix = "the new value of a mode", "Give a number or an expression, e.g. {self.stage: 1}."
        self.changes = [(mode, ca.SX(scalar(new, what, where, truth=True, fix=fix))) for mode, new in self.changes]


class Indicated(Event):
    """An event of which others know what it changes: inside a sealed part."""
