"""Laws in joint coordinates: rows W on the speeds of tree joints, forces W^T z as generalized forces on them."""

from __future__ import annotations

from kompono.errors import TranslationError
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closure, Laws, trace_closure
from kompono.translate.motion.kinematics import Kinematics

LawClosures = dict[Law, Closure[Joint]]


def trace_rows(kinematics: Kinematics, rows: LawRows, laws: Laws) -> LawClosures:
    """The rows of all laws at a state."""
    for law in rows.laws:
        if isinstance(law, JointLaw) and not kinematics.topology.placed:
            _check(kinematics, law)
    return {law: trace_closure(kinematics, law._rows, laws) for law in rows.laws}


def _check(kinematics: Kinematics, law: JointLaw) -> None:
    """Raise TranslationError for a law on coordinates that are not in the tree."""
    for joint in law.joints:
        if all(joint is not other for other in kinematics.topology.tree_joints):
            raise TranslationError(
                f"it acts on the coordinates of {joint.path}, but that joint closes a loop.",
                path=kinematics.model.path(law),
                fix="Cut the loop at another joint: cut=[...]; or use engine='absolute'.",
            )
