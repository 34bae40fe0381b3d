"""A model with its laws as forces, and the numbers of its state that remember for them.

Bristles are modes, the tail of the state, but with rates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from kompono.errors import ModelError
from kompono.model.law import Law
from kompono.model.signal import Parameter
from kompono.sealed.element import Sealed
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.motion.kinematics import Kinematics


class SoftStrength(NamedTuple):
    """How stiff laws are for a step h and mobility a: h^2 k a of gaps, h^2 k a and h c a of bristles."""

    gap: float
    bristle: float
    damper: float


STEP = "contact_step"  # the parameter
SEALED_STEP = 1e-3  # [s] of sealed parts until an owner runs
ALONE = SoftStrength(0.1, 0.5, 0.5)
LINKED = SoftStrength(0.02, 0.9, 0.15)  # on engines whose joints are links, which leave less of what a step can bear


def softened(model: Elaborated, step: float, linked: bool) -> Elaborated:
    """The model with its laws as forces, for steps [s]; `linked`: on an engine whose joints are links."""
    if not model.laws:
        return model
    from kompono.translate.laws.soft import SoftLaw

    for law in model.laws:
        if any(unit.reaction is not None for unit in law._shapes()):
            raise ModelError(
                "friction by the reaction of a joint follows from accelerations, and soft laws from positions and "
                "speeds alone.", path=model.path(law), fix="Give its limit, or use contact='events' or 'steps'.",
            )  # fmt: skip
    clock = Parameter(step, unit="s")
    clock._owner, clock._name = model.model, STEP  # type: ignore[assignment]
    soft = tuple(SoftLaw(law, clock, LINKED if linked else ALONE) for law in model.laws)
    modes = [mode for mode in model.modes if not isinstance(mode._owner, Law)]
    modes += [mode for one in soft for mode in one.bristles]
    return replace(model, laws=(), modes=tuple(modes), parameters=(*model.parameters, clock), soft=soft)


def steps_of_soft_laws(model: Elaborated) -> list[str]:
    """Paths of the parameters that tell soft laws the step, here and in sealed parts, where nobody gave another."""
    inside = [
        model.path(p) for p in model.parameters
        if p._name == STEP and isinstance(p._owner, Sealed) and p.value == SEALED_STEP
    ]  # fmt: skip
    return [STEP, *inside] if model.soft else inside


def mode_rates(model: Elaborated, kinematics: Kinematics, later: bool = False) -> Vector:
    """Rates of all modes, which only bristles have; or what modes are a step later."""
    own = len(model.modes) - sum(len(one.bristles) for one in model.soft)
    kept = ca.SX(own, 1)
    if later and own:
        symbols = ca.vertcat(*[ca.SX(mode) for mode in model.modes[:own]])
        kept = kinematics.tracer.call(lambda: symbols, free=True)
    return ca.vertcat(kept, *[one.bristles_at(kinematics, later) for one in model.soft])
