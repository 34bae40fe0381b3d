"""The order of elimination follows the components: parts condense first, then their owner, leaves to root.

Inside one component the deepest bodies go first. Each operation belongs to a component: hanging a body belongs to the
owner of its tree joint, closing a loop to the lowest component that contains the whole loop. A joint's acceleration
stays an unknown only as long as an operation still to come, here or in an owner, looks at what moves with it. Bodies
welded together are hung as one. What is
left of a component when its own operations are done is its answer at its ports: the motion of its base and of the
joints leading to ports in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.model.body import Body, Carrier, Ground
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist, symmetric, twist_matrix
from kompono.translate.closure import Closure, path_joints
from kompono.translate.elaborate import Elaborated
from kompono.translate.elimination import Elimination, Reference, RightSide
from kompono.translate.kinematics import Kinematics
from kompono.translate.linear import LinearSet
from kompono.translate.loads import Loads
from kompono.translate.rigid import RigidGroups
from kompono.translate.sweeps import TOLERANCE
from kompono.translate.topology import Link, Topology, common_owner


@dataclass(frozen=True)
class Operation:
    """Hang one body, or close one loop."""

    level: Subsystem
    link: Link | None = None
    element: Any = None


@dataclass(frozen=True)
class Plan:
    """All operations in order, and after which of them each joint's acceleration can go."""

    operations: tuple[Operation, ...]
    last_use: dict[int, int]  # id(joint) -> index of operation
    joints: dict[int, Joint]
    groups: RigidGroups


def closing_elements(model: Elaborated, topology: Topology) -> tuple[Any, ...]:
    """Everything that closes loops, in order of declaration by kind."""
    held = {id(constraint) for pair in topology.firm for constraint in pair.constraints}
    constraints = (constraint for constraint in model.constraints if id(constraint) not in held)
    return (*topology.closing, *constraints, *model.couplings)


def make_plan(model: Elaborated, topology: Topology, closing: Iterable[Any]) -> Plan:
    """Order the operations by component and find the last use of each joint."""
    by_level: dict[int, list[Link]] = {id(subsystem): [] for subsystem in model.subsystems}
    groups = RigidGroups(topology)
    levels, crossed = _levels(topology, groups, by_level), any(link.crosses for link in topology.links)
    for link in topology.links:
        if link.joint is not None and not link.rigid:
            by_level[id(levels[id(link.carrier)])].append(link)
    loops: dict[int, list[tuple[Any, set[int]]]] = {id(subsystem): [] for subsystem in model.subsystems}
    for element in closing:
        joints = path_joints(topology, element)
        level = common_owner(
            model, [element, *(joint if joint.owner else _independent(topology, joint) for joint in joints)]
        )
        for joint in joints if crossed else ():
            above = levels[id(_independent(topology, joint))]
            level = above if above.contains(level) else level
        loops[id(level)].append((element, {id(joint) for joint in joints}))
    operations: list[Operation] = []
    hung: set[int] = set()
    _plan_component(model.model, by_level, loops, operations, hung)
    planned = sum(operation.element is not None for operation in operations)
    if planned != sum(map(len, loops.values())):
        raise TranslationError("internal: a loop is closed by no component")
    joints = {id(link.joint): link.joint for link in topology.links if link.joint is not None}
    return Plan(tuple(operations), _last_uses(groups, operations), joints, groups)


def _levels(topology: Topology, groups: RigidGroups, known: Any) -> dict[int, Subsystem]:
    """The component each link belongs to, by id(carrier). What carries a closed part waits until its ports are hung."""
    found: dict[int, Any] = {}
    for link in topology.links:
        owner: Any = (link.joint.owner if link.joint is not None else None) or link.carrier.owner
        while owner is not None and id(owner) not in known:  # inside a closed part
            owner = owner.owner
        found[id(link.carrier)] = owner
    for link in topology.links:
        lead = groups.lead(link.parent)
        if link.crosses and id(lead) in found and found[id(link.carrier)].contains(found[id(lead)]):
            found[id(lead)] = found[id(link.carrier)]
    return found


