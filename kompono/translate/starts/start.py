"""The start as the user gave it: start values of joints, places of bodies, and what overrides them by channel name.

What can be written into the state is (`state`, with how firmly each entry was given); what is asked of joints that
close loops, and of bodies that hang on joints, is listed beside it for the assembly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.errors import ModelError, RunError, nearest
from kompono.given import number
from kompono.model.body import STARTS, Body, Carrier
from kompono.model.constraint import Coupling
from kompono.model.free import Placed, Turned
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.spatial.numeric import rotations
from kompono.spatial.rotation import quaternion_matrix
from kompono.spatial.vectors import check_inertia, doubtful_inertias
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.engine import Engine
from kompono.translate.starts.asked import BODY, AskedBody, AskedJoint, AskedStart, RowNames
from kompono.translate.starts.guess import coordinates_of_bodies
from kompono.translate.starts.unit import on_manifold, tell, unit
from kompono.translate.structure.topology import Link

if TYPE_CHECKING:
    from kompono.translate.engines.posed import PosedEngine

_BODY = {
    "position": ("x", "y", "z"),
    "orientation": ("e0", "e1", "e2", "e3"),
    "velocity": ("x", "y", "z"),
    "angular_velocity": ("x", "y", "z"),
}


_Root = tuple[tuple[int, int], dict[str, np.ndarray]]  # where it begins in q and v, and what was asked by kind


@dataclass(frozen=True)
class _Firmness:
    """How firmly a start value holds where not all can: those in the call most, then those declared at joints, the
    owner's before the part's, then those of bodies.
    """

    model: Elaborated
    deepest: int

    def declared(self, joint: Joint) -> int:
        """Of a start value declared at a joint."""
        return BODY + 1 + self.deepest - _depth(self.model, joint)

    @property
    def called(self) -> int:
        """Of a start value given in the call."""
        return BODY + 2 + self.deepest


def _depth(model: Elaborated, joint: Joint) -> int:
    """How many components deep in the model a joint is declared."""
    depth, owner = 0, joint.owner
    while owner is not None and owner is not model.model:
        depth, owner = depth + 1, owner.owner
    return depth


def start_state(engine: Engine, initial: Mapping[str, float]) -> AskedStart:
    """The declared start with `initial` values (by channel name) put over it."""
    fix = "Give a finite number."
    left = {name: number(value, "the start value", name, error=RunError, fix=fix) for name, value in initial.items()}
    model = engine.model
    firmness = _Firmness(model, max((_depth(model, joint) for joint in model.joints if joint.start), default=0))
    guessed = coordinates_of_bodies(engine)
    q, v, given_q, given_v, neutral = [], [], [], [], []
    places: tuple[int, int] = (0, 0)
    roots: dict[Carrier, _Root] = {}
    said: list[str] = []
    for link in engine.topology.links:
        if link.joint is None or link.crosses:
            continue
        if link.independent:
            values, given, asked = _independent(engine, link, left, firmness, said)
            roots[link.carrier] = places, asked
        else:
            values, given = _joint(engine, link.joint, left, firmness, said, guessed.get(link.joint))
        count = len(link.joint.coordinates)
        q.append(values[:count])
        neutral.append(values[:count] if link.independent else link.joint.neutral())
        v.append(values[count:])
        given_q.append(given[:count])
        given_v.append(given[count:])
        places = places[0] + count, places[1] + link.joint.freedoms
    closing = _closing(engine, left, firmness, said)
    memory = [mode.start for mode in model.modes]
    memory += [left.pop(path, state.start) for state, path in ((s, model.path(s)) for s in model.states)]
    if left:
        _complain(engine, next(iter(left)))
    units = tuple(unit for joint in engine.joints for unit in joint.units or ("",) * len(joint.coordinates))
    called = bool(initial) and any((part >= firmness.called).any() for part in (*given_q, *(j.given for j in closing)))
    return AskedStart(
        np.concatenate([*q, *v, np.array(memory)]), _together(given_q, int), _together(given_v, int), units,
        _together(neutral, float), joints=closing, bodies=_asked_bodies(engine, roots),
        unused=(*said, *_unseen(engine, roots)), called=called, rows=_rows(engine),
    )  # fmt: skip


def _rows(engine: Engine) -> RowNames:
    owners = engine.row_owners
    paths = {element: engine.model.path(element) for element in engine.closing}
    coupling = tuple(isinstance(element, Coupling) for element in owners)
    return RowNames(tuple(paths[e] for e in owners), coupling, engine.hold_labels(), engine.row_units)


def _together(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _joint(
    engine: Engine,
    joint: Joint,
    left: dict[str, float],
    firmness: _Firmness,
    said: list[str],
    guess: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Start of one joint (nq + nv), and how firmly each entry was given; `guess` where it was not."""
    path = engine.model.path(joint) if left or joint.start else ""
    names = joint.start_names()
    values = np.concatenate([joint.neutral() if guess is None else guess, np.zeros(joint.freedoms)])
    given = np.zeros(len(values), dtype=int)
    declared = firmness.declared(joint) if joint.start else 0
    for index, name in enumerate(names):
        if name in joint.start:
            values[index], given[index] = joint.start[name], declared
        if left and f"{path}.{name}" in left:
            values[index], given[index] = left.pop(f"{path}.{name}"), firmness.called
    count = len(joint.coordinates)
    if type(joint).normalize is not Joint.normalize:
        values[:count] = on_manifold(joint, values[:count], given[:count] > 0, path, said)
    if not left:
        return values, given
    rates = {name: left.pop(f"{path}.{name}.rate") for name in joint.coordinates if f"{path}.{name}.rate" in left}
    if rates:
        values[count:], turned = _speeds_for_rates(joint, values[:count], values[count:], rates)
        given[count:][turned] = firmness.called
    return values, given


