"""Constraints: conditions g = 0 without coordinates of their own; Jacobians and velocity terms are derived."""

from __future__ import annotations

from typing import Any

from kompono.errors import ModelError
from kompono.model.body import Frame
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose


class Constraint(Element, abstract=True):
    """A condition on the pose of a second frame relative to a first; may use `time` and parameters."""

    def __init__(self, first: Frame, second: Frame) -> None:
        if not isinstance(first, Frame) or not isinstance(second, Frame):
            raise ModelError(f"{type(self).__name__} connects two frames.", fix="Use body or body.at(x, y, z).")
        self.first, self.second = first, second

    def _built_on(self) -> tuple[Element, ...]:
        return self.first.body, self.second.body

    def conditions(self, pose: Pose) -> list[Any]:
        """Groups of like conditions (columns of SX), zero when the constraint holds."""
        raise ModelError(f"{type(self).__name__} does not define conditions(pose).")


class Coupling(Element, abstract=True):
    """A condition on joint coordinates and time: gears, drives, cams. Write it with `joint.angle`, `time`, ..."""

    def __init__(self, *joints: Joint) -> None:
        self.joints = joints

    def _built_on(self) -> tuple[Element, ...]:
        return self.joints

    def conditions(self) -> list[Any]:
        """Groups of like conditions (columns of SX in the joints' coordinate symbols and `time`)."""
        raise ModelError(f"{type(self).__name__} does not define conditions().")
