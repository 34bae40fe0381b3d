"""Loads at the present state: forces, efforts and fields as wrenches on bodies (working axes) and on joint
coordinates.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.model.body import Body, Carrier, MassProperties
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.spatial.pose import Motion, Pose
from kompono.spatial.vectors import carry_wrench_back, inertia_matrix, symmetric, wrench_cross
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.structure.topology import free_symbols
from kompono.translate.structure.turned import ROUNDING
from kompono.translate.symbolic import Matrix, Vector


class Loads:
    """All loads of a model, summed per body and per joint."""

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics = kinematics
        self.model = kinematics.model
        self.tracer = kinematics.tracer
        self.wrenches: dict[Carrier, Vector] = {}
        self.efforts: dict[Joint, Vector] = {}
        soft = [load for law in self.model.soft for load in law.loads]
        for force in (*self.model.forces, *(load for load in soft if isinstance(load, Force))):
            self._add_force(force)
        for effort in (*self.model.efforts, *(load for load in soft if isinstance(load, Effort))):
            self._add_effort(effort)
        self.uniform = ca.SX(3, 1)  # acceleration field that acts on all bodies alike
        for field in self.model.fields:
            self._add_field(field)

    def bias(self, body: Body) -> Vector:
        """p of a body: gyroscopic terms less the applied wrench."""
        path = self.model.path(body)
        applied = self.wrenches.get(body, ca.SX(6, 1))
        shown = self.kinematics.stand_ins.get(body)
        if shown is not None:
            return self.tracer.call(lambda p, f: p - f, shown.bias, applied, path=path)
        twist = self.kinematics.absolute(body).twist
        inertia = body_inertia(self.kinematics, body)
        return self.tracer.call(lambda w, f: wrench_cross(w, inertia @ w) - f, twist, applied, path=path)

    def _wrench(self, carrier: Carrier, wrench: Vector, path: str) -> None:
        if carrier in self.wrenches:
            wrench = self.tracer.call(lambda a, b: a + b, self.wrenches[carrier], wrench, path=path)
        self.wrenches[carrier] = wrench

    def _add_force(self, force: Force) -> None:
        """A law's wrench (second's origin, first's axes) on the second body, the opposite on the first."""
        first, second, path, law = force.first, force.second, self.model.path(force), self.model.law(force)
        motion = self.kinematics.motion(first, second)
        frames = self.kinematics.frames
        inner = frames.locate(second)
        outer = frames.locate(first) if first is not None else None

        def trace(p: Vector, r: Matrix, v: Vector, w: Vector) -> tuple[Vector, ...]:
            load = law.wrench(Motion(p, r, v, w))
            f, m = ca.SX(load.force), ca.SX(load.torque)
            check_shape(f, (3, 1), "the force of wrench(motion)", path)
            check_shape(m, (3, 1), "the torque of wrench(motion)", path)
            on_second = carry_wrench_back(inner, ca.vertcat(r.T @ f, r.T @ m))
            if outer is None:
                return (on_second,)
            return on_second, carry_wrench_back(outer, ca.vertcat(-f, -m - ca.cross(p, f)))

        values = self.tracer.call(
            trace, motion.position, motion.rotation, motion.velocity, motion.angular_velocity, path=path, free=True
        )
        self._wrench(second.body, values[0], path)
        if first is not None:
            self._wrench(first.body, values[1], path)

    def _add_effort(self, effort: Effort) -> None:
        joint, path, law = effort.joint, self.model.path(effort), self.model.law(effort)
        q, v = self.kinematics.joint_state(joint)
        value = self.tracer.call(lambda q, v: ca.SX(law.effort(q, v)), q, v, path=path, free=True)
        check_shape(value, (joint.freedoms, 1), "effort(q, v)", path)
        if joint not in self.kinematics.q:
            self._effort_as_wrench(joint, q, value, path)
        if joint in self.efforts:
            value = self.tracer.call(lambda a, b: a + b, self.efforts[joint], value, path=path)
        self.efforts[joint] = value

    def _effort_as_wrench(self, joint: Joint, q: Vector, effort: Vector, path: str) -> None:
        for body, wrench in effort_on_bodies(self.kinematics, joint, q, effort, path):
            self._wrench(body, wrench, path)

    def _add_field(self, field: Field) -> None:
        value = uniform_field(self.model, field)
        if value is not None:
            path = self.model.path(field)
            self.uniform = self.tracer.call(lambda a: a + value, self.uniform, path=path, free=True)
            return
        owner = field.owner
        for body in self.model.bodies:
            if owner is not None and owner.contains(body):
                self._field_on(field, body)

    def _field_on(self, field: Field, body: Body) -> None:
        law = self.model.law(field)
        centre = self.kinematics.frames.centre(body)
        absolute, frames = self.kinematics.absolute(body).pose, self.kinematics.frames
        world = frames.traced("world", frames.of(self.kinematics.topology.world))

        def trace(p: Vector, r: Matrix) -> Vector:
            pose = world @ Pose(p, r) @ centre
            force = self.model.solid(body).mass * ca.SX(law.acceleration(pose.position))
            return carry_wrench_back(centre, ca.vertcat(pose.rotation.T @ force, ca.SX(3, 1)))

        path = self.model.path(field)
        self._wrench(body, self.tracer.call(trace, absolute.position, absolute.rotation, path=path, free=True), path)


