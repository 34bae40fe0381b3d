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

import casadi as ca
import numpy as np

from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.blocks import PivotReference
from kompono.translate.elimination.inertia_form import Condensation, EliminationPlan, make_plan
from kompono.translate.elimination.linear import (
    Form,
    LinearSet,
    find_forms,
    make_sets,
    set_closure,
    trace_level,
    trial_speeds,
)
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.channels import ChannelWriter
from kompono.translate.engines.posed import Posed, PosedEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.engines.traced import Present
from kompono.translate.laws.acting import act, correct
from kompono.translate.laws.by_joints import trace_rows
from kompono.translate.laws.stress import SelfStress, redundancy_of
from kompono.translate.motion.conditions import (
    Closing,
    Closures,
    check_coupled,
    path_joints,
    trace_closure,
    trace_violation,
)
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.signals import states_with_results
from kompono.translate.program import Routine
from kompono.translate.rank.probe import Probe
from kompono.translate.rank.rank import LiveRows
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Scalar, Vector
from kompono.translate.tracer import Tracer

# Coarser than for accelerations: close to a singular position a correction would be a violation over a small number.
# What is not corrected there is corrected some steps later.
PROJECTION_TOLERANCE = 1e-5

Close = Callable[[PosedEngine], np.ndarray | None]  # the state of an engine at the start with all loops closed, if any


