"""What turns as one in a machine: the world with grounds at rest, and each body with what is welded to it; where the
joints of each such group are, where they point, and axes that might suit it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from kompono.model.body import Carrier, Frame, Ground
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.spatial.conditions import across
from kompono.translate.structure.topology import Link, Topology
from kompono.translate.structure.turned import ROUNDING, directions

SIDES = 6  # directions of x that are tried for each z


@dataclass(eq=False)
class Group:
    """What does not turn against one another: `members` with the rotation (3, 3) of each, seen from the first; the link
    it hangs by, none for the world. `points` and `lines` (3,) are where its joints are, and where they point; `behind`
    are those of what hangs on it, where that is at coordinates zero.
    """

    link: Link | None
    members: dict[Carrier, np.ndarray]
    points: list[np.ndarray] = field(default_factory=list)
    lines: list[np.ndarray] = field(default_factory=list)
    behind: list[np.ndarray] = field(default_factory=list)

    @property
    def origin(self) -> np.ndarray:
        """The joint it hangs by, or the first on the ground."""
        if self.link is not None and self.link.joint is not None:
            return position_of(outer_frame(self.link))
        return self.points[0] if self.points else np.zeros(3)


def turning_groups(
    topology: Topology, pairs: Sequence[Joint | Constraint], can_turn: Callable[[Link], bool]
) -> dict[Carrier, Group]:
    """Groups by carrier, roots first; `pairs` close loops, and welds that `can_turn` are taken along."""
    groups: dict[Carrier, Group] = {topology.world: Group(None, {topology.world: np.eye(3)})}
    for link in topology.links:
        if rests(link) or (link.rigid and can_turn(link)):
            group = groups[link.carrier] = groups[link.parent]
            group.members[link.carrier] = group.members[link.parent] @ held(link)
        else:
            groups[link.carrier] = Group(link, {link.carrier: np.eye(3)})
    joints = [link.joint for link in topology.links if link.joint is not None]
    for element in (*joints, *pairs):
        for frame in (element.first, element.second):
            group = groups[frame.body]
            turn = group.members[frame.body]
            group.lines += [turn @ turn_of(frame) @ line for line in directions(element)]
            group.points += _points(group, frame)
    for link in topology.links:
        group, parent = groups[link.carrier], groups[link.parent]
        if group.link is link and link.joint is not None:
            turn = parent.members[link.parent] @ held(link)
            parent.behind += [turn @ line for line in group.lines]
    return groups


def _points(group: Group, frame: Frame) -> list[np.ndarray]:
    """Where a frame is on its group, if that is known."""
    body = frame.body
    if isinstance(body, Ground) and ca.SX(body.motion.position).is_constant():
        return [ca.DM(body.motion.position).full().ravel() + group.members[body] @ position_of(frame)]
    alone = not isinstance(body, Ground) and len(group.members) == 1
    return [position_of(frame)] if alone and ca.SX(frame.pose.position).is_constant() else []


def axes_along(group: Group) -> list[np.ndarray]:
    """Axes of which z is a direction that many joints of a group have, and x one across it, or where a joint is."""
    kinds: list[tuple[np.ndarray, int]] = []
    for line in group.lines:
        same = [k for k, (known, _) in enumerate(kinds) if np.linalg.norm(np.cross(known, line)) < ROUNDING]
        if same:
            kinds[same[0]] = (kinds[same[0]][0], kinds[same[0]][1] + 1)
        else:
            kinds.append((line, 1))
    kinds.sort(key=lambda kind: -kind[1])
    found = []
    for z, _ in kinds[:2]:
        for side in _sides(group, z):
            x = side - z * (side @ z)
            x /= np.linalg.norm(x)
            found.append(np.column_stack([x, np.cross(z, x), z]))
    return found


def zeros(vector: np.ndarray) -> float:
    """1 for a vector along a coordinate axis, less for one in a coordinate plane."""
    size = np.abs(vector).max()
    return (0.0, 0.3, 1.0, 1.0)[int(np.sum(np.abs(vector) < ROUNDING * size))] if size else 1.0


def _sides(group: Group, z: np.ndarray) -> list[np.ndarray]:
    """Directions across z, each once: of joints here and behind, from the joint a body hangs by, or the first on the
    ground, to others and to the centre of mass; any if there are none.
    """
    link = group.link
    offsets = [point - group.origin for point in (*group.points, *([] if link is None else [np.zeros(3)]))]
    scale = max((float(np.abs(offset).max()) for offset in offsets), default=0.0) or 1.0
    found: list[np.ndarray] = []
    for side in (*group.lines, *group.behind, *(offset / scale for offset in offsets), across(z)[0]):
        flat = side - z * (side @ z)
        if np.linalg.norm(flat) > 1e-6:
            flat = flat / np.linalg.norm(flat)
            if all(np.linalg.norm(np.cross(flat, known)) > 1e-9 for known in found):
                found.append(flat)
    return found[:SIDES]


def rests(link: Link) -> bool:
    """Whether it is a ground that does not turn."""
    return isinstance(link.carrier, Ground) and link.joint is None and link.carrier.motion.rotation.is_constant()


def outer_frame(link: Link) -> Frame:
    """The frame of a link's joint on its carrier."""
    joint = link.moved_by
    return joint.first if link.reverse else joint.second


def inner_frame(link: Link) -> Frame:
    """The frame of a link's joint on the parent."""
    joint = link.moved_by
    return joint.second if link.reverse else joint.first


def held(link: Link) -> np.ndarray:
    """How a carrier is turned in its parent, where the joint between them is at rest."""
    if link.joint is None:
        assert isinstance(link.carrier, Ground)
        return ca.DM(link.carrier.motion.rotation).full()
    neutral = ca.SX(link.joint.pose(ca.SX(ca.DM(link.joint.neutral()))).rotation)
    pose = np.eye(3) if ca.symvar(neutral) else ca.evalf(neutral).full()
    return turn_of(inner_frame(link)) @ (pose.T if link.reverse else pose) @ turn_of(outer_frame(link)).T


def turn_of(frame: Frame) -> np.ndarray:
    """How a frame is turned on its body."""
    return ca.DM(frame.pose.rotation).full()


def position_of(frame: Frame) -> np.ndarray:
    """Where it is on its body, zero if that is no number."""
    position = ca.SX(frame.pose.position)
    return ca.DM(position).full().ravel() if position.is_constant() else np.zeros(3)
