"""Mates that are a joint: as CAD systems make them, two faces and two axes instead of a hinge, three faces for a weld.

All conditions on one pair of bodies depend on their relative pose X alone. Where the bodies as declared fulfil them,
the small changes of X that do so as well (the null space) say what the pair can do; if it is that of a lower pair
(weld, hinge, slide, cylinder, plane, ball), and the conditions hold all along the motion of that joint, with the same
rank, the mates are this joint, which stands for them. In the tree their conditions, redundant ones included, are kept
by construction; where the pair closes a loop, only those of the joint are solved for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose, symbolic_pose
from kompono.spatial.rotation import constant_matrix, quaternion_matrix, skew
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.laws import ask_holds

if TYPE_CHECKING:
    from kompono.translate.structure.lower_pairs import Twists

CLOSE = 1e-6  # how well the declared start must fulfil the conditions, in their units
FIRM = 1e-6  # least singular value of the conditions, relative to the largest


@dataclass(frozen=True)
class MatedPair:
    """Constraints on two bodies, the joint they are, the combinations (rows, implied) of the rows of each that those
    before it imply, and the numbers of rows that bear its load: independent ones, wherever the pair is.
    """

    joint: Joint
    constraints: tuple[Constraint, ...]
    implied: dict[Constraint, np.ndarray]
    bearing: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        """How many of their conditions are independent."""
        return 6 - self.joint.freedoms


def mated_pairs(model: Elaborated) -> tuple[MatedPair, ...]:
    """All pairs of bodies whose constraints alone are a joint."""
    groups: dict[frozenset[Carrier], list[Constraint]] = {}
    for constraint in model.constraints:
        carriers = constraint.first.body, constraint.second.body
        if all(isinstance(carrier, Body) or _at_rest(carrier) for carrier in carriers):
            groups.setdefault(frozenset(carriers), []).append(constraint)
    found = (_mated_pair(tuple(group)) for group in groups.values())
    return tuple(pair for pair in found if pair is not None)


def _at_rest(ground: Carrier) -> bool:
    motion = ground.motion  # type: ignore[attr-defined]
    return bool(motion.position.is_constant() and motion.rotation.is_constant())


def _mated_pair(constraints: tuple[Constraint, ...]) -> MatedPair | None:
    from kompono.translate.structure.lower_pairs import lower_pair

    first, second = constraints[0].first.body, constraints[0].second.body
    function = _conditions(constraints, first)
    if function is None or function.size1_out(0) < 3:
        return None
    back = _start_rotation(first).T
    position, rotation = back @ (_start_position(second) - _start_position(first)), back @ _start_rotation(second)
    residual, _, holds = (value.full() for value in function(position, rotation))
    if np.abs(residual).max() > CLOSE or not (holds > 0).all():
        return None
    matrix = np.zeros((0, 6))
    for _ in range(3):
        residual, matrix, _ = (value.full() for value in function(position, rotation))
        step = -np.linalg.lstsq(matrix, residual.ravel(), rcond=FIRM)[0]
        step[np.abs(step) < 1e-14] = 0.0  # rounding must not turn exact zeros of a pose into numbers
        position, rotation = position + rotation @ step[:3], rotation @ constant_matrix([1.0, *(step[3:] / 2)])
    joint = lower_pair(_null_space(matrix), first, second, position, rotation)
    if joint is None or not all(_is_held(each) for each in constraints if joint.freedoms):
        return None
    rows = _rows_along(function, joint)
    bearing = None if rows is None else _bearing(rows, 6 - joint.freedoms)
    if rows is None or bearing is None:
        return None
    return MatedPair(joint, constraints, _implied(constraints, rows), bearing)


def _is_held(constraint: Constraint) -> bool:
    """Whether the conditions on positions say all of a constraint."""
    return type(constraint).velocity_conditions is Constraint.velocity_conditions


def _null_space(matrix: np.ndarray) -> Twists:
    """Small displacements (6, k) of the second body that no condition feels."""
    _, values, right = np.linalg.svd(matrix)
    rank = int(np.sum(values > FIRM * values[0])) if values.size and values[0] > 0 else 0
    return right[rank:].T


def _rows_along(function: ca.Function, joint: Joint) -> list[np.ndarray] | None:
    """The matrix of the conditions at poses along a joint; None if they do not hold there, or their rank differs."""
    from kompono.translate.structure.lower_pairs import poses_along

    found: list[np.ndarray] = []
    allowed = CLOSE
    for pose in poses_along(joint):
        residual, matrix, holds = (value.full() for value in function(pose.position, pose.rotation))
        if not found:
            allowed = 10 * float(np.abs(residual).max()) + 1e-9 if joint.freedoms else CLOSE
        free = _null_space(matrix).shape[1]
        if np.abs(residual).max() > allowed or not (holds > 0).all() or free != joint.freedoms:
            return None
        found.append(matrix)
    return found


def _bearing(along: list[np.ndarray], rank: int) -> tuple[int, ...] | None:
    """The first independent rows; None if they are not so at all poses."""
    chosen: list[int] = []
    for row in range(len(along[0])):
        if np.linalg.matrix_rank(along[0][[*chosen, row]], tol=1e3 * FIRM * np.abs(along[0]).max()) > len(chosen):
            chosen.append(row)
    lasting = all(np.linalg.matrix_rank(rows[chosen], tol=FIRM * np.abs(rows).max()) == rank for rows in along)
    return tuple(chosen) if len(chosen) == rank and lasting else None


def _implied(constraints: tuple[Constraint, ...], along: list[np.ndarray]) -> dict[Constraint, np.ndarray]:
    """Combinations of the rows of each constraint that the constraints before it imply, wherever the pair is."""
    from kompono.translate.structure.spans import beyond

    result, place, matrix = {}, 0, along[0]
    basis, least = np.zeros((0, 6)), FIRM * np.abs(matrix).max()
    for constraint in constraints:
        count = sum(ca.SX(group).numel() for group in constraint.conditions(symbolic_pose()))
        combinations, basis = beyond(matrix[place : place + count], basis, least)
        others = [(other[:place], combinations.T @ other[place : place + count]) for other in along[1:]]
        lasting = all(_in_span(rows, before, least) for before, rows in others)
        result[constraint] = combinations if lasting else np.zeros((count, 0))
        place += count
    return result


def _in_span(rows: np.ndarray, before: np.ndarray, least: float) -> bool:
    if not rows.size:
        return True
    _, values, right = np.linalg.svd(before) if before.size else (None, np.zeros(0), np.zeros((0, 6)))
    basis = right[: int(np.sum(values > least))]
    return bool(np.abs(rows - (rows @ basis.T) @ basis).max() <= 10 * least)


def _conditions(constraints: tuple[Constraint, ...], first: Carrier) -> ca.Function | None:
    """(position, rotation of the second body in the first) -> g, its derivative by small displacements (6), and what
    is positive where the constraints hold as they are meant.
    """
    position, rotation, small = ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3), ca.SX.sym("d", 6)
    moved = Pose(position, rotation) @ Pose(small[:3], ca.SX.eye(3) + skew(small[3:]))
    groups: list[ca.SX] = []
    holds: list[ca.SX] = []
    for constraint in constraints:
        between = moved if constraint.first.body is first else moved.inverse()
        pose = constraint.first.pose.inverse() @ between @ constraint.second.pose
        groups += [ca.vec(ca.SX(group)) for group in constraint.conditions(pose)]
        meant = ask_holds(constraint, pose)
        holds += [] if meant is None else [ca.vec(ca.SX(meant))]
    g = ca.densify(ca.vertcat(*groups))
    own = {symbol.element_hash() for symbol in ca.vertsplit(ca.vertcat(position, ca.vec(rotation), small))}
    meant = ca.densify(ca.vertcat(*holds)) if holds else ca.SX(0, 1)
    if any(symbol.element_hash() not in own for symbol in ca.symvar(ca.vertcat(g, meant))):
        return None  # it follows time, an input or a parameter
    values = (g, ca.densify(ca.jacobian(g, small)), meant)
    here = [ca.substitute(value, small, ca.SX.zeros(6)) for value in values]
    return ca.Function("mates", [position, rotation], here)


def _start_position(carrier: Carrier) -> np.ndarray:
    """Position (3) [m] in the world at the start, as declared."""
    if isinstance(carrier, Body):
        return carrier.start_position
    return ca.DM(carrier.motion.position).full().ravel()  # type: ignore[attr-defined]


def _start_rotation(carrier: Carrier) -> np.ndarray:
    """Rotation (3, 3) in the world at the start, as declared."""
    if isinstance(carrier, Body):
        return ca.DM(quaternion_matrix(carrier.start_orientation)).full()
    return ca.DM(carrier.motion.rotation).full()  # type: ignore[attr-defined]
