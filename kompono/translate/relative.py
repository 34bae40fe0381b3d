"""The relative engine: routines in the joint coordinates of the spanning tree (DESIGN section 5).

derivative   (q_dot, v_dot) by condensation of the tree and multipliers of what closes its loops
project      coordinates and speeds back on the loop conditions: two coordinate passes with one factorization, two
             velocity passes with another where the loops are closed, each the acceleration problem with another right
             side; unit quaternions normalized
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.constraint import Coupling
from kompono.translate.closure import Closure, trace_closure, trace_violation
from kompono.translate.condense import Condensation, Plan, make_plan
from kompono.translate.engine import Engine, Posed, Present
from kompono.translate.kinematics import Kinematics
from kompono.translate.loads import Loads
from kompono.translate.program import Routine
from kompono.translate.tracer import Tracer

# Coarser than for accelerations: close to a singular position a correction would be a violation over a small number.
# What is not corrected there is corrected some steps later.
PROJECTION_TOLERANCE = 1e-8
CLOSED_TOLERANCE = 1e-13  # at closed loops implied rows are rounding noise, so speeds can be corrected closer to it


class RelativeEngine(Engine):
    """The state is (q, v) of the tree joints."""

    name = "relative"

    @cached_property
    def plan(self) -> Plan:
        """The order of elimination."""
        return make_plan(self.model, self.topology)

    @cached_property
    def present(self) -> Present:
        """Kinematics, loads, factors and accelerations at the state, shared by all routines that need them.

        Speeds are first made consistent with the conditions. Between the stages of a step they are not quite, and near
        a singular position the acceleration would divide that error by a small number. Linear conditions need nothing.
        """
        tracer, kinematics = self._start() if self.shared else self._probe[:2]
        closures = self._closures(kinematics)
        condensation = Condensation(kinematics, self.plan, closures)
        if self.closing and not self.linear:
            change = condensation.corrections({key: closure.rate for key, closure in closures.items()})
            kinematics = self._rebind(tracer, kinematics.q, self._faster(tracer, kinematics.v, change))
            biases = {id(e): trace_closure(kinematics, e, self.laws).bias for e in self.closing}
            condensation.restate(kinematics, {key: replace(c, bias=biases[key]) for key, c in closures.items()})
        loads = Loads(kinematics)
        solution = condensation.accelerations(loads)
        closures = {key: replace(c, rate=closures[key].rate) for key, c in condensation.closures.items()}
        return Present(tracer, kinematics, closures, loads, condensation.elimination, solution)

    def speed_rates(self) -> Any:
        """v_dot of the tree joints."""
        return ca.vertcat(*[self.present.solution["joint", id(joint)] for joint in self.joints if joint.freedoms])

    @cached_property
    def posed(self) -> Posed:
        """Kinematics and conditions alone, with G on the speeds."""
        tracer, kinematics, closures = self._probe
        return Posed(tracer, kinematics, closures, {key: closure.columns for key, closure in closures.items()})

    def project(self) -> Routine:
        """state -> state on the loop conditions."""
        tracer, kinematics = self._start()
        q, v = self._normalized(tracer, kinematics.q), kinematics.v
        if self.linear:
            q = self._move(tracer, q, self._shares(tracer, self._violations(tracer, q, v, "residual")))
            v = self._faster(tracer, v, self._shares(tracer, self._violations(tracer, q, v, "rate")))
        elif self.closing:
            kinematics = self._rebind(tracer, q, v)
            condensation = Condensation(kinematics, self.plan, self._closures(kinematics), PROJECTION_TOLERANCE)
            for _ in range(2):
                gaps = self._violations(tracer, q, v, "residual")
                q = self._move(tracer, q, condensation.corrections(gaps))
            q = self._normalized(tracer, q)
            kinematics = self._rebind(tracer, q, v)
            tolerance = self._closed_tolerance(tracer, gaps)
            condensation = Condensation(kinematics, self.plan, self._closures(kinematics), tolerance)
            for _ in range(2):
                change = condensation.corrections(self._violations(tracer, q, v, "rate"))
                v = self._faster(tracer, v, change)
        return tracer.routine("project", [("state", self._state(tracer, q, v))])

    @cached_property
    def linear(self) -> bool:
        """Whether all conditions are linear in coordinates and time, such as gears: methods keep those by themselves,
        except for rounding.
        """
        closures = self._probe[2].values() if all(isinstance(e, Coupling) for e in self.closing) else ()
        return bool(closures) and all(
            c.bias.nnz() == 0 and all(ca.SX(block).is_constant() for block in c.columns.values()) for c in closures
        )

    def _shares(self, tracer: Tracer, gaps: dict[int, Any]) -> dict[Any, Any]:
        """The least changes of speeds that undo violations of linear conditions."""
        columns = {key: closure.columns for key, closure in self._probe[2].items()}
        joints = [joint for joint in self.joints if joint.freedoms]
        rows = [
            ca.horzcat(*[columns[key].get(id(j), ca.SX(gap.shape[0], j.freedoms)) for j in joints])
            for key, gap in gaps.items()
        ]
        inverse = np.linalg.pinv(ca.DM(ca.vertcat(*rows)).full())
        inverse[np.abs(inverse) < 1e-12 * np.abs(inverse).max(initial=0.0)] = 0.0
        places = np.cumsum([0, *(joint.freedoms for joint in joints)])
        matrix = ca.sparsify(ca.DM(inverse))
        blocks = [matrix[int(a) : int(b), :] for a, b in pairwise(places)]
        values = tracer.call(lambda *g: tuple(-block @ ca.vertcat(*g) for block in blocks), *gaps.values())
        return {("joint", id(joint)): value for joint, value in zip(joints, values, strict=True)}

    def _closed_tolerance(self, tracer: Tracer, gaps: dict[int, Any]) -> Any:
        """Of pivots at closed loops: what rounding, and what is left of the gaps, could make of an implied row."""
        worst = ca.SX(0)
        for gap in gaps.values():
            worst = tracer.call(lambda w, g: w + ca.sumsqr(g), worst, gap)
        return tracer.call(lambda w: CLOSED_TOLERANCE + 100 * w, worst)

    def _faster(self, tracer: Tracer, v: dict[int, Any], change: dict[Any, Any]) -> dict[int, Any]:
        return {
            key: tracer.call(lambda a, b: a + b, value, change["joint", key]) if value.numel() else value
            for key, value in v.items()
        }

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
