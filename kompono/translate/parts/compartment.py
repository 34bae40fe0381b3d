"""A compartment: a model, or the inside of a closed part, with its own closed parts as things.

Its tree is chosen with every closed part contracted to its ports. The same tree with the parts opened is that of its
*twin*, an engine that knows all coordinates by name: it assembles starts, judges redundant conditions and names
channels; what moves the machine never looks there. The state of a compartment is its own coordinates, speeds and
modes, then those of its parts, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.model.body import Body, Ground
from kompono.model.subsystem import Subsystem
from kompono.translate.condense import Plan, closing_elements, make_plan
from kompono.translate.elaborate import Elaborated
from kompono.translate.parts.border import Border
from kompono.translate.parts.enclosed import Enclosed, divide
from kompono.translate.relative import Close, RelativeEngine
from kompono.translate.topology import Closed, Link, Topology, find_topology

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part


class Twin(RelativeEngine):
    """A compartment with all its parts opened; conditions that cross a part are not taken as linear."""

    compartment: Compartment

    @cached_property
    def forms(self) -> dict[int, Any]:
        own = {id(element) for element in self.compartment.closing}
        crossing = {id(element) for element in self.compartment.closing if self.compartment.crosses(element)}
        forms = RelativeEngine.forms.func(self)  # type: ignore[attr-defined]
        return {key: form for key, form in forms.items() if key in own and key not in crossing}

    def _elimination_order(self) -> list[int]:
        """Conditions inside parts first, then those with linear conditions."""
        own = {id(element) for element in self.compartment.closing}
        return sorted(map(id, self.closing), key=lambda key: (key in own, key not in self.forms))


@dataclass(frozen=True)
class Values:
    """The state of a compartment by element: q and v by id(joint), modes in order, states of parts by id(part)."""

    q: dict[int, Any]
    v: dict[int, Any]
    modes: Any
    inner: dict[int, Any]


class Compartment:
    """`border` is that of the part whose inside this is; the whole model has none."""

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
    ) -> None:
        self.whole, self.border, self.close = model, border, close
        self.model, self.enclosed = divide(model, closed, border.ports if border is not None else ())
        cut, independent = list(cut), list(independent)
        contracted = [Closed(p.ports, p.stands, p.part.owner or model.model, p.path) for p in self.enclosed]
        own_cut = [path for path in cut if not any(_below(path, p.path) for p in self.enclosed)]
        own_roots = [path for path in independent if not any(_below(path, p.path) for p in self.enclosed)]
        if border is not None and border.base is not None:
            own_roots = [model.path(border.base.body)]
        topology = find_topology(
            self.model, cut=own_cut, independent=own_roots, closed=contracted, world=world or Ground()
        )
        self.topology = _with_base(topology, border)
        from kompono.translate.parts.inside import Part

        self.parts = tuple(
            Part(enclosed, closed, _border_of(topology, enclosed), _inner(cut, enclosed.path), close, topology.world)
            for enclosed in self.enclosed
        )
        self.twin_topology = opened(topology, self.parts)
        self.joints = self.topology.tree_joints
        self.closing = closing_elements(self.model, self.topology)

    @cached_property
    def twin(self) -> Twin:
        """The same with all parts opened."""
        twin = Twin(self.whole, self.twin_topology, {}, shared=False, close=self.close)
        twin.compartment = self
        return twin

    def adopt(self, twin: Twin) -> None:
        """Take an engine with all parts opened that somebody else made."""
        self.__dict__["twin"] = twin
        twin.compartment = self

    def crosses(self, element: Any) -> bool:
        """Whether the conditions of an element see a closed part move."""
        if not hasattr(element, "first"):
            return False
        up, down = self.topology.path(element.first.body, element.second.body)
        return any(link.crosses for link in (*up, *down))

    @property
    def loops(self) -> tuple[Any, ...]:
        """Own elements held by multipliers."""
        own = {id(element) for element in self.closing}
        return tuple(element for element in self.twin.loops if id(element) in own)

    @cached_property
    def plan(self) -> Plan:
        """The order of elimination."""
        return make_plan(self.model, self.topology, (*self.loops, *self.twin.sets))

    @cached_property
    def whole_plan(self) -> Plan:
        """The same with a multiplier for every own condition."""
        return make_plan(self.model, self.topology, self.closing) if self.twin.sets else self.plan

    @cached_property
    def ports(self) -> set[int]:
        """Bodies that carry ports of parts, by id."""
        return {id(port.body) for part in self.parts for port in part.border.ports}

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """Own bodies, without those that carry ports of parts."""
        return tuple(body for body in self.model.bodies if id(body) not in self.ports)

    @cached_property
    def settles(self) -> bool:
        """Whether speeds have to be made consistent with conditions, here or inside a part."""
        return bool(self.closing) and not self._linear or any(part.inside.settles for part in self.parts)

    @cached_property
    def _linear(self) -> bool:
        """Whether all own conditions are linear, so that methods keep them."""
        kinematics = self.twin.probe.kinematics
        level = self.twin._level
        settled = (ca.SX(level(kinematics, linear, "bias")).nnz() == 0 for linear in self.twin.sets)
        return not self.loops and all(settled)

    # -- the state

    @cached_property
    def size(self) -> int:
        """Length of the state."""
        own = sum(len(joint.coordinates) + joint.freedoms for joint in self.joints)
        return own + len(self.model.modes) + sum(part.inside.size for part in self.parts)

    @cached_property
    def symbols(self) -> Any:
        """The state as symbols of the model; those inside parts are nobody's."""
        own = [*(joint.q for joint in self.joints), *(joint.v for joint in self.joints), *map(ca.SX, self.model.modes)]
        return ca.vertcat(ca.SX(0, 1), *own, *[ca.SX.sym("x", part.inside.size) for part in self.parts])

    def unpack(self, state: Any) -> Values:
        """A state by element."""
        place = 0

        def take(size: int) -> Any:
            nonlocal place
            place += size
            return state[place - size : place, :]

        q = {id(joint): take(len(joint.coordinates)) for joint in self.joints}
        v = {id(joint): take(joint.freedoms) for joint in self.joints}
        modes = take(len(self.model.modes))
        return Values(q, v, modes, {id(part): take(part.inside.size) for part in self.parts})

    def pack(self, values: Values) -> Any:
        """The other way round."""
        own = [*(values.q[id(j)] for j in self.joints), *(values.v[id(j)] for j in self.joints), values.modes]
        return ca.densify(ca.vertcat(ca.SX(0, 1), *own, *[values.inner[id(part)] for part in self.parts]))

    def places(self, twin: RelativeEngine) -> list[int]:
        """Where each entry of the state is in that of an engine that knows all coordinates."""
        q, v = _starts(twin)
        modes = {id(mode): twin.nq + twin.nv + k for k, mode in enumerate(twin.model.modes)}
        own = [q[id(j)] + k for j in self.joints for k in range(len(j.coordinates))]
        own += [v[id(j)] + k for j in self.joints for k in range(j.freedoms)]
        own += [modes[id(mode)] for mode in self.model.modes]
        return own + [place for part in self.parts for place in part.inside.places(twin)]


