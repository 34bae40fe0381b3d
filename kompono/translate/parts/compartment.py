"""A compartment: a model, or the inside of a closed part, with its own closed parts as things.

Its tree is chosen with every closed part contracted to its ports. The same tree with the parts opened is that of its
*twin*, an engine that knows all coordinates by name: it assembles starts, judges redundant conditions and names
channels; what moves the machine never looks there. The state of a compartment is its own coordinates, speeds and
modes, and its own states, then those of its parts, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kompono.errors import ModelError
from kompono.model.body import Body, Carrier, Ground
from kompono.model.constraint import Coupling
from kompono.model.free import Free, Placed, Turned
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.sealed.element import Sealed
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.references import referenced_joints
from kompono.translate.declared.sampling import due_together, rates_of
from kompono.translate.elimination.plan import EliminationPlan, closing_elements, make_plan
from kompono.translate.engines.discrete.links import Strengths
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.judging import Close
from kompono.translate.laws.handed import HandedShape
from kompono.translate.laws.rows import LawRows
from kompono.translate.laws.stacked import Stacked
from kompono.translate.motion.conditions import Closing, ToldConditions
from kompono.translate.numbers import NumbersWithin
from kompono.translate.parts.border import Border
from kompono.translate.parts.enclosed import Enclosed, divide
from kompono.translate.parts.floating import gathered
from kompono.translate.parts.twins import LinkedTwin, PlacedTwin, Twin
from kompono.translate.structure.flying import flying_bodies
from kompono.translate.structure.topology import ContractedPart, Link, Topology, find_topology, place_all
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part


@dataclass(frozen=True)
class CompartmentState:
    """The state of a compartment by element: q and v by joint, counted angles, modes and own states in order, states of
    parts by part.
    """

    q: dict[Joint, Vector]
    v: dict[Joint, Vector]
    counted: dict[Joint, Vector]
    memory: Vector
    inner: dict[Part, Vector]


class Compartment:
    """`border` is that of the part whose inside this is; the whole model has none. Parts of `away` run elsewhere. Where
    bodies are `placed` one by one, `entered` are the bases of sealed parts whose inside is in joint coordinates.
    What is `apart`, for a file, has coordinates that do not tell where its base is. Which bodies are `flying`, the
    whole model says. Joints that are `held` by links of these strengths give no conditions.
    """

    def __init__(
        self,
        model: Elaborated,
        closed: Sequence[Subsystem],
        border: Border | None = None,
        *,
        cut: Iterable[str] = (),
        independent: Iterable[str] = (),
        close: Close | None = None,
        world: Ground | None = None,
        placed: bool = False,
        away: Sequence[Subsystem] = (),
        entered: Mapping[Subsystem, Carrier] | None = None,
        apart: bool = False,
        held: Strengths | None = None,
        flying: frozenset[Carrier] | None = None,
    ) -> None:
        self.whole, self.border, self.close, self.placed, self.away = model, border, close, placed, away
        self.held = held
        cut, independent = list(cut), list(independent)
        self.flying = _flying(model, cut) if flying is None else flying
        self.joined = _joined(model, cut, independent, close) if placed and held is None else None
        self.entered = _bases(self.joined) if entered is None else entered
        world = world or Ground()
        self.model, self.enclosed = divide(model, closed, border.ports if border is not None else ())
        self.model = within(self.model, "by parts")
        contracted = [
            ContractedPart(p.ports, p.stands, p.part.owner or model.model, p.path, self.entered.get(p.part))
            for p in self.enclosed
        ]
        own_cut = [path for path in cut if not any(_below(path, p.path) for p in self.enclosed)]
        _check_roots(independent, self.enclosed)
        own_roots = list(independent)
        if border is not None and border.base is not None:
            own_roots = [model.path(border.base.body)]
        if placed:
            kind = Placed if held is None else Turned
            topology = place_all(self.model, kind, closed=contracted, world=world)
        else:
            topology = find_topology(
                self.model, cut=own_cut, independent=own_roots, closed=contracted, world=world, flying=self.flying
            )
        if apart and border is not None and border.base is not None:
            topology = gathered(self.model, topology, border.base.body)
        self.topology = _with_base(topology, border)
        self.parts = tuple(self._part(enclosed, closed, topology, cut) for enclosed in self.enclosed)
        self.twin_topology = opened(topology, self.parts, model)
        self.joints = self.topology.tree_joints
        angular = (joint for joint in referenced_joints(self.model) if "rad" in joint.units)
        self.counted = tuple(angular) if placed else ()
        self.closing = closing_elements(self.model, self.topology)
        self.law_rows = LawRows(self.model)
        self.laws = Stacked.of(self.law_rows)  # those inside parts, too
        for part in self.parts:
            self.laws = self.laws.then(part.laws, part.path)
        self.sample_rates = rates_of(model.modes)  # of samples, inside parts, too
        self.ticks = due_together(self.sample_rates)
        self.handed = self._handed()

    def _handed(self) -> HandedShape:
        """Rows that are handed on to the owner; who has no ports settles that alone."""
        if self.border is None or not self.border.ports:
            return HandedShape()
        shape = self.law_rows.handed_shape
        for part in self.parts:
            shape = part.handed.behind(shape)
        return shape

    def _part(self, enclosed: Enclosed, closed: Sequence[Subsystem], topology: Topology, cut: Iterable[str]) -> Part:
        from kompono.translate.parts.inside import Part
        from kompono.translate.parts.sealed import SealedPart

        border, world = _border_of(topology, enclosed), topology.world
        if isinstance(enclosed.part, Sealed):
            placed = self.placed and self.held is None
            return SealedPart(enclosed, border, world, placed=placed, flying=self.flying)
        inner = _inner(cut, enclosed.path)
        return Part(
            enclosed,
            closed,
            border,
            inner,
            self.close,
            world,
            self.placed,
            self.away,
            self.entered,
            held=self.held,
            flying=self.flying,
        )

    @cached_property
    def twin(self) -> Twin | PlacedTwin | LinkedTwin:
        """The same with all parts opened."""
        if self.held is not None:
            twin = LinkedTwin(self.whole, self.twin_topology, {}, shared=False, strengths=self.held)
        else:
            kind = PlacedTwin if self.placed else Twin
            twin = kind(self.whole, self.twin_topology, {}, shared=False, close=self.close)
        twin.compartment = self
        return twin

    def adopt(self, twin: Twin | PlacedTwin | LinkedTwin) -> None:
        """Take an engine with all parts opened that somebody else made, and plan anew: linear sets are its own."""
        known = self.__dict__
        known["twin"], _, _ = twin, known.pop("plan", None), known.pop("whole_plan", None)
        twin.compartment = self

    def crosses(self, element: Closing) -> bool:
        """Whether the conditions of an element see a closed part move."""
        if isinstance(element, Coupling):
            return False
        up, down = self.topology.path(element.first.body, element.second.body)
        return any(link.crosses for link in (*up, *down))

    @property
    def loops(self) -> tuple[Closing, ...]:
        """Own elements held by multipliers."""
        own = set(self.closing)
        return tuple(element for element in self.twin.loops if element in own)

    @cached_property
    def plan(self) -> EliminationPlan:
        """The order of elimination."""
        return make_plan(self.model, self.topology, (*self.loops, *self.twin.sets))

    @cached_property
    def whole_plan(self) -> EliminationPlan:
        """The same with a multiplier for every own condition."""
        if not self.twin.sets and len(self.loops) == len(self.closing):
            return self.plan
        return make_plan(self.model, self.topology, self.closing)

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """Own bodies, without those that carry ports of parts."""
        ports = {port.body for part in self.parts for port in part.border.ports}
        return tuple(body for body in self.model.bodies if body not in ports)

    @cached_property
    def settles(self) -> bool:
        """Whether speeds have to be made consistent with conditions, here or inside a part."""
        if self.placed:
            return False
        return (bool(self.closing) and not self.linear) or any(part.inside.settles for part in self.parts)

    @cached_property
    def keeps(self) -> bool:
        """Whether there are conditions to keep, here or inside a part."""
        return bool(self.closing or self.law_rows.size) or any(part.inside.keeps for part in self.parts)

    @cached_property
    def linear(self) -> bool:
        """Whether all own conditions are linear, so that methods keep them."""
        return not self.loops and self.twin.steady

    # -- the state

    @cached_property
    def size(self) -> int:
        """Length of the state."""
        own = sum(len(joint.coordinates) + joint.freedoms for joint in self.joints)
        own += sum(len(joint.coordinates) for joint in self.counted)
        return own + len(self.model.memory) + sum(part.inside.size for part in self.parts)

    @cached_property
    def symbols(self) -> Vector:
        """The state as symbols of the model; those inside parts are nobody's."""
        own = [*(joint.q for joint in self.joints), *(joint.v for joint in self.joints)]
        own += [*(ca.SX.sym("counted", len(j.coordinates)) for j in self.counted), *map(ca.SX, self.model.memory)]
        return ca.vertcat(ca.SX(0, 1), *own, *[ca.SX.sym("x", part.inside.size) for part in self.parts])

    def unpack(self, state: Vector) -> CompartmentState:
        """A state by element."""
        place = 0

        def take(size: int) -> Vector:
            nonlocal place
            place += size
            return state[place - size : place, :]

        q = {joint: take(len(joint.coordinates)) for joint in self.joints}
        v = {joint: take(joint.freedoms) for joint in self.joints}
        counted = {joint: take(len(joint.coordinates)) for joint in self.counted}
        memory = take(len(self.model.memory))
        return CompartmentState(q, v, counted, memory, {part: take(part.inside.size) for part in self.parts})

    def pack(self, values: CompartmentState) -> Vector:
        """The other way round."""
        own = [*(values.q[j] for j in self.joints), *(values.v[j] for j in self.joints)]
        own += [*(values.counted[j] for j in self.counted), values.memory]
        return ca.densify(ca.vertcat(ca.SX(0, 1), *own, *[values.inner[part] for part in self.parts]))

    def places(self, twin: Engine) -> list[int]:
        """Where each entry of the state is in that of an engine that knows all coordinates."""
        q, v = starts(twin)
        memory = {kept: twin.nq + twin.nv + k for k, kept in enumerate(twin.model.memory)}
        own = [q[j] + k for j in self.joints for k in range(len(j.coordinates))]
        own += [v[j] + k for j in self.joints for k in range(j.freedoms)]
        own += [q[j] + k for j in self.counted for k in range(len(j.coordinates))]
        own += [memory[kept] for kept in self.model.memory]
        return own + [place for part in self.parts for place in part.inside.places(twin)]


