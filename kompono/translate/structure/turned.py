"""Joints and constraints in other axes than they were declared in: the same element between frames that are turned.

A revolute about (0.3, 0.5, 0.81) is one about z between frames of which z points that way. What a joint does in turned
axes is what a copy of it does whose directions are turned back, if that is so: it is asked at arbitrary coordinates,
conditions at arbitrary poses, so that joints of a user's own are turned wherever they can be, and nothing else is.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.spatial.numeric import rotations
from kompono.spatial.pose import Pose, symbolic_pose
from kompono.spatial.rotation import about

ROUNDING = 1e-14  # how far a direction may miss a coordinate axis by rounding
SAME = 1e-12  # how far an element in turned axes may miss itself
_BROKEN = {  # operations after which samples of some poses say nothing about others
    ca.OP_IF_ELSE_ZERO, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX, ca.OP_FABS, ca.OP_SIGN,
    ca.OP_FLOOR, ca.OP_CEIL,
}  # fmt: skip


@dataclass(frozen=True)
class Turned:
    """An element between frames that are those declared turned by `axes` (3, 3): what it does there is what `element`
    does, at coordinates with `shift` (nq) added for a tree joint that hangs on its parent turned by `base` (3, 3).
    """

    element: Any
    axes: np.ndarray = field(default_factory=lambda: np.eye(3))
    base: np.ndarray = field(default_factory=lambda: np.eye(3))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(0))


def exact(matrix: np.ndarray) -> np.ndarray:
    """A rotation matrix, or a unit vector, with exact zeros and ones in the place of what misses them by rounding."""
    found = np.where(np.abs(matrix) < ROUNDING, 0.0, matrix)
    rows = found.reshape(-1, 3)
    alone = np.sum(rows != 0, axis=1) == 1
    rows[alone] = np.sign(rows[alone])
    return rows.reshape(matrix.shape) + 0.0


def plain(value: float, size: float) -> float:
    """A number made of others of a `size`: zero, or one of fourteen digits, where it misses that by rounding."""
    if abs(value) < ROUNDING * size:
        return 0.0
    short = float(f"{value:.14g}")
    return short if abs(short - value) <= 1e-15 * size else value


def along_axis(vector: np.ndarray) -> bool:
    """Whether a unit vector is a coordinate axis, but for rounding."""
    return bool(np.sum(np.abs(vector) >= ROUNDING) == 1)


def permutes(matrix: np.ndarray) -> bool:
    """Whether a rotation takes coordinate axes to such, but for rounding."""
    return all(along_axis(row) for row in matrix)


def directions(element: Joint | Constraint) -> list[np.ndarray]:
    """The unit vectors an element is given in the axes of its frames."""
    return [vector for vector in _vectors(element).values() if abs(np.linalg.norm(vector) - 1) < 1e-9]


def _vectors(element: Joint | Constraint) -> dict[str, np.ndarray]:
    return {
        name: value
        for name, value in vars(element).items()
        if isinstance(value, np.ndarray) and value.shape == (3,) and value.dtype == float
    }


def _copied(element: Any, axes: np.ndarray) -> Any:
    twin = copy.copy(element)
    for name, value in _vectors(element).items():
        back = axes.T @ value
        setattr(twin, name, exact(back) if along_axis(back) else back)
    return twin


def turned_joint(joint: Joint, axes: np.ndarray) -> Joint | None:
    """A joint that does between frames turned by `axes` what this one does between its own; None if none is known."""
    twin = _copied(joint, axes)
    back = ca.DM(axes.T)
    q = ca.SX.sym("q", len(joint.coordinates))
    try:
        old, new = joint.pose(q), twin.pose(q)
        pairs = [
            (back @ old.position, new.position),
            (back @ old.rotation @ ca.DM(axes), new.rotation),
            (ca.diagcat(back, back) @ ca.SX(joint.subspace(q)), twin.subspace(q)),
        ]
    except Exception:  # a joint of a user's own may ask for more than is copied
        return None
    off = ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.densify(ca.SX(a) - ca.SX(b))) for a, b in pairs])
    return twin if _vanishes(off, q) else None


class FollowedBy:
    """A joint, and behind it a constant turn of the child by `axes`: for one that cannot be turned itself."""

    def __init__(self, joint: Joint, axes: np.ndarray, reverse: bool) -> None:
        self.joint, self.axes, self.reverse = joint, ca.DM(exact(axes)), reverse
        self.freedoms, self.coordinates, self.rate = joint.freedoms, joint.coordinates, joint.rate

    def pose(self, q: Any) -> Pose:
        """The second frame seen from the first; the child has the first if the link is reversed."""
        pose = self.joint.pose(q)
        if self.reverse:
            return Pose(self.axes.T @ pose.position, self.axes.T @ pose.rotation)
        return Pose(pose.position, pose.rotation @ self.axes)

    def subspace(self, q: Any) -> Any:
        """S in second-frame axes."""
        return self._seen(self.joint.subspace(q))

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """S_dot v."""
        return self._seen(self.joint.subspace_rate(q, v))

    def _seen(self, twists: Any) -> Any:
        back = ca.SX(self.axes.T)
        return ca.SX(twists) if self.reverse else ca.diagcat(back, back) @ ca.SX(twists)


def turns_about(joint: Joint, reverse: bool = False) -> tuple[np.ndarray, int] | None:
    """A direction and a coordinate, if to turn the first frame about the one, or, in `reverse`, the second back, is to
    add to the other.
    """
    q, more = ca.SX.sym("q", len(joint.coordinates)), ca.SX.sym("more")
    for direction in directions(joint):
        for k, unit in enumerate(joint.units):
            if unit == "rad":
                added = ca.SX(q)
                added[k] += more
                turn, old, new = Pose(rotation=about(direction, more)), joint.pose(q), joint.pose(added)
                moved = old @ turn if reverse else turn @ old
                off = ca.vertcat(
                    ca.SX(moved.position) - ca.SX(new.position), ca.vec(ca.SX(moved.rotation) - ca.SX(new.rotation))
                )
                if _vanishes(off, ca.vertcat(q, more)):
                    return direction, k
    return None


def turned_conditions(element: Joint | Constraint, axes: np.ndarray) -> Any:
    """An element whose conditions between frames turned by `axes` are those of this one, but for constant combinations
    of their rows; None if none is known.
    """
    twin, pose, turn = _copied(element, axes), symbolic_pose(), ca.DM(axes)
    seen = Pose(turn @ pose.position, turn @ pose.rotation @ turn.T)
    old = ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(group)) for group in element.conditions(seen) or ()])
    new = ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(group)) for group in twin.conditions(pose) or ()])
    if not old.numel() or old.shape != new.shape:
        return None
    x = ca.vertcat(pose.position, ca.vec(pose.rotation))
    own = {s.element_hash() for s in ca.vertsplit(x)}
    free = [s for s in ca.symvar(ca.vertcat(old, new)) if s.element_hash() not in own]
    function = ca.Function("both", [x, ca.vertcat(ca.SX(0, 1), *free)], [ca.densify(old), ca.densify(new)])
    if _breaks(function):
        return None
    random = np.random.default_rng(5)
    count = 4 * old.numel() + 8
    turns = random.standard_normal((count, 4))
    turns = rotations(turns / np.linalg.norm(turns, axis=1, keepdims=True))
    places = random.uniform(-2, 2, (count, 3))
    poses = np.hstack([places, turns.transpose(0, 2, 1).reshape(count, 9)]).T
    rows, twins = (m.full().T for m in function(poses, random.uniform(0.3, 1.2, (len(free), count))))
    combine = np.linalg.lstsq(twins, rows, rcond=None)[0]
    if np.abs(twins @ combine - rows).max() > SAME * max(1.0, np.abs(rows).max()):
        return None
    return twin if np.linalg.cond(combine) < 10 else None


def _vanishes(off: ca.SX, symbols: ca.SX) -> bool:
    """Whether an expression of nothing but these symbols is zero whatever they are."""
    function = ca.Function("off", [symbols], [ca.densify(off)], {"allow_free": True})
    if function.has_free() or _breaks(function):
        return False
    values = np.random.default_rng(6).uniform(-1.2, 1.2, (symbols.numel(), 12))
    found = function(values) if symbols.numel() else function(ca.DM(0, 1))
    return bool(np.abs(found.full()).max(initial=0.0) < SAME)


def _breaks(function: ca.Function) -> bool:
    """Whether samples of some places say nothing about others."""
    return any(function.instruction_id(k) in _BROKEN for k in range(function.n_instructions()))