def _starts(twin: RelativeEngine) -> tuple[dict[int, int], dict[int, int]]:
    q, v, i, k = {}, {}, 0, twin.nq
    for joint in twin.joints:
        q[id(joint)], v[id(joint)] = i, k
        i, k = i + len(joint.coordinates), k + joint.freedoms
    return q, v


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
    return Topology(topology.world, links, topology.closing, topology.firm)


def opened(topology: Topology, parts: Sequence[Part]) -> Topology:
    """The tree of a compartment with the trees of its parts in the place of their ports."""
    base_of: dict[int, Part] = {id(part.border.base.body): part for part in parts if part.border.base is not None}
    world = topology.world
    links: list[Link] = []
    depth: dict[int, int] = {id(world): 0}

    def add(link: Link) -> None:
        depth[id(link.carrier)] = depth[id(link.parent)] + 1
        links.append(
            Link(link.carrier, link.parent, link.joint, link.reverse, depth[id(link.carrier)], link.independent)
        )

    def open_part(part: Part) -> None:
        inner = part.inside.twin_topology
        base = part.border.base.body if part.border.base is not None else None
        for link in inner.links:
            if link.carrier is base or id(link.carrier) in depth:
                continue
            add(link)

    for part in parts:
        if part.border.base is None:
            open_part(part)
    for link in topology.links:
        if link.crosses or id(link.carrier) in depth:
            continue
        add(link)
        if id(link.carrier) in base_of:
            open_part(base_of[id(link.carrier)])
    closing = [*(joint for part in parts for joint in part.inside.twin_topology.closing), *topology.closing]
    firm = [*(pair for part in parts for pair in part.inside.twin_topology.firm), *topology.firm]
    return Topology(world, tuple(links), tuple(closing), tuple(firm))