def within(model: Elaborated, name: str) -> Elaborated:
    """The same model, of which numbers that are found have names of their own."""
    return model if model.numbers is None else replace(model, numbers=NumbersWithin(model.numbers, name))


def models_in(compartment: Compartment) -> list[Elaborated]:
    """What a compartment has of its own, and those inside its parts, nested ones as well."""
    inner = [part.inside for part in compartment.parts if part.opens]
    return [compartment.model, *(model for inside in inner for model in models_in(inside))]


def starts(twin: Engine) -> tuple[dict[Joint, int], dict[Joint, int]]:
    """Where coordinates and speeds of each joint begin in the state of an engine, by joint."""
    q, v, i, k = {}, {}, 0, twin.nq
    for joint in twin.joints:
        q[joint], v[joint] = i, k
        i, k = i + len(joint.coordinates), k + joint.freedoms
    for joint in twin.counted:
        q[joint] = i
        i += len(joint.coordinates)
    return q, v


def _check_roots(independent: Sequence[str], enclosed: Sequence[Enclosed]) -> None:
    for path in independent:
        for inner in enclosed:
            if _below(path, inner.path):
                raise ModelError(
                    f"{path} is inside the closed part {inner.path}, whose tree is its own.",
                    fix=f"Name a body outside it, or leave {inner.path} open.",
                )


