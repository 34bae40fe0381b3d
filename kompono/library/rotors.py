"""Rotors behind gearboxes: inertia on a joint coordinate."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown
from kompono.library.constraints import chosen
from kompono.library.gears import Gear
from kompono.library.joints import Revolute
from kompono.model.body import Body, Ground
from kompono.model.joint import Joint
from kompono.model.lumped import Lump, Lumped

GYRATION = 0.1  # m, radius of the disc that stands for it; its mass is carried by a bearing of its own


class Rotor(Lumped):
    """A rotor of `inertia` [kg m^2] that turns `ratio` times as fast as a coordinate of a joint moves: the motor behind
    a gearbox, or an armature. The coordinate has the inertia `ratio**2 * inertia` in addition.

    `ratio` is in rad per unit of the coordinate (so rad/m on a slide); a joint with several freedoms needs
    `coordinate=`. `bearing.angle` is the angle of the rotor. It turns on a bearing of its own that does not move with
    the joint: the gyroscopic moment of a fast rotor on a moving carrier, and its mass, are left out. Who needs these
    uses a `Body` on a joint and a `Gear`. In joint coordinates it costs no body and no condition, unless its joint
    closes a loop or others use its disc or bearing.
    """

    def __init__(self, joint: Joint, *, inertia: Any, ratio: Any = 1.0, coordinate: str | None = None) -> None:
        if not isinstance(joint, Joint):
            raise ModelError(f"{shown(joint)} is not a joint.", fix="Give the joint whose coordinate it turns with.")
        chosen(joint, joint.coordinates, coordinate)
        size, ratio = scalar(inertia, "the inertia"), scalar(ratio, "the ratio")
        if not isinstance(size, ca.SX) and size <= 0:
            raise ModelError(f"the inertia {shown(inertia)} is not positive.", fix="Give it in kg m^2.")
        self.bed = Ground()
        self.disc = Body(mass=size / GYRATION**2, inertia=(size, size, size), shape=())
        self.bearing = Revolute(self.bed, self.disc, axis="z", **_start(joint, ratio, coordinate))
        self.gear = Gear(joint, self.bearing, ratio=ratio, first_coordinate=coordinate)
        place = joint.coordinates.index(coordinate) if coordinate else 0
        self._lump = Lump(joint, place, ratio * ratio * size, ratio, self.bearing)


def _start(joint: Joint, ratio: Any, coordinate: str | None) -> dict[str, float]:
    """Where the rotor is when the joint is where it was told to start."""
    name = coordinate or (joint.coordinates[0] if len(joint.coordinates) == 1 else "")
    if isinstance(ratio, ca.SX):
        return {}
    found = {"angle": joint.start.get(name), "angle_rate": joint.start.get(f"{name}_rate")}
    return {key: ratio * value for key, value in found.items() if value is not None}
