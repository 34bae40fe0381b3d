"""A compartment at one state: its parts are asked, its equations condensed, and what its parts do resolved.

Levels of an answer: "force" gives accelerations; "rate" makes speeds consistent before that, whatever laws hold, as in
open models; "residual" and "speed" are the two halves of projection (coarser, see `relative.PROJECTION_TOLERANCE`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.body import Carrier
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.joint import Joint
from kompono.model.signal import Output
from kompono.model.state import State
from kompono.spatial.pose import Pose
from kompono.translate.declared.open_signals import said
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import Swept, base_step, pack_answer
from kompono.translate.elimination.pivots import TOLERANCE
from kompono.translate.elimination.unknowns import Solution
from kompono.translate.laws.bordered import LawSwept
from kompono.translate.laws.by_joints import LawClosures, trace_rows
from kompono.translate.laws.softened import mode_rates
from kompono.translate.motion.conditions import Closures, trace_closure, trace_violation
from kompono.translate.motion.kinematics import GivenMotion, Kinematics, Step
from kompono.translate.motion.signals import ResultUsed, bind_signals, refuse_results, states_with_results
from kompono.translate.motion.states import state_rates
from kompono.translate.parts.border import motion_of_base, port_in
from kompono.translate.parts.compartment import Compartment, CompartmentState
from kompono.translate.parts.condensing import Answer, PartedCondensation
from kompono.translate.parts.fields import CompartmentLoads
from kompono.translate.parts.law_acting import with_laws
from kompono.translate.parts.report import Forces, PartedWriter
from kompono.translate.parts.twins import LinkedTwin, PlacedTwin, Twin
from kompono.translate.parts.tying import answer_tied, asked_tied
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import Tracer

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part


@dataclass(frozen=True)
class Condensed:
    """A compartment after its forward sweep: what is left at its border is its answer."""

    moment: Moment
    condensation: PartedCondensation
    swept: Swept | LawSwept
    loads: CompartmentLoads | None = None
    nears: tuple[Vector, ...] = ()  # of parts
    declared: Closures = field(default_factory=dict)  # own conditions

    def answer(self) -> tuple[Matrix, Vector]:
        """Block and vector at the border."""
        return self.swept.answer()

    def packed(self) -> Vector:
        """The same as one column, with rows that are handed on."""
        packed = pack_answer(*self.answer())
        handed = self.swept.handed() if isinstance(self.swept, LawSwept) else None
        return packed if handed is None else ca.vertcat(packed, handed.packed())

    def resolve(self, given: Vector) -> Solution:
        """All unknowns, from those of the border."""
        return self.swept.resolve(given)

    def completed(self, solution: Solution) -> Solution:
        """With the accelerations of bodies that are welded to others."""
        assert self.loads is not None
        return self.condensation.with_followers(solution, self.loads)

    def given_to(self, part: Part, solution: Solution) -> Vector:
        """What is given at the ports of a part."""
        return self.condensation.given_to(part, solution, self.loads)

    def near(self) -> Vector:
        """The smallest pivot of a condition, here or in a part, and how many have multipliers (2)."""
        found = self.condensation.elimination.nearness()
        for other in self.nears:
            found = self.moment.tracer.call(lambda a, b: ca.vertcat(ca.fmin(a[0], b[0]), a[1] + b[1]), found, other)
        return found


class Moment:
    """`base` (18) is the motion of the base of the part whose inside this is, `fields` (9) act around it; `moves` are
    motions of ports that parts need not be asked for, `said` outputs, by part and number; `tied`, see `laws/tied.py`.
    """

    kinematics_kind = Kinematics

    def __init__(
        self, compartment: Compartment, tracer: Tracer, values: CompartmentState, base: Vector | None = None,
        fields: Vector | None = None, moves: Mapping[Part, Vector] | None = None,
        said: Mapping[tuple[Part, int], Vector] | None = None, tied: bool = False,
    ) -> None:  # fmt: skip
        self.compartment, self.tracer, self.values, self.tied = compartment, tracer, values, tied
        self.base, self.fields, self.moves, self.said = base, fields, dict(moves or {}), dict(said or {})
        self.kinematics = self._bind()

    def at(
        self, values: CompartmentState, moves: Mapping[Part, Vector] | None = None,
        said: Mapping[tuple[Part, int], Vector] | None = None,
    ) -> Moment:  # fmt: skip
        """The same compartment at another state."""
        return type(self)(self.compartment, self.tracer, values, self.base, self.fields, moves, said, self.tied)

    def _bind(self) -> Kinematics:
        compartment = self.compartment
        steps: dict[Carrier, Callable[[Kinematics], Step]] = {}
        for part in compartment.parts:
            moved: list[Vector] = [self.moves[part]] if part in self.moves else []
            for k, port in enumerate(part.border.others):
                steps[port.body] = lambda kin, part=part, k=k, moved=moved: self._crossing(kin, part, k, moved)
        border = compartment.border
        if border is not None and border.base is not None:
            carrier, motion = border.base.body, self.base
            assert motion is not None
            steps[carrier] = lambda _: base_step(motion[:3], motion[3:12], motion[12:18])
        kinematics = self.kinematics_kind(
            self.tracer, compartment.model, compartment.topology, self.values.q, self.values.v, self.values.counted,
            GivenMotion(steps, border.frames if border is not None else {}, self._signals(), self._answers()),
        )  # fmt: skip
        bind_signals(self.tracer, kinematics)
        return kinematics

    def _signals(self) -> dict[Output, Callable[[Kinematics], Vector]]:
        """What outputs of parts are."""
        found: dict[Output, Callable[[Kinematics], Vector]] = {}
        for part in self.compartment.parts:
            shown = part.shown
            for output in part.inside.whole.outputs:
                number = next((k for k, known in enumerate(shown) if known is output), -1)
                found[output] = lambda kin, part=part, o=output, k=number: self._signal(kin, part, o, k)
        return found

    def _answers(self) -> list[tuple[Vector, Callable[[Kinematics], Vector]]]:
        """What parts answer at their pins."""
        return [
            (symbols, lambda kin, part=part, k=k: self._ask(part, f"network_{k}", kinematics=kin))
            for part in self.compartment.parts
            for k, symbols in enumerate(part.network_symbols)
        ]

    def _signal(self, kinematics: Kinematics, part: Part, output: Output, number: int) -> Vector:
        if number < 0:
            path = self.compartment.whole.path(output)
            raise ResultUsed(f"{path} of a closed part", (self.tracer.path,))
        known = self.said.get((part, number))
        return known if known is not None else self._ask(part, f"signal_{number}", kinematics=kinematics)

    def _crossing(self, kinematics: Kinematics, part: Part, k: int, moved: list[Vector]) -> Step:
        if not moved:
            moved.append(self._ask(part, "move", kinematics=kinematics))
        motion = moved[0][18 * k : 18 * k + 18, :]
        at = port_in(kinematics, part.border.base) if part.border.base is not None else Pose.constant()

        def trace(column: Vector) -> tuple[Vector, Matrix, Vector]:
            placed = at @ Pose(column[:3], ca.reshape(column[3:12], 3, 3))
            return placed.position, placed.rotation, column[12:]

        position, rotation, twist = self.tracer.call(trace, motion, path=part.path)
        return Step(Pose(position, rotation), ca.SX(ca.DM.eye(6)), twist, ca.SX(6, 1), ca.SX(0, 1))

    def _ask(
        self, part: Part, name: str, *, fields: Vector | None = None, given: Vector | None = None,
        forces: Vector | None = None, kinematics: Kinematics | None = None,
    ) -> Vector:  # fmt: skip
        """One of the functions of a part at its state here."""
        kinematics = kinematics or self.kinematics
        border, base = part.border, None
        name, given, forces = asked_tied(part, name, given, forces) if self.tied else (name, given, forces)
        if "base" in part.closed(name).groups:
            assert border.base is not None
            base = motion_of_base(kinematics, border.base, part.path)
        return part.ask(kinematics, name, self.values.inner[part], base=base, fields=fields, given=given, forces=forces)

    # -- conditions

    @property
    def _solver(self) -> Twin | PlacedTwin:
        """The twin, which knows how conditions are solved for."""
        twin = self.compartment.twin
        assert not isinstance(twin, LinkedTwin)
        return twin

    def closures(self, *, whole: bool = False) -> tuple[Closures, Closures]:
        """Own conditions as declared, and by their live rows with those of linear sets; `whole`: nothing is taken as
        linear.
        """
        twin, kinematics = self._solver, self.kinematics
        elements = self.compartment.closing if whole else self.compartment.loops
        declared: Closures = {e: trace_closure(kinematics, e, twin.laws) for e in elements}
        return declared, twin.live_closures(kinematics, declared, () if whole else twin.sets)

    def violations(self, level: str) -> dict[Element, Vector]:
        """How far own conditions are violated, or how fast."""
        twin, kinematics = self._solver, self.kinematics
        gaps: dict[Element, Vector] = {
            e: twin.traced_live(kinematics)[e].rows(trace_violation(kinematics, e, twin.laws, level), self.tracer)
            for e in self.compartment.loops
        }
        return gaps | {linear: twin.level(kinematics, linear, level) for linear in twin.sets}

    # -- up

    def forces(self, *, whole: bool = False, lawless: bool = False) -> Condensed:
        """Condense the equations of motion; `whole`: a multiplier for every own condition; `lawless`: without laws."""
        loads, whole = self.loads(), whole or self.compartment.law_rows.of_joints
        declared, closures = self.closures(whole=whole)
        condensation = self._condense(closures, TOLERANCE, self._ask_forces(loads, lawless), whole)
        level = "lawless" if lawless else "force"
        return self._swept(condensation, condensation.right_side(loads), loads, level, declared=declared)

    def loads(self) -> CompartmentLoads:
        return CompartmentLoads(self.compartment, self.kinematics, self.fields)

    def _ask_forces(self, loads: CompartmentLoads, lawless: bool = False) -> dict[Part, Answer]:
        answers = {}
        for part in self.compartment.parts:
            name = "law_condense" if lawless and part.laws.size else "condense"
            column = self._ask(part, name, fields=loads.for_part(part))
            plain = Answer.of(column, part.border, None if lawless or self.tied else part.handed)
            answers[part] = answer_tied(column, part, plain) if self.tied and not lawless else plain
        return answers

    def violated(self, level: str) -> Condensed:
        """Condense a correction of coordinates ("residual") or speeds ("rate", "speed")."""
        tolerance = {"rate": TOLERANCE, "residual": self._solver.projection_tolerance}.get(level)
        if tolerance is None:
            tolerance = self._solver.closed_tolerance(self.tracer, self.violations("residual"))
        answers, nears = {}, []
        for part in self.compartment.parts:
            column = self._ask(part, f"violated_{level}")
            plain = Answer.of(column, part.border)
            answers[part] = answer_tied(column, part, plain, 0) if self.tied and level != "rate" else plain
            nears.append(column[-2:, :])
        _, closures = self.closures()
        condensation = self._condense(closures, tolerance, answers)
        gaps = self.violations("residual" if level == "residual" else "rate")
        return self._swept(condensation, condensation.corrections_of(gaps), None, level, tuple(nears))

    def _condense(
        self, closures: Closures, tolerance: Scalar | float, answers: Mapping[Part, Answer], whole: bool = False
    ) -> PartedCondensation:
        compartment = self.compartment
        plan = compartment.whole_plan if whole else compartment.plan
        return PartedCondensation(
            compartment, self.kinematics, plan, closures, self._solver.row_references, tolerance, answers
        )

    def _swept(
        self,
        condensation: PartedCondensation,
        right: RightSide,
        loads: CompartmentLoads | None,
        level: str,
        nears: tuple[Vector, ...] = (),
        declared: Closures | None = None,
    ) -> Condensed:
        swept = condensation.swept(right, forces=level in ("force", "lawless"))
        plain = Condensed(self, condensation, swept, loads, nears, declared or {})
        told = any(p.laws.size if self.tied else level == "force" and p.handed.rows for p in self.compartment.parts)
        laws = level not in ("lawless", "rate") and (self.compartment.law_rows.size or told)
        return replace(plain, swept=with_laws(self, plain, swept, level)) if laws else plain

    @cached_property
    def law_closures(self) -> LawClosures:
        """Rows of own laws."""
        return trace_rows(self.kinematics, self.compartment.law_rows, self.compartment.twin.laws)

    def settled(self) -> tuple[Moment, Condensed | None]:
        """This state with speeds that meet all conditions, and the factors that made them."""
        if not self.compartment.settles:
            return self, None
        condensed = self.violated("rate")
        return self.at(self.corrected(condensed, condensed.resolve(ca.SX(0, 1)), "rate")), condensed

    def forces_after(self, settled: Condensed) -> Condensed:
        """Condense the equations of motion at consistent speeds with the factors of the correction that gave them."""
        _, closures = self.closures()
        loads = self.loads()
        condensation = settled.condensation
        condensation.restate_answers(self.kinematics, closures, self._ask_forces(loads))
        return self._swept(condensation, condensation.right_side(loads), loads, "force")

    # -- down

    def rates(self, condensed: Forces, solution: Solution, given: Vector) -> CompartmentState:
        """Rates of the state; `given` are the unknowns of the own border."""
        links = {link.joint: link for link in self.compartment.topology.links if link.joint is not None}
        q = {j: ca.SX(self.kinematics.step(links[j]).rate) for j in self.compartment.joints}
        v = {j: solution.joint(j) if j.freedoms else ca.SX(0, 1) for j in self.compartment.joints}
        inner = {}
        for part in self.compartment.parts:
            assert condensed.loads is not None
            wanted, fields = condensed.given_to(part, solution), condensed.loads.for_part(part)
            inner[part] = self._ask(part, "resolve", fields=fields, given=wanted)
        memory = ca.vertcat(mode_rates(self.compartment.model, self.kinematics), self._state_rates(given))
        return CompartmentState(q, v, counted_rates(self), memory, inner)

    def _state_rates(self, given: Vector) -> Vector:
        """Rates of the compartment's own states; they may use results."""
        model = self.compartment.model
        if states_with_results(model):
            writer = PartedWriter(self, self.forces(whole=True), given)
            bind_signals(self.tracer, self.kinematics, writer.acceleration, writer.readings)
        return state_rates(self.tracer, model)

    def corrected(self, condensed: Condensed, solution: Solution, level: str) -> CompartmentState:
        """The state with a correction made."""
        values = self.values
        q, v = values.q, values.v
        if level == "residual":
            q = {j: self._moved(j, q[j], solution) for j in self.compartment.joints}
        else:
            v = {j: self._faster(j, v[j], solution) for j in self.compartment.joints}
        inner = {}
        for part in self.compartment.parts:
            given = condensed.given_to(part, solution)
            inner[part] = self._ask(part, f"corrected_{level}", given=given)
        return CompartmentState(q, v, values.counted, values.memory, inner)

    def _moved(self, joint: Joint, q: Vector, solution: Solution) -> Vector:
        if not joint.freedoms:
            return q
        law = self.compartment.model.pair(joint)
        return self.tracer.call(lambda q, d: q + law.rate(q, d), q, solution.joint(joint))

    def _faster(self, joint: Joint, v: Vector, solution: Solution) -> Vector:
        if not joint.freedoms:
            return v
        return self.tracer.call(lambda v, d: v + d, v, solution.joint(joint))

    def normalized(self) -> CompartmentState:
        """The state with quaternions of unit length; counted angles are measured anew."""
        values = self.values
        laws = {joint: self.compartment.model.pair(joint) for joint in self.compartment.joints}
        q = {
            j: self.tracer.call(lambda q, j=law: j.normalize(q), values.q[j]) if j.coordinates else values.q[j]
            for j, law in laws.items()
        }
        inner = {part: self._ask(part, "normalize") for part in self.compartment.parts}
        counted = {joint: self.kinematics.joint_state(joint)[0] for joint in self.compartment.counted}
        return CompartmentState(q, values.v, counted, values.memory, inner)

    def guards(self) -> dict[Event, Scalar]:
        """Values whose rise through zero is an event, by event, of this compartment and its parts."""
        call, model = self.tracer.call, self.compartment.model
        if self.compartment.border is not None:
            refuse_results(model)
        found = {e: call(lambda e=e: said(model, e)[0], path=model.path(e), free=True) for e in model.events}
        for part in self.compartment.parts:
            events = part.inside.whole.events
            values = self._ask(part, "guards") if events else ca.SX(0, 1)
            found |= {event: values[k, :] for k, event in enumerate(events)}
        return found

    def switched(self, event: Event) -> list[tuple[Mode | State, Scalar]]:
        """Modes, and states of one's own, an event changes, with their new values."""
        for part in self.compartment.parts:
            events = part.inside.whole.events
            for k, known in enumerate(events):
                if known is event:
                    values = self._ask(part, f"switch_{k}")
                    return [(mode, values[i, :]) for i, (mode, _) in enumerate(event.changes)]
        model, call = self.compartment.model, self.tracer.call
        values = [call(lambda v=v: v, path=model.path(event), free=True) for v in said(model, event)[1:]]
        return [(mode, value) for (mode, _), value in zip(event.changes, values, strict=True)]

    def gap(self) -> Scalar:
        """The largest violation of a condition, in units of what a stage may have."""
        twin = self._solver
        worst, straying = ca.SX(0), () if self.compartment.linear else self.compartment.closing
        for element in straying:
            gap = trace_violation(self.kinematics, element, twin.laws, "residual")
            worst = self.tracer.call(lambda w, g: ca.fmax(w, ca.mmax(ca.fabs(ca.densify(g)))), worst, gap)
        if straying:
            allowed = twin._allowed_gap()
            worst = self.tracer.call(lambda w: w / allowed, worst)
        for part in self.compartment.parts:
            inside = self._ask(part, "gap")
            worst = self.tracer.call(ca.fmax, worst, inside)
        return worst


def counted_rates(now: Moment) -> dict[Joint, Vector]:
    """Rates of angles that are counted."""
    found = {}
    for joint in now.compartment.counted:
        (q, v), law = now.kinematics.joint_state(joint), now.compartment.model.pair(joint)
        found[joint] = now.tracer.call(lambda q, v, j=law: j.rate(q, v), q, v)
    return found
