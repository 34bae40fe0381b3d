"""Shafts and rods of one dimension, as networks: inertias, elastic couplings, gear trains, and joints they drive.

Across is a speed, through a torque or force. A network that ends at a joint drives it and is driven by it. What would
sit on the joint rigidly (an inertia, maybe behind a gear train) is refused by name; `Rotor` puts that on the joint.
"""

from __future__ import annotations

from typing import Any

from kompono.errors import ModelError
from kompono.given import scalar
from kompono.library.constraints import chosen, speed_names
from kompono.library.forces import JointEffort
from kompono.library.pairs import OnePin, TwoPins, source
from kompono.model.joint import Joint
from kompono.model.pin import Pin, Rotational, Translational
from kompono.model.state import State
from kompono.model.subsystem import Subsystem

_KINDS: dict[str, type[Pin]] = {"rad/s": Rotational, "m/s": Translational}


class Shaft(Subsystem):
    """The end of a network at a joint: `flange` has the speed of its coordinate, and what goes through drives it.

    The flange is `Rotational` for angles and `Translational` for displacements.
    """

    def __init__(self, joint: Joint, *, coordinate: str | None = None) -> None:
        place = chosen(joint, speed_names(joint), coordinate)
        unit = joint.units_of_speeds()[place]
        if unit not in _KINDS:
            message = f"the coordinate of {joint.label} neither turns nor slides."
            raise ModelError(message, fix="Name another coordinate.")
        self.flange = _KINDS[unit]()
        self.expose(self.flange)
        self.require(self.flange.across - joint.v[place])
        self.drive = JointEffort(joint, self.flange.through, coordinate=coordinate)


class Housing(OnePin):
    """What does not turn."""

    kind = Rotational

    def __init__(self) -> None:
        super().__init__()
        self.require(self.pin.speed)


class Inertia(OnePin):
    """An `inertia` [kg m^2] on a shaft; its `speed` [rad/s] is a state and starts as given."""

    kind = Rotational

    def __init__(self, inertia: Any, *, speed: float = 0.0) -> None:
        super().__init__()
        self.speed = State(speed, unit="rad/s")
        self.speed.rate = self.pin.torque / scalar(inertia, "the inertia", positive=True)
        self.require(self.pin.speed - self.speed)


class Torsion(TwoPins):
    """An elastic shaft of `stiffness` [N m/rad] and `damping` [N m s/rad]; its `twist` [rad] is a state."""

    kind = Rotational

    def __init__(self, stiffness: Any, damping: Any = 0.0, *, twist: float = 0.0) -> None:
        super().__init__()
        self.twist = State(twist, unit="rad")
        self.twist.rate = self.drop
        carried = scalar(stiffness, "the stiffness") * self.twist + scalar(damping, "the damping") * self.drop
        self.require(self.flow - carried)


class Drag(TwoPins):
    """Resists the difference of two speeds by `damping` [N m s/rad] times it."""

    kind = Rotational

    def __init__(self, damping: Any) -> None:
        super().__init__()
        self.require(self.flow - scalar(damping, "the damping") * self.drop)


class GearTrain(Subsystem):
    """An ideal gearbox: `fast` turns `ratio` times as fast as `slow`."""

    def __init__(self, ratio: Any) -> None:
        self.fast, self.slow = Rotational(), Rotational()
        self.expose(self.fast, self.slow)
        given = scalar(ratio, "the ratio")
        self.require(self.fast.speed - given * self.slow.speed)
        self.require(self.slow.torque + given * self.fast.torque)


class RackAndPinion(Subsystem):
    """A pinion of some `radius` [m] on a `shaft` that moves a `rack`."""

    def __init__(self, radius: Any) -> None:
        self.shaft, self.rack = Rotational(), Translational()
        self.expose(self.shaft, self.rack)
        given = scalar(radius, "the radius")
        self.require(self.rack.speed - given * self.shaft.speed)
        self.require(self.shaft.torque + given * self.rack.force)


class TorqueSource(OnePin):
    """A `torque` [N m] on what is connected: a number, an expression, or left out: an input of that name."""

    kind = Rotational

    def __init__(self, torque: Any = None) -> None:
        super().__init__()
        self.torque = source(torque, "the torque", "N m")
        self.require(self.pin.torque + self.torque)
