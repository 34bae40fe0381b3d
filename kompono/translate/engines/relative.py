"""The relative engine: routines in the joint coordinates of the spanning tree (DESIGN section 5).

derivative   (q_dot, v_dot) by condensation of the tree and multipliers of what closes its loops
project      coordinates and speeds back on the loop conditions: two coordinate passes with one factorization, two
             velocity passes with another where the loops are closed, each the acceleration problem with another right
             side; unit quaternions normalized
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.model.body import Body
from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.elimination.plan import EliminationPlan, make_plan
from kompono.translate.engines.judging import JudgingEngine
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.traced import Present
from kompono.translate.motion.conditions import Closing, Closures, trace_closure, trace_violation
from kompono.translate.program import Routine
from kompono.translate.symbolic import Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.elimination.inertia_form import Condensation
    from kompono.translate.elimination.linear import Substituted
    from kompono.translate.elimination.unknowns import Solution
    from kompono.translate.motion.kinematics import Kinematics
    from kompono.translate.tracer import Tracer

# Coarser than for accelerations: close to a singular position a correction would be a violation over a small number.
# What is not corrected there is corrected some steps later.
PROJECTION_TOLERANCE = 1e-5
NEAR = 0.5  # how far from zero a locked coordinate may be before it is put right


class RelativeEngine(JudgingEngine):
    """The state is (q, v) of the tree joints; `close` finds one at the start where all loops are closed."""

    @cached_property
    def present(self) -> Present:
        """Accelerations with a multiplier for every condition, for outputs."""
        return self._solved(
            self.closing, (), settled=self.linear and all(isinstance(e, Coupling) for e in self.closing)
        )

    @cached_property
    def moving(self) -> Present:
        """Accelerations for the derivative: with linear conditions substituted and locked freedoms left out; with all
        multipliers where friction is limited by the reaction of a joint, which those of other joints and constraints
        are part of, or where a state of one's own changes by such.
        """
        from kompono.translate.motion.signals import states_with_results

        if self.locked or self.axes is not None or self.solved:
            return self._solved(self._multiplied, (*self.sets, *self.solved), settled=self.linear, narrow=True)
        if self.forms and states_with_results(self.model):
            return self.present
        if not self.forms or (
            self.law_rows.of_joints and not all(isinstance(element, Coupling) for element in self.forms)
        ):
            return self.present
        return self._solved(self.loops, self.sets, self.linear)

    def _solved(
        self, elements: Sequence[Closing], sets: Sequence[Substituted], settled: bool, *, narrow: bool = False
    ) -> Present:
        """Kinematics, loads, factors and accelerations at the state.

        Speeds are first made consistent with the conditions. Between the stages of a step they are not quite, and near
        a singular position the acceleration would divide that error by a small number. Not needed where they are
        `settled`: by linear conditions. `narrow`: without freedoms that loops lock, and in chosen axes.
        """
        from kompono.translate.elimination.inertia_form import Condensation
        from kompono.translate.engines.channels import ChannelWriter
        from kompono.translate.laws.acting import act
        from kompono.translate.laws.by_joints import trace_rows
        from kompono.translate.laws.stress import SelfStress, redundancy_of
        from kompono.translate.motion.loads import Loads

        tracer, kinematics = self._start() if self.shared else self._inlined
        bind = self._moving if narrow else self._rebind
        if narrow:
            kinematics = bind(tracer, *self._without_locked(kinematics.q, kinematics.v))
        elif not self.shared:
            kinematics = bind(tracer, kinematics.q, kinematics.v)
        judged = self.judged(kinematics)
        declared: Closures = {e: trace_closure(kinematics, e, self.laws) for e in elements}
        rates = {key: closure.rate for key, closure in declared.items()}  # of the speeds as they are
        closures = self._live_closures(kinematics, declared, sets)
        condensation = Condensation(kinematics, self._plan(elements, sets), closures, judged.references)
        if closures and not settled:
            change = condensation.corrections({key: closure.rate for key, closure in closures.items()})
            kinematics = bind(tracer, kinematics.q, self._faster(tracer, kinematics.v, change))
            declared = {e: trace_closure(kinematics, e, self.laws) for e in elements}
            biases = {key: judged.live[key].rows(closure.bias, tracer) for key, closure in declared.items()}
            biases |= {s: self._row_level(kinematics, s, "bias") for s in sets}
            condensation.restate(kinematics, {key: replace(c, bias=biases[key]) for key, c in closures.items()})
        loads = Loads(kinematics)

        def answer(pushes: Mapping[Joint | Body, Vector]) -> Solution:
            return self._declared(condensation.accelerations(loads, pushes), declared, kinematics)

        shown: Closures = {key: replace(closure, rate=rates[key]) for key, closure in declared.items()}
        if not self.law_rows.size:
            return Present(tracer, kinematics, shown, loads, condensation.elimination, answer({}))
        rows = trace_rows(kinematics, self.law_rows, self.laws, condensation.flying, loads)
        shown |= {law._rows: closure for law, closure in rows.items()}

        def reaction(solution: Solution, joint: Joint | Constraint) -> Vector:
            return ChannelWriter(kinematics, loads, dict(shown), solution).reaction(joint)

        def pushed(pushes: dict[Joint | Body, Vector]) -> Solution:
            return self._declared(condensation.pushed(pushes), declared, kinematics)

        relieved, redundancy = None, None
        if self.law_rows.of_joints:
            redundancy = redundancy_of(self.model, self.topology, self.live)
        if redundancy:
            relieved = SelfStress(kinematics, declared, redundancy, pushed, reaction, by_joints=True).relieved
        acting = act(self.law_rows, kinematics, rows, answer, reaction, relieved=relieved)
        return Present(tracer, kinematics, shown, loads, condensation.elimination, acting.solution, acting)

    def _declared(self, solution: Solution, elements: Iterable[Element], kinematics: Kinematics) -> Solution:
        """A solution with multipliers of conditions as declared in the place of those of live rows."""
        from kompono.translate.elimination.unknowns import Unknown

        live = self.judged(kinematics).live
        for key in elements:
            found = solution.get(Unknown.rows(key), ca.SX(0, 1))
            solution[Unknown.rows(key)] = live[key].multipliers(found, kinematics.tracer)
        return solution

    def routines(self) -> dict[str, Callable[[], Routine]]:
        return super().routines() | ({"multipliers": self._multipliers} if self.closing else {})

    def _multipliers(self) -> Routine:
        """Multipliers of all conditions, in the order of `conditions`; zero for those that others imply."""
        now = self.present
        values = [ca.SX(ca.densify(now.solution.rows(element))) for element in self.closing]
        return now.tracer.routine("multipliers", [("multipliers", ca.vertcat(*values))])

    def _plan(self, elements: Sequence[Closing], sets: Sequence[Substituted]) -> EliminationPlan:
        return make_plan(self.model, self.topology, (*elements, *sets))

    def speed_rates(self, solution: Solution) -> Vector:
        """v_dot of the tree joints."""
        return ca.vertcat(*[solution.joint(joint) for joint in self.joints if joint.freedoms])

    @cached_property
    def posed(self) -> Posed:
        """Kinematics and conditions alone, with G on the speeds."""
        tracer, kinematics = self._inlined
        closures: Closures = self.probe.closures
        if self._opens:
            kinematics = self._rebind(tracer, kinematics.q, kinematics.v)
            closures = self._closures_through(kinematics)
        live = self._opened_rows(self._found)
        columns = {
            key: {joint: live[key].without_noise(block, tracer) for joint, block in closure.columns.items()}
            for key, closure in closures.items()
        }
        return Posed(tracer, kinematics, closures, columns)

    def _closures_through(self, kinematics: Kinematics) -> Closures:
        """All closing conditions, with G on the speeds of the state."""
        return {element: trace_closure(kinematics, element, self.laws) for element in self.closing}

    def _projection(self, name: str, *, held: bool) -> Routine:
        tracer, kinematics = self._start()
        q, v, near = self._normalized(tracer, kinematics.q), kinematics.v, ca.SX.ones(2)
        given, held = q, held and bool(self.law_rows.size)
        solves = not self.linear and bool(self.loops or self.sets)
        if self.linear:
            q = self._move(tracer, q, self._shares(tracer, self._violations(tracer, q, v, "residual")))
            v = self._faster(tracer, v, self._shares(tracer, self._violations(tracer, q, v, "rate")))
        if solves:
            q, v = self._without_locked(q, v)
            at = self._factored(tracer, q, v, PROJECTION_TOLERANCE)
            for _ in range(2):
                gaps = self._violations(tracer, q, v, "residual")
                q = self._move(tracer, q, self._correction(at, q, v, "residual", held, gaps))
            q = self._normalized(tracer, q)
            at = self._factored(tracer, q, v, self._closed_tolerance(tracer, gaps))
            for last in (False, True):
                gaps = self._violations(tracer, q, v, "rate")
                v = self._faster(tracer, v, self._correction(at, q, v, "rate", held and last, gaps))
            q, near = self._checked(tracer, q, given), at[1].elimination.nearness()
        elif held:
            at = self._factored(tracer, q, v, PROJECTION_TOLERANCE)
            if self.law_rows.has_gaps:
                q = self._normalized(tracer, self._move(tracer, q, self._correction(at, q, v, "residual", held)))
            v = self._faster(tracer, v, self._correction(at, q, v, "rate", held))
        return tracer.routine(name, [("state", self._state(tracer, q, v)), ("near", near)])

    def _factored(
        self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector], tolerance: Scalar | float
    ) -> tuple[Kinematics, Condensation]:
        """The motion at these coordinates and speeds, and factors of corrections there."""
        from kompono.translate.elimination.inertia_form import Condensation

        kinematics, sets = self._moving(tracer, q, v), (*self.sets, *self.solved)
        closures, references = self._closures(kinematics, self._multiplied, sets), self.judged(kinematics).references
        plan = self._plan(self._multiplied, sets)
        return kinematics, Condensation(kinematics, plan, closures, references, tolerance)

    def _correction(
        self, at: tuple[Kinematics, Condensation], q: dict[Joint, Vector], v: dict[Joint, Vector], level: str,
        held: bool, gaps: dict[Element, Vector] | None = None,
    ) -> Solution:  # fmt: skip
        """Changes that undo violations of conditions, and with them bring back what laws hold: closed gaps ("residual")
        or speeds ("rate"); factors and rows are those `at` a state.
        """
        from kompono.translate.laws.acting import correct
        from kompono.translate.laws.by_joints import trace_rows

        (kinematics, condensation), tracer = at, at[0].tracer
        before = condensation.corrections(gaps) if gaps is not None else None
        if before is not None and (not held or (level == "residual" and not self.law_rows.has_gaps)):
            return before
        states = kinematics, self._moving(tracer, q, v)
        rows, off = (trace_rows(state, self.law_rows, self.laws, condensation.flying) for state in states)
        return correct(self.law_rows, tracer, rows, condensation.pushed, off, level, before)

    def _checked(self, tracer: Tracer, q: dict[Joint, Vector], given: dict[Joint, Vector]) -> dict[Joint, Vector]:
        """Coordinates of which locked ones are no numbers where they were not near zero: another way to assemble the
        machine, which this is not the motion of.
        """
        q = dict(q)
        for joint, places in self.locked.items():
            q[joint] = ca.SX(q[joint])
            for place in places:
                q[joint][place] = tracer.call(lambda x: ca.if_else(ca.fabs(x) > NEAR, np.nan, 0), given[joint][place])
        return q

    def _shares(self, tracer: Tracer, gaps: dict[Element, Vector]) -> Solution:
        """The least changes of speeds that undo violations of linear conditions."""
        from kompono.translate.elimination.unknowns import Solution, Unknown

        shares = Solution({Unknown.joint(joint): ca.SX(joint.freedoms, 1) for joint in self.joints if joint.freedoms})
        for linear in self.sets:
            inverse = linear.shares(self.model)
            for joint in linear.joints:
                block = inverse[linear.columns(joint).tolist(), :]
                shares[Unknown.joint(joint)] = tracer.call(lambda g, b=block: -b @ g, gaps[linear])
        return shares

    def _closed_tolerance(self, tracer: Tracer, gaps: dict[Element, Vector]) -> Scalar:
        """Of pivots at closed loops: what rounding, and what is left of the gaps, could make of an implied row."""
        worst = ca.SX(0)
        for gap in gaps.values():
            worst = tracer.call(lambda w, g: w + ca.sumsqr(g), worst, gap)
        return tracer.call(lambda w: PROJECTION_TOLERANCE + 100 * w, worst)

    def _faster(self, tracer: Tracer, v: dict[Joint, Vector], change: Solution) -> dict[Joint, Vector]:
        return {
            joint: tracer.call(lambda a, b: a + b, value, change.joint(joint)) if value.numel() else value
            for joint, value in v.items()
        }

    def _violations(
        self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector], level: str
    ) -> dict[Element, Vector]:
        kinematics = self._moving(tracer, q, v)
        live, gaps = self.judged(kinematics).live, dict[Element, Vector]()
        for element in self._multiplied:
            gap = trace_violation(kinematics, element, self.laws, level)
            gaps[element] = live[element].rows(gap, tracer)
        return gaps | {rows: self._row_level(kinematics, rows, level) for rows in (*self.sets, *self.solved)}

    def _row_level(self, kinematics: Kinematics, rows: Substituted, level: str) -> Vector:
        """Violation (level "residual"), its rate, or the bias of what is substituted; of a loop before it is solved."""
        from kompono.translate.elimination.linear import LinearSet, SolvedLoop

        if isinstance(rows, LinearSet):
            return self._level(kinematics, rows, level)
        assert isinstance(rows, SolvedLoop)
        live, tracer = self.judged(kinematics).live[rows.element], kinematics.tracer
        if level == "bias":
            return live.rows(trace_closure(kinematics, rows.element, self.laws).bias, tracer)
        return live.rows(trace_violation(kinematics, rows.element, self.laws, level), tracer)

    def _closures(self, kinematics: Kinematics, elements: Sequence[Closing], sets: Sequence[Substituted]) -> Closures:
        declared: Closures = {e: trace_closure(kinematics, e, self.laws) for e in elements}
        return self._live_closures(kinematics, declared, sets)

    def _live_closures(self, kinematics: Kinematics, declared: Closures, sets: Sequence[Substituted]) -> Closures:
        """Conditions by their live rows, and the solved rows of linear sets and loops."""
        from kompono.translate.elimination.linear import LinearSet, SolvedLoop, set_closure

        live = self.judged(kinematics).live
        closures = {key: live[key].closure(closure, kinematics.tracer) for key, closure in declared.items()}
        for rows in sets:
            if isinstance(rows, SolvedLoop):
                whole = trace_closure(kinematics, rows.element, self.laws)
                closures[rows] = rows.closure(live[rows.element].closure(whole, kinematics.tracer))
                continue
            assert isinstance(rows, LinearSet)
            rate, bias = (self._level(kinematics, rows, level) for level in ("rate", "bias"))
            closures[rows] = set_closure(self.model, rows, rate, bias)
        return closures

    def _move(self, tracer: Tracer, q: dict[Joint, Vector], change: Solution) -> dict[Joint, Vector]:
        moved = {}
        for joint in self.joints:
            moved[joint] = q[joint]
            if joint.freedoms:
                step, law = change.joint(joint), self.model.pair(joint)
                moved[joint] = tracer.call(lambda q, d, j=law: q + j.rate(q, d), q[joint], step)
        return moved
