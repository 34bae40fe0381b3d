"""Mates that hold two bodies firmly: as CAD systems make them, three plane-to-plane mates instead of one weld.

All conditions on one pair of bodies depend on their relative pose X alone. Where the bodies as declared fulfil them,
and no small change of X does (rank 6), X is an isolated solution: it can never change. The pair is then welded at this
pose in the tree, and its conditions, redundant ones included, are kept by construction instead of being solved for.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier
from kompono.model.constraint import Constraint
from kompono.model.free import Rigid
from kompono.spatial.pose import Pose, symbolic_pose
from kompono.spatial.rotation import constant_matrix, quaternion_matrix, skew
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.laws import ask_holds
from kompono.translate.structure.spans import beyond

CLOSE = 1e-6  # how well the declared start must fulfil the conditions, in their units
FIRM = 1e-6  # least singular value of the conditions, relative to the largest


@dataclass(frozen=True)
class FirmPair:
    """Constraints that leave two bodies no freedom, the joint that stands for them, and the combinations (rows,
    implied) of the rows of each that those before it imply.
    """

    joint: Rigid
    constraints: tuple[Constraint, ...]
    implied: dict[Constraint, np.ndarray]


def firm_pairs(model: Elaborated) -> tuple[FirmPair, ...]:
    """All pairs of bodies that constraints alone hold firmly."""
    groups: dict[frozenset[Carrier], list[Constraint]] = {}
    for constraint in model.constraints:
        carriers = constraint.first.body, constraint.second.body
        if all(isinstance(carrier, Body) or _at_rest(carrier) for carrier in carriers):
            groups.setdefault(frozenset(carriers), []).append(constraint)
    found = (_firm_pair(tuple(group)) for group in groups.values())
    return tuple(pair for pair in found if pair is not None)


def _at_rest(ground: Carrier) -> bool:
    motion = ground.motion  # type: ignore[attr-defined]
    return bool(motion.position.is_constant() and motion.rotation.is_constant())


def _firm_pair(constraints: tuple[Constraint, ...]) -> FirmPair | None:
    first, second = constraints[0].first.body, constraints[0].second.body
    function = _conditions(constraints, first)
    if function is None or function.size1_out(0) < 6:
        return None
    back = _start_rotation(first).T
    position, rotation = back @ (_start_position(second) - _start_position(first)), back @ _start_rotation(second)
    residual, _, holds = (value.full() for value in function(position, rotation))
    if np.abs(residual).max() > CLOSE or not (holds > 0).all():
        return None
    for _ in range(3):
        residual, matrix, _ = (value.full() for value in function(position, rotation))
        values = np.linalg.svd(matrix, compute_uv=False)
        if values[-1] < FIRM * values[0]:
            return None
        step = -np.linalg.lstsq(matrix, residual.ravel(), rcond=None)[0]
        step[np.abs(step) < 1e-14] = 0.0  # rounding must not turn exact zeros of a pose into numbers
        position, rotation = position + rotation @ step[:3], rotation @ constant_matrix([1.0, *(step[3:] / 2)])
    joint = Rigid(first.at(position, orientation=rotation), second)
    return FirmPair(joint, constraints, _implied(constraints, function(position, rotation)[1].full()))


def _implied(constraints: tuple[Constraint, ...], matrix: np.ndarray) -> dict[Constraint, np.ndarray]:
    """Combinations of the rows of each constraint that the constraints before it imply."""
    result, basis, place = {}, np.zeros((0, 6)), 0
    for constraint in constraints:
        count = sum(ca.SX(group).numel() for group in constraint.conditions(symbolic_pose()))
        rows, least = matrix[place : place + count], FIRM * np.abs(matrix).max()
        result[constraint], basis = beyond(rows, basis, least)
        place += count
    return result


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
