"""What engines share that place every body in the world by itself: all joints act on bodies, none moves one."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.model.body import Body, Carrier
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.references import referenced_joints
from kompono.translate.elimination.inertia_form import ground_acceleration
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.traced import Present
from kompono.translate.motion.conditions import Closing, Closure, Laws, trace_body_closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads, central_inertia, declared_inertia
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
    known = constant_inverse(inertia, path)
    return numbers.found(f"{path} 1/M", known, alike=True) if numbers is not None else ca.sparsify(ca.SX(ca.DM(known)))


def constant_inverse(inertia: Matrix, path: str) -> np.ndarray:
    """1/M (6, 6) of a body whose M is made of numbers."""
    moments = np.linalg.eigvalsh(ca.DM(inertia).full())
    if moments[0] <= 1e-14 * moments[-1]:
        raise TranslationError(
            "the body has no inertia about some axis, which absolute coordinates need.",
            path=path,
            fix="Give the solid a radius (or a small moment), or use engine='relative'.",
        )
    return _symmetric_inverse(ca.DM(inertia).full())


def _symmetric_inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric matrix, to the last digit: entries that are zero or equal whatever the numbers are
    stay so.
    """
    inverse, left = np.zeros(matrix.shape), set(range(len(matrix)))
    while left:
        block = {min(left)}
        while (more := {j for i in block for j in np.flatnonzero(matrix[i]).tolist()}) - block:
            block |= more
        left, rows = left - block, sorted(block)
        part = np.linalg.inv(matrix[np.ix_(rows, rows)]) if len(rows) > 1 else 1 / matrix[rows, rows][:, None]
        inverse[np.ix_(rows, rows)] = np.triu(part) + np.triu(part, 1).T
    return inverse


def find_inverses(model: Elaborated) -> None:
    """Have 1/M of all bodies, which are placed by their centres of mass, among the numbers of a model."""
    assert model.numbers is not None
    for body in model.bodies:
        inertia, path = central_inertia(body), model.path(body)
        if inertia.is_constant():
            model.numbers.found(f"{path} 1/M", constant_inverse(inertia, path), alike=True)


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
