"""The absolute engine: position and orientation of every body (successive projection papers, DESIGN section 5).

State q = (x, e), v = (x_dot, Omega) of every body in the world; q_dot = T(q) v. All joints act through their
conditions. Accelerations and projections are the same condense/resolve in mobility form, with weights 1/M and 1:

standard     joint and quaternion conditions together (eqs 24-33): seven unknowns a body, a second factorization for
             speeds
successive   quaternions first, then joints through T; one factorization of G T for two coordinate and two velocity
             passes (eqs 34-52)
distributed  the same, condensed component by component
baumgarte    no projection; the conditions' errors are fed back into the accelerations, and so are those of gaps that
             are closed and of what sticks
none         nothing: gaps stay closed, and what sticks does, by their accelerations alone
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial

import casadi as ca
import numpy as np

from kompono.model.body import Body
from kompono.model.constraint import Constraint
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.vectors import symmetric
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.blocks import PivotReference
from kompono.translate.elimination.mobility_form import Mobility, MobilityLevel, flat_levels, levels_by_component
from kompono.translate.elimination.pivots import ALWAYS
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.channels import ChannelWriter
from kompono.translate.engines.decided import find_places, told_tree
from kompono.translate.engines.inverses import find_inverses
from kompono.translate.engines.judging import Close
from kompono.translate.engines.light import LightLever, lightest_lever
from kompono.translate.engines.placed import closures_on_bodies, counted_joints, mass_inverse, posed_on_speeds
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.engines.traced import Present
from kompono.translate.laws.acting import act, correct
from kompono.translate.laws.by_bodies import moved, pushed, trace_rows
from kompono.translate.laws.stress import SelfStress, redundancy_of
from kompono.translate.motion.conditions import Closure, Laws, trace_violation
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.program import Routine
from kompono.translate.rank.assembled import at_positions
from kompono.translate.rank.sizes import absolute_references
from kompono.translate.structure.topology import Topology, find_topology
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import Tracer

PROJECTION_TOLERANCE = 1e-5  # as in joint coordinates


class AbsoluteEngine(SolvedEngine):
    """The state is (x, e) and (x_dot, Omega) of every body."""

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
        self._references: dict[bool, dict[Element, PivotReference]] = {}
        if model.numbers is not None:
            model.numbers.find = self._find_numbers

    def counted_joints(self) -> tuple[Joint, ...]:
        """All joints with angles that somebody uses."""
        return counted_joints(self.model)

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
        weights = {body: mass_inverse(kinematics, body) for body in self.model.bodies}
        mobility = Mobility(tracer, self.model, closures, weights, self.references(unit=False), self._levels(closures))
        free = {}
        for body in self.model.bodies:
            path = self.model.path(body)
            free[body] = tracer.call(lambda d, p: -(d @ p), weights[body], loads.bias(body), path=path)
        demands = {key: self._demand(tracer, closure) for key, closure in closures.items()}
        if not self.law_rows.size:
            solution = moved(mobility, free, demands, {})
            return Present(tracer, kinematics, closures, loads, mobility.elimination, solution)
        rows = trace_rows(kinematics, self.law_rows, self.laws, loads)
        shown = closures | {law._rows: closure for law, closure in rows.items()}

        def reaction(solution: Solution, joint: Joint | Constraint) -> Vector:
            return ChannelWriter(kinematics, loads, shown, solution).reaction(joint)

        relieved, redundancy = None, None
        if self.law_rows.of_joints:
            redundancy = redundancy_of(self.model, self._by_joints.topology, self._by_joints.live)
        if redundancy:
            still = partial(pushed, mobility)
            relieved = SelfStress(kinematics, closures, redundancy, still, reaction, by_joints=False).relieved

        feedback = self.feedback if self.projection == "baumgarte" else (0.0, 0.0)
        answer = partial(moved, mobility, free, demands)
        acting = act(self.law_rows, kinematics, rows, answer, reaction, feedback, relieved)
        return Present(tracer, kinematics, shown, loads, mobility.elimination, acting.solution, acting)

    def references(self, *, unit: bool) -> dict[Element, PivotReference]:
        """What pivots are compared with, by element, for weights 1/M or `unit` weights."""
        if unit not in self._references:
            tree = self._by_joints
            live = tree.live if not unit else tree.find_live(unit=True)
            free = absolute_references(self.model, self._known_laws, tree.topology, live, unit, self._mobilities)
            found = free if self._mobilities else self._at_positions(free, unit)
            self._references[unit] = self._numbered(found, unit) if self.model.numbers is not None else found
        return self._references[unit]

    def _numbered(self, references: dict[Element, PivotReference], unit: bool) -> dict[Element, PivotReference]:
        """References as numbers that are put in after tracing, but for those that every pivot exceeds."""
        numbers, found = self.model.numbers, dict[Element, PivotReference]()
        assert numbers is not None
        for element, one in references.items():
            sizes, name = ca.DM(one.sizes).full().ravel(), f"{self.model.path(element)}{' unit' if unit else ''}"
            judged = sizes.max(initial=0.0) > ALWAYS
            numbers.decided(f"{name} judged", judged)
            slip = None if one.slip is None else numbers.found(f"{name} slip", ca.DM(one.slip).full())
            numbers.decided(f"{name} apart", one.apart)
            sizes = numbers.found(f"{name} reference", sizes) if judged else one.sizes
            found[element] = PivotReference(sizes, slip, one.apart)
        return found

    def _find_numbers(self) -> None:
        """Have all numbers that follow from masses, and go into the equations, among those of the model."""
        assert self.model.numbers is not None
        find_inverses(self.model)
        for unit in {False, self.metric == "identity"}:
            self.references(unit=unit)
        self._allowed_gap()
        find_places(self._start(shared=False)[1], self.closing)
        self._find_shares()

    def _find_shares(self) -> None:
        """Have what friction on joints of redundant loops is found from among these, too."""
        assert self.model.numbers is not None
        if self.law_rows.of_joints:
            self.model.numbers.decided("tree", told_tree(self.model, self._by_joints.topology))
            redundancy_of(self.model, self._by_joints.topology, self._by_joints.live)

    def _at_positions(self, references: dict[Element, PivotReference], unit: bool) -> dict[Element, PivotReference]:
        """References that are not larger than pivots are where the machine is assembled."""

        def order(closures: dict[Element, Closure[Body]]) -> list[Element]:
            return [level.element for level in self._levels(closures)]

        return at_positions(self._by_joints.probe, self.closing, self._known_laws, order, references, unit=unit)

    @cached_property
    def lightest_lever(self) -> LightLever | None:
        """Where digits may be lost, however the conditions are solved for."""
        return lightest_lever(self.model)

    @cached_property
    def _known_laws(self) -> Laws:
        """Conditions with their lengths as numbers."""
        return Laws()

    @property
    def _mobilities(self) -> Mapping[Body, np.ndarray]:
        """1/M (6, 6) of bodies whose mass is not declared."""
        return {}

    @property
    def independence(self) -> tuple[int, int]:
        if self.model.numbers is not None:  # which may be put into equations that are known already
            find_inverses(self.model)
        return self._by_joints.independence

    @cached_property
    def _by_joints(self) -> RelativeEngine:
        """The same model in joint coordinates, where its loops are seen, with numbers as they are."""
        model = replace(self.model, numbers=None)
        return RelativeEngine(model, find_topology(model), {}, shared=False, close=self._close)

    def _levels(self, closures: dict[Element, Closure[Body]]) -> list[MobilityLevel]:
        if self.projection in ("standard", "successive"):
            return flat_levels(closures)
        return levels_by_component(self.model, closures)

    def _demand(self, tracer: Tracer, closure: Closure[Body]) -> Vector:
        """u, and with Baumgarte's method the fed-back errors of the conditions."""
        if self.projection != "baumgarte":
            return closure.bias
        a, b = self.feedback
        return tracer.call(lambda u, r, g: u + 2 * a * r + b**2 * g, closure.bias, closure.rate, closure.residual)

    def speed_rates(self, solution: Solution) -> Vector:
        """x_ddot and Omega_dot of every body."""
        now = self.present
        rates = []
        for body in self.model.bodies:
            absolute = now.kinematics.absolute(body)

            def trace(a: Vector, w: Vector, r: Matrix, g: Vector) -> Vector:
                return ca.vertcat(r @ (a[:3] + ca.cross(w[3:], w[:3])) + g, r @ a[3:])

            rates.append(
                now.tracer.call(
                    trace,
                    solution.body(body),
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
        return posed_on_speeds(self.present, self._moving_links())

    @cached_property
    def _placing(self) -> dict[Body, Joint]:
        """The joint that places each body in the world."""
        return {link.carrier: link.moved_by for link in self._moving_links() if isinstance(link.carrier, Body)}

    # -- projections

    def _projection(self, name: str, *, held: bool) -> Routine:
        tracer, kinematics = self._start()
        q, v, standard = kinematics.q, kinematics.v, self.projection == "standard"
        held = held and bool(self.law_rows.size)
        q = self._project_together(tracer, kinematics) if standard else q
        at = self._factored(tracer, q, v)
        near = at[1].elimination.nearness()
        for _ in range(2 if not standard else held):
            changes = self._correction(at, q, v, "residual", held, conditions=not standard)
            q = self._moved(tracer, at[0], q, changes)
        q = self._normalized(tracer, q) if held or not standard else q
        at = self._factored(tracer, q, v) if held else at
        for last in (False, True):
            v = self._faster(tracer, at[0], v, self._correction(at, q, v, "rate", held and last))
        return tracer.routine(name, [("state", self._state(tracer, q, v)), ("near", near)])

    def _factored(self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]) -> tuple[Kinematics, Mobility]:
        """The motion at these coordinates and speeds, and factors of corrections there."""
        kinematics, references = self._rebind(tracer, q, v), self.references(unit=self.metric == "identity")
        closures = self._closures(kinematics, None)
        weights, levels = self._weights(kinematics), self._levels(closures)
        return kinematics, Mobility(tracer, self.model, closures, weights, references, levels, PROJECTION_TOLERANCE)

    def _correction(
        self, at: tuple[Kinematics, Mobility], q: dict[Joint, Vector], v: dict[Joint, Vector], level: str, held: bool,
        conditions: bool = True,
    ) -> dict[Body, Vector]:  # fmt: skip
        """Changes that undo violations of conditions, and with them bring back what laws hold: closed gaps ("residual")
        or speeds ("rate"); factors and rows are those `at` a state.
        """
        (kinematics, mobility), tracer = at, at[0].tracer
        changes = {body: ca.SX(6, 1) for body in self.model.bodies}
        if conditions:
            changes, _ = mobility.solve({}, self._violations(tracer, q, v, level))
        if not held or (level == "residual" and not self.law_rows.has_gaps):
            return changes
        rows, off = (
            trace_rows(state, self.law_rows, self.laws, None) for state in (kinematics, self._rebind(tracer, q, v))
        )
        before = Solution({Unknown.body(body): change for body, change in changes.items()})
        answer = partial(pushed, mobility, refined=level == "rate")  # coordinates are corrected twice
        found = correct(self.law_rows, tracer, rows, answer, off, level, before)
        return {body: found.body(body) for body in self.model.bodies}

    def _weights(self, kinematics: Kinematics) -> dict[Body, Matrix]:
        if self.metric == "mass":
            return {body: mass_inverse(kinematics, body) for body in self.model.bodies}
        return {body: ca.SX(ca.DM.eye(6)) for body in self.model.bodies}

    def _violations(
        self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector], level: str
    ) -> dict[Element, Vector]:
        kinematics = self._rebind(tracer, q, v)
        return {element: trace_violation(kinematics, element, self.laws, level) for element in self.closing}

    def _closures(self, kinematics: Kinematics, loads: Loads | None) -> dict[Element, Closure[Body]]:
        return closures_on_bodies(kinematics, self.closing, self.laws, loads)

    def _moved(
        self, tracer: Tracer, kinematics: Kinematics, q: dict[Joint, Vector], changes: dict[Body, Vector]
    ) -> dict[Joint, Vector]:
        """q + T(q) delta, with delta given in the axes of the bodies where the factors were made."""
        moved = dict(q)
        for body, joint in self._placing.items():
            rotation = kinematics.absolute(body).pose.rotation

            def trace(q: Vector, d: Vector, r: Matrix, joint: Joint = joint) -> Vector:
                return q + joint.rate(q, ca.vertcat(r @ d[:3], r @ d[3:]))

            moved[joint] = tracer.call(trace, q[joint], changes[body], rotation)
        return moved

    def _faster(
        self, tracer: Tracer, kinematics: Kinematics, v: dict[Joint, Vector], changes: dict[Body, Vector]
    ) -> dict[Joint, Vector]:
        faster = dict(v)
        for body, joint in self._placing.items():
            rotation = kinematics.absolute(body).pose.rotation
            faster[joint] = tracer.call(
                lambda v, d, r: v + ca.vertcat(r @ d[:3], r @ d[3:]), v[joint], changes[body], rotation
            )
        return faster

    def _project_together(self, tracer: Tracer, kinematics: Kinematics) -> dict[Joint, Vector]:
        """Eqs 24-31: joint and quaternion conditions together on seven coordinates a body, one factorization, two
        passes.
        """
        q, v = kinematics.q, kinematics.v
        joints = self._placing
        closures: dict[Element, Closure[Body]] = {
            key: replace(closure, columns=self._on_coordinates(tracer, kinematics, closure.columns))
            for key, closure in self._closures(kinematics, None).items()
        }
        for body in self.model.bodies:
            row = tracer.call(lambda q: ca.horzcat(ca.SX(1, 3), 2 * q[3:].T), q[joints[body]])
            closures[body] = Closure(body, (1,), ca.SX(1, 1), ca.SX(1, 1), ca.SX(1, 1), {body: row})
        weights = {body: ca.SX(ca.DM.eye(7)) for body in self.model.bodies}
        if self.metric == "mass":
            weights = self._mass_on_coordinates(kinematics)
        references = dict(self.references(unit=self.metric == "identity"))
        references |= {body: PivotReference(ca.SX(ALWAYS)) for body in self.model.bodies}
        mobility = Mobility(tracer, self.model, closures, weights, references, flat_levels(closures))
        for _ in range(2):
            right = self._violations(tracer, q, v, "residual")
            for body in self.model.bodies:
                coordinates = q[joints[body]]
                right[body] = tracer.call(lambda q: ca.sumsqr(q[3:]) - 1, coordinates)
            changes, _ = mobility.solve({}, right)
            q = {j: tracer.call(lambda a, b: a + b, q[j], changes[body]) for body, j in joints.items()}
        return q

    def _on_coordinates(
        self, tracer: Tracer, kinematics: Kinematics, columns: dict[Body, Matrix]
    ) -> dict[Body, Matrix]:
        """G on (x, e) from G on twists in body axes: omega = 2 L(e) e_dot."""
        result = {}
        for body in self.model.bodies:
            if body not in columns:
                continue
            rotation = kinematics.absolute(body).pose.rotation

            def trace(g: Matrix, r: Matrix, q: Vector) -> Matrix:
                return ca.horzcat(g[:, :3] @ r.T, 2 * g[:, 3:] @ _turning(q))

            result[body] = tracer.call(trace, columns[body], rotation, kinematics.q[self._placing[body]])
        return result

    def _mass_on_coordinates(self, kinematics: Kinematics) -> dict[Body, Matrix]:
        """Weights of (x, e) that make moves cost what the body's inertia makes them cost; lengths of e cost 1."""
        result = {}
        for body in self.model.bodies:

            def trace(d: Matrix, r: Matrix, q: Vector) -> Matrix:
                moves = ca.diagcat(r, _turning(q).T / 2)
                return symmetric(moves @ d @ moves.T + ca.diagcat(ca.SX(3, 3), q[3:] @ q[3:].T))

            rotation = kinematics.absolute(body).pose.rotation
            weight, q = mass_inverse(kinematics, body), kinematics.q[self._placing[body]]
            result[body] = kinematics.tracer.call(trace, weight, rotation, q, path=self.model.path(body))
        return result


def _turning(q: Vector) -> Matrix:
    """L(e) (3, 4) with omega = 2 L(e) e_dot in the axes of the body."""
    e = q[3:]
    return ca.vertcat(
        ca.horzcat(-e[1], e[0], e[3], -e[2]),
        ca.horzcat(-e[2], -e[3], e[0], e[1]),
        ca.horzcat(-e[3], e[2], -e[1], e[0]),
    )
