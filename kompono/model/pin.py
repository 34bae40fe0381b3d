"""Pins: where components of a network meet. Each has an *across* and a *through* variable.

Pins that are connected have the same across variable, and what flows into their components through all of them adds up
to zero (Kirchhoff). A component says what it is by one equation for each of its pins, `self.require(residual)`. A pin
without an equation of its own component is a terminal: a name under which an owner shows a node of its inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kompono.errors import ModelError
from kompono.given import shown
from kompono.model.connection import joins
from kompono.model.element import Element
from kompono.model.symbol import Symbol

if TYPE_CHECKING:
    from kompono.model.subsystem import Subsystem

_FIX = "Connect pins of one kind: self.connect(self.battery.p, self.motor.p)."


class Pin(Element):
    """A place where components of a network meet; `across` and `through` are symbols for any expression.

    What goes through counts into the component the pin belongs to, and across times through is the power that goes
    into it (but for heat, which is a power itself).
    """

    across_name: ClassVar[str] = ""
    across_unit: ClassVar[str] = ""
    through_name: ClassVar[str] = ""
    through_unit: ClassVar[str] = ""

    def __init__(self) -> None:
        if not self.across_name:
            raise ModelError("a pin is of some kind.", fix="Use Electrical(), Rotational(), Hydraulic(), ...")
        self._signals = {self.across_name: Symbol.column("across"), self.through_name: Symbol.column("through")}

    @property
    def across(self) -> Any:
        """The variable that connected pins share."""
        return self._signals[self.across_name]

    @property
    def through(self) -> Any:
        """What flows into the component."""
        return self._signals[self.through_name]

    def __getattr__(self, name: str) -> Any:
        """The two variables by name: `pin.v` and `pin.i`, `pin.speed` and `pin.torque`, ..."""
        signals = self.__dict__.get("_signals", {})
        if name in signals:
            return signals[name]
        known = f"; it has {' and '.join(signals)}" if signals and not name.startswith("_") else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{known}")


class Electrical(Pin):
    """Voltage `v` [V] and current `i` [A]."""

    across_name, across_unit = "v", "V"
    through_name, through_unit = "i", "A"


class Rotational(Pin):
    """Angular speed `speed` [rad/s] and `torque` [N m] of a shaft."""

    across_name, across_unit = "speed", "rad/s"
    through_name, through_unit = "torque", "N m"


class Translational(Pin):
    """`speed` [m/s] and `force` [N] of a rod."""

    across_name, across_unit = "speed", "m/s"
    through_name, through_unit = "force", "N"


class Hydraulic(Pin):
    """`pressure` [Pa] and `flow` [m^3/s]."""

    across_name, across_unit = "pressure", "Pa"
    through_name, through_unit = "flow", "m^3/s"


class Thermal(Pin):
    """`temperature` [K] and `heat` [W]."""

    across_name, across_unit = "temperature", "K"
    through_name, through_unit = "heat", "W"


@joins(Pin)
def _join(owner: Subsystem, ends: Sequence[Any]) -> None:
    """Let pins of one kind meet."""
    kind = next(type(end) for end in ends if isinstance(end, Pin))
    for end in ends:
        if not isinstance(end, Pin):
            raise ModelError(f"{shown(end)} is no pin, and cannot be connected with one.", path=owner.label, fix=_FIX)
        if (end.across_name, end.through_name, end.across_unit) != (
            kind.across_name,
            kind.through_name,
            kind.across_unit,
        ):
            message = f"{end.label} is {type(end).__name__}, and cannot be connected with what is {kind.__name__}."
            raise ModelError(message, path=owner.label, fix=_FIX)
        if not owner.contains(end):
            fix = "Connect in the component that owns both; assign them to self first."
            raise ModelError(f"it is no pin of {owner.label} or of its parts.", path=end.label, fix=fix)
    owner._junctions.append(tuple(ends))
