"""Sensors: what a point of a body does, as channels and as symbols for force laws and outputs."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import shown
from kompono.model.body import Frame
from kompono.model.element import Element
from kompono.model.symbol import Symbol

SENSED = {  # kinds of values: names of the components, unit
    "position": (("x", "y", "z"), "m"),
    "orientation": (("e0", "e1", "e2", "e3"), ""),
    "velocity": (("x", "y", "z"), "m/s"),
    "angular_velocity": (("x", "y", "z"), "rad/s"),
    "acceleration": (("x", "y", "z"), "m/s^2"),
    "angular_acceleration": (("x", "y", "z"), "rad/s^2"),
}


class Sensor(Element):
    """Measures the motion of a frame: `self.probe = Sensor(self.wheel.at(0.3, 0, 0))` gives `probe.position.x`, ...

    Without `base` it is the motion in the world; with one, that seen by an observer who moves and turns with the base.
    Components are in the axes of the base (or world), or in those of the frame `axes`: `axes=self.wheel` is how an
    accelerometer fixed on the wheel feels. Position [m], orientation (quaternion), velocity [m/s] and angular velocity
    [rad/s] may be used in any force law, accelerations [m/s^2, rad/s^2] in outputs.
    """

    def __init__(self, frame: Frame, *, base: Frame | None = None, axes: Frame | None = None) -> None:
        for given in (frame, *(other for other in (base, axes) if other is not None)):
            if not isinstance(given, Frame):
                raise ModelError(
                    f"a sensor sits on a frame, not on {shown(given)}.", fix="Use body or body.at(x, y, z)."
                )
        self.frame, self.base, self.axes = frame, base, axes
        self._signals: dict[str, ca.SX] = {}

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames it looks at."""
        return tuple(frame for frame in (self.frame, self.base, self.axes) if frame is not None)

    def _built_on(self) -> tuple[Element, ...]:
        return tuple(frame.body for frame in self.frames)

    def _signal(self, kind: str) -> Any:
        if kind not in self._signals:
            self._signals[kind] = Symbol.column(kind, len(SENSED[kind][0]))
        return self._signals[kind]

    @property
    def position(self) -> ca.SX:
        """Position [m], three symbols."""
        return self._signal("position")

    @property
    def orientation(self) -> ca.SX:
        """Unit quaternion (scalar first) that turns the axes seen from into those of the frame, four symbols."""
        return self._signal("orientation")

    @property
    def velocity(self) -> ca.SX:
        """Velocity [m/s], three symbols."""
        return self._signal("velocity")

    @property
    def angular_velocity(self) -> ca.SX:
        """Angular velocity [rad/s], three symbols."""
        return self._signal("angular_velocity")

    @property
    def acceleration(self) -> ca.SX:
        """Acceleration [m/s^2], three symbols; for outputs and events only."""
        return self._signal("acceleration")

    @property
    def angular_acceleration(self) -> ca.SX:
        """Angular acceleration [rad/s^2], three symbols; for outputs and events only."""
        return self._signal("angular_acceleration")
