"""The order of elimination follows the components: parts condense first, then their owner, leaves to root.

Inside one component the deepest bodies go first. Each operation belongs to a component: hanging a body belongs to the
owner of its tree joint, closing a loop to the lowest component that contains the whole loop. A joint's acceleration
stays an unknown only as long as an operation still to come, here or in an owner, looks at what moves with it. Bodies
welded together are hung as one. What is
left of a component when its own operations are done is its answer at its ports: the motion of its base and of the
joints leading to ports in use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kompono.errors import TranslationError
from kompono.model.body import Body, Carrier
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.motion.conditions import Closing, path_joints
from kompono.translate.structure.topology import Link, Topology, common_owner

if TYPE_CHECKING:
    from kompono.translate.elimination.rigid import RigidGroups

_Loops = dict[Subsystem, list[tuple[Closing, set[Joint]]]]  # what each component closes, and over which joints


@dataclass(frozen=True)
class EliminationStep:
    """Hang one body, or close one loop."""

    level: Subsystem
    link: Link | None = None
    element: Closing | None = None


@dataclass(frozen=True)
class EliminationPlan:
    """All operations in order, and after which of them each joint's acceleration can go."""

    operations: tuple[EliminationStep, ...]
    last_use: dict[Joint, int]  # index of operation, by joint
    groups: RigidGroups


def closing_elements(model: Elaborated, topology: Topology) -> tuple[Closing, ...]:
    """Everything that closes loops, in order of declaration by kind."""
    held = {constraint for pair in topology.mated for constraint in pair.constraints}
    constraints = (constraint for constraint in model.constraints if constraint not in held)
    return (*topology.closing, *constraints, *model.couplings)


def make_plan(model: Elaborated, topology: Topology, closing: Iterable[Closing]) -> EliminationPlan:
    """Order the operations by component and find the last use of each joint."""
    from kompono.translate.elimination.rigid import RigidGroups

    by_level: dict[Subsystem, list[Link]] = {subsystem: [] for subsystem in model.subsystems}
    groups = RigidGroups(topology)
    levels, crossed = _levels(topology, groups, by_level), any(link.crosses for link in topology.links)
    for link in topology.links:
        if link.joint is not None and not link.rigid:
            by_level[levels[link.carrier]].append(link)
    loops: _Loops = {subsystem: [] for subsystem in model.subsystems}
    for element in closing:
        joints = path_joints(topology, element)
        level = common_owner(
            model, [element, *(joint if joint.owner else _independent(topology, joint) for joint in joints)]
        )
        for joint in joints if crossed else ():
            above = levels[_independent(topology, joint)]
            level = above if above.contains(level) else level
        loops[level].append((element, set(joints)))
    operations: list[EliminationStep] = []
    hung: set[Joint] = set()
    _plan_component(model.model, by_level, loops, operations, hung)
    planned = sum(operation.element is not None for operation in operations)
    if planned != sum(map(len, loops.values())):
        raise TranslationError("internal: a loop is closed by no component")
    return EliminationPlan(tuple(operations), _last_uses(groups, operations), groups)


def _levels(topology: Topology, groups: RigidGroups, known: Collection[Subsystem]) -> dict[Carrier, Subsystem]:
    """The component each link belongs to, by carrier. What carries a closed part waits until its ports are hung."""
    found: dict[Carrier, Subsystem] = {}
    for link in topology.links:
        owner = (link.joint.owner if link.joint is not None else None) or link.carrier.owner
        while owner is not None and owner not in known:  # inside a closed part
            owner = owner.owner
        assert owner is not None
        found[link.carrier] = owner
    for link in topology.links:
        lead = groups.lead(link.parent)
        if link.crosses and lead in found and found[link.carrier].contains(found[lead]):
            found[lead] = found[link.carrier]
    return found


def _independent(topology: Topology, joint: Joint) -> Carrier:
    return next(link.carrier for link in topology.links if link.joint is joint)


def _plan_component(
    component: Subsystem,
    by_level: dict[Subsystem, list[Link]],
    loops: _Loops,
    operations: list[EliminationStep],
    hung: set[Joint],
) -> None:
    for part in component.members.values():
        if isinstance(part, Subsystem) and part in by_level:
            _plan_component(part, by_level, loops, operations, hung)
    pending = list(loops[component])

    def close_ready() -> None:
        for item in list(pending):
            element, joints = item
            if joints <= hung:
                operations.append(EliminationStep(component, element=element))
                pending.remove(item)

    for link in sorted(by_level[component], key=lambda link: -link.depth):
        operations.append(EliminationStep(component, link=link))
        hung.add(link.moved_by)
        close_ready()
    close_ready()


def _last_uses(groups: RigidGroups, operations: list[EliminationStep]) -> dict[Joint, int]:
    from kompono.translate.elimination.linear import Substituted

    when = {op.link.carrier: i for i, op in enumerate(operations) if op.link is not None}
    last: dict[Joint, int] = {}
    for i, operation in enumerate(operations):
        if operation.link is not None:
            joint = operation.link.moved_by
            last[joint] = max(i, last.get(joint, 0))
            for link in chain_to_unknown(groups, operation.link, when, i):
                last[link.moved_by] = i
        elif operation.element is not None:
            for joint in path_joints(groups.topology, operation.element):
                last[joint] = i
    for link in groups.topology.links:
        if link.crosses:  # a port goes before what moves the part as a whole
            for above in _moving_above(groups.topology, link.parent):
                last[above] = max(last[above], last[link.moved_by])
    for operation in operations:
        if isinstance(operation.element, Substituted):  # others outlive what is expressed through them
            latest = max(last[joint] for joint in operation.element.dependent)
            for joint in operation.element.joints:
                last[joint] = max(last[joint], latest)
    return last


def _moving_above(topology: Topology, carrier: Carrier) -> list[Joint]:
    joints = []
    while carrier is not topology.world:
        link = topology.link(carrier)
        if link.joint is not None and link.joint.freedoms:
            joints.append(link.joint)
        carrier = link.parent
    return joints


def chain_to_unknown(groups: RigidGroups, link: Link, when: dict[Carrier, int], now: int) -> list[Link]:
    """Links above a body that are hung already when it is hung itself: its motion is expressed through theirs."""
    chain = []
    carrier = groups.lead(link.parent)
    while isinstance(carrier, Body) and when.get(carrier, now) < now:
        above = groups.topology.link(carrier)
        chain.append(above)
        carrier = groups.lead(above.parent)
    return chain
