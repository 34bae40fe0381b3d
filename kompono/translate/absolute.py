"""The absolute engine: position and orientation of every body (successive projection papers, DESIGN section 5).

State q = (x, e), v = (x_dot, Omega) of every body in the world; q_dot = T(q) v. All joints act through their
conditions. Accelerations and projections are the same condense/resolve in mobility form, with weights 1/M and 1:

standard     joint and quaternion conditions together (eqs 24-33): seven unknowns a body, a second factorization for
             speeds
successive   quaternions first, then joints through T; one factorization of G T for two coordinate and two velocity
             passes (eqs 34-52)
distributed  the same, condensed component by component
baumgarte    no projection; the conditions' errors are fed back into the accelerations
none         nothing
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.model.body import Body
from kompono.model.joint import Joint
from kompono.spatial.vectors import symmetric
from kompono.translate.closure import Closure, trace_body_closure, trace_violation
from kompono.translate.condense import ground_acceleration
from kompono.translate.elaborate import Elaborated
from kompono.translate.elimination import Reference
from kompono.translate.engine import Engine, Posed, Present
from kompono.translate.kinematics import Kinematics
from kompono.translate.loads import Loads, body_inertia
from kompono.translate.mobility import Mobility, flat_levels, levels_by_component
from kompono.translate.program import Routine
from kompono.translate.references import referenced_joints
from kompono.translate.relative import Close, RelativeEngine
from kompono.translate.sizes import ALWAYS, absolute_references
from kompono.translate.topology import Topology, find_topology
from kompono.translate.tracer import Tracer

PROJECTIONS = ("standard", "successive", "distributed", "baumgarte", "none")
METRICS = ("identity", "mass")
PROJECTION_TOLERANCE = 1e-4  # coarser than in joint coordinates: here rounding is that of places and levers


class AbsoluteEngine(Engine):
    """The state is (x, e) and (x_dot, Omega) of every body."""

    name = "absolute"
    allowed_gap = 1e-7  # pivots of implied rows are about its square, far below the tolerance

    def __init__(
        self,
        model: Elaborated,
        topology: Topology,
        kernels: dict[str, ca.Function],
        *,
        shared: bool,
        projection: str = "distributed",
        metric: str = "mass",
        baumgarte: tuple[float, float] = (20.0, 20.0),
        close: Close | None = None,
    ) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self._close = close
        self.projection, self.metric, self.feedback = projection, metric, baumgarte
        self._references: dict[bool, dict[int, Reference]] = {}

    def counted_joints(self) -> tuple[Joint, ...]:
        """All joints whose coordinates somebody uses."""
        return tuple(joint for joint in referenced_joints(self.model) if "rad" in joint.units)

    @property
    def projects(self) -> bool:
        """Whether states are changed after a step."""
        return self.projection not in ("baumgarte", "none")

    @cached_property
    def present(self) -> Present:
        """Kinematics, loads, factors and accelerations at the state, shared by all routines that need them."""
        tracer, kinematics = self._start()
        loads = Loads(kinematics)
        closures = self._closures(kinematics, loads)
        weights = {id(body): self._mass_inverse(kinematics, body) for body in self.model.bodies}
        mobility = Mobility(tracer, self.model, closures, weights, self.references(unit=False), self._levels(closures))
        free = {}
        for body in self.model.bodies:
            path = self.model.path(body)
            free[id(body)] = tracer.call(lambda d, p: -(d @ p), weights[id(body)], loads.bias(body), path=path)
        demands = {key: self._demand(tracer, closure) for key, closure in closures.items()}
        changes, multipliers = mobility.refined(free, demands)
        solution: dict[Any, Any] = {("body", key): value for key, value in changes.items()}
        solution.update({("rows", key): value for key, value in multipliers.items()})
        return Present(tracer, kinematics, closures, loads, mobility.elimination, solution)

    def references(self, *, unit: bool) -> dict[int, Reference]:
        """What pivots are compared with, by id(element), for weights 1/M or `unit` weights."""
        if unit not in self._references:
            tree = self._by_joints
            live = tree.live if not unit else tree.find_live(unit=True)
            self._references[unit] = absolute_references(self.model, self.laws, tree.topology, live, unit)
        return self._references[unit]

    @property
    def independence(self) -> tuple[int, int]:
        return self._by_joints.independence

    @cached_property
    def _by_joints(self) -> RelativeEngine:
        """The same model in joint coordinates, where its loops are seen."""
        return RelativeEngine(self.model, find_topology(self.model), {}, shared=False, close=self._close)

    def _levels(self, closures: dict[int, Closure]) -> list[Any]:
        if self.projection in ("standard", "successive"):
            return flat_levels(closures)
        return levels_by_component(self.model, closures)

    def _mass_inverse(self, kinematics: Kinematics, body: Body) -> Any:
        inertia = body_inertia(kinematics, body)
        if inertia.is_constant():
            moments = np.linalg.eigvalsh(ca.DM(inertia).full())
            if moments[0] <= 1e-14 * moments[-1]:
                raise TranslationError(
                    "the body has no inertia about some axis, which absolute coordinates need.",
                    path=self.model.path(body),
                    fix="Give the solid a radius (or a small moment), or use engine='relative'.",
                )
        return kinematics.tracer.call(lambda: ca.inv(inertia), path=self.model.path(body))

    def _demand(self, tracer: Tracer, closure: Closure) -> Any:
        """u, and with Baumgarte's method the fed-back errors of the conditions."""
        if self.projection != "baumgarte":
            return closure.bias
        a, b = self.feedback
        return tracer.call(lambda u, r, g: u + 2 * a * r + b**2 * g, closure.bias, closure.rate, closure.residual)

    def speed_rates(self) -> Any:
        """x_ddot and Omega_dot of every body."""
        now = self.present
        rates = []
        for body in self.model.bodies:
            absolute = now.kinematics.absolute(body)

            def trace(a: Any, w: Any, r: Any, g: Any) -> Any:
                return ca.vertcat(r @ (a[:3] + ca.cross(w[3:], w[:3])) + g, r @ a[3:])

            rates.append(
                now.tracer.call(
                    trace,
                    now.solution["body", id(body)],
                    absolute.twist,
                    absolute.pose.rotation,
                    now.loads.uniform,
                    path=self.model.path(body),
                )
            )
        return ca.vertcat(*rates)

    @cached_property
    def posed(self) -> Posed:
        """Kinematics and conditions, with G on x_dot and Omega."""
        now = self.present
        columns: dict[int, dict[int, Any]] = {}
        steps = {id(link.carrier): (link.joint, now.kinematics.step(link)) for link in self._moving_links()}
        for key, closure in now.closures.items():
            columns[key] = {}
            for carrier, block in closure.columns.items():
                joint, step = steps[carrier]
                columns[key][id(joint)] = now.tracer.call(lambda g, s: g @ s, block, step.subspace)
        return Posed(now.tracer, now.kinematics, now.closures, columns)

    # -- projections

    def project(self) -> Routine:
        """state -> state on the conditions."""
        tracer, kinematics = self._start()
        q, v = kinematics.q, kinematics.v
        standard = self.projection == "standard"
        q = self._project_together(tracer, kinematics) if standard else self._normalized(tracer, q)
        kinematics = self._rebind(tracer, q, v)
        closures = self._closures(kinematics, None)
        references = self.references(unit=self.metric == "identity")
        weights, levels = self._weights(kinematics), self._levels(closures)
        mobility = Mobility(tracer, self.model, closures, weights, references, levels, PROJECTION_TOLERANCE)
        if not standard:
            for _ in range(2):
                changes, _ = mobility.solve({}, self._violations(tracer, q, v, "residual"))
                q = self._normalized(tracer, self._moved(tracer, kinematics, q, changes))
        for _ in range(2):
            changes, _ = mobility.solve({}, self._violations(tracer, q, v, "rate"))
            v = self._faster(tracer, kinematics, v, changes)
        near = mobility.elimination.nearness()
        return tracer.routine("project", [("state", self._state(tracer, q, v)), ("near", near)])

    def _weights(self, kinematics: Kinematics) -> dict[int, Any]:
        if self.metric == "mass":
            return {id(body): self._mass_inverse(kinematics, body) for body in self.model.bodies}
        return {id(body): ca.SX(ca.DM.eye(6)) for body in self.model.bodies}

    def _violations(self, tracer: Tracer, q: dict[int, Any], v: dict[int, Any], level: str) -> dict[int, Any]:
        kinematics = self._rebind(tracer, q, v)
        return {id(element): trace_violation(kinematics, element, self.laws, level) for element in self.closing}

    def _closures(self, kinematics: Kinematics, loads: Loads | None) -> dict[int, Closure]:
        def acceleration(ground: Any) -> Any:
            return ground_acceleration(kinematics, loads, ground) if loads is not None else ca.SX(6, 1)

        return {id(e): trace_body_closure(kinematics, e, self.laws, acceleration) for e in self.closing}

    def _moved(
        self, tracer: Tracer, kinematics: Kinematics, q: dict[int, Any], changes: dict[int, Any]
    ) -> dict[int, Any]:
        """q + T(q) delta, with delta given in the axes of the bodies where the factors were made."""
        moved = dict(q)
        for link in self._moving_links():
            joint = link.joint
            assert joint is not None
            rotation = kinematics.absolute(link.carrier).pose.rotation

            def trace(q: Any, d: Any, r: Any, joint: Any = joint) -> Any:
                return q + joint.rate(q, ca.vertcat(r @ d[:3], r @ d[3:]))

            moved[id(joint)] = tracer.call(trace, q[id(joint)], changes[id(link.carrier)], rotation)
        return moved

    def _faster(
        self, tracer: Tracer, kinematics: Kinematics, v: dict[int, Any], changes: dict[int, Any]
    ) -> dict[int, Any]:
        faster = dict(v)
        for link in self._moving_links():
            rotation = kinematics.absolute(link.carrier).pose.rotation
            faster[id(link.joint)] = tracer.call(
                lambda v, d, r: v + ca.vertcat(r @ d[:3], r @ d[3:]),
                v[id(link.joint)],
                changes[id(link.carrier)],
                rotation,
            )
        return faster

    def _project_together(self, tracer: Tracer, kinematics: Kinematics) -> dict[int, Any]:
        """Eqs 24-31: joint and quaternion conditions together on seven coordinates a body, one factorization, two
        passes.
        """
        q, v = kinematics.q, kinematics.v
        joints = {id(link.carrier): link.joint for link in self._moving_links()}
        closures = {
            key: replace(closure, columns=self._on_coordinates(tracer, kinematics, closure.columns, joints))
            for key, closure in self._closures(kinematics, None).items()
        }
        for body in self.model.bodies:
            row = tracer.call(lambda q: ca.horzcat(ca.SX(1, 3), 2 * q[3:].T), q[id(joints[id(body)])])
            closures[id(body)] = Closure(body, (1,), ca.SX(1, 1), ca.SX(1, 1), ca.SX(1, 1), {id(body): row})
        weights = {id(body): ca.SX(ca.DM.eye(7)) for body in self.model.bodies}
        if self.metric == "mass":
            weights = self._mass_on_coordinates(kinematics, joints)
        references = dict(self.references(unit=self.metric == "identity"))
        references |= {id(body): Reference(ca.SX(ALWAYS)) for body in self.model.bodies}
        mobility = Mobility(tracer, self.model, closures, weights, references, flat_levels(closures))
        for _ in range(2):
            right = self._violations(tracer, q, v, "residual")
            for body in self.model.bodies:
                coordinates = q[id(joints[id(body)])]
                right[id(body)] = tracer.call(lambda q: ca.sumsqr(q[3:]) - 1, coordinates)
            changes, _ = mobility.solve({}, right)
            q = {id(j): tracer.call(lambda a, b: a + b, q[id(j)], changes[key]) for key, j in joints.items()}
        return q

    def _on_coordinates(
        self, tracer: Tracer, kinematics: Kinematics, columns: dict[int, Any], joints: dict[int, Any]
    ) -> dict[int, Any]:
        """G on (x, e) from G on twists in body axes: omega = 2 L(e) e_dot."""
        result = {}
        for body in self.model.bodies:
            if id(body) not in columns:
                continue
            rotation = kinematics.absolute(body).pose.rotation

            def trace(g: Any, r: Any, q: Any) -> Any:
                return ca.horzcat(g[:, :3] @ r.T, 2 * g[:, 3:] @ _turning(q))

            result[id(body)] = tracer.call(trace, columns[id(body)], rotation, kinematics.q[id(joints[id(body)])])
        return result

    def _mass_on_coordinates(self, kinematics: Kinematics, joints: dict[int, Any]) -> dict[int, Any]:
        """Weights of (x, e) that make moves cost what the body's inertia makes them cost; lengths of e cost 1."""
        result = {}
        for body in self.model.bodies:

            def trace(d: Any, r: Any, q: Any) -> Any:
                moves = ca.diagcat(r, _turning(q).T / 2)
                return symmetric(moves @ d @ moves.T + ca.diagcat(ca.SX(3, 3), q[3:] @ q[3:].T))

            rotation = kinematics.absolute(body).pose.rotation
            weight, q = self._mass_inverse(kinematics, body), kinematics.q[id(joints[id(body)])]
            result[id(body)] = kinematics.tracer.call(trace, weight, rotation, q, path=self.model.path(body))
        return result


def _turning(q: Any) -> Any:
    """L(e) (3, 4) with omega = 2 L(e) e_dot in the axes of the body."""
    e = q[3:]
    return ca.vertcat(
        ca.horzcat(-e[1], e[0], e[3], -e[2]),
        ca.horzcat(-e[2], -e[3], e[0], e[1]),
        ca.horzcat(-e[3], e[2], -e[1], e[0]),
    )
