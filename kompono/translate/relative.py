"""The relative engine: routines in the joint coordinates of the spanning tree (DESIGN section 5).

derivative   (q_dot, v_dot) by condensation of the tree and multipliers of what closes its loops
project      coordinates and speeds back on the loop conditions: one factorization, two coordinate and two velocity
             passes, each the acceleration problem with another right side; unit quaternions normalized
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.translate.closure import Closure, trace_closure, trace_violation
from kompono.translate.condense import Condensation, Plan, make_plan
from kompono.translate.elaborate import Elaborated
from kompono.translate.engine import Engine, Present
from kompono.translate.kinematics import Kinematics
from kompono.translate.loads import Loads
from kompono.translate.program import Routine
from kompono.translate.topology import Topology
from kompono.translate.tracer import Tracer


class RelativeEngine(Engine):
    """The state is (q, v) of the tree joints."""

    name = "relative"

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self.plan: Plan = make_plan(model, topology)

    @cached_property
    def _condensed(self) -> tuple[Tracer, Kinematics, Condensation]:
        tracer, kinematics = self._start() if self.shared else self._probe[:2]
        return tracer, kinematics, Condensation(kinematics, self.plan, self._closures(kinematics))

    @cached_property
    def present(self) -> Present:
        """Kinematics, loads, factors and accelerations at the state, shared by all routines that need them."""
        tracer, kinematics, condensation = self._condensed
        loads = Loads(kinematics)
        solution = condensation.accelerations(loads)
        return Present(tracer, kinematics, condensation.closures, loads, condensation.elimination, solution)

    def speed_rates(self) -> Any:
        """v_dot of the tree joints."""
        return ca.vertcat(*[self.present.solution["joint", id(joint)] for joint in self.joints if joint.freedoms])

    def speed_columns(self) -> dict[int, dict[int, Any]]:
        """G by id(element) and id(joint)."""
        return {key: closure.columns for key, closure in self.present.closures.items()}

    def project(self) -> Routine:
        """state -> state on the loop conditions."""
        tracer, kinematics = self._start()
        q, v = kinematics.q, kinematics.v
        if not self.closing:
            return tracer.routine("project", [("state", self._state(tracer, self._normalized(tracer, q), v))])
        q = self._normalized(tracer, q)
        condensation = self._condensed[2]
        if self.shared:
            condensation = Condensation(kinematics, self.plan, self._closures(kinematics))
        for _ in range(2):
            q = self._move(tracer, q, condensation.corrections(self._violations(tracer, q, v, "residual")))
        q = self._normalized(tracer, q)
        for _ in range(2):
            change = condensation.corrections(self._violations(tracer, q, v, "rate"))
            v = {
                key: tracer.call(lambda a, b: a + b, value, change["joint", key]) if value.numel() else value
                for key, value in v.items()
            }
        return tracer.routine("project", [("state", self._state(tracer, q, v))])

    @cached_property
    def _probe(self) -> tuple[Tracer, Kinematics, dict[int, Closure]]:
        """An inlined trace of all closing conditions."""
        tracer, kinematics = self._start(shared=False)
        return (
            tracer,
            kinematics,
            {id(element): trace_closure(kinematics, element, self.laws) for element in self.closing},
        )

    @cached_property
    def dead_rows(self) -> dict[int, np.ndarray]:
        """Rows no coordinate of their loop can move, by id(element): boolean (rows).

        A planar loop whose axes are not coordinate axes has such rows, and so has a second hinge of a door; what is an
        exact zero on coordinate axes is rounding noise there, and must not become a pivot. They are recognized at three
        arbitrary states, by comparison with what the row would be if every joint of its path were free.
        """
        tracer, _, closures = self._probe
        pairs = []
        for closure in closures.values():
            columns = ca.densify(ca.horzcat(ca.SX(closure.size, 1), *closure.columns.values()))
            pairs += [columns, ca.densify(ca.horzcat(columns, *closure.carried))]
        function = ca.Function("columns", [tracer.symbols], pairs)
        samples = [[np.abs(matrix.full()) for matrix in function.call([state])] for state in self._samples(tracer, 3)]
        dead = {}
        for index, key in enumerate(closures):
            actual, free = (np.nanmax([s[2 * index + i] for s in samples], axis=0).max(axis=1) for i in (0, 1))
            dead[key] = actual <= 1e-12 * free
        return dead

    def _samples(self, tracer: Tracer, count: int) -> np.ndarray:
        """Arbitrary values of all inputs of a routine, quaternions of unit length, parameters as declared."""
        random = np.random.default_rng(1)
        rows = random.uniform(0.2, 0.9, (count, tracer.symbols.numel()))
        constants = [parameter.value for parameter in self.model.parameters]
        rows[:, rows.shape[1] - len(constants) :] = constants
        for row in rows:
            place = 1
            for joint in self.joints:
                size = len(joint.coordinates)
                row[place : place + size] = ca.DM(joint.normalize(ca.DM(row[place : place + size]))).full().ravel()
                place += size
        return rows

    def _violations(self, tracer: Tracer, q: dict[int, Any], v: dict[int, Any], level: str) -> dict[int, Any]:
        kinematics = self._rebind(tracer, q, v)
        return {id(element): trace_violation(kinematics, element, self.laws, level) for element in self.closing}

    def _closures(self, kinematics: Kinematics) -> dict[int, Closure]:
        _, probed, known = self._probe
        closures = known if kinematics is probed else None
        result = {}
        for element in self.closing:
            closure = closures[id(element)] if closures else trace_closure(kinematics, element, self.laws)
            result[id(element)] = closure.without(self.dead_rows[id(element)], kinematics.tracer)
        return result

    def _move(self, tracer: Tracer, q: dict[int, Any], change: dict[Any, Any]) -> dict[int, Any]:
        moved = {}
        for joint in self.joints:
            moved[id(joint)] = q[id(joint)]
            if joint.freedoms:
                step = change["joint", id(joint)]
                moved[id(joint)] = tracer.call(lambda q, d, j=joint: q + j.rate(q, d), q[id(joint)], step)
        return moved