class RelativeEngine(SolvedEngine):
    """The state is (q, v) of the tree joints; `close` finds one at the start where all loops are closed."""

    def __init__(
        self,
        model: Elaborated,
        topology: Topology,
        kernels: dict[str, ca.Function],
        *,
        shared: bool,
        close: Close | None = None,
    ) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self._close = close
        if model.numbers is not None:
            model.numbers.find = self._find_numbers

    @cached_property
    def present(self) -> Present:
        """Accelerations with a multiplier for every condition, for outputs."""
        return self._solved(
            self.closing, (), settled=self.linear and all(isinstance(e, Coupling) for e in self.closing)
        )

    @cached_property
    def moving(self) -> Present:
        """Accelerations with linear conditions substituted, for the derivative; with all multipliers where friction is
        limited by the reaction of a joint, which those of other joints and constraints are part of, or where a state of
        one's own changes by such.
        """
        if self.forms and states_with_results(self.model):
            return self.present
        if not self.forms or (
            self.law_rows.of_joints and not all(isinstance(element, Coupling) for element in self.forms)
        ):
            return self.present
        return self._solved(self.loops, self.sets, self.linear)

    def _solved(self, elements: Sequence[Closing], sets: Sequence[LinearSet], settled: bool) -> Present:
        """Kinematics, loads, factors and accelerations at the state.

        Speeds are first made consistent with the conditions. Between the stages of a step they are not quite, and near
        a singular position the acceleration would divide that error by a small number. Not needed where they are
        `settled`: by linear conditions.
        """
        tracer, kinematics = self._start() if self.shared else (self.probe.tracer, self.probe.kinematics)
        if not self.shared:
            kinematics = self._rebind(tracer, kinematics.q, kinematics.v)
        declared: Closures = {e: trace_closure(kinematics, e, self.laws) for e in elements}
        rates = {key: closure.rate for key, closure in declared.items()}  # of the speeds as they are
        closures = self._live_closures(kinematics, declared, sets)
        condensation = Condensation(kinematics, self._plan(elements, sets), closures, self._references)
        if closures and not settled:
            change = condensation.corrections({key: closure.rate for key, closure in closures.items()})
            kinematics = self._rebind(tracer, kinematics.q, self._faster(tracer, kinematics.v, change))
            declared = {e: trace_closure(kinematics, e, self.laws) for e in elements}
            biases = {key: self.live[key].rows(closure.bias, tracer) for key, closure in declared.items()}
            biases |= {s: self._level(kinematics, s, "bias") for s in sets}
            condensation.restate(kinematics, {key: replace(c, bias=biases[key]) for key, c in closures.items()})
        loads = Loads(kinematics)

        def answer(pushes: Mapping[Joint, Vector]) -> Solution:
            return self._declared(condensation.accelerations(loads, pushes), declared, tracer)

        shown: Closures = {key: replace(closure, rate=rates[key]) for key, closure in declared.items()}
        if not self.law_rows.size:
            return Present(tracer, kinematics, shown, loads, condensation.elimination, answer({}))
        rows = trace_rows(kinematics, self.law_rows, self.laws)
        shown |= {law._rows: closure for law, closure in rows.items()}

        def reaction(solution: Solution, joint: Joint | Constraint) -> Vector:
            return ChannelWriter(kinematics, loads, dict(shown), solution).reaction(joint)

        def pushed(pushes: dict[Joint, Vector]) -> Solution:
            return self._declared(condensation.pushed(pushes), declared, tracer)

        relieved, redundancy = None, None
        if self.law_rows.of_joints:
            redundancy = redundancy_of(self.model, self.topology, self.live)
        if redundancy:
            relieved = SelfStress(kinematics, declared, redundancy, pushed, reaction, by_joints=True).relieved
        acting = act(self.law_rows, kinematics, rows, answer, reaction, relieved=relieved)
        return Present(tracer, kinematics, shown, loads, condensation.elimination, acting.solution, acting)

    def _declared(self, solution: Solution, elements: Iterable[Element], tracer: Tracer) -> Solution:
        """A solution with multipliers of conditions as declared in the place of those of live rows."""
        for key in elements:
            found = solution.get(Unknown.rows(key), ca.SX(0, 1))
            solution[Unknown.rows(key)] = self.live[key].multipliers(found, tracer)
        return solution

    def routines(self) -> dict[str, Callable[[], Routine]]:
        return super().routines() | ({"multipliers": self._multipliers} if self.closing else {})

    def _multipliers(self) -> Routine:
        """Multipliers of all conditions, in the order of `conditions`; zero for those that others imply."""
        now = self.present
        values = [ca.SX(ca.densify(now.solution.rows(element))) for element in self.closing]
        return now.tracer.routine("multipliers", [("multipliers", ca.vertcat(*values))])

    def _plan(self, elements: Sequence[Closing], sets: Sequence[LinearSet]) -> EliminationPlan:
        return make_plan(self.model, self.topology, (*elements, *sets))

    # -- conditions that are linear in the coordinates

    @cached_property
    def forms(self) -> dict[Element, Form]:
        """Closing elements with linear conditions."""
        return self._forms_of(self.probe.closures)

    def _forms_of(self, keys: Iterable[Element]) -> dict[Element, Form]:
        for element in self.closing:
            if isinstance(element, Coupling):
                check_coupled(self.topology, element)
        tracer, closures = self.probe.tracer, {key: self.probe.closures[key] for key in keys}
        implied = [key for key, live in self._found.items() if key in closures and not len(live.reference)]
        return find_forms(closures.values(), implied, tracer.symbols, self.probe.samples(6))

    @cached_property
    def _divided(self) -> tuple[tuple[Closing, ...], tuple[LinearSet, ...]]:
        """Elements that are not linear, or cannot be solved for coordinates no other loop uses, and sets of others."""
        forms = dict(self.forms)
        while True:
            loops = tuple(element for element in self.closing if element not in forms)
            used = {joint for element in loops for joint in path_joints(self.topology, element)}
            sets, failed = make_sets(forms, self.model, self.topology, used)
            if not failed:
                return loops, sets
            forms = {key: form for key, form in forms.items() if key not in failed}

    @property
    def loops(self) -> tuple[Closing, ...]:
        """Elements held by multipliers while the model moves."""
        return self._divided[0]

    @property
    def sets(self) -> tuple[LinearSet, ...]:
        """Linear conditions that are substituted."""
        return self._divided[1]

    @cached_property
    def linear(self) -> bool:
        """Whether all conditions are linear in coordinates and time, such as gears: methods keep those by themselves,
        except for rounding.
        """
        kinematics = self.probe.kinematics
        settled = (ca.SX(self._level(kinematics, linear, "bias")).nnz() == 0 for linear in self.sets)
        return bool(self.closing) and not self.loops and all(settled)

    @cached_property
    def allowed_gap(self) -> float:  # type: ignore[override]
        """How far off the conditions a stage may be: pivots of rows that are implied on them, and have no slips, are
        about its square, and must stay below the tolerance.
        """
        left = [live for live in self.live.values() if len(live.size) and not live.judged]
        shares = [float((live.reference / live.size).min()) for live in left]
        return float(np.clip(1e-3 * np.sqrt(min(shares, default=1.0)), 1e-7, 1e-4))

    @property
    def straying(self) -> tuple[Closing, ...]:
        return () if self.linear else self.closing

    def _level(self, kinematics: Kinematics, linear: LinearSet, level: str) -> Vector:
        slopes = [ca.SX(0)] * len(linear.forms)
        if level == "residual":
            slopes = [self._slope(kinematics, form) if form.measured else ca.SX(0) for form in linear.forms]
        return trace_level(kinematics, linear, level, slopes, self.laws)

    def _slope(self, kinematics: Kinematics, form: Form) -> Vector:
        """How fast each condition of an element changes with its form."""
        still = {key: ca.SX(value.numel(), 1) for key, value in kinematics.v.items()}
        trial = kinematics.with_speeds(still | trial_speeds(form))
        return trace_violation(trial, form.element, self.laws, "rate")

    def speed_rates(self, solution: Solution) -> Vector:
        """v_dot of the tree joints."""
        return ca.vertcat(*[solution.joint(joint) for joint in self.joints if joint.freedoms])

    @cached_property
    def posed(self) -> Posed:
        """Kinematics and conditions alone, with G on the speeds."""
        tracer, kinematics, closures = self.probe.tracer, self.probe.kinematics, self.probe.closures
        columns = {
            key: {joint: self._found[key].without_noise(block, tracer) for joint, block in closure.columns.items()}
            for key, closure in closures.items()
        }
        return Posed(tracer, kinematics, closures, columns)

    def _projection(self, name: str, *, held: bool) -> Routine:
        tracer, kinematics = self._start()
        q, v, near = self._normalized(tracer, kinematics.q), kinematics.v, ca.SX.ones(2)
        if self.linear:
            q = self._move(tracer, q, self._shares(tracer, self._violations(tracer, q, v, "residual")))
            v = self._faster(tracer, v, self._shares(tracer, self._violations(tracer, q, v, "rate")))
        elif self.loops or self.sets:
            plan = self._plan(self.loops, self.sets)
            kinematics = self._rebind(tracer, q, v)
            closures = self._closures(kinematics, self.loops, self.sets)
            condensation = Condensation(kinematics, plan, closures, self._references, PROJECTION_TOLERANCE)
            for _ in range(2):
                gaps = self._violations(tracer, q, v, "residual")
                q = self._move(tracer, q, condensation.corrections(gaps))
            q = self._normalized(tracer, q)
            kinematics = self._rebind(tracer, q, v)
            tolerance = self._closed_tolerance(tracer, gaps)
            closures = self._closures(kinematics, self.loops, self.sets)
            condensation = Condensation(kinematics, plan, closures, self._references, tolerance)
            for _ in range(2):
                change = condensation.corrections(self._violations(tracer, q, v, "rate"))
                v = self._faster(tracer, v, change)
            near = condensation.elimination.nearness()
        if held and self.law_rows.size:
            q, v = self._held(tracer, q, v)
        return tracer.routine(name, [("state", self._state(tracer, q, v)), ("near", near)])

    def _held(
        self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]
    ) -> tuple[dict[Joint, Vector], dict[Joint, Vector]]:
        """Coordinates and speeds with closed gaps closed, and what sticks at rest."""
        plan, kinematics = self._plan(self.loops, self.sets), self._rebind(tracer, q, v)
        closures = self._closures(kinematics, self.loops, self.sets)
        condensation = Condensation(kinematics, plan, closures, self._references, PROJECTION_TOLERANCE)
        rows = trace_rows(kinematics, self.law_rows, self.laws)
        changes = [correct(self.law_rows, tracer, rows, condensation.pushed, level) for level in ("residual", "rate")]
        return self._normalized(tracer, self._move(tracer, q, changes[0])), self._faster(tracer, v, changes[1])

    def _shares(self, tracer: Tracer, gaps: dict[Element, Vector]) -> Solution:
        """The least changes of speeds that undo violations of linear conditions."""
        shares = Solution({Unknown.joint(joint): ca.SX(joint.freedoms, 1) for joint in self.joints if joint.freedoms})
        for linear in self.sets:
            inverse = np.linalg.pinv(linear.solved)
            inverse[np.abs(inverse) < 1e-12 * np.abs(inverse).max()] = 0.0
            for joint in linear.joints:
                block = ca.sparsify(ca.DM(inverse[linear.columns(joint)]))
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

    @cached_property
    def probe(self) -> Probe:
        """An inlined trace of all closing conditions."""
        tracer, kinematics = self._start(shared=False)
        closures: Closures = {element: trace_closure(kinematics, element, self.laws) for element in self.closing}
        return Probe(tracer, kinematics, closures, self.nq - sum(len(joint.coordinates) for joint in self.joints))

    @cached_property
    def _found(self) -> dict[Element, LiveRows]:
        return self.probe.find_live(unit=False)

    @cached_property
    def live(self) -> dict[Element, LiveRows]:
        """The conditions that can be violated at all, by element; those that others imply have slips. Conditions
        that are substituted imply others, not the other way round.
        """
        return self._with_slips(self._found)

    @property
    def independence(self) -> tuple[int, int]:
        slips = sum(one.slip.shape[1] for one in self.live.values() if one.slip is not None)
        return sum(len(one.size) for one in self.live.values()) - slips, slips

    def find_live(self, *, unit: bool) -> dict[Element, LiveRows]:
        """The same for `unit` weights of all bodies."""
        return self._with_slips(self.probe.find_live(unit=unit))

    def _with_slips(self, found: dict[Element, LiveRows]) -> dict[Element, LiveRows]:
        if not any(len(live.size) for live in found.values()):
            return found
        start = self._close(self) if self._close is not None else None
        return found if start is None else self.probe.add_slips(found, self._elimination_order(), start)

    def _elimination_order(self) -> list[Closing]:
        """Closing elements, those with linear conditions first."""
        return sorted(self.closing, key=lambda element: element not in self.forms)

    @cached_property
    def _references(self) -> dict[Element, PivotReference]:
        """What pivots of live rows are compared with, by element."""
        return {
            key: PivotReference.of(live.reference, live.slip, self.model.numbers, self.model.path(key))
            for key, live in self.live.items()
        }

    def _find_numbers(self) -> None:
        """Have all numbers that follow from masses, and go into the equations, among those of the model."""
        numbers = self.model.numbers
        assert numbers is not None
        if self._references:
            self._allowed_gap()
        if self.law_rows.of_joints:
            numbers.decided("implied", [live.implied().tolist() for live in self.live.values() if live.slips])

    def _violations(
        self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector], level: str
    ) -> dict[Element, Vector]:
        kinematics = self._rebind(tracer, q, v)
        gaps: dict[Element, Vector] = {}
        for element in self.loops:
            gap = trace_violation(kinematics, element, self.laws, level)
            gaps[element] = self.live[element].rows(gap, tracer)
        return gaps | {linear: self._level(kinematics, linear, level) for linear in self.sets}

    def _closures(self, kinematics: Kinematics, elements: Sequence[Closing], sets: Sequence[LinearSet]) -> Closures:
        declared: Closures = {e: trace_closure(kinematics, e, self.laws) for e in elements}
        return self._live_closures(kinematics, declared, sets)

    def _live_closures(self, kinematics: Kinematics, declared: Closures, sets: Sequence[LinearSet]) -> Closures:
        """Conditions by their live rows, and the solved rows of linear sets."""
        closures = {key: self.live[key].closure(closure, kinematics.tracer) for key, closure in declared.items()}
        for linear in sets:
            rate, bias = (self._level(kinematics, linear, level) for level in ("rate", "bias"))
            closures[linear] = set_closure(linear, rate, bias)
        return closures

    def _move(self, tracer: Tracer, q: dict[Joint, Vector], change: Solution) -> dict[Joint, Vector]:
        moved = {}
        for joint in self.joints:
            moved[joint] = q[joint]
            if joint.freedoms:
                step = change.joint(joint)
                moved[joint] = tracer.call(lambda q, d, j=joint: q + j.rate(q, d), q[joint], step)
        return moved
