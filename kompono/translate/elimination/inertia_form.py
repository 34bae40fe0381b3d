"""The equations of motion of a tree, factored in the order of its plan (see `plan`): bodies are hung on their parents
through the free directions of their joints, wrench = I a + p, and only loops have multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from kompono.model.body import Body, Carrier, Ground
from kompono.model.element import Element
from kompono.model.free import Placed
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist, symmetric, turn_and_shift, twist_matrix
from kompono.translate.elimination.blocks import Elimination, Factors, PivotReference, RightSide
from kompono.translate.elimination.linear import Substituted
from kompono.translate.elimination.pivots import TOLERANCE
from kompono.translate.elimination.plan import EliminationPlan, chain_to_unknown
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.motion.conditions import Closing, Closures
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.structure.lumps import traced_lump
from kompono.translate.structure.topology import Link
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import InlineTracer


class Condensation:
    """The factored equations of motion of a model in its tree coordinates; `solve` gives accelerations and
    multipliers.
    """

    def __init__(
        self,
        kinematics: Kinematics,
        plan: EliminationPlan,
        closures: Closures,
        references: dict[Element, PivotReference],
        tolerance: Scalar | float = TOLERANCE,
    ) -> None:
        self.kinematics, self.plan, self.closures, self.references = kinematics, plan, closures, references
        self.model, self.topology = kinematics.model, kinematics.topology
        self.elimination = self._make_elimination(tolerance)
        self.chains: dict[Carrier, list[tuple[Link, Matrix]]] = {}  # per body: links whose offsets add up to its own
        self.substituted: dict[Joint, tuple[Substituted, int]] = {}  # by joint: the row that gives its acceleration
        self.flying = self._flying()
        when = {op.link.carrier: i for i, op in enumerate(plan.operations) if op.link is not None}
        self._begin()
        for index, operation in enumerate(plan.operations):
            if operation.link is not None:
                self._hang(operation.link, chain_to_unknown(plan.groups, operation.link, when, index))
            elif operation.element is not None:
                self._close(operation.element)
            self._eliminate_finished(index)

    def _make_elimination(self, tolerance: Scalar | float) -> Elimination:
        return Elimination(self.kinematics.tracer, tolerance)

    def _begin(self) -> None:
        for body in self._leads():
            self.elimination.add(Unknown.body(body), 6, self._inertia(body))

    def _leads(self) -> list[Body]:
        return [body for body in self.model.bodies if self.plan.groups.leads(body)]

    def _inertia(self, body: Body) -> Matrix:
        groups, call, path = self.plan.groups, self.kinematics.tracer.call, self.model.path(body)
        inertia = groups.inertia(self.kinematics, body)
        total = call(lambda: inertia, path=path)
        for offset, shown in groups.shown(self.kinematics, body):
            carried = twist_matrix(offset)
            total = call(lambda t, i, x=carried: symmetric(t + x.T @ i @ x), total, shown.inertia, path=path)
        return total

    def _flying(self) -> dict[Carrier, Joint]:
        """Bodies that are placed in world axes with nothing between them and the world but laws, and their joints:
        these are solved for in their own axes, where inertia is constant.
        """
        if type(self) is not Condensation:
            return {}
        kinematics, parents = self.kinematics, {link.parent for link in self.topology.links}
        tied = {joint for closure in self.closures.values() for joint in closure.columns}
        return {
            link.carrier: link.joint
            for link in self.topology.links
            if type(link.joint) is Placed and isinstance(link.carrier, Body) and link.parent is self.topology.world
            and not (link.reverse or link.crosses or link.carrier in parents or link.carrier in kinematics.stand_ins)
            and link.joint not in tied and link.joint not in kinematics.locked
        }  # fmt: skip

    def _fly(self, link: Link) -> None:
        """Express the speeds of a flying body through its own acceleration, instead of this through them."""
        joint, body = Unknown.joint(self.flying[link.carrier]), Unknown.body(link.carrier)
        path = self.kinematics.label(link)
        back = self.kinematics.tracer.call(lambda s: s.T, self.kinematics.step(link).subspace, path=path)
        self.chains[link.carrier] = [(link, ca.SX(ca.DM.eye(6)))]
        self.elimination.add(joint, 6, ca.SX(6, 6))
        self.elimination.hang(joint, {body: back}, path)

    def _hang(self, link: Link, chain: list[Link]) -> None:
        """Express the body through the nearest unknown body above (or a ground) and the joints in between."""
        if link.carrier in self.flying:
            self._fly(link)
            return
        call, path = self.kinematics.tracer.call, self.kinematics.label(link)
        maps: dict[Unknown, Matrix] = {}
        offsets: list[tuple[Link, Matrix]] = []
        carried = ca.SX(ca.DM.eye(6))
        for above in [link, *chain]:
            step = self.kinematics.step(above)
            offsets.append((above, carried))
            if above.joint is not None and self.kinematics.free(above.joint):
                maps[Unknown.joint(above.joint)] = call(lambda x, s: x @ s, carried, step.subspace, path=path)
            held = self.plan.groups.offset(self.kinematics, above.parent)
            carried = call(
                lambda x, p, r, held=held: x @ twist_matrix(held @ Pose(p, r)), carried,
                step.pose.position, step.pose.rotation, path=path,
            )  # fmt: skip
        top = self.plan.groups.lead((chain[-1] if chain else link).parent)
        factors: Factors = {}
        if isinstance(top, Body):
            maps[Unknown.body(top)] = carried
            if not chain and isinstance(self.kinematics.tracer, InlineTracer):
                held, pose = self.plan.groups.offset(self.kinematics, link.parent), self.kinematics.step(link).pose
                factors[Unknown.body(top)] = turn_and_shift(held @ pose)
        self.chains[link.carrier] = offsets
        if link.joint is not None and (free := self.kinematics.free(link.joint)):
            own = lump_block(self.kinematics, link.joint)
            self.elimination.add(Unknown.joint(link.joint), len(free), own)
        self.elimination.hang(Unknown.body(link.carrier), maps, path, factors=factors)

    def _close(self, element: Closing) -> None:
        closure = self.closures[element]
        if isinstance(element, Substituted):
            self.substituted |= {joint: (element, k) for k, joint in enumerate(element.dependent)}
        elif closure.size:
            columns = {Unknown.joint(joint): block for joint, block in closure.columns.items()}
            reference, path = self.references[element], self.model.path(element)
            self.elimination.add_rows(Unknown.rows(element), columns, reference, path)

    def _eliminate_finished(self, index: int) -> None:
        finished = [joint for joint, last in self.plan.last_use.items() if last == index]
        depth = {link.joint: link.depth for link in self.topology.links}
        for joint in sorted(finished, key=lambda joint: (joint not in self.substituted, -depth[joint])):
            if joint in self.substituted:
                self._substitute(joint, *self.substituted[joint])
            elif self.kinematics.free(joint):
                self._pivot(joint)
        for rows in self.elimination.ready_rows():
            element = next(element for element in self.closures if Unknown.rows(element) == rows)
            self.elimination.pivot(rows, self.model.path(element))

    def _pivot(self, joint: Joint) -> None:
        flown = [body for body, placed in self.flying.items() if placed is joint]
        if flown:
            self.elimination.pivot(Unknown.body(flown[0]), self.model.path(flown[0]))
            return
        self.elimination.pivot(Unknown.joint(joint), self.model.path(joint) or joint._name)

    def _substitute(self, joint: Joint, linear: Substituted, row: int) -> None:
        """Express a joint's acceleration through those of others."""
        dependent = set(linear.dependent)
        columns = self.closures[linear].columns
        maps = {Unknown.joint(o): -columns[o][row, :] for o in linear.joints if o not in dependent}
        maps = {key: ca.sparsify(block) for key, block in maps.items() if ca.sparsify(block).nnz()}
        self.elimination.hang(Unknown.joint(joint), maps, self.model.path(joint))

    def restate(self, kinematics: Kinematics, closures: Closures) -> None:
        """Go on with other speeds at the same coordinates: the factors stay."""
        self.kinematics, self.closures = kinematics, closures

    def accelerations(self, loads: Loads, pushes: Mapping[Joint | Body, Vector] | None = None) -> Solution:
        """Spatial accelerations of bodies (less a uniform field), joint accelerations and multipliers; `pushes` are
        further generalized forces on joints, and wrenches on flying bodies.
        """
        right = self.right_side(loads)
        for mover, push in (pushes or {}).items():
            key = _unknown(mover)
            before = right.bias.get(key, ca.SX(self.elimination.sizes[key], 1))
            right.bias[key] = self.kinematics.tracer.call(lambda p, f: p - f, before, push)
        return self.with_followers(self._whole(self.elimination.solve(right)), loads)

    def pushed(self, pushes: Mapping[Joint | Body, Vector]) -> Solution:
        """What such forces alone do, conditions being held: changes of accelerations, or of speeds."""
        call = self.kinematics.tracer.call
        solution = self.elimination.solve(RightSide({_unknown(k): call(lambda f: -f, f) for k, f in pushes.items()}))
        return self._whole(solution)

    def _whole(self, solution: Solution) -> Solution:
        """A solution with zeros for freedoms that are left out."""
        for joint in self.kinematics.locked:
            whole = ca.SX(joint.freedoms, 1)
            if free := self.kinematics.free(joint):
                whole[free] = solution.joint(joint)
            solution[Unknown.joint(joint)] = whole
        return solution

    def with_followers(self, solution: Solution, loads: Loads) -> Solution:
        """A solution with the accelerations of bodies that are welded to others."""
        groups = self.plan.groups
        for body in self.model.bodies:
            if not groups.leads(body):
                lead = groups.lead(body)
                known = isinstance(lead, Ground)
                moved = ground_acceleration(self.kinematics, loads, lead) if known else solution.body(lead)
                solution[Unknown.body(body)] = groups.follow(self.kinematics, body, moved)
        return solution

    def right_side(self, loads: Loads) -> RightSide:
        """Loads and velocity terms of the acceleration problem."""
        groups = self.plan.groups
        bias = {Unknown.body(body): groups.bias(self.kinematics, loads, body) for body in self._leads()}
        for joint in self.topology.tree_joints:
            if joint in loads.efforts and (free := self.kinematics.free(joint)):
                bias[Unknown.joint(joint)] = self.kinematics.tracer.call(
                    lambda f, free=free: -f[free], loads.efforts[joint], path=self.model.path(joint)
                )
        for closure in self.closures.values():
            bias[Unknown.rows(closure.element)] = closure.bias
        offsets = self._offsets(loads) | self._take_substituted(bias)
        return RightSide(bias, offsets)

    def corrections(self, residuals: dict[Element, Vector]) -> Solution:
        """Changes of speeds (or coordinates, through q_dot = N v) with G delta = -residual, of least kinetic energy."""
        bias = {Unknown.rows(element): value for element, value in residuals.items()}
        offsets = self._take_substituted(bias)
        return self._whole(self.elimination.solve(RightSide(bias, offsets)))

    def _take_substituted(self, bias: dict[Unknown, Vector]) -> dict[Unknown, Vector]:
        """What substituted joints do beyond their share of others', from the rows of their sets."""
        call = self.kinematics.tracer.call
        for linear in dict.fromkeys(linear for linear, _ in self.substituted.values()):
            inverse, key = self.closures[linear].inverse, Unknown.rows(linear)
            if inverse is not None:
                bias[key] = call(lambda a, u: a @ u, inverse, bias[key])
        offsets = {
            Unknown.joint(joint): call(lambda u, row=row: -u[row], bias[Unknown.rows(linear)])
            for joint, (linear, row) in self.substituted.items()
        }
        for linear, _ in self.substituted.values():
            bias.pop(Unknown.rows(linear), None)
        return offsets

    def _offsets(self, loads: Loads) -> dict[Unknown, Vector]:
        """d of each hung body: its own and its chain's velocity terms, and what its ground is prescribed to do."""
        call = self.kinematics.tracer.call
        offsets = {}
        for operation in self.plan.operations:
            if operation.link is None:
                continue
            path = self.kinematics.label(operation.link)
            total = ca.SX(6, 1)
            for link, carried in self.chains[operation.link.carrier]:
                local = self.kinematics.local_bias(link)
                if not isinstance(self.plan.groups.lead(link.parent), Body):
                    local = self._add_base(link, local, loads)
                total = call(lambda t, x, b: t + x @ b, total, carried, local, path=path)
            if operation.link.carrier in self.flying:
                key = Unknown.joint(self.flying[operation.link.carrier])
                step = self.kinematics.step(operation.link)
                offsets[key] = call(lambda s, d: -(s.T @ d), step.subspace, total, path=path)
                continue
            offsets[Unknown.body(operation.link.carrier)] = total
        return offsets

    def _add_base(self, link: Link, local: Vector, loads: Loads) -> Vector:
        """Add the known acceleration of the ground (or world) a body hangs on."""
        groups = self.plan.groups
        base = ground_acceleration(self.kinematics, loads, groups.lead(link.parent))
        held = groups.offset(self.kinematics, link.parent)
        step = self.kinematics.step(link)
        return self.kinematics.tracer.call(
            lambda b, a, p, r: b + carry_twist(held @ Pose(p, r), a),
            local, base, step.pose.position, step.pose.rotation, path=self.kinematics.label(link),
        )  # fmt: skip


