"""Working frames: where each body is computed, and where frames of others lie in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Carrier, Frame, MassProperties
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import twist_matrix
from kompono.translate.lengths import OpenPoses, is_number
from kompono.translate.structure.axes import ChosenAxes
from kompono.translate.structure.topology import Topology
from kompono.translate.structure.turned import exact, plain
from kompono.translate.symbolic import Matrix


class WorkingFrames:
    """Where the working frame of each carrier lies on it (constant): in its tree joint, with the axes of that, or those
    that were chosen. With `opened` what is traced has symbols in the place of these numbers.
    """

    def __init__(
        self,
        topology: Topology,
        given: Mapping[Carrier, Pose] | None = None,
        chosen: ChosenAxes | None = None,
        opened: OpenPoses | None = None,
    ) -> None:
        self.topology, self.given, self.axes, self.opened = topology, given, chosen, opened
        self._poses: dict[Carrier, Pose] = {topology.world: Pose.constant()}
        for link in topology.links:
            if link.joint is None:
                self._poses[link.carrier] = Pose.constant()
            else:
                frame = link.joint.first if link.reverse else link.joint.second
                self._poses[link.carrier] = frame.pose
        self._poses |= given or {}
        self._poses |= chosen.frames if chosen is not None else {}
        self._placed: dict[Frame, Pose] = {}
        self._located: dict[Frame, Pose] = {}
        self.inertias: dict[Carrier, list[tuple[MassProperties, Matrix]]] = {}  # of its solids (see `loads`)

    def of(self, carrier: Carrier) -> Pose:
        """Working frame in the body's own (centre of mass) frame."""
        return self._poses[carrier]

    def place(self, frame: Frame) -> Pose:
        """A frame of a body in that body's working frame, as numbers."""
        if frame not in self._placed:
            here = self.of(frame.body)
            place = here.inverse() @ frame.pose
            exactly = without_rounding(place, frame.pose.position, here.position) if self.axes is not None else place
            self._placed[frame] = exactly
        return self._placed[frame]

    def locate(self, frame: Frame) -> Pose:
        """The same as it is traced."""
        if self.opened is None:
            return self.place(frame)
        if frame not in self._located:
            self._located[frame] = self.opened.frame(frame, self.place(frame), self.of(frame.body))
        return self._located[frame]

    def declared(self, frame: Frame) -> Pose:
        """A frame of a body in that body's own frame, as it is traced."""
        return frame.pose if self.opened is None else self.opened.declared(frame)

    def seen_from(self, frame: Frame) -> Pose:
        """The body's working frame in a frame of it, as it is traced."""
        if self.opened is None or not self._apart(frame):
            return self.locate(frame).inverse()
        return self.opened.back(frame, self.place(frame), self.of(frame.body))

    def carried(self, frame: Frame) -> Matrix:
        """X (6, 6) with the twist of a frame from that of its body, as it is traced."""
        located = self.locate(frame)
        if self.opened is None or not self._apart(frame):
            return twist_matrix(located)
        turned = located.rotation.T
        upper = ca.horzcat(turned, self.opened.lever(frame, self.place(frame)))
        return ca.sparsify(ca.vertcat(upper, ca.horzcat(ca.SX(3, 3), turned)))

    def _apart(self, frame: Frame) -> bool:
        """Whether what follows from a place is a number of its own."""
        return self.topology.placed and is_number(self.place(frame))

    def traced(self, name: str, pose: Pose) -> Pose:
        """A pose that follows from where frames are, as it is traced."""
        return pose if self.opened is None else self.opened.pose(name, pose)

    def centre(self, carrier: Carrier) -> Pose:
        """The body's own (centre of mass) frame in its working frame."""
        return self.locate(carrier)


def without_rounding(pose: Pose, *made_of: Any) -> Pose:
    """A pose of numbers, its position `made_of` others, with what rounding made of zeros, ones and short numbers put
    right.
    """
    rotation, place = pose.rotation, pose.position
    if ca.SX(rotation).is_constant():
        rotation = ca.DM(exact(ca.DM(rotation).full()))
    if all(ca.SX(part).is_constant() for part in (place, *made_of)):
        size = max(float(np.abs(ca.DM(part).full()).max()) for part in (place, *made_of))
        place = ca.DM([plain(x, size) for x in ca.DM(place).full().ravel().tolist()])
    return Pose(place, rotation)
