"""What is read off forces, joints, constraints and laws after a solution: symbols for outputs and events, which nothing
that moves the machine may use.
"""

from __future__ import annotations

from typing import Any

from kompono.model.symbol import Symbol


class Reading:
    """An attribute that gives symbols of a result of its element: `self.pin.force` (3), in world axes, for outputs,
    guards and new values of modes.

    An attribute of the same name that an element sets itself comes first.
    """

    def __init__(self, size: int, meaning: str, name: str = "") -> None:
        self.size, self.name = size, name
        self.__doc__ = f"{meaning}; for outputs and events only."

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, element: Any, owner: type | None = None) -> Any:
        if element is None:
            return self
        symbols = vars(element).setdefault("_signals", {})
        if self.name not in symbols:
            symbols[self.name] = Symbol.column(self.name, self.count(element))
        return symbols[self.name]

    def count(self, element: Any) -> int:
        """How many symbols it is."""
        return self.size


def force_reading() -> Any:
    """A force on the second body."""
    return Reading(3, "Force [N] on the second body, world axes, three symbols")


def torque_reading() -> Any:
    """A torque on the second body."""
    return Reading(3, "Torque [N m] on the second body about the second frame's origin, world axes, three symbols")


def effort_unit(unit: str) -> str:
    """The unit of what acts along a coordinate of some unit, or a speed of that unit per second."""
    return {"rad": "N m", "m": "N", "rad/s": "N m", "m/s": "N"}.get(unit, "")
