"""States of one's own: numbers that change at a rate, beside coordinates and speeds (currents, pressures, temperatures,
filters, integrators).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, scalar, text
from kompono.model.element import Element
from kompono.model.symbol import Symbol

_NEEDED = "Write e.g. self.current.rate = (self.voltage - R * self.current) / L."


class State(Element, Symbol):
    """A continuous state: `self.current = State(0.0, unit="A")`, then `self.current.rate = expression` [A/s].

    The rate may use whatever a force may: time, coordinates, motion, inputs, parameters, modes, other states; and
    results: accelerations, forces, reactions. The state itself may stand in any expression but conditions of joints and
    constraints. Channels are `current` and `current.rate`; a run starts at `start`, or at what `initial=` says.
    """

    def __init__(self, start: float = 0.0, *, unit: str = "") -> None:
        ca.SX.__init__(self, ca.SX.sym("state"))
        self.start = number(start, "the start", finite=False, fix="Give a number, e.g. State(0.0).")
        self.unit = text(unit, "the unit", fix='Use a text, e.g. unit="A".')
        self._rate: ca.SX | None = None

    @property
    def rate(self) -> ca.SX:
        """How fast it changes [unit/s]."""
        if self._rate is None:
            raise ModelError("the state has no rate yet.", path=self.label, fix=_NEEDED)
        return self._rate

    @rate.setter
    def rate(self, value: Any) -> None:
        self._rate = ca.SX(scalar(value, "the rate", self.label))

    @property
    def rate_unit(self) -> str:
        """Unit of the rate."""
        return f"{self.unit}/s" if self.unit else "1/s"

    def _word(self) -> str:
        return f"the state {self.label}"

    def _vain(self) -> Mapping[str, str]:
        return {"next": "A state has a .rate; what is sampled is a Mode(0.0, every=1e-3)."}

    def _instead(self, path: str) -> str:
        return "A state changes by its rate: set .rate; to start elsewhere set .start."

    def _check(self, where: str) -> None:
        number(self.start, "the state's start", where, fix="Give a number.")


def check_states(states: Any, path: Any) -> None:
    """Raise ModelError for a state without a rate."""
    for state in states:
        if state._rate is None:
            raise ModelError("the state has no rate.", path=path(state), fix=_NEEDED)
