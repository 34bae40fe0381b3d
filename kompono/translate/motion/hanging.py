"""How bodies hang on each other: the constant poses between the working frames of a tree, as numbers and as traced."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.model.body import Carrier, Ground
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.lengths import is_number
from kompono.translate.motion.joint_steps import joint_motion
from kompono.translate.motion.working_frames import WorkingFrames, without_rounding
from kompono.translate.structure.topology import Link
from kompono.translate.structure.turned import Turned
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.motion.kinematics import Kinematics


class Hanging:
    """Of one model in some working frames."""

    def __init__(self, model: Elaborated, frames: WorkingFrames) -> None:
        self._model, self._frames = model, frames

    def shifted(self, link: Link, moved: Turned, q: Vector) -> Vector:
        """What the coordinates of a link's joint are in the axes of the working frames."""
        if not np.any(moved.shift):
            return q
        opened = self._frames.opened
        return q + (ca.DM(moved.shift) if opened is None else opened.values(f"{self._hung(link)} shift", moved.shift))

    def ground(self, link: Link) -> Pose:
        """The working frame of a ground in that of the world."""
        pose, numbers = self._ground(link), self._model.numbers
        if self._frames.opened is None or numbers is None or numbers.pairs is None:
            return pose
        if link.carrier in self._resting:
            pose = Pose(self._resting[link.carrier], pose.rotation)
        return self._frames.traced(f"{self._model.path(link.carrier)} ground", pose)

    def _ground(self, link: Link) -> Pose:
        """The same as numbers, or as expressions of time."""
        motion: Pose = link.carrier.motion  # type: ignore[attr-defined]
        if self._frames.axes is None:
            return motion
        outer, inner = self._frames.of(self._frames.topology.world).inverse(), self._frames.of(link.carrier)
        return without_rounding(outer @ motion @ inner, motion.position)

    @cached_property
    def _resting(self) -> dict[Carrier, Vector]:
        """Where grounds that rest are, as symbols: those that are level with each other are so by one number, so that
        what is between them has the zeros it had.
        """
        opened = self._frames.opened
        assert opened is not None
        links = [link for link in self._frames.topology.links if isinstance(link.carrier, Ground)]
        poses = {link.carrier: self._ground(link) for link in links}
        placed = {carrier: pose for carrier, pose in poses.items() if is_number(pose)}
        if not placed:
            return {}
        values = np.array([ca.DM(pose.position).full().ravel() for pose in placed.values()])
        symbols = opened.alike("grounds", values)
        return {carrier: symbols[k, :].T for k, carrier in enumerate(placed)}

    def offset(self, carrier: Carrier, lead: Carrier) -> Pose:
        """The working frame of a carrier in that of the `lead` it is welded to, perhaps across others (constant, or of
        tunable parameters).
        """
        chain = []
        while carrier is not lead:
            chain.append(self._frames.topology.link(carrier))
            carrier = chain[-1].parent
        if not chain:
            return Pose.constant()
        held = Pose.constant()
        for link in chain:
            held = self._welded(link) @ held
        if self._frames.opened is None:
            return held
        if is_number(held) and (lead is self._frames.topology.world or not self._frames.topology.link(lead).rigid):
            return self._frames.traced(f"{self._model.path(chain[0].carrier)} offset", held)
        held = Pose.constant()
        for link in chain:
            held = self.weld(link) @ held
        return held

    def _welded(self, link: Link) -> Pose:
        """The pose of a rigid link's carrier in its parent, as numbers."""
        base, moved = self._placed_base(link)
        return base @ joint_motion(moved.element, ca.SX(0, 1), link.reverse)

    def weld(self, link: Link) -> Pose:
        """The same as it is traced."""
        pose = self._welded(link)
        if is_number(pose):
            return self._frames.traced(f"{self._hung(link)} weld", pose)
        base, moved = self.base(link)
        return base @ joint_motion(moved.element, ca.SX(0, 1), link.reverse)

    def _hung(self, link: Link) -> str:
        return f"{self._model.path(link.carrier)} hung"

    def base(self, link: Link) -> tuple[Pose, Turned]:
        """Where a link's joint sits on the parent, and the joint, in the axes of the working frames."""
        base, turned = self._placed_base(link)
        if self._frames.opened is None:
            return base, turned
        joint = link.moved_by
        place = self._frames.locate(joint.second if link.reverse else joint.first)
        if self._frames.axes is None:
            return place, turned
        turn = self._frames.traced(self._hung(link), Pose(rotation=base.rotation)).rotation
        return Pose(place.position, turn), turned

    def _placed_base(self, link: Link) -> tuple[Pose, Turned]:
        """The same as numbers."""
        joint = link.moved_by
        base = self._frames.place(joint.second if link.reverse else joint.first)
        if self._frames.axes is None:
            return base, Turned(joint)
        turned = self._frames.axes.joints[joint]
        return Pose(base.position, ca.DM(turned.base)), turned

    def lead(self, carrier: Carrier) -> Carrier:
        """What a carrier is welded to, across others, nearest to the root."""
        while carrier is not self._frames.topology.world and self._frames.topology.link(carrier).rigid:
            carrier = self._frames.topology.link(carrier).parent
        return carrier


def find_poses(kinematics: Kinematics, pairs: Iterable[Joint | Constraint]) -> None:
    """Have all places of frames, and what follows from them alone, among the numbers that are put in after tracing;
    `pairs` close loops.
    """
    numbers, frames, world = kinematics.tracer.numbers, kinematics.frames, kinematics.topology.world
    hanging = kinematics.hanging
    known = {} if numbers is None or numbers.frames is None else numbers.frames
    carriers = {world, *(link.carrier for link in kinematics.topology.links)}
    mates = [element for pair in kinematics.topology.mated for element in (pair.joint, *pair.constraints)]
    mated = [frame for mate in mates for frame in (mate.first, mate.second)]
    for frame in (*known, *mated, *carriers):
        if frame.body in carriers:
            frames.seen_from(frame)
            frames.carried(frame)
    for frame in mated:
        frames.declared(frame)
    frames.traced("world", frames.of(world))
    for link in kinematics.topology.links:
        if link.joint is None:
            kinematics.step(link)
            continue
        if link.crosses or link.carrier in kinematics.given.steps:
            continue
        _, moved = hanging.base(link)
        hanging.shifted(link, moved, kinematics.q[link.joint])
        if link.rigid:
            hanging.weld(link)
            hanging.offset(link.carrier, hanging.lead(link.carrier))
    for pair in pairs:
        kinematics.pair(pair)
