"""What gaps and slips of laws follow besides the motion: what changes at instants, and what must not be.

Gaps and slips are differentiated along the motion, as conditions are: by time, by what lies between two frames, or by
the joints of the law. What events and samples set stays as it is between them; how fast anything else moves is not
known where that is done. Inputs may not change in a run; that is seen when it begins. Of a sealed part its functions
tell which public inputs these are: those by which gaps and slips are brought back where they were left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.model.body import Ground
from kompono.model.law import JointLaw, Law, PairLaw
from kompono.model.signal import time
from kompono.sealed.element import Sealed, code_of, signal_of
from kompono.spatial.pose import symbolic_motion, symbolic_pose
from kompono.translate.declared.elaborate import Elaborated

_BROUGHT_BACK = ("violated_residual", "violated_speed")  # functions of a file that know gaps and slips, and no forces
_FIX = (
    'Use time, parameters, modes and coordinates of its joints; between two frames, motion.position; or contact="soft".'
)


def check_known(model: Elaborated) -> None:
    """Raise TranslationError where a gap, one-way speed or slip follows what it cannot be differentiated by."""
    steady = _hashes([*model.parameters, *model.modes, *model.inputs]) if model.laws else set()
    for law in model.laws:
        unknown = [s for s in _followed(law) if s.element_hash() not in steady | _hashes([time])]
        unknown += [s for s in _symbols(_places(law)) if s.element_hash() not in steady]
        if unknown:
            what = _in_words(model, unknown[0])
            raise TranslationError(
                f"its gap or slip uses {what}, by which it cannot be differentiated along the motion.",
                path=model.path(law), fix=_FIX,
            )  # fmt: skip
    fed = _hashes(model.fed)
    for part in sealed_with_laws(model) if fed else ():
        for name in followed_inside(part):
            if signal_of(part, name).element_hash() in fed:
                raise TranslationError(
                    f"a gap or slip inside follows its input {name}, which is connected: it cannot be differentiated "
                    "along the motion.",
                    path=model.path(part), fix=f"Give {name} a number that stays.",
                )  # fmt: skip


def sealed_with_laws(model: Elaborated) -> list[Sealed]:
    """Sealed parts with laws inside."""
    sealed = [part for part in model.subsystems if isinstance(part, Sealed)]
    return [part for part in sealed if code_of(part).manifest.shape.variants[0].laws.units]


def followed_inputs(model: Elaborated) -> dict[str, str]:
    """Inputs by path that gaps and slips follow, and the law or the sealed part that does."""
    found: dict[str, str] = {}
    inputs = {ca.SX(signal).element_hash(): model.path(signal) for signal in model.inputs}
    for law in model.laws if inputs else ():
        for symbol in (*_followed(law), *_symbols(_places(law))):
            if symbol.element_hash() in inputs:
                found.setdefault(inputs[symbol.element_hash()], model.path(law))
    for part in sealed_with_laws(model) if inputs else ():
        for name in followed_inside(part):
            if (key := signal_of(part, name).element_hash()) in inputs:
                found.setdefault(inputs[key], model.path(part))
    return found


def followed_inside(part: Sealed) -> list[str]:
    """Names of the public inputs that gaps and slips in a sealed part follow."""
    shape = code_of(part).manifest.shape
    functions = [variant.functions[name] for variant in shape.variants for name in _BROUGHT_BACK]
    used = {name for described in functions for name in described.signals}
    return [quantity.name for quantity in shape.inputs if quantity.name in used]


def _followed(law: Law) -> list[ca.SX]:
    """What a law's gaps and slips are made of, without the motion they are differentiated by."""
    if isinstance(law, PairLaw):
        motion = symbolic_motion()
        shapes = law.units_at(motion)
        own = _hashes([motion.position, motion.rotation, motion.velocity, motion.angular_velocity])
    else:
        shapes = law._shapes()
        own = (
            _hashes([part for joint in law.joints for part in (joint.q, joint.v)])
            if isinstance(law, JointLaw)
            else set()
        )
    parts = [part for unit in shapes for part in (unit.gap, unit.speed, unit.slip) if part is not None]
    return [symbol for symbol in _symbols(parts) if symbol.element_hash() not in own]


def _places(law: Law) -> list[Any]:
    """Where the frames of a law are on their bodies."""
    frames = (law.first, law.second) if isinstance(law, PairLaw) else ()
    return [part for frame in frames for part in (frame.pose.position, frame.pose.rotation)]


def _symbols(parts: Iterable[Any]) -> list[ca.SX]:
    return ca.symvar(ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(part)) for part in parts]))


def _hashes(parts: Iterable[Any]) -> set[int]:
    return {symbol.element_hash() for symbol in _symbols(parts)}


def _in_words(model: Elaborated, symbol: ca.SX) -> str:
    """What a symbol is."""
    words = [(time, "time in a place on a body")]
    words += [(state, f"the state {model.path(state)}") for state in model.states]
    words += [(fed, f"the input {model.path(fed)}, which is connected") for fed in model.fed]
    words += [(output, f"the output {model.path(output)}") for output in model.outputs]
    for joint in model.joints:
        words += [
            (part, f"a coordinate of {model.path(joint)}, a joint it was not given") for part in (joint.q, joint.v)
        ]
    frames = [frame for carrier in (*model.bodies, *model.grounds) for frame in carrier._frames_with_signals]
    for seen in (*frames, *model.sensors):
        words += [(column, f"the {kind.replace('_', ' ')} of a body") for kind, column in seen._signals.items()]
    for pin in (pin for network in model.networks for pin in network.pins):
        words += [(part, f"a quantity of the network at {model.path(pin)}") for part in (pin.across, pin.through)]
    key = symbol.element_hash()
    return next((word for part, word in words if key in _hashes([part])), f"{symbol}, which is not of this model")


def shifts(model: Elaborated, law: Law, *quantities: Any) -> int:
    """Whether events (1), samples (2) or both (3) may make quantities of a unit others at an instant."""
    used = [*(quantity for quantity in quantities if quantity is not None), *_places(law)]
    for frame in (law.first, law.second) if isinstance(law, PairLaw) else ():
        if isinstance(frame.body, Ground):
            used += [frame.body.motion.position, frame.body.motion.rotation]
    symbols = _hashes(used)
    changed = _hashes(what for event in model.events for what, _ in event.changes)
    sampled = _hashes(mode for mode in model.modes if mode.every is not None)
    return bool(symbols & changed) + 2 * bool(symbols & sampled)


def samples_catch(model: Elaborated) -> bool:
    """Whether conditions depend on what is sampled; of those inside a sealed part that samples it is not known."""
    shapes = [code_of(part).manifest.shape for part in model.subsystems if isinstance(part, Sealed)]
    if any(shape.rates and any(v.functions["conditions"].results for v in shape.variants) for shape in shapes):
        return True
    sampled, pose, motion = _hashes(model.sampled), symbolic_pose(), symbolic_motion()
    found = [group for coupling in model.couplings for group in (coupling.conditions(), coupling.velocity_conditions())]
    found += [constraint.conditions(pose) for constraint in model.constraints]
    found += [constraint.velocity_conditions(motion) for constraint in model.constraints]
    return bool(sampled) and bool(sampled & _hashes(condition for group in found for condition in group))
