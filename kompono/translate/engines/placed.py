"""What engines share that place every body in the world by itself: all joints act on bodies, none moves one."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.references import referenced_joints
from kompono.translate.elimination.inertia_form import ground_acceleration
from kompono.translate.engines.inverses import constant_inverse, found_inverse
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.traced import Present
from kompono.translate.motion.conditions import Closing, Closure, Laws, trace_body_closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads, declared_inertia
from kompono.translate.structure.topology import Link
from kompono.translate.symbolic import Matrix, Vector


def counted_joints(model: Elaborated) -> tuple[Joint, ...]:
    """All joints with angles that somebody uses."""
    return tuple(joint for joint in referenced_joints(model) if "rad" in joint.units)


def mass_inverse(kinematics: Kinematics, body: Body) -> Matrix:
    """1/M (6, 6) of a body in its working frame."""
    inertia, path = declared_inertia(kinematics, body), kinematics.model.path(body)
    numbers = kinematics.model.numbers
    if not inertia.is_constant():
        return kinematics.tracer.call(lambda: ca.inv(inertia), path=path)
    return constant_inverse(inertia, path) if numbers is None else found_inverse(numbers, inertia, path)


def closures_on_bodies(
    kinematics: Kinematics, closing: Iterable[Closing], laws: Laws, loads: Loads | None
) -> dict[Element, Closure[Body]]:
    """Conditions with G on the accelerations of bodies; without loads grounds do not accelerate."""

    def acceleration(ground: Carrier) -> Vector:
        return ground_acceleration(kinematics, loads, ground) if loads is not None else ca.SX(6, 1)

    return {element: trace_body_closure(kinematics, element, laws, acceleration) for element in closing}


def posed_on_speeds(now: Present, links: Iterable[Link]) -> Posed:
    """Conditions with G on the speeds of the joints that place bodies."""
    columns: dict[Element, dict[Joint, Matrix]] = {}
    steps = {link.carrier: (link.moved_by, now.kinematics.step(link)) for link in links}
    for element, closure in now.closures.items():
        columns[element] = {}
        for carrier, block in closure.columns.items():
            joint, step = steps[carrier]
            columns[element][joint] = now.tracer.call(lambda g, s: g @ s, block, step.subspace)
    return Posed(now.tracer, now.kinematics, now.closures, columns)
