"""What acts on coordinates, as robot files say it: couplings, springs, damping, friction, rotors, actuators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.errors import RunError
from kompono.files.assembly import Actuated, Coupled, Loaded, Summed
from kompono.library import Actuator, DryFriction, JointEffort, RotationalSpringDamper
from kompono.model.joint import Joint
from kompono.model.signal import Input

if TYPE_CHECKING:
    from kompono.edges.machines.taken import _Taker

LINEAR = 1e-12


def couplings(taker: _Taker) -> list[Coupled | Summed]:
    """Conditions that are linear in coordinates of the tree."""
    found: list[Coupled | Summed] = []
    for coupling in taker.model.couplings:
        path = taker.model.path(coupling)
        name = taker.joint_names.give(path.replace(".", "_"))
        conditions = [ca.vec(ca.SX(part)) for part in coupling.conditions()]
        for number, row in enumerate(ca.vertsplit(ca.vertcat(*conditions))):
            terms, constant = _linear(taker, row, coupling.joints, path)
            own = name if not number else taker.joint_names.give(f"{name}_{number + 1}")
            if len(terms) == 1:
                ((of, factor),) = terms
                found.append(Coupled(own, of, None, (-constant / factor,)))
            elif len(terms) == 2:
                (one, a), (two, b) = terms
                found.append(Coupled(own, two, one, (-constant / b, -a / b)))
            else:
                found.append(Summed(own, terms, -constant))
    return found


def _linear(taker: _Taker, row: Any, joints: Any, path: str) -> tuple[tuple[tuple[str, float], ...], float]:
    """(step, factor) of all coordinates in a condition, and its constant; refused if it is not linear in them."""
    q = ca.vertcat(*[joint.q for joint in joints])
    row = taker.values.settle(row)
    slopes, at_zero = ca.jacobian(row, q), ca.substitute(row, q, ca.DM.zeros(q.shape))
    if ca.symvar(slopes) or ca.symvar(at_zero):
        raise RunError("a coupling that is not linear cannot be written.", path=path)
    factors, constant = np.asarray(ca.evalf(slopes)).ravel(), float(ca.evalf(at_zero))
    terms, place = [], 0
    for joint in joints:
        for coordinate in joint.coordinates:
            if abs(factors[place]) > LINEAR:
                terms.append((_step(taker, joint, coordinate, path), float(factors[place])))
            place += 1
    return tuple(terms), constant


def _step(taker: _Taker, joint: Joint, coordinate: str, path: str) -> str:
    if (joint, coordinate) not in taker.steps:
        raise RunError(f"{coordinate} of {taker.model.path(joint)} is no coordinate of a robot file.", path=path)
    return taker.steps[joint, coordinate]


def acting(taker: _Taker) -> tuple[tuple[Loaded, ...], tuple[Actuated, ...]]:
    """Springs, damping, friction and rotors by coordinate, and actuators."""
    found: dict[str, dict[str, float]] = {}
    actuators: list[Actuated] = []

    def add(joint: Joint, index: int, **values: float) -> bool:
        step = taker.steps.get((joint, joint.coordinates[index]))
        if step is None:
            return False
        own = found.setdefault(step, {})
        if "rest" in values and "rest" in own and own["rest"] != values["rest"]:
            return False
        for key, value in values.items():
            own[key] = value if key == "rest" else own.get(key, 0.0) + value
        return True

    for lump in taker.model.lumps:
        inertia = float(taker.numbers(lump.inertia, taker.model.path(lump.joint), "its rotor").ravel()[0])
        if not add(lump.joint, lump.place, inertia=inertia):
            taker.lose(lump.joint, "a rotor")
    for effort in taker.model.efforts:
        if isinstance(effort, RotationalSpringDamper):
            numbers = [taker.values.array(ca.SX(x)) for x in (effort.k, effort.c, effort.rest)]
            if all(x is not None for x in numbers):
                k, c, rest = (float(np.ravel(x)[0]) for x in numbers if x is not None)
                if add(effort.joint, effort.index, damping=c, **({"stiffness": k, "rest": rest} if k else {})):
                    continue
        one = _actuated(taker, effort)
        if one is None:
            taker.lose(effort, "it is no spring, damper or actuator of one coordinate")
        else:
            actuators.append(one)
    for law in taker.model.laws:
        if isinstance(law, DryFriction) and not law.by_load and law.stribeck is None:
            (joint,), size = law.joints, taker.values.array(ca.SX(law.preload[0]))
            names = [name for name, _, _ in law.rubbing]
            if size is not None and all(name in joint.coordinates for name in names):
                indices = [joint.coordinates.index(name) for name in names]
                if all(add(joint, index, friction=float(np.ravel(size)[0])) for index in indices):
                    continue
        if type(law).__name__ not in ("Stops", "ConeStops"):  # limits of joints are written with these
            taker.lose(law, "laws of contact and friction are not written")
    return tuple(Loaded(step, **values) for step, values in found.items()), tuple(actuators)


def _actuated(taker: _Taker, effort: Any) -> Actuated | None:
    """An effort that is linear in one input, and in coordinate and speed of its joint, maybe with limits."""
    if not isinstance(effort, JointEffort | Actuator):
        return None
    joint, index = effort.joint, effort.index
    step = taker.steps.get((joint, joint.coordinates[index])) if joint.speeds is None else None
    inputs = [signal for signal in taker.model.inputs if ca.depends_on(effort.value, ca.SX(signal))]
    if step is None or len(inputs) != 1:
        return None
    name = taker.model.path(inputs[0]).rpartition(".")[2]
    given = getattr(effort, "given", None)
    if given is not None and given.tendon is None:
        limits = given.control_limits, given.force_limits
        return Actuated(name, ((step, given.gear),), given.gain, given.bias, *limits)
    value, symbols = taker.values.settle(effort.value), ca.vertcat(ca.SX(inputs[0]), joint.q[index], joint.v[index])
    slopes, rest = ca.jacobian(value, symbols), ca.substitute(value, symbols, ca.DM.zeros(3))
    if ca.symvar(slopes) or ca.symvar(rest):
        return None
    gain, stiffness, damping = np.asarray(ca.evalf(slopes)).ravel().tolist()
    return Actuated(name, ((step, 1.0),), gain, (float(ca.evalf(rest)), stiffness, damping), unit=_unit(inputs[0]))


def _unit(signal: Input) -> str:
    return getattr(signal, "unit", "") or ""
