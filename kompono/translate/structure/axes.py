"""Axes in which a machine is computed, chosen so that its joints turn and slide along coordinate axes.

A planar machine needs a fraction of the arithmetic of a spatial one, because zeros stay zeros all the way into machine
code, if its joints are about coordinate axes of the frames it is computed in. The frames somebody declares may be
turned anyhow. So working frames (see `kinematics`) are turned against those of the joints they sit in: for the world
with all grounds that do not turn, and for each body with what is welded to it, the axes are taken in which most of its
joints point along coordinate axes; in a plane, x points where the next joint is. A constant angle that is left between
two bodies is added to the coordinate of the joint between them. Only what moves is computed in these axes: whatever is
shown to anybody is traced in those declared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Carrier
from kompono.model.constraint import Constraint
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import about
from kompono.translate.structure.topology import Link, Topology
from kompono.translate.structure.turned import (
    ROUNDING,
    FollowedBy,
    Turned,
    along_axis,
    directions,
    exact,
    permutes,
    turned_conditions,
    turned_joint,
    turns_about,
)
from kompono.translate.structure.turning import (
    Group,
    axes_along,
    held,
    inner_frame,
    outer_frame,
    rests,
    turn_of,
    turning_groups,
    zeros,
)

FOLLOWED = 2.0  # joints along axes that a constant turn behind a joint must be worth
BEHIND = 0.3  # what a direction one joint further on counts
ARBITRARY = about(np.array([0.36, 0.48, 0.8]), 0.7)  # axes to try whether a joint can be turned


@dataclass(frozen=True)
class ChosenAxes:
    """Working frames by carrier, and tree joints and closing elements in the axes of these."""

    frames: dict[Carrier, Pose]
    joints: dict[Joint, Turned]
    closing: dict[Element, Turned]


def choose_axes(topology: Topology, closing: Iterable[Element], apart: Collection[Element]) -> ChosenAxes | None:
    """Axes for a model with this tree whose loops are closed by `closing`, of which those `apart` are left as they are;
    None where those declared are as good.
    """
    pairs = [element for element in closing if isinstance(element, Joint | Constraint)]
    if any(link.crosses for link in topology.links) or not _constant(topology, pairs):
        return None
    choice = _Choice(topology, pairs)
    declared = choice.misfits(choice.declared)
    return choice.made(set(apart)) if declared and choice.misfits(choice.chosen) < declared else None


def _constant(topology: Topology, pairs: Iterable[Joint | Constraint]) -> bool:
    """Whether all frames of joints are turned by numbers."""
    joints = [link.joint for link in topology.links if link.joint is not None]
    return all(ca.SX(f.pose.rotation).is_constant() for one in (*joints, *pairs) for f in (one.first, one.second))


class _Choice:
    """Rotations (3, 3) of working frames in the axes of their carriers, by carrier: as `declared`, and as `chosen`."""

    def __init__(self, topology: Topology, pairs: list[Joint | Constraint]) -> None:
        self.topology, self.pairs = topology, pairs
        self._found: dict[Carrier, np.ndarray] = {}
        self._turnable: dict[Joint, bool] = {}
        self._turns: dict[Joint, tuple[np.ndarray, int] | None] = {}
        self.declared: dict[Carrier, np.ndarray] = {topology.world: np.eye(3)}
        for link in topology.links:
            self.declared[link.carrier] = np.eye(3) if link.joint is None else turn_of(outer_frame(link))

    @cached_property
    def chosen(self) -> dict[Carrier, np.ndarray]:
        """The best of some axes for each group, roots first."""
        found = self._found
        for group in dict.fromkeys(self.groups.values()):
            turn = max(self._candidates(group), key=lambda axes, group=group: self._worth(group, axes))
            for carrier, inner in group.members.items():
                found[carrier] = inner.T @ turn
        if any(not self._can_turn(link) for link in self.topology.links if link.parent is self.topology.world):
            found[self.topology.world] = np.eye(3)
        return found

    @cached_property
    def groups(self) -> dict[Carrier, Group]:
        """What turns as one, by carrier, roots first."""
        return turning_groups(self.topology, self.pairs, self._can_turn)

    def _can_turn(self, link: Link) -> bool:
        joint = link.joint
        if joint is None:
            return True
        if joint not in self._turnable:
            self._turnable[joint] = turned_joint(joint, np.asarray(ca.DM(ARBITRARY))) is not None
        return self._turnable[joint]

    def _candidates(self, group: Group) -> list[np.ndarray]:
        """Axes worth trying, as seen from the first member; in doubt the first."""
        link = group.link
        if link is None:
            found = [np.eye(3), *group.members.values()]
        elif link.joint is None:
            found = [np.eye(3)]
        else:
            found = [turn_of(outer_frame(link))]
            if self._can_turn(link):
                found.append(turn_of(outer_frame(link)) @ turn_of(inner_frame(link)).T @ self._found[link.parent])
        return [*found, *axes_along(group)]

    def _worth(self, group: Group, axes: np.ndarray) -> float:
        """How many directions these make coordinate axes, and, far behind, how many zeros they make elsewhere."""
        worth = sum(zeros(axes.T @ line) for line in group.lines)
        worth += BEHIND * sum(zeros(axes.T @ line) for line in group.behind)
        link = group.link
        if link is not None and link.joint is not None:
            turn = turn_of(outer_frame(link)).T @ axes
            base, shift = self._base(link, turn, self._found[link.parent])
            worth += permutes(base) - 0.1 * bool(np.any(shift))
            worth -= FOLLOWED * (not self._can_turn(link) and not permutes(turn))
        offsets = [axes.T @ (point - group.origin) for point in group.points]
        return worth + 0.1 * sum(zeros(offset) for offset in offsets) / (1 + len(offsets))

    def _base(self, link: Link, axes: np.ndarray, parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How the child's axes are turned against the parent's at coordinates zero, and what to add to these for it."""
        joint = link.moved_by
        base, shift = parent.T @ turn_of(inner_frame(link)), np.zeros(len(joint.coordinates))
        if not self._can_turn(link):
            return base, shift
        base = base @ axes
        if permutes(base):
            return base, shift
        if joint not in self._turns:
            self._turns[joint] = turns_about(joint, link.reverse)
        found = self._turns[joint]
        if found is None or not along_axis(axes.T @ found[0]) or not along_axis(base @ axes.T @ found[0]):
            return base, shift
        line, place = exact(axes.T @ found[0]), found[1]
        side = np.roll(np.abs(line), 1)
        turned = base @ side
        nearest = np.zeros(3)
        nearest[np.argmax(np.abs(turned))] = np.sign(turned[np.argmax(np.abs(turned))])
        angle = float(np.arctan2(np.cross(nearest, turned) @ (base @ line), nearest @ turned))
        shift[place] = -angle if link.reverse else angle
        return base @ np.asarray(ca.DM(about(line, -angle))), shift

    def misfits(self, turns: dict[Carrier, np.ndarray]) -> int:
        """How many constant rotations and directions are not along axes."""
        count, declared = 0, turns is self.declared
        for link in self.topology.links:
            if link.joint is None:
                continue
            axes, parent = turn_of(outer_frame(link)).T @ turns[link.carrier], turns[link.parent]
            base = parent.T @ turn_of(inner_frame(link)) if declared else self._base(link, axes, parent)[0]
            if not declared and not self._can_turn(link):
                count, axes = count + (not permutes(axes)), np.eye(3)
            count += (not permutes(base)) + sum(not along_axis(axes.T @ line) for line in directions(link.joint))
        for pair in self.pairs:
            for frame in (pair.first, pair.second):
                turn = turns[frame.body].T @ turn_of(frame)
                count += sum(not along_axis(turn @ line) for line in directions(pair))
        return count + self._grounds_off(turns)

    def _grounds_off(self, turns: dict[Carrier, np.ndarray]) -> int:
        """How many grounds are not along the axes of the world, where loops and forces go from one to another."""
        links = [link for link in self.topology.links if rests(link)]
        seen = [turns[link.parent].T @ held(link) @ turns[link.carrier] for link in links]
        return sum(not permutes(turn) for turn in seen) if len(links) > 1 else 0

    def made(self, apart: set[Element]) -> ChosenAxes:
        """What is chosen, with all that follows from it."""
        world = self.topology.world
        frames: dict[Carrier, Pose] = {world: Pose.constant(rotation=self.chosen[world])}
        joints: dict[Joint, Turned] = {}
        for link in self.topology.links:
            place = ca.DM.zeros(3) if link.joint is None else outer_frame(link).pose.position
            frames[link.carrier] = Pose(place, ca.DM(self.chosen[link.carrier]))
            if link.joint is not None:
                axes = turn_of(outer_frame(link)).T @ self.chosen[link.carrier]
                twin: Any = link.joint
                if np.abs(axes - np.eye(3)).max() >= ROUNDING:
                    can, reverse = self._can_turn(link), link.reverse
                    twin = turned_joint(link.joint, axes) if can else FollowedBy(link.joint, axes, reverse)
                assert twin is not None  # it was asked in arbitrary axes
                base, shift = self._base(link, axes, self.chosen[link.parent])
                joints[link.joint] = Turned(twin, axes, exact(base), shift)
        closing: dict[Element, Turned] = {}
        for pair in self.pairs:
            axes = turn_of(pair.first).T @ self.chosen[pair.first.body]
            twin = None if pair in apart else turned_conditions(pair, axes)
            if twin is not None:
                closing[pair] = Turned(twin, axes)
        return ChosenAxes(frames, joints, closing)
