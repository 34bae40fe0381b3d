"""What gaps and slips of laws follow besides coordinates and time: what changes at instants, and what must not be.

Gaps and slips are differentiated along the motion, as conditions are. What events and samples set stays as it is
between them; how fast states of a user's own and bodies elsewhere move is not known where that is done. Inputs may not
change in a run; that is seen when it begins.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.model.body import Ground
from kompono.model.law import Law, PairLaw, Unit
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.uses import uses_time


def check_known(model: Elaborated, law: Law, shape: Unit) -> None:
    """Raise TranslationError where a gap, one-way speed or slip follows what it cannot be differentiated by."""
    parts = [ca.vec(ca.SX(part)) for part in (shape.gap, shape.speed, shape.slip) if part is not None]
    symbols = ca.symvar(ca.vertcat(*parts))
    moving = _moving(model) if symbols else {}
    for symbol in symbols:
        if symbol.element_hash() in moving:
            raise TranslationError(
                f"its gap or slip uses {moving[symbol.element_hash()]}, by which it cannot be differentiated along the "
                "motion.",
                path=model.path(law),
                fix="Use time, parameters, modes and coordinates of joints; between two frames, motion.position, ...; "
                'or contact="soft".',
            )  # fmt: skip


def _moving(model: Elaborated) -> dict[int, str]:
    """Symbols of what moves in ways that are not known there, in words."""
    found = {ca.SX(state).element_hash(): f"the state {model.path(state)}" for state in model.states}
    found |= {ca.SX(fed).element_hash(): f"the input {model.path(fed)}, which is connected" for fed in model.fed}
    frames = [frame for carrier in (*model.bodies, *model.grounds) for frame in carrier._frames_with_signals]
    for seen in (*frames, *model.sensors):
        for kind, column in seen._signals.items():
            for symbol in ca.vertsplit(column):
                found[symbol.element_hash()] = f"the {kind.replace('_', ' ')} of a body"
    return found


def shifts(model: Elaborated, law: Law, *quantities: Any) -> int:
    """Whether events (1), samples (2) or both (3) may make quantities of a unit others at an instant."""
    used = [ca.vec(ca.SX(quantity)) for quantity in quantities if quantity is not None]
    for frame in (law.first, law.second) if isinstance(law, PairLaw) else ():
        poses = [frame.pose, *([frame.body.motion] if isinstance(frame.body, Ground) else [])]
        used += [ca.vec(ca.SX(part)) for pose in poses for part in (pose.position, pose.rotation)]
    symbols = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(ca.SX(0, 1), *used))}
    changed = {ca.SX(what).element_hash() for event in model.events for what, _ in event.changes}
    sampled = {ca.SX(mode).element_hash() for mode in model.modes if mode.every is not None}
    return bool(symbols & changed) + 2 * bool(symbols & sampled)


def is_driven(model: Elaborated) -> bool:
    """Whether time moves what joints, conditions, laws or grounds hold, or may do so beyond what a part exposes: two of
    them may want different motions of one body then.
    """
    if "driven" not in model.worked_out:
        model.worked_out["driven"] = bool(model.model.exposed) or _moves(model)
    return model.worked_out["driven"]


def _moves(model: Elaborated) -> bool:
    holding = (*model.joints, *model.constraints, *model.couplings, *model.grounds, *model.laws)
    return any(uses_time(model.model, element) for element in holding)
