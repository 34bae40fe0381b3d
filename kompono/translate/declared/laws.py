"""What a translation asks of the elements of a model: their laws, evaluated on fixed symbols.

A law is a method an element defines (`wrench`, `conditions`, `pose`, ...). Whatever it reads while it runs, what enters
the equations of motion is the expression it returns. `laws(element)` gives all of them, for whoever wants to know what
a model says without translating it: a name for a translation, checks of what expressions use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import casadi as ca

from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw, Unit
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Motion, Pose, symbolic_pose

POSE = Pose(*[Symbol.of(symbols) for symbols in (symbolic_pose().position, symbolic_pose().rotation)])
MOTION = Motion(POSE.position, POSE.rotation, Symbol.column("velocity", 3), Symbol.column("angular_velocity", 3))
PLACE = Symbol.column("x", 3)
ARGUMENTS = (POSE.position, POSE.rotation, MOTION.velocity, MOTION.angular_velocity, PLACE)
_CLOSED = Pose(ca.SX.zeros(3), ca.SX.eye(3))

Law = tuple[str, Callable[[Any], Any]]
_LAWS: dict[type[Element], tuple[Law, ...]] = {
    Joint: (
        ("pose", lambda joint: _pose(joint.pose(joint.q))),
        ("rate", lambda joint: [joint.rate(joint.q, joint.v)]),
        ("subspace", lambda joint: [joint.subspace(joint.q)]),
        ("subspace_rate", lambda joint: [joint.subspace_rate(joint.q, joint.v)]),
        ("normalize", lambda joint: [joint.normalize(joint.q)]),
        ("conditions", lambda joint: joint.conditions(POSE)),
        ("measure", lambda joint: _maybe(joint.measure(POSE))),
        ("measure", lambda joint: _maybe(joint.measure(_CLOSED))),
        ("neutral", lambda joint: [joint.neutral()]),
        ("holds", lambda joint: _maybe(ask_holds(joint, POSE))),
        ("velocity_conditions", lambda joint: joint.velocity_conditions(MOTION)),
    ),
    Constraint: (
        ("conditions", lambda constraint: constraint.conditions(POSE)),
        ("holds", lambda constraint: _maybe(ask_holds(constraint, POSE))),
        ("velocity_conditions", lambda constraint: constraint.velocity_conditions(MOTION)),
    ),
    Coupling: (("conditions", lambda coupling: coupling.conditions()),),
    Force: (
        ("wrench", lambda force: _wrench(force.wrench(MOTION))),
        ("potential", lambda force: [force.potential(MOTION)]),
        ("readings", lambda force: [value for value, _ in force.readings(MOTION).values()]),
    ),
    Effort: (
        ("effort", lambda effort: [effort.effort(effort.joint.q, effort.joint.v)]),
        ("potential", lambda effort: [effort.potential(effort.joint.q)]),
    ),
    PairLaw: (("units", lambda law: _units(law.units_at(MOTION))),),
    JointLaw: (("units", lambda law: _units(law.units_now())),),
    Field: (
        ("acceleration", lambda field: [field.acceleration(PLACE)]),
        ("potential", lambda field: [field.potential(PLACE)]),
    ),
}


def laws(element: Element, *wanted: str) -> Iterator[tuple[str, list[ca.SX] | None]]:
    """Names of an element's laws (all, or those wanted) with the expressions they return; None where there is none."""
    for kind, known in _LAWS.items():
        if isinstance(element, kind):
            for name, ask in known:
                if not wanted or name in wanted:
                    answer = ask(element)
                    yield name, None if answer is None else [ca.SX(part) for part in answer]


def ask_holds(element: Any, pose: Pose) -> Any:
    """The law `holds` of an element's class; an attribute a user calls so, a mode that cuts a joint, is no law."""
    kind: Any = type(element)
    return kind.holds(element, pose)


def law_names(kind: type) -> frozenset[str]:
    """The methods `laws` knows of a class."""
    return frozenset(name for base, known in _LAWS.items() if issubclass(kind, base) for name, _ in known)


def _units(units: list[Unit]) -> list[Any]:
    parts = [part for unit in units for part in (unit.gap, unit.speed, unit.slip, unit.point, unit.stiffness)]
    quantities = [part for part in parts if part is not None]
    return [*quantities, *[unit.numbers() for unit in units]]


def _pose(pose: Pose) -> list[Any]:
    return [pose.position, pose.rotation]


def _wrench(wrench: Any) -> list[Any]:
    return [wrench.force, wrench.torque]


def _maybe(value: Any) -> list[Any] | None:
    return None if value is None else [value]
