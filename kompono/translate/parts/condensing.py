"""The elimination of a compartment: its own bodies as ever, its parts by the blocks they answer with, and what is left
at its own border.

To its owner a part is a body at the base, with the inertia I and bias p of its answer, and a body without inertia at
every other port, whose acceleration b is an unknown of its own. What the part says of it are conditions with a
compliance,

    b + C^T a - D tau - r = 0,

where tau, the wrench on the port, is their multiplier. Bodies and forces at a port are what they always are, and b and
tau are eliminated together (`PortedElimination.pair`). Conditions of loops are on joints, so the port has a crossing, a
joint of six freedoms s = b - X a - d from the base, with X from base to port and d its velocity terms; it is put in
place of s when b goes. Corrections of speeds and coordinates have the same block and another vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.body import Body, Carrier, Frame
from kompono.model.element import Element
from kompono.model.free import Crossing
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist, carry_wrench_back, symmetric, twist_matrix
from kompono.translate.elimination.blocks import PivotReference, RightSide
from kompono.translate.elimination.bordered import Swept, unpack_answer
from kompono.translate.elimination.inertia_form import Condensation, ground_acceleration
from kompono.translate.elimination.plan import EliminationPlan
from kompono.translate.elimination.ported import PortedElimination
from kompono.translate.elimination.refined import RefinedSwept
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.handed import Handed, HandedShape
from kompono.translate.laws.tied import Tied
from kompono.translate.motion.conditions import Closing, Closures
from kompono.translate.motion.kinematics import Kinematics, StandIn
from kompono.translate.motion.loads import Loads
from kompono.translate.parts.border import Border, port_in
from kompono.translate.parts.floating import floating
from kompono.translate.structure.topology import Link
from kompono.translate.symbolic import Matrix, Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.parts.compartment import Compartment
    from kompono.translate.parts.inside import Part


@dataclass(frozen=True)
class Answer:
    """What a part answers at its ports (in their axes): block (n, n) and vector (n), and rows that it hands on."""

    block: Matrix
    vector: Vector
    handed: Handed | Tied | None = None

    @staticmethod
    def of(column: Vector, border: Border, shape: HandedShape | None = None) -> Answer:
        """From a packed answer."""
        block, vector = unpack_answer(column[: border.answer, :], border.size)
        handed = Handed.of(column[border.answer :, :], shape, border.size) if shape is not None else None
        return Answer(block, vector, handed)


class PartedCondensation(Condensation):
    """The factored equations of a compartment; parts have answered before."""

    elimination: PortedElimination

    def __init__(
        self,
        compartment: Compartment,
        kinematics: Kinematics,
        plan: EliminationPlan,
        closures: Closures,
        references: dict[Element, PivotReference],
        tolerance: Scalar | float,
        answers: Mapping[Part, Answer],
    ) -> None:
        self.compartment, self.answers = compartment, dict(answers)
        self.held: dict[Element, Matrix] = {}  # G on the base of conditions that hold floating bodies to it
        self._show(kinematics)
        super().__init__(kinematics, plan, closures, references, tolerance)

    def _show(self, kinematics: Kinematics) -> None:
        """Let parts stand for the bodies at their ports."""
        for part in self.compartment.parts:
            answer = self.answers[part]
            for port in part.border.others:
                kinematics.stand_ins[port.body] = StandIn(ca.SX(6, 6), ca.SX(6, 1))
            if part.border.base is not None:
                at = port_in(kinematics, part.border.base)
                carried = ca.SX(twist_matrix(at))
                shown = kinematics.tracer.call(
                    lambda i, p, at=at, x=carried: (symmetric(x.T @ i @ x), carry_wrench_back(at, p)),
                    answer.block[:6, :6], answer.vector[:6], path=part.path,
                )  # fmt: skip
                kinematics.stand_ins[part.border.base.body] = StandIn(*shown)

    def restate_answers(self, kinematics: Kinematics, closures: Closures, answers: Mapping[Part, Answer]) -> None:
        """Go on with other speeds at the same coordinates: the factors stay, parts have answered anew."""
        self.answers = {
            key: Answer(self.answers[key].block, answer.vector, answer.handed) for key, answer in answers.items()
        }
        self._show(kinematics)
        self.restate(kinematics, closures)

    # -- the matrix

    def _make_elimination(self, tolerance: Scalar | float) -> PortedElimination:
        return PortedElimination(self.kinematics.tracer, tolerance)

    def _begin(self) -> None:
        super()._begin()
        elimination = self.elimination
        for part in self.compartment.parts:
            answer, others = self.answers[part], part.border.others
            for k, port in enumerate(others):
                rows = _slice(part, k)
                elimination.add(Unknown.inner_wrench(port.body), 6, answer.block[rows, rows])
                for j in range(k):
                    pair = Unknown.inner_wrench(port.body), Unknown.inner_wrench(others[j].body)
                    elimination.couple(*pair, answer.block[rows, _slice(part, j)])
        border = self.compartment.border
        for port in border.others if border is not None else ():
            elimination.add(Unknown.outer_wrench(port), 6)
            lead, carried = self._carried(port.body)
            if isinstance(lead, Body):
                moved = self._at(port) @ carried
                block = self.kinematics.tracer.call(lambda x=moved: -x)
                elimination.couple(Unknown.outer_wrench(port), Unknown.body(lead), block)

    def _carried(self, carrier: Carrier) -> tuple[Carrier, Matrix]:
        """The lead of a carrier, and the matrix from the lead's acceleration to the carrier's (working frames)."""
        groups = self.plan.groups
        return groups.lead(carrier), ca.SX(twist_matrix(groups.offset(self.kinematics, carrier)))

    def _at(self, port: Frame) -> Matrix:
        """The matrix from the acceleration of a port's carrier (working frame) to that of the port."""
        return ca.SX(twist_matrix(port_in(self.kinematics, port)))

    def _hang(self, link: Link, chain: list[Link]) -> None:
        if link.crosses:
            self._cross(link, chain)
            return
        ports = [k for k, above in enumerate(chain) if above.crosses]
        super()._hang(link, chain[: ports[0]] if ports else chain)  # ports are unknowns until they are paired

    def _cross(self, link: Link, chain: list[Link]) -> None:
        """The conditions of a port on its own acceleration and on that of the base, and its crossing."""
        port, tau, unit = Unknown.body(link.carrier), Unknown.inner_wrench(link.carrier), ca.SX(ca.DM.eye(6))
        self.elimination.couple(tau, port, unit)
        crossing, part = {port: unit}, self.part_at(link)
        self.chains[link.carrier] = [(link, unit)]
        lead, carried = self._carried(link.parent)
        if part.border.base is not None and isinstance(lead, Body):
            if chain:
                raise AssertionError("a port is hung before the base of its part")
            call, step, at = self.kinematics.tracer.call, self.kinematics.step(link), self._at(part.border.base)
            block = self.answers[part].block[_slice(part, part.place(link.carrier)), :6]
            moved = call(lambda c: c @ at @ carried, block)
            self.elimination.couple(tau, Unknown.body(lead), moved)
            crossing[Unknown.body(lead)] = call(
                lambda p, r: -(twist_matrix(Pose(p, r)) @ carried), step.pose.position, step.pose.rotation
            )
        self.elimination.define(Unknown.joint(link.moved_by), 6, crossing)

    def _close(self, element: Closing) -> None:
        super()._close(element)
        if self.closures[element].size and (root := floating(self.compartment, element)) is not None:
            self._hold(element, root)

    def _hold(self, element: Closing, root: Link) -> None:
        """Conditions between the base and a body that floats: moving both at once changes nothing."""
        assert self.compartment.border is not None
        assert self.compartment.border.base is not None
        base = self.compartment.border.base.body
        pose = self.kinematics.relative(base, root.carrier).pose
        column = self.kinematics.tracer.call(
            lambda g, p, r: -(g @ twist_matrix(Pose(p, r))),
            self.closures[element].columns[root.moved_by], pose.position, pose.rotation, path=self.model.path(element),
        )  # fmt: skip
        self.held[element] = column
        self.elimination.conditions[Unknown.rows(element)][Unknown.body(base)] = column
        self.elimination.couple(Unknown.rows(element), Unknown.body(base), column)

    def part_at(self, link: Link) -> Part:
        """The part a crossing belongs to."""
        return next(part for part in self.compartment.parts if part.has(link.carrier))

    def _pivot(self, joint: Joint) -> None:
        if isinstance(joint, Crossing):
            self.elimination.hang_defined(Unknown.joint(joint), joint._name)
            port = joint.second.body
            self.elimination.pair(Unknown.body(port), Unknown.inner_wrench(port), joint._name)
        else:
            super()._pivot(joint)

    # -- the vector

    def right_side(self, loads: Loads) -> RightSide:
        right = super().right_side(loads)
        for part in self.compartment.parts:
            answer = self.answers[part]
            base = part.border.base
            fixed = base is not None and not isinstance(self.plan.groups.lead(base.body), Body)
            for k, port in enumerate(part.border.others):
                crossing = Unknown.joint(self.topology.link(port.body).moved_by)
                offset = right.offsets.pop(Unknown.body(port.body))
                right.offsets[crossing] = self.kinematics.tracer.call(lambda d: -d, offset)
                bias = answer.vector[_slice(part, k)]
                if fixed:
                    bias = self._with_fixed_base(part, k, bias, loads)
                right.bias[Unknown.inner_wrench(port.body)] = bias
        border = self.compartment.border
        for port in border.others if border is not None else ():
            lead, carried = self._carried(port.body)
            if not isinstance(lead, Body):
                known = ground_acceleration(self.kinematics, loads, lead)
                moved = self._at(port) @ carried
                right.bias[Unknown.outer_wrench(port)] = self.kinematics.tracer.call(lambda a, x=moved: -(x @ a), known)
        self._take_field(right, loads)
        right.watched = True
        return right

    def _take_field(self, right: RightSide, loads: Loads) -> None:
        """Conditions are on the acceleration of the base itself, not less the uniform field."""
        border = self.compartment.border
        for element, column in self.held.items():
            assert border is not None
            assert border.base is not None
            pose, key = self.kinematics.absolute(border.base.body).pose, Unknown.rows(element)
            field = ground_acceleration(self.kinematics, loads, self.topology.world)
            right.bias[key] = self.kinematics.tracer.call(
                lambda u, g, a, p, r: u - g @ carry_twist(Pose(p, r), a),
                right.bias[key], column, field, pose.position, pose.rotation, path=self.model.path(element),
            )  # fmt: skip

    def _with_fixed_base(self, part: Part, k: int, bias: Vector, loads: Loads) -> Vector:
        """Add what a base that is fixed to a ground does."""
        acceleration = self.base_acceleration(part, Solution(), loads)
        block = self.answers[part].block[_slice(part, k), :6]
        return self.kinematics.tracer.call(lambda u, c, a: u + c @ a, bias, block, acceleration)

    def corrections_of(self, residuals: dict[Element, Vector]) -> RightSide:
        """The vectors of a correction: violations of own conditions, and what parts answer for theirs."""
        bias = {Unknown.rows(element): value for element, value in residuals.items()}
        offsets = self._take_substituted(bias)
        for part in self.compartment.parts:
            self.push(part, self.answers[part].vector, bias)
        return RightSide(bias, offsets)

    def push(self, part: Part, vector: Vector, bias: dict[Unknown, Vector]) -> None:
        """Add a vector (n) at the ports of a part to what is on the unknowns there."""
        base, call = part.border.base, self.kinematics.tracer.call
        added: dict[Unknown, Vector] = {}
        lead = self._carried(base.body)[0] if base is not None else None
        if base is not None and isinstance(lead, Body):
            at = self.plan.groups.offset(self.kinematics, base.body) @ port_in(self.kinematics, base)
            added[Unknown.body(lead)] = call(lambda p, x=at: carry_wrench_back(x, p), vector[:6])
        for k, port in enumerate(part.border.others):
            added[Unknown.inner_wrench(port.body)] = vector[_slice(part, k)]
        for key, value in added.items():
            bias[key] = call(lambda a, b: a + b, bias[key], value) if key in bias else value

    # -- the border

    def swept(self, right: RightSide, *, forces: bool) -> Swept:
        """Condense to the border. In absolute coordinates what `forces` do is solved for twice, as in open models,
        unless the conditions of every element are far from depending on each other.
        """
        twice = forces and self.compartment.placed and not all(self.references[e].apart for e in self.closures)
        kind = RefinedSwept if twice else Swept
        return kind(self.elimination, right, self.border_keys, *self.elimination.forward(right))

    @property
    def border_keys(self) -> list[Unknown]:
        """Unknowns that no step eliminates."""
        border = self.compartment.border
        if border is None:
            return []
        base = [Unknown.body(border.base.body)] if border.base is not None else []
        return [*base, *(Unknown.outer_wrench(port) for port in border.others)]

    def base_acceleration(self, part: Part, solution: Solution, loads: Loads | None) -> Vector:
        """The acceleration of the base of a part, at the port; without loads its change in a correction."""
        base = part.border.base
        assert base is not None
        groups, call = self.plan.groups, self.kinematics.tracer.call
        lead = groups.lead(base.body)
        if isinstance(lead, Body):
            moved = solution.body(lead)
        else:
            moved = ground_acceleration(self.kinematics, loads, lead) if loads is not None else ca.SX(6, 1)
        at = groups.offset(self.kinematics, base.body) @ port_in(self.kinematics, base)
        return call(lambda a: carry_twist(at, a), moved)

    def at_border(self, part: Part, solution: Solution, loads: Loads | None) -> Vector:
        """Unknowns of the ports of a part (n): acceleration of its base, wrenches on the others."""
        base = [self.base_acceleration(part, solution, loads)] if part.border.base is not None else []
        wrenches = [solution.inner_wrench(port.body) for port in part.border.others]
        return ca.densify(ca.vertcat(ca.SX(0, 1), *base, *wrenches))

    def given_to(self, part: Part, solution: Solution, loads: Loads | None) -> Vector:
        """The same, and forces of rows that the part handed on."""
        handed = solution.get(Unknown.handed(part.part), ca.SX.zeros(part.handed.rows))
        return ca.densify(ca.vertcat(self.at_border(part, solution, loads), handed))


def _slice(part: Part, k: int) -> slice:
    """Rows of the k-th of the other ports of a part in its answer."""
    first = 6 * (k + part.border.based)
    return slice(first, first + 6)
