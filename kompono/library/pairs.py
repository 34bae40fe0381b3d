"""What elements of networks have in common: two pins of one kind, one thing that goes through both."""

from __future__ import annotations

from typing import Any, ClassVar

from kompono.errors import ModelError
from kompono.given import scalar
from kompono.model.pin import Pin
from kompono.model.signal import Input
from kompono.model.subsystem import Subsystem


class TwoPins(Subsystem):
    """An element between pins `p` and `n` of some `kind`: what flows into one flows out of the other.

    `drop` is what is across, p minus n; `flow` is what goes through, from p to n. A new element adds one equation:
    `self.require(self.drop - resistance * self.flow)`.
    """

    kind: ClassVar[type[Pin]]

    def __init__(self) -> None:
        _check_kind(self)
        self.p, self.n = self.kind(), self.kind()
        self.expose(self.p, self.n)
        self.drop: Any = self.p.across - self.n.across
        self.flow: Any = self.p.through
        self.require(self.p.through + self.n.through)


class OnePin(Subsystem):
    """An element at one `pin` of some `kind`."""

    kind: ClassVar[type[Pin]]

    def __init__(self) -> None:
        _check_kind(self)
        self.pin = self.kind()
        self.expose(self.pin)


def _check_kind(element: TwoPins | OnePin) -> None:
    if not hasattr(type(element), "kind"):
        raise ModelError("it has no kind of pins.", fix="Say so in the class: kind = Electrical, Hydraulic, ...")


def source(value: Any, what: str, unit: str) -> Any:
    """A signal that an element follows: an input to be fed or set, with that value at first, or an expression."""
    if value is None:
        return Input(unit=unit)
    given = scalar(value, what)
    return Input(given, unit=unit) if isinstance(given, int | float) else given
