"""The start as the user gave it: joint start values, poses of independent bodies, and what overrides them by channel
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError, RunError, nearest
from kompono.given import number
from kompono.model.body import Body
from kompono.model.free import Turned
from kompono.model.joint import Joint
from kompono.spatial.rotation import quaternion_matrix
from kompono.spatial.vectors import check_inertia
from kompono.translate.elaborate import Elaborated
from kompono.translate.engine import Engine
from kompono.translate.topology import Link

_BODY = {
    "position": ("x", "y", "z"),
    "orientation": ("e0", "e1", "e2", "e3"),
    "velocity": ("x", "y", "z"),
    "angular_velocity": ("x", "y", "z"),
}


@dataclass(frozen=True)
class Start:
    """State (q, v) before assembly, and how firmly each entry of q and v was given: 0 not, 1 declared, 2 in the
    call.
    """

    state: np.ndarray
    given_coordinates: np.ndarray
    given_speeds: np.ndarray


def start_state(engine: Engine, initial: Mapping[str, float]) -> Start:
    """The declared start with `initial` values (by channel name) put over it."""
    fix = "Give a finite number."
    left = {name: number(value, "the start value", name, error=RunError, fix=fix) for name, value in initial.items()}
    q, v, given_q, given_v = [], [], [], []
    for link in engine.topology.links:
        if link.joint is None:
            continue
        if link.independent:
            values, given = _independent(engine, link, left)
        else:
            values, given = _joint(engine, link.joint, left)
        count = len(link.joint.coordinates)
        q.append(values[:count])
        v.append(values[count:])
        given_q.append(given[:count])
        given_v.append(given[count:])
    if left:
        _complain(engine, next(iter(left)))
    modes = np.array([mode.start for mode in engine.model.modes])
    state = np.concatenate([*q, *v, modes])
    return Start(state, _together(given_q, int), _together(given_v, int))


def _together(parts: list[Any], dtype: type) -> np.ndarray:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _joint(engine: Engine, joint: Joint, left: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    path = engine.model.path(joint) if left else ""
    names = joint.start_names()
    values = np.concatenate([joint.neutral(), np.zeros(joint.freedoms)])
    given = np.zeros(len(values))
    for index, name in enumerate(names):
        if name in joint.start:
            values[index], given[index] = joint.start[name], 1
        if left and f"{path}.{name}" in left:
            values[index], given[index] = left.pop(f"{path}.{name}"), 2
    count = len(joint.coordinates)
    if type(joint).normalize is not Joint.normalize:
        values[:count] = np.asarray(ca.DM(joint.normalize(ca.DM(values[:count])))).ravel()
    if not left:
        return values, given
    rates = {name: left.pop(f"{path}.{name}.rate") for name in joint.coordinates if f"{path}.{name}.rate" in left}
    if rates:
        values[count:] = _speeds_for_rates(joint, values[:count], values[count:], rates)
        given[count:] = 2
    return values, given


def _speeds_for_rates(joint: Joint, q: np.ndarray, v: np.ndarray, rates: dict[str, float]) -> np.ndarray:
    """Speeds closest to v whose coordinate rates are the ones asked for."""
    symbols = ca.SX.sym("v", joint.freedoms)
    matrix = np.asarray(ca.DM(ca.evalf(ca.jacobian(ca.SX(joint.rate(ca.DM(q), symbols)), symbols))))
    rows = [joint.coordinates.index(name) for name in rates]
    change = np.linalg.lstsq(matrix[rows], np.array(list(rates.values())) - matrix[rows] @ v, rcond=None)[0]
    return v + change


def _independent(engine: Engine, link: Link, left: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    body = link.carrier
    assert isinstance(body, Body)
    path = engine.model.path(body)
    parts = {
        "position": body.start_position.copy(),
        "orientation": body.start_orientation.copy(),
        "velocity": body.start_velocity.copy(),
        "angular_velocity": body.start_angular_velocity.copy(),
    }
    for kind, names in _BODY.items():
        for index, name in enumerate(names):
            if f"{path}.{kind}.{name}" in left:
                parts[kind][index] = left.pop(f"{path}.{kind}.{name}")
    length = np.linalg.norm(parts["orientation"])
    if length < 1e-12:
        raise RunError("a start orientation of zeros is none.", path=path, fix="Use (1, 0, 0, 0) for no turn.")
    e = parts["orientation"] / length
    back = np.asarray(ca.DM(quaternion_matrix(e))).T
    values = np.concatenate([parts["position"], e, back @ parts["velocity"], back @ parts["angular_velocity"]])
    return values, np.zeros(len(values))


def _complain(engine: Engine, name: str) -> None:
    known = [f"{engine.model.path(j)}.{n}" for j in engine.joints if j.owner for n in j.start_names()]
    for link in engine.topology.links:
        if link.independent:
            path = engine.model.path(link.carrier)
            known += [f"{path}.{kind}.{n}" for kind, names in _BODY.items() for n in names]
    closing = {engine.model.path(joint) for joint in engine.topology.closing}
    if any(name.startswith(f"{path}.") for path in closing):
        reason = "that joint closes a loop; its coordinates follow from the others"
    else:
        reason = "it is no coordinate or speed of the start state"
    raise RunError(
        f"cannot set the start of {name!r}: {reason}.",
        fix=nearest(name, known) or f"Settable: {', '.join(known[:8])}, ...",
    )


def check_tuned_bodies(model: Elaborated, *sets: np.ndarray) -> None:
    """Mass properties that depend on tunable parameters, checked like declared ones, for each set of values (p,)."""
    if not model.parameters:
        return
    symbols = ca.vertcat(*[ca.SX(parameter) for parameter in model.parameters])
    for body in model.bodies:
        mass, inertia = ca.SX(body.solid.mass), ca.SX(body.solid.inertia)
        if mass.is_constant() and inertia.is_constant():
            continue
        solid = ca.Function("solid", [symbols], [mass, ca.densify(inertia)])
        for run, values in enumerate(sets):
            numbers = solid(values)
            problem = check_inertia(float(numbers[0]), np.asarray(numbers[1].full()))
            if problem:
                which = f"run {run}: " if len(sets) > 1 else ""
                fix = "Check the tunable parameters it depends on."
                raise ModelError(f"{which}{problem}.", path=model.path(body), fix=fix)


def placed_state(engine: Engine, placement: np.ndarray) -> np.ndarray:
    """The state of engines that place every body, from the `placement` of bodies and joints at a consistent start."""
    bodies = placement[: 13 * len(engine.model.bodies)].reshape(-1, 13)
    coordinates, place = {}, bodies.size
    for joint in engine.model.joints:
        coordinates[id(joint)] = placement[place : place + len(joint.coordinates)]
        place += len(joint.coordinates)
    counted = [coordinates[id(joint)] for joint in engine.counted]
    modes = [mode.start for mode in engine.model.modes]
    if isinstance(engine.joints[0], Turned):
        bodies = np.array([_turned(body) for body in bodies])
    size = bodies.shape[1] - 6
    return np.concatenate([bodies[:, :size].ravel(), *counted, bodies[:, size:].ravel(), modes])


def _turned(body: np.ndarray) -> np.ndarray:
    """Position, quaternion and speeds in the world (13) as position, rotation matrix and speeds in body axes (18)."""
    rotation = np.asarray(ca.DM(quaternion_matrix(body[3:7])))
    return np.concatenate([body[:3], rotation.ravel(order="F"), body[7:10] @ rotation, body[10:] @ rotation])
