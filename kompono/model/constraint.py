"""Constraints: conditions g = 0 without coordinates of their own; Jacobians and velocity terms are derived."""

from __future__ import annotations

from typing import Any

from kompono.errors import ModelError
from kompono.given import shown
from kompono.model.body import Frame, check_frames
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.reading import Reading, force_reading, torque_reading
from kompono.spatial.pose import Motion, Pose


class Constraint(Element):
    """A condition on the pose of a second frame relative to a first; may use `time` and parameters."""

    force, torque = force_reading(), torque_reading()

    def __init__(self, first: Frame, second: Frame) -> None:
        check_frames(self, first, second)
        self.first, self.second = first, second

    def _built_on(self) -> tuple[Element, ...]:
        return self.first.body, self.second.body

    def conditions(self, pose: Pose) -> list[Any]:
        """Groups of like conditions (columns of SX), zero when the constraint holds."""
        raise ModelError(f"{type(self).__name__} does not define conditions(pose).", fix="Write that method.")

    def holds(self, pose: Pose) -> Any:
        """A column that is positive where the constraint holds as it is meant; None: the conditions say it all.

        Conditions of directions vanish half a turn off as well; assembly takes no such position.
        """
        return None

    def velocity_conditions(self, motion: Motion) -> list[Any]:
        """Groups of further conditions, linear in velocity and angular velocity of the relative motion: an edge that
        slides along itself only.
        """
        return []


class Coupling(Element):
    """A condition on joint coordinates and time: gears, drives, cams. Write it with `joint.angle`, `time`, ...

    `units` are those of the conditions, "rad" or "m", where they have one: then the effort has a unit as well.
    """

    units: tuple[str, ...] = ()
    effort: Any = Reading(1, "Generalized force along the (first) condition: [N m] along an angle, [N] along a length")

    def __init__(self, *joints: Joint) -> None:
        for joint in joints:
            if not isinstance(joint, Joint):
                raise ModelError(f"{shown(joint)} is not a joint.", fix="Give the joints whose coordinates are meant.")
        self.joints = joints

    def _built_on(self) -> tuple[Element, ...]:
        return self.joints

    def conditions(self) -> list[Any]:
        """Groups of like conditions (columns of SX in the joints' coordinate symbols and `time`)."""
        raise ModelError(f"{type(self).__name__} does not define conditions().", fix="Write that method.")

    def velocity_conditions(self) -> list[Any]:
        """Groups of further conditions, linear in the joints' speed symbols."""
        return []