def _speeds_for_rates(
    joint: Joint, q: np.ndarray, v: np.ndarray, rates: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Speeds closest to v whose coordinate rates are the ones asked for, and which of them these depend on."""
    symbols = ca.SX.sym("v", joint.freedoms)
    matrix = np.asarray(ca.DM(ca.evalf(ca.jacobian(ca.SX(joint.rate(ca.DM(q), symbols)), symbols))))
    rows = [joint.coordinates.index(name) for name in rates]
    change = np.linalg.lstsq(matrix[rows], np.array(list(rates.values())) - matrix[rows] @ v, rcond=None)[0]
    return v + change, np.abs(matrix[rows]).max(axis=0) > 1e-12


def _independent(
    engine: Engine, link: Link, left: dict[str, float], firmness: _Firmness, said: list[str]
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Start of a body that is placed in the world (7 + 6), how firmly each entry was given, and what was asked."""
    body = link.carrier
    assert isinstance(body, Body)
    path = engine.model.path(body)
    parts = {kind: getattr(body, f"start_{kind}").copy() for kind in STARTS}
    firm = dict.fromkeys(STARTS, 0) | dict.fromkeys(body.given_start, BODY)
    turned = np.zeros(4, dtype=bool)  # entries of the orientation that the call gives
    for kind, names in _BODY.items():
        for index, name in enumerate(names):
            if f"{path}.{kind}.{name}" in left:
                parts[kind][index] = left.pop(f"{path}.{kind}.{name}")
                firm[kind] = firmness.called
                turned[index] |= kind == "orientation"
    given, orientation = parts["orientation"], f"{path}.orientation"
    e = parts["orientation"] = unit(given, turned, path)
    tell(_BODY["orientation"], given, e, turned, orientation, said)
    back = np.eye(3) if isinstance(link.joint, Placed) else np.asarray(ca.DM(quaternion_matrix(e))).T
    values = np.concatenate([parts["position"], e, back @ parts["velocity"], back @ parts["angular_velocity"]])
    asked = {kind: value for kind, value in parts.items() if firm[kind]}
    return values, np.repeat([firm[kind] for kind in STARTS], [3, 4, 3, 3]), asked


def _closing(engine: Engine, left: dict[str, float], firmness: _Firmness, said: list[str]) -> tuple[AskedJoint, ...]:
    """What is asked of joints that close loops; start values of those that cannot be measured are told."""
    asked = []
    place, speed_place = 0, 0
    measured = set(engine.measured_joints) if engine.topology.closing else set()
    for joint in engine.topology.closing:
        path, names = engine.model.path(joint), joint.start_names()
        if joint not in measured:
            why = "the joint closes a loop and cannot measure its coordinates (define `measure`)"
            said += [f"the start of {path}.{name} is not used; {why}." for name in joint.start]
            continue
        values, given = _joint(engine, joint, left, firmness, said)
        if given.any():
            units = joint.units or ("",) * len(joint.coordinates)
            quaternion = tuple(name in _BODY["orientation"] for name in joint.coordinates)
            full = tuple(f"{path}.{name}" for name in names)
            asked.append(AskedJoint(full, values, given, units, quaternion, place, speed_place))
        place, speed_place = place + len(joint.coordinates), speed_place + joint.freedoms
    return tuple(asked)


def _asked_bodies(engine: Engine, roots: Mapping[Carrier, _Root]) -> tuple[AskedBody, ...]:
    """What was asked of bodies; `roots` are those that are placed in the world."""
    asked = []
    spinning = {link.carrier for link in engine.topology.links if isinstance(link.joint, Placed)}
    for index, body in enumerate(engine.model.bodies):
        if not engine.whole and body not in roots:
            continue
        place, values = roots.get(body) or (None, {k: getattr(body, f"start_{k}") for k in body.given_start})
        if values:
            asked.append(AskedBody(engine.model.path(body), index, values, place, body in spinning))
    return tuple(asked)


def _unseen(engine: Engine, roots: Mapping[Carrier, _Root]) -> list[str]:
    """What cannot be compared with the start, because the model is too large to be looked at as a whole."""
    bodies = [] if engine.whole else [b for b in engine.model.bodies if b not in roots and b.given_start]
    if not bodies:
        return []
    first = engine.model.path(bodies[0])
    return [
        f"starts of {len(bodies)} bodies on joints, such as {first}, only choose coordinates of their joints; in a "
        "model of this size they are not compared with the result."
    ]


def _complain(engine: Engine, name: str) -> None:
    joints = (*engine.joints, *engine.measured_joints)
    known = [f"{engine.model.path(j)}.{n}" for j in joints if j.owner for n in j.start_names()]
    known += map(engine.model.path, engine.model.states)
    for link in engine.topology.links:
        if link.independent:
            path = engine.model.path(link.carrier)
            known += [f"{path}.{kind}.{n}" for kind, names in _BODY.items() for n in names]
    measured = set(engine.measured_joints)
    closing = {engine.model.path(joint) for joint in engine.topology.closing if joint not in measured}
    if any(name.startswith(f"{path}.") for path in closing):
        reason = "that joint closes a loop and cannot measure its coordinates; they follow from the others"
    else:
        reason = "it is no coordinate, speed or state of the start"
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
        masses, inertias = (np.asarray(numbers.full()) for numbers in solid(np.array(sets).T))
        masses, inertias = masses[0], inertias.reshape(3, len(sets), 3).transpose(1, 0, 2)
        for run in doubtful_inertias(masses, inertias):
            problem = check_inertia(float(masses[run]), inertias[run])
            if problem:
                which = f"run {run}: " if len(sets) > 1 else ""
                fix = "Check the tunable parameters it depends on."
                raise ModelError(f"{which}{problem}.", path=model.path(body), fix=fix)


def placed_state(engine: Engine, placement: np.ndarray, by_joints: PosedEngine, state: np.ndarray) -> np.ndarray:
    """The state of engines that place every body, from the `placement` of bodies, joints and insides of sealed parts at
    a consistent start; what is inside other sealed parts, and the model's own states, are taken from the `state` there.
    """
    bodies = placement[: 13 * len(engine.model.bodies)].reshape(-1, 13)
    coordinates, place = {}, bodies.size
    for joint in engine.model.joints:
        coordinates[joint] = placement[place : place + len(joint.coordinates)]
        place += len(joint.coordinates)
    counted = [coordinates[joint] for joint in engine.counted]
    modes = [mode.start for mode in engine.model.modes]
    if isinstance(engine.joints[0], Turned):
        bodies = _turned(bodies)
    size = bodies.shape[1] - 6
    rows: dict[Carrier, np.ndarray] = dict(zip(engine.model.bodies, bodies, strict=True))
    inside, found = _inside(by_joints, state), []
    sizes = {joint.owner: (len(joint.coordinates), joint.freedoms) for joint in engine.joints}
    for part in by_joints.placed_parts:
        inner, speeds = sizes[part.part]
        own, place = placement[place : place + inner + speeds], place + inner + speeds
        inside[part.part] = own[:inner], own[inner:]
    for joint in engine.joints:
        row = rows.get(joint.second.body)
        found.append(inside[joint.owner] if row is None else (row[:size], row[size:]))
    own = state[len(state) - len(by_joints.model.states) :]
    return np.concatenate([*(q for q, _ in found), *counted, *(v for _, v in found), modes, own])


def _inside(engine: Engine, state: np.ndarray) -> dict[Subsystem | None, tuple[np.ndarray, np.ndarray]]:
    """Coordinates and speeds of joints that move nothing the model knows, by their owners."""
    found, known, i, k = {}, {*engine.model.bodies, *engine.model.grounds}, 0, engine.nq
    for joint in engine.joints:
        q, v = state[i : i + len(joint.coordinates)], state[k : k + joint.freedoms]
        i, k = i + len(joint.coordinates), k + joint.freedoms
        if joint.second.body not in known:
            found[joint.owner] = q, v
    return found


def _turned(bodies: np.ndarray) -> np.ndarray:
    """Positions, quaternions and speeds in the world (n, 13) as positions, rotation matrices and speeds in body axes
    (n, 18).
    """
    turns = rotations(bodies[:, 3:7])
    speeds = bodies[:, 7:].reshape(-1, 2, 3) @ turns
    return np.hstack([bodies[:, :3], turns.swapaxes(1, 2).reshape(-1, 9), speeds.reshape(-1, 6)])
