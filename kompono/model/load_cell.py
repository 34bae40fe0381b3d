"""Load cells: the load a joint, constraint, force or contact transmits, at any point and in any axes."""

from __future__ import annotations

from typing import Any, Literal

from kompono.errors import ModelError
from kompono.given import choice, shown
from kompono.model.body import Frame
from kompono.model.constraint import Constraint
from kompono.model.element import Element
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.law import PairLaw
from kompono.model.reading import force_reading, torque_reading

LOADED = (Joint, Constraint, Force, Effort, PairLaw)


class LoadCell(Element):
    """Measures what a joint, constraint, force, effort or law of a pair exerts: `LoadCell(self.pin, axes=self.arm)`
    gives `cell.force.x` [N], `cell.torque.x` [N m], ...

    It is the load on the second body, or with `on="first"` the opposite one on the first. Components are in the axes of
    the frame `axes` (default: world); the torque is about the origin of the frame `at` (default: the second frame).
    """

    force, torque = force_reading(), torque_reading()

    def __init__(
        self,
        element: Joint | Constraint | Force | Effort | PairLaw,
        *,
        axes: Frame | None = None,
        at: Frame | None = None,
        on: Literal["first", "second"] = "second",
    ) -> None:
        if not isinstance(element, LOADED):
            raise ModelError(
                f"a load cell measures a joint, constraint, force, effort or law of a pair, not {shown(element)}.",
                fix="Give one of these; gears and drives have the channel effort.",
            )
        for given in (axes, at):
            if given is not None and not isinstance(given, Frame):
                raise ModelError(f"{shown(given)} is not a frame.", fix="Use body or body.at(x, y, z).")
        choice(on, "on =", ("second", "first"))
        if on == "first" and isinstance(element, Force) and element.first is None:
            raise ModelError("this force acts on one frame only.", fix='Leave out on="first".')
        self.element, self.axes, self.at, self.on = element, axes, at, on

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames it refers to beyond those of its element."""
        return tuple(frame for frame in (self.axes, self.at) if frame is not None)

    @property
    def loaded(self) -> Frame:
        """The frame at whose origin the element's own load is given."""
        element: Any = self.element
        return element.joint.second if isinstance(element, Effort) else element.second
