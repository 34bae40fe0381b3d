"""Laws in joint coordinates: rows W on the speeds of tree joints, forces W^T z as generalized forces on them.

A joint that closes a loop has no speeds of its own: they are those of the tree joints on the way between its bodies.
"""

from __future__ import annotations

from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closure, Laws, trace_closure, trace_loop_coupling
from kompono.translate.motion.kinematics import Kinematics

LawClosures = dict[Law, Closure[Joint]]


def trace_rows(kinematics: Kinematics, rows: LawRows, laws: Laws) -> LawClosures:
    """The rows of all laws at a state."""
    return {law: _traced(kinematics, law, laws) for law in rows.laws}


def _traced(kinematics: Kinematics, law: Law, laws: Laws) -> Closure[Joint]:
    loops = isinstance(law, JointLaw) and any(joint not in kinematics.q for joint in law.joints)
    if loops and not kinematics.topology.placed:
        return trace_loop_coupling(kinematics, law._rows)  # type: ignore[arg-type]
    return trace_closure(kinematics, law._rows, laws)