def _independent(topology: Topology, joint: Joint) -> Carrier:
    return next(link.carrier for link in topology.links if link.joint is joint)


def _plan_component(
    component: Subsystem, by_level: Any, loops: Any, operations: list[Operation], hung: set[int]
) -> None:
    for part in component.members.values():
        if isinstance(part, Subsystem) and id(part) in by_level:
            _plan_component(part, by_level, loops, operations, hung)
    pending = list(loops[id(component)])

    def close_ready() -> None:
        for item in list(pending):
            element, joints = item
            if joints <= hung:
                operations.append(Operation(component, element=element))
                pending.remove(item)

    for link in sorted(by_level[id(component)], key=lambda link: -link.depth):
        operations.append(Operation(component, link=link))
        hung.add(id(link.joint))
        close_ready()
    close_ready()


def _last_uses(groups: RigidGroups, operations: list[Operation]) -> dict[int, int]:
    when = {id(op.link.carrier): i for i, op in enumerate(operations) if op.link is not None}
    last: dict[int, int] = {}
    for i, operation in enumerate(operations):
        if operation.link is not None:
            last[id(operation.link.joint)] = max(i, last.get(id(operation.link.joint), 0))
            for link in chain_to_unknown(groups, operation.link, when, i):
                last[id(link.joint)] = i
        else:
            for joint in path_joints(groups.topology, operation.element):
                last[id(joint)] = i
    for link in groups.topology.links:
        if link.crosses:  # a port goes before what moves the part as a whole
            for above in _moving_above(groups.topology, link.parent):
                last[id(above)] = max(last[id(above)], last[id(link.joint)])
    for operation in operations:
        if isinstance(operation.element, LinearSet):  # others outlive what is expressed through them
            latest = max(last[id(joint)] for joint in operation.element.dependent)
            for joint in operation.element.joints:
                last[id(joint)] = max(last[id(joint)], latest)
    return last


def _moving_above(topology: Topology, carrier: Carrier) -> list[Joint]:
    joints = []
    while carrier is not topology.world:
        link = topology.link(carrier)
        if link.joint is not None and link.joint.freedoms:
            joints.append(link.joint)
        carrier = link.parent
    return joints


def chain_to_unknown(groups: RigidGroups, link: Link, when: dict[int, int], now: int) -> list[Link]:
    """Links above a body that are hung already when it is hung itself: its motion is expressed through theirs."""
    chain = []
    carrier = groups.lead(link.parent)
    while isinstance(carrier, Body) and when.get(id(carrier), now) < now:
        above = groups.topology.link(carrier)
        chain.append(above)
        carrier = groups.lead(above.parent)
    return chain


