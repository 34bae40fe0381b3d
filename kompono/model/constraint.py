"""Constraints: conditions g = 0 without coordinates of their own; Jacobians and velocity terms are derived."""

from __future__ import annotations

from typing import Any

from kompono.errors import ModelError
from kompono.given import shown
from kompono.model.body import Frame
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose


class Constraint(Element):
    """A condition on the pose of a second frame relative to a first; may use `time` and parameters."""

    def __init__(self, first: Frame, second: Frame) -> None:
        if not isinstance(first, Frame) or not isinstance(second, Frame):
            raise ModelError(f"{type(self).__name__} connects two frames.", fix="Use body or body.at(x, y, z).")
        self.first, self.second = first, second

    def conditions(self, pose: Pose) -> list[Any]:
        """Groups of like conditions (columns of SX), zero when the constraint holds."""
        raise ModelError(f"{type(self).__name__} does not define conditions(pose).")


class Coupling(Element):
    """A condition on joint coordinates and time: gears, drives, cams. Write it with `joint.angle`, `time`, ..."""

    def __init__(self, *joints: Joint) -> None:
        for joint in joints:
            if not isinstance(joint, Joint):
                raise ModelError(f"{shown(joint)} is not a joint.", fix="Give the joints whose coordinates are meant.")
        self.joints = joints

    def conditions(self) -> list[Any]:
        """Groups of like conditions (columns of SX in the joints' coordinate symbols and `time`)."""
        raise ModelError(f"{type(self).__name__} does not define conditions().")
