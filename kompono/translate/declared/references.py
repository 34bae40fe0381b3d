"""Which joints have their coordinates used by somebody: efforts, gears, drives, friction, stops, laws or outputs."""

from __future__ import annotations

from kompono.model.joint import Joint
from kompono.model.law import JointLaw
from kompono.translate.declared.elaborate import Elaborated


def referenced_joints(model: Elaborated) -> tuple[Joint, ...]:
    """Joints that are named, or whose symbols appear in expressions, in order of declaration."""
    named = {used for element in model.uses.values() for used in element}
    named |= {joint for coupling in model.couplings for joint in coupling.joints}
    named |= {joint for law in model.laws if isinstance(law, JointLaw) for joint in law.joints}
    named |= {effort.joint for effort in model.efforts}
    named |= {joint for soft in model.soft for joint in getattr(soft.law, "joints", ())}
    return tuple(joint for joint in model.joints if joint in named)