class Condensation:
    """The factored equations of motion of a model in its tree coordinates; `solve` gives accelerations and
    multipliers.
    """

    def __init__(
        self,
        kinematics: Kinematics,
        plan: Plan,
        closures: dict[int, Closure],
        references: dict[int, Reference],
        tolerance: Any = TOLERANCE,
    ) -> None:
        self.kinematics, self.plan, self.closures, self.references = kinematics, plan, closures, references
        self.model, self.topology = kinematics.model, kinematics.topology
        self.elimination = Elimination(kinematics.tracer, tolerance)
        self.chains: dict[int, list[tuple[Link, Any]]] = {}  # per body: links whose offsets add up to its own
        self.substituted: dict[int, tuple[LinearSet, int]] = {}  # by id(joint): the row that gives its acceleration
        when = {id(op.link.carrier): i for i, op in enumerate(plan.operations) if op.link is not None}
        self._begin()
        for index, operation in enumerate(plan.operations):
            if operation.link is not None:
                self._hang(operation.link, chain_to_unknown(plan.groups, operation.link, when, index))
            else:
                self._close(operation.element)
            self._eliminate_finished(index)

    def _begin(self) -> None:
        for body in self._leads():
            self.elimination.add(("body", id(body)), 6, self._inertia(body))

    def _leads(self) -> list[Body]:
        return [body for body in self.model.bodies if self.plan.groups.leads(body)]

    def _inertia(self, body: Body) -> Any:
        groups, call, path = self.plan.groups, self.kinematics.tracer.call, self.model.path(body)
        inertia = groups.inertia(self.kinematics, body)
        total = call(lambda: inertia, path=path)
        for offset, shown in groups.shown(self.kinematics, body):
            carried = twist_matrix(offset)
            total = call(lambda t, i, x=carried: symmetric(t + x.T @ i @ x), total, shown.inertia, path=path)
        return total

    def _hang(self, link: Link, chain: list[Link]) -> None:
        """Express the body through the nearest unknown body above (or a ground) and the joints in between."""
        call, path = self.kinematics.tracer.call, self.kinematics.label(link)
        maps: dict[Any, Any] = {}
        offsets: list[tuple[Link, Any]] = []
        carried = ca.SX(ca.DM.eye(6))
        for above in [link, *chain]:
            step = self.kinematics.step(above)
            offsets.append((above, carried))
            if above.joint is not None and above.joint.freedoms:
                maps["joint", id(above.joint)] = call(lambda x, s: x @ s, carried, step.subspace, path=path)
            held = self.plan.groups.offset(self.kinematics, above.parent)
            carried = call(
                lambda x, p, r, held=held: x @ twist_matrix(held @ Pose(p, r)), carried,
                step.pose.position, step.pose.rotation, path=path,
            )  # fmt: skip
        top = self.plan.groups.lead((chain[-1] if chain else link).parent)
        if isinstance(top, Body):
            maps["body", id(top)] = carried
        self.chains[id(link.carrier)] = offsets
        if link.joint is not None and link.joint.freedoms:
            self.elimination.add(("joint", id(link.joint)), link.joint.freedoms)
        self.elimination.hang(("body", id(link.carrier)), maps, path)

    def _close(self, element: Any) -> None:
        closure = self.closures[id(element)]
        if isinstance(element, LinearSet):
            self.substituted |= {id(joint): (element, k) for k, joint in enumerate(element.dependent)}
        elif closure.size:
            columns = {("joint", key): block for key, block in closure.columns.items()}
            reference, path = self.references[id(element)], self.model.path(element)
            self.elimination.add_rows(("rows", id(element)), columns, reference, path)

    def _eliminate_finished(self, index: int) -> None:
        finished = [key for key, last in self.plan.last_use.items() if last == index]
        depth = {id(link.joint): link.depth for link in self.topology.links}
        for key in sorted(finished, key=lambda key: (key not in self.substituted, -depth[key])):
            joint = self.plan.joints[key]
            if key in self.substituted:
                self._substitute(joint, *self.substituted[key])
            elif joint.freedoms:
                self._pivot(joint)
        for rows in self.elimination.ready_rows():
            element = next(e for e in self.closures.values() if ("rows", id(e.element)) == rows).element
            self.elimination.pivot(rows, self.model.path(element))

    def _pivot(self, joint: Joint) -> None:
        self.elimination.pivot(("joint", id(joint)), self.model.path(joint) or joint._name)

    def _substitute(self, joint: Joint, linear: LinearSet, row: int) -> None:
        """Express a joint's acceleration through those of others."""
        dependent = {id(other) for other in linear.dependent}
        columns = self.closures[id(linear)].columns
        maps = {("joint", id(o)): -columns[id(o)][row, :] for o in linear.joints if id(o) not in dependent}
        maps = {key: ca.sparsify(block) for key, block in maps.items() if ca.sparsify(block).nnz()}
        self.elimination.hang(("joint", id(joint)), maps, self.model.path(joint))

    def restate(self, kinematics: Kinematics, closures: dict[int, Closure]) -> None:
        """Go on with other speeds at the same coordinates: the factors stay."""
        self.kinematics, self.closures = kinematics, closures

    def accelerations(self, loads: Loads) -> dict[Any, Any]:
        """Spatial accelerations of bodies (less a uniform field), joint accelerations and multipliers."""
        return self.with_followers(self.elimination.solve(self.right_side(loads)), loads)

    def with_followers(self, solution: dict[Any, Any], loads: Loads) -> dict[Any, Any]:
        """A solution with the accelerations of bodies that are welded to others."""
        groups = self.plan.groups
        for body in self.model.bodies:
            if not groups.leads(body):
                lead = groups.lead(body)
                known = isinstance(lead, Ground)
                moved = ground_acceleration(self.kinematics, loads, lead) if known else solution["body", id(lead)]
                solution["body", id(body)] = groups.follow(self.kinematics, body, moved)
        return solution

    def right_side(self, loads: Loads) -> RightSide:
        """Loads and velocity terms of the acceleration problem."""
        groups = self.plan.groups
        bias: dict[Any, Any] = {("body", id(body)): groups.bias(self.kinematics, loads, body) for body in self._leads()}
        for joint in self.topology.tree_joints:
            if id(joint) in loads.efforts:
                bias["joint", id(joint)] = self.kinematics.tracer.call(
                    lambda f: -f, loads.efforts[id(joint)], path=self.model.path(joint)
                )
        for closure in self.closures.values():
            bias["rows", id(closure.element)] = closure.bias
        offsets = self._offsets(loads) | self._take_substituted(bias)
        return RightSide(bias, offsets)

    def corrections(self, residuals: dict[int, Any]) -> dict[Any, Any]:
        """Changes of speeds (or coordinates, through q_dot = N v) with G delta = -residual, of least kinetic energy."""
        bias = {("rows", key): value for key, value in residuals.items()}
        offsets = self._take_substituted(bias)
        return self.elimination.solve(RightSide(bias, offsets))

    def _take_substituted(self, bias: dict[Any, Any]) -> dict[Any, Any]:
        """What substituted joints do beyond their share of others', from the rows of their sets."""
        call = self.kinematics.tracer.call
        offsets = {
            ("joint", key): call(lambda u, row=row: -u[row], bias["rows", id(linear)])
            for key, (linear, row) in self.substituted.items()
        }
        for linear, _ in self.substituted.values():
            bias.pop(("rows", id(linear)), None)
        return offsets

    def _offsets(self, loads: Loads) -> dict[Any, Any]:
        """d of each hung body: its own and its chain's velocity terms, and what its ground is prescribed to do."""
        call = self.kinematics.tracer.call
        offsets = {}
        for operation in self.plan.operations:
            if operation.link is None:
                continue
            path = self.kinematics.label(operation.link)
            total = ca.SX(6, 1)
            for link, carried in self.chains[id(operation.link.carrier)]:
                local = self.kinematics.local_bias(link)
                if not isinstance(self.plan.groups.lead(link.parent), Body):
                    local = self._add_base(link, local, loads)
                total = call(lambda t, x, b: t + x @ b, total, carried, local, path=path)
            offsets["body", id(operation.link.carrier)] = total
        return offsets

    def _add_base(self, link: Link, local: Any, loads: Loads) -> Any:
        """Add the known acceleration of the ground (or world) a body hangs on."""
        groups = self.plan.groups
        base = ground_acceleration(self.kinematics, loads, groups.lead(link.parent))
        held = groups.offset(self.kinematics, link.parent)
        step = self.kinematics.step(link)
        return self.kinematics.tracer.call(
            lambda b, a, p, r: b + carry_twist(held @ Pose(p, r), a),
            local, base, step.pose.position, step.pose.rotation, path=self.kinematics.label(link),
        )  # fmt: skip


def ground_acceleration(kinematics: Kinematics, loads: Loads, ground: Carrier) -> Any:
    """Spatial acceleration of a ground, less the uniform field (a body at rest in gravity accelerates upwards)."""
    call = kinematics.tracer.call
    free_fall = call(lambda g: ca.vertcat(-g, ca.SX(3, 1)), loads.uniform)
    if ground is kinematics.topology.world:
        return free_fall
    assert isinstance(ground, Ground)
    link = kinematics.topology.link(ground)
    step = kinematics.step(link)
    return call(
        lambda a, p, r, b: carry_twist(Pose(p, r), a) + b, free_fall, step.pose.position, step.pose.rotation, step.bias,
        path=kinematics.model.path(ground),
    )  # fmt: skip
