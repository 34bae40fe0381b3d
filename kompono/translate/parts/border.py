"""What crosses the border of a closed part, and how it is packed into columns.

Ports are frames. One of them may be the *base*, which moves as the owner's tree says; the others follow. With the
spatial acceleration a of the base and the wrenches tau on the others as unknowns of the border, condensing leaves

    [  w ]   [ I     C ] [ a   ]   [  p ]      w: wrench the owner must give at the base
    [ -b ] = [ C^T  -D ] [ tau ] + [ -r ]      b: accelerations of the other ports

all in the axes of the ports, accelerations less the uniform field. Without a base the first row and column are missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from kompono.model.body import Carrier, Frame
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist
from kompono.translate.motion.kinematics import Kinematics, Relative
from kompono.translate.symbolic import Vector

MOTION = 18  # position (3), rotation by columns (9), twist (6)
FIELDS = 9  # acceleration of the field around everything, of fields around the part, of those that store energy


@dataclass(frozen=True)
class Border:
    """The ports of a part that its owner uses; the base is the first of them if there is one."""

    ports: tuple[Frame, ...]
    based: bool

    @property
    def base(self) -> Frame | None:
        """The port whose motion is given."""
        return self.ports[0] if self.based else None

    @cached_property
    def frames(self) -> dict[Carrier, Pose]:
        """The working frame of the base: the port."""
        return {} if self.base is None else {self.base.body: self.base.pose}

    @property
    def others(self) -> tuple[Frame, ...]:
        """Ports that follow."""
        return self.ports[1:] if self.based else self.ports

    @property
    def size(self) -> int:
        """Unknowns of the border."""
        return 6 * len(self.ports)

    @property
    def answer(self) -> int:
        """Numbers of the upper triangle of the block, and of the vector."""
        return self.size * (self.size + 1) // 2 + self.size


def pack_motion(relative: Relative, port: Pose) -> Vector:
    """The motion of a port from that of the working frame it is fixed in."""
    pose = relative.pose @ port
    rotation = ca.densify(ca.SX(pose.rotation))
    return ca.densify(ca.vertcat(pose.position, ca.vec(rotation), carry_twist(port, relative.twist)))


def motion_of_base(kinematics: Kinematics, base: Frame, path: str) -> Vector:
    """Where the base of a part of this path is (18), as it is told."""
    relative, at = kinematics.absolute(base.body), port_in(kinematics, base)
    return kinematics.tracer.call(
        lambda p, r, w: pack_motion(replace(relative, pose=Pose(p, r), twist=w), at),
        relative.pose.position, relative.pose.rotation, relative.twist, path=path,
    )  # fmt: skip


def port_in(kinematics: Kinematics, frame: Frame) -> Pose:
    """A port in the working frame of its carrier."""
    return kinematics.frames.locate(frame)
