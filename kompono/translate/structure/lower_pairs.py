"""Which lower pair a space of small displacements is: a weld, hinge, slide, cylinder, plane or ball, or none."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from kompono.model.body import Carrier
from kompono.model.free import Rigid
from kompono.model.joint import Joint
from kompono.model.pairs import Cylindrical, Planar, Prismatic, Revolute, Spherical
from kompono.spatial.pose import Pose

SAME = 1e-7  # sines of angles, and lengths relative to those of the pair, that count as zero
_SOME = np.random.default_rng(7).uniform(-1.0, 1.0, (5, 4))  # coordinates to look at a joint
Twists = np.ndarray  # columns (v, w): displacement of the second body's origin and turn, in its axes


def lower_pair(
    twists: Twists, first: Carrier, second: Carrier, position: np.ndarray, rotation: np.ndarray
) -> Joint | None:
    """The joint whose freedoms are these (6, k), with coordinates zero at a pose of the second body in the first; None
    if there is none.
    """
    count = twists.shape[1]
    if not count:
        return Rigid(first.at(position, orientation=rotation), second)
    if count > 3:
        return None
    scale = max(float(np.abs(twists[:3]).max()), 1.0)
    _, sizes, _ = np.linalg.svd(twists[3:])
    turns = int(np.sum(sizes > SAME))
    point, axis = _centre(twists), _axis(twists, turns)
    if axis is None:
        return None
    ends = first.at(position + rotation @ point, orientation=rotation), second.at(point)
    around = np.concatenate([np.cross(point, axis), axis])
    sliding = np.concatenate([axis, np.zeros(3)])
    if (count, turns) == (1, 1):
        return Revolute(*ends, axis=axis) if _spans(twists, [around], scale) else None
    if (count, turns) == (1, 0):
        return Prismatic(*ends, axis=axis)
    if (count, turns) == (2, 1):
        return Cylindrical(*ends, axis=axis) if _spans(twists, [around, sliding], scale) else None
    if (count, turns) == (3, 1):
        flat = [np.concatenate([row, np.zeros(3)]) for row in np.linalg.svd(axis[None])[2][1:]]
        return Planar(*ends, normal=axis) if _spans(twists, [around, *flat], scale) else None
    if (count, turns) == (3, 3):
        balls = [np.concatenate([np.cross(point, row), row]) for row in np.eye(3)]
        return Spherical(*ends) if _spans(twists, balls, scale) else None
    return None


def _axis(twists: Twists, turns: int) -> np.ndarray | None:
    """The unit direction of the only turn, or of the only slide; of a ball any."""
    if turns == 3:
        return np.array([0.0, 0.0, 1.0])
    if turns == 2 or (turns == 0 and twists.shape[1] > 1):
        return None
    part = twists[3:] if turns else twists[:3]
    axis = np.linalg.svd(part)[0][:, 0]
    axis = np.where(np.abs(axis) < 1e-12, 0.0, axis)
    axis = axis / np.linalg.norm(axis)
    return axis * np.sign(axis[int(np.argmax(np.abs(axis)))])


def _centre(twists: Twists) -> np.ndarray:
    """The point (3) nearest to the origin that turns leave in place: v = c x w for as many of the twists as can be."""
    slides = twists @ np.linalg.svd(twists[3:])[2].T  # the last columns of these turn least
    turns = [column for column in slides.T if np.linalg.norm(column[3:]) > SAME]
    if not turns:
        return np.zeros(3)
    rows = np.vstack([-_skew(column[3:]) for column in turns])
    still = np.array([column[:3] for column in slides.T if np.linalg.norm(column[3:]) <= SAME]).reshape(-1, 3)
    moved = np.concatenate([_without(column[:3], still) for column in turns])
    point = np.linalg.lstsq(rows, moved, rcond=1e-9)[0]
    return np.where(np.abs(point) < 1e-14, 0.0, point)


def _without(vector: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """A vector without its parts along directions that slides have anyway."""
    if not directions.size:
        return vector
    basis = np.linalg.svd(directions)[2][: len(directions)]
    return vector - basis.T @ (basis @ vector)


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _spans(twists: Twists, candidates: list[np.ndarray], scale: float) -> bool:
    """Whether all candidates lie in the space of the twists (columns orthonormal)."""
    for candidate in candidates:
        rest = candidate - twists @ (twists.T @ candidate)
        if np.linalg.norm(rest) > SAME * scale * max(float(np.linalg.norm(candidate)), 1.0):
            return False
    return True


def poses_along(joint: Joint) -> Iterator[Pose]:
    """Poses (numbers) of the second body in the first, at coordinates zero and at some others."""
    count = len(joint.coordinates)
    for some in [np.zeros(4), *(_SOME if count else ())]:
        q = ca.DM(joint.neutral() + some[:count] * (1.0 if count == 4 else 2.5))
        pose = joint.first.pose @ joint.pose(joint.normalize(q)) @ joint.second.pose.inverse()
        yield Pose(ca.DM(ca.evalf(ca.SX(pose.position))).full(), ca.DM(ca.evalf(ca.SX(pose.rotation))).full())
