"""Forces: between two frames, on a joint's coordinates, or a field on all bodies below a subsystem."""

from __future__ import annotations

from typing import Any, ClassVar

from kompono.errors import ModelError
from kompono.model.body import Frame, check_frames
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.reading import Reading, force_reading, torque_reading
from kompono.spatial.pose import Motion, Wrench


class Force(Element):
    """A load between two frames that depends on their relative motion, or, with one frame, on its motion in the world.

    `wrench(motion)` acts on the second (or only) frame at its origin, in the first frame's (or world) axes; the
    opposite acts on the first body at the same point, so momentum is conserved whatever the law.
    """

    force, torque = force_reading(), torque_reading()
    power: Any = Reading(1, "Power [W] the force gives to its two bodies together")
    length: Any = Reading(1, "Distance of the two origins [m]")
    length_rate: Any = Reading(1, "Rate of that distance [m/s]", name="length.rate")

    def __init__(self, first: Frame, second: Frame | None = None) -> None:
        check_frames(self, first, *([] if second is None else [second]), does="acts on frames")
        self.first: Frame | None = None if second is None else first
        self.second: Frame = first if second is None else second

    def _built_on(self) -> tuple[Element, ...]:
        return (self.second.body,) if self.first is None else (self.first.body, self.second.body)

    def wrench(self, motion: Motion) -> Wrench:
        """The load on the second frame."""
        raise ModelError(f"{type(self).__name__} does not define wrench(motion).", fix="Write that method.")

    def potential(self, motion: Motion) -> Any:
        """Potential energy [J], zero for what stores none."""
        return 0.0

    def readings(self, motion: Motion) -> dict[str, tuple[Any, str]]:
        """Channels of the law's own beyond force, torque, power and length: scalars and their units by name."""
        return {}


class Effort(Element):
    """A generalized force on the coordinates of one joint: a motor torque, a torsion spring, joint friction."""

    force, torque = force_reading(), torque_reading()
    power: Any = Reading(1, "Power [W] it gives to the two bodies of its joint together")

    def __init__(self, joint: Joint) -> None:
        if not isinstance(joint, Joint):
            raise ModelError(f"{type(self).__name__} acts on a joint.", fix="Give the joint first.")
        if not joint.freedoms:
            raise ModelError(f"{type(joint).__name__} leaves nothing to move.", fix="Name another joint.")
        self.joint = joint

    def _built_on(self) -> tuple[Element, ...]:
        return (self.joint,)

    def effort(self, q: Any, v: Any) -> Any:
        """Generalized force (nv) on the joint at coordinates q and speeds v: [N m] on angles, [N] on displacements."""
        raise ModelError(f"{type(self).__name__} does not define effort(q, v).", fix="Write that method.")

    def potential(self, q: Any) -> Any:
        """Potential energy [J], zero for what stores none."""
        return 0.0


class Field(Element):
    """An acceleration field that acts on every body of its owner and below, e.g. gravity.

    Fields add up. A class of which a second one on the same bodies is probably a mistake says `usually_one`.
    """

    usually_one: ClassVar[bool] = False

    def acceleration(self, position: Any) -> Any:
        """Acceleration (3) [m/s^2] of a free particle at a world position (3) [m]."""
        raise ModelError(f"{type(self).__name__} does not define acceleration(position).", fix="Write that method.")

    def potential(self, position: Any) -> Any:
        """Potential per mass [m^2/s^2] at a world position (3) [m]."""
        return 0.0