def _flying(model: Elaborated, cut: Sequence[str]) -> frozenset[Carrier]:
    return flying_bodies(model, [joint for joint in model.joints if cut and model.path(joint) in cut])


def _joined(model: Elaborated, cut: list[str], independent: list[str], close: Close | None) -> Twin | None:
    """The twin of the same in joint coordinates with its sealed parts closed, if there are some; its numbers are in
    place.
    """
    sealed = [part for part in model.subsystems if isinstance(part, Sealed)]
    if not sealed:
        return None
    twin = Compartment(replace(model, numbers=None), sealed, cut=cut, independent=independent, close=close).twin
    assert isinstance(twin, Twin)
    return twin


def _bases(joined: Twin | None) -> dict[Subsystem, Carrier]:
    """Bases, where bodies are placed one by one, of sealed parts of older files that cannot do so inside: those of the
    same model in joint coordinates, so that coordinates inside are the same.
    """
    from kompono.translate.parts.sealed import sealed_in

    found = sealed_in(joined.compartment) if joined is not None else ()
    bases = {part.part: part.border.base for part in found if not part.code.manifest.shape.is_placed}
    return {part: base.body for part, base in bases.items() if base is not None}


def _below(path: str, part: str) -> bool:
    return path.startswith(f"{part}.")


