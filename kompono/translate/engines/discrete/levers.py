"""Which conditions of a joint get longer levers as it slides: those that hold positions, on a body the joint may carry
them away from. The mobility they feel grows with the square of the travel, so their links must get softer with it.
"""

from __future__ import annotations

import casadi as ca

from kompono.model.body import Body
from kompono.model.constraint import Constraint, Coupling
from kompono.model.joint import Joint
from kompono.spatial.pose import pose_jacobian, symbolic_pose

NUMBERS = 4  # of each such group: how much a lever adds [1/m^2], and the point from which on it does [m] (3)


def lever_groups(element: Joint | Constraint | Coupling) -> tuple[int, ...]:
    """Numbers of the groups of conditions of a sliding joint whose levers may grow."""
    if not isinstance(element, Joint) or "m" not in element.units:
        return ()
    pose, found = symbolic_pose(), []
    for number, group in enumerate(element.conditions(pose) or ()):
        rows = ca.sparsify(pose_jacobian(ca.densify(ca.vec(ca.SX(group))), pose))
        on_first = isinstance(element.first.body, Body) and rows[:, :3].nnz() > 0
        on_second = isinstance(element.second.body, Body) and ca.depends_on(rows, pose.position)
        if on_first or on_second:
            found.append(number)
    return tuple(found)


def eased(lever: ca.SX, position: ca.SX) -> ca.SX:
    """By how much a link is softer at a relative position (3) [m] than where its lever is shortest."""
    return 1 / (1 + lever[0] * ca.sumsqr(position - lever[1:NUMBERS]))