def _unknown(mover: Joint | Body) -> Unknown:
    return Unknown.joint(mover) if isinstance(mover, Joint) else Unknown.body(mover)


def lump_block(kinematics: Kinematics, joint: Joint) -> Matrix | None:
    """Inertia on the speeds of a joint itself (freedoms, freedoms), None where there is none."""
    own = [lump for lump in kinematics.model.lumps if lump.joint is joint]
    if not own:
        return None
    total = ca.SX(joint.freedoms, joint.freedoms)
    for lump in own:
        total[lump.place, lump.place] += traced_lump(kinematics.model, lump).inertia
    free = kinematics.free(joint)
    return kinematics.tracer.call(lambda: total[free, free], path=kinematics.model.path(joint))


def ground_acceleration(kinematics: Kinematics, loads: Loads, ground: Carrier) -> Vector:
    """Spatial acceleration of a ground, less the uniform field (a body at rest in gravity accelerates upwards)."""
    call = kinematics.tracer.call
    free_fall = call(lambda g: ca.vertcat(-kinematics.in_working_axes(g), ca.SX(3, 1)), loads.uniform)
    if ground is kinematics.topology.world:
        return free_fall
    assert isinstance(ground, Ground)
    link = kinematics.topology.link(ground)
    step = kinematics.step(link)
    return call(
        lambda a, p, r, b: carry_twist(Pose(p, r), a) + b, free_fall, step.pose.position, step.pose.rotation, step.bias,
        path=kinematics.model.path(ground),
    )  # fmt: skip