def uniform_field(model: Elaborated, field: Field) -> Vector | None:
    """The acceleration of a field that acts on all bodies alike; None if it does not."""
    position = ca.SX.sym("x", 3)
    value = ca.SX(model.law(field).acceleration(position))
    symbols = {symbol.element_hash() for symbol in ca.vertsplit(position)}
    varies = any(symbol.element_hash() in symbols for symbol in free_symbols(value))
    return None if varies or field.owner is not model.model else value


def effort_on_bodies(
    kinematics: Kinematics, joint: Joint, q: Vector, effort: Vector, path: str
) -> list[tuple[Carrier, Vector]]:
    """Second and first body of a joint, with the wrench (working axes) an effort on its speeds is on each."""
    frames, motion = kinematics.frames, kinematics.motion(joint.first, joint.second)
    inner, outer, law = frames.locate(joint.second), frames.locate(joint.first), kinematics.model.pair(joint)

    def trace(
        q: Vector, f: Vector, p: Vector, r: Matrix, op: Vector, orr: Matrix, ip: Vector, ir: Matrix
    ) -> tuple[Vector, Vector]:
        load = effort_wrench(joint, law.subspace(q), f)
        return carry_wrench_back(Pose(ip, ir), load), carry_wrench_back(Pose(op, orr) @ Pose(p, r), -load)

    places = (motion.position, motion.rotation, outer.position, outer.rotation, inner.position, inner.rotation)
    wrenches = kinematics.tracer.call(trace, q, effort, *places, path=path)
    return list(zip((joint.second.body, joint.first.body), wrenches, strict=True))


def check_shape(value: Matrix, shape: tuple[int, int], what: str, path: str) -> None:
    """Raise if a user's law gives something of another size."""
    if value.shape != shape:
        raise TranslationError(
            f"{what} is {value.shape[0]} by {value.shape[1]}, not {shape[0]} by {shape[1]}.",
            path=path,
            fix="Return a column with one entry per component.",
        )


def central_inertia(body: Body) -> Matrix:
    """6x6 inertia in the axes of the centre of mass (constant, or of tunable parameters)."""
    inertia = body.solid.inertia
    tensor = inertia if isinstance(inertia, ca.SX) else ca.DM(inertia)
    return ca.SX(inertia_matrix(body.solid.mass, ca.DM.zeros(3), tensor))


def body_inertia(kinematics: Kinematics, body: Body) -> Matrix:
    """6x6 inertia in the working frame (constant, or of tunable parameters and symbols of numbers)."""
    return _in_working_frame(kinematics, body, kinematics.model.solid(body))


def declared_inertia(kinematics: Kinematics, body: Body) -> Matrix:
    """The same with numbers as they are declared."""
    return _in_working_frame(kinematics, body, body.solid)


def _in_working_frame(kinematics: Kinematics, body: Body, solid: MassProperties) -> Matrix:
    known = kinematics.frames.inertias.setdefault(body, [])
    for one, found in known:
        if one is solid:
            return found
    centre, inertia = kinematics.frames.centre(body), solid.inertia
    tensor = inertia if isinstance(inertia, ca.SX) else ca.DM(inertia)
    turned = centre.rotation @ tensor @ centre.rotation.T
    if kinematics.axes is not None:
        turned = ca.SX(turned) * ca.DM(inertia_pattern(kinematics, body))
    found = ca.sparsify(ca.SX(inertia_matrix(solid.mass, centre.position, turned)))
    found = found if found.is_constant() else symmetric(found)
    known.append((solid, found))
    return found


def inertia_pattern(kinematics: Kinematics, body: Body) -> np.ndarray:
    """Which entries (3, 3) of an inertia tensor in the working frame are more than rounding, 1 or 0."""
    tensor = body.solid.inertia
    if isinstance(tensor, ca.SX):
        return np.ones((3, 3))
    turn = ca.DM(kinematics.frames.place(body).rotation).full()
    turned = np.abs(turn @ tensor @ turn.T)
    return (turned > ROUNDING * turned.max()).astype(float)


def effort_wrench(joint: Joint, subspace: Matrix, effort: Matrix) -> Matrix:
    """A wrench w with S^T w = f, or one for each column f: a torque for efforts on angles, a force for efforts on
    displacements; the least one where that cannot be, as of two turns about axes that stay parallel.
    """
    subspace = ca.SX(subspace)
    chosen = ca.SX(subspace)
    if joint.speeds is None:
        for k, unit in enumerate(joint.units):
            other = slice(0, 3) if unit == "rad" else slice(3, 6)
            rest = subspace[3:, k] if unit == "rad" else subspace[:3, k]
            if unit in ("rad", "m") and rest.nnz():
                chosen[other, k] = 0
        if joint.freedoms > 1 and _never_regular(ca.mtimes(subspace.T, chosen)):
            chosen = subspace
    return ca.sparsify(chosen) @ ca.solve(ca.mtimes(subspace.T, chosen), effort)


def _never_regular(matrix: Matrix) -> bool:
    """Whether a matrix is singular at an arbitrary place."""
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(matrix))
    random = np.random.default_rng(7).uniform(0.3, 1.2, symbols.numel())
    values = ca.Function("there", [symbols], [ca.densify(matrix)])(random).full()
    return bool(np.linalg.matrix_rank(values, tol=1e-9 * max(np.abs(values).max(), 1e-300)) < len(values))