def _inner(paths: Iterable[str], part: str) -> list[str]:
    return [path[len(part) + 1 :] for path in paths if _below(path, part)]


def _border_of(topology: Topology, part: Enclosed) -> Border:
    """The ports of a part, the one by which the tree enters it first."""
    entered = [port for port in part.ports if not topology.link(port.body).crosses]
    others = [port for port in part.ports if topology.link(port.body).crosses]
    return Border((*entered, *others), bool(entered))


def _with_base(topology: Topology, border: Border | None) -> Topology:
    """The same tree with a base that moves as it is told."""
    if border is None or border.base is None:
        return topology
    base = border.base.body
    links = tuple(
        Link(base, topology.world, None, False, 1) if link.carrier is base else link for link in topology.links
    )
    return Topology(topology.world, links, topology.closing, topology.mated)


def opened(topology: Topology, parts: Sequence[Part], model: Elaborated) -> Topology:
    """The tree of a compartment with the trees of its parts in the place of their ports; sealed ones keep theirs."""
    base_of: dict[Carrier, Part] = {part.border.base.body: part for part in parts if part.border.base is not None}
    world = topology.world
    kept = {port.body for part in parts if not part.opens for port in part.border.ports}
    floating = {body for part in parts for body in part.floating}
    links: list[Link] = []
    depth: dict[Carrier, int] = {world: 0}

    def add(link: Link) -> None:
        parent = world if link.carrier in floating else link.parent
        depth[link.carrier] = depth[parent] + 1
        links.append(Link(link.carrier, parent, link.joint, link.reverse, depth[link.carrier], link.independent))

    def open_part(part: Part) -> None:
        inner = part.inside.twin_topology
        base = part.border.base.body if part.border.base is not None else None
        for link in inner.links:
            if link.carrier is base or link.carrier in depth:
                continue
            add(link)

    for part in parts:
        if part.border.base is None:
            open_part(part)
    for link in topology.links:
        if link.carrier in depth or (link.crosses and link.carrier not in kept):
            continue
        add(link)
        if link.carrier in base_of:
            open_part(base_of[link.carrier])
    closing = [*(joint for part in parts for joint in part.inside.twin_topology.closing), *topology.closing]
    firm = [*(pair for part in parts for pair in part.inside.twin_topology.mated), *topology.mated]
    for link in links:
        if isinstance(link.joint, Free) and link.joint.owner is None:
            link.joint._name = model.path(link.carrier)  # from here, whatever part it is in
    if topology.placed:  # bodies in order of declaration
        order: dict[Carrier, int] = {carrier: k for k, carrier in enumerate((*model.grounds, *model.bodies))}
        links.sort(key=lambda link: (link.depth, order.get(link.carrier, len(order))))  # insides of sealed parts last
        told = [joint for joint in closing if isinstance(joint, ToldConditions)]
        return Topology(world, tuple(links), (*model.joints, *told), placed=True)
    return Topology(world, tuple(links), tuple(closing), tuple(firm))
