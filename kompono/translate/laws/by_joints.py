"""Laws in joint coordinates: rows W on the speeds of tree joints, forces W^T z as generalized forces on them.

A joint that closes a loop has no speeds of its own: they are those of the tree joints on the way between its bodies.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from kompono.model.body import Body, Carrier
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law, PairLaw
from kompono.translate.laws.by_bodies import trace_body_rows
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closure, Laws, trace_closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.loop_couplings import trace_loop_coupling

LawClosures = dict[Law, Closure[Any]]


def trace_rows(
    kinematics: Kinematics, rows: LawRows, laws: Laws, flying: Container[Carrier] = (), loads: Loads | None = None
) -> LawClosures:
    """The rows of all laws at a state. Between `flying` bodies, or one and the ground, they are on the accelerations of
    these bodies; without loads grounds do not accelerate.
    """
    return {
        law: trace_body_rows(kinematics, law, laws, loads) if _flies(law, flying) else _traced(kinematics, law, laws)
        for law in rows.laws
    }


def _flies(law: Law, flying: Container[Carrier]) -> bool:
    if not isinstance(law, PairLaw):
        return False
    bodies = [frame.body for frame in (law.first, law.second) if isinstance(frame.body, Body)]
    return bool(bodies) and all(body in flying for body in bodies)


def _traced(kinematics: Kinematics, law: Law, laws: Laws) -> Closure[Joint]:
    loops = isinstance(law, JointLaw) and any(joint not in kinematics.q for joint in law.joints)
    if loops and not kinematics.topology.placed:
        return trace_loop_coupling(kinematics, law._rows)  # type: ignore[arg-type]
    return trace_closure(kinematics, law._rows, laws)
