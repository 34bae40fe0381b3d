"""Bodies of a closed part that no joints inside connect with its base: they float; conditions may hold them to it.

Where a part can be opened they float in the world, as in the open model, and conditions see the base move. In a file
nothing may be seen of the base but its motion, so what conditions hold to it is `gathered`: it floats beside the base.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kompono.model.body import Body, Carrier
from kompono.model.constraint import Constraint
from kompono.model.element import Element
from kompono.model.free import Free
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.plan import closing_elements
from kompono.translate.structure.topology import Link, Topology

if TYPE_CHECKING:
    from kompono.translate.parts.compartment import Compartment


def floating(compartment: Compartment, element: Element) -> Link | None:
    """The root of a tree inside that the conditions of an element hold to the base, which is a tree of its own."""
    base = _base(compartment)
    held = _held_together(compartment.topology, element) if base is not None else ()
    if all(link.carrier is not base for link in held):
        return None
    return next((link for link in held if link.carrier is not base), None)


def _base(compartment: Compartment) -> Carrier | None:
    border = compartment.border
    return border.base.body if border is not None and border.base is not None else None


def _held_together(topology: Topology, element: Element) -> tuple[Link, ...]:
    """Roots of the trees that the conditions of an element hold together; the world has none."""
    if not isinstance(element, Joint | Constraint):
        return ()
    up, down = topology.path(element.first.body, element.second.body)
    return tuple(link for link in (*up[-1:], *down[:1]) if link.parent is topology.world)


def gathered(model: Elaborated, topology: Topology, base: Carrier) -> Topology:
    """The same tree with what conditions hold to the base, directly or through others, on free joints beside it."""
    pairs = [{link.carrier for link in _held_together(topology, e)} for e in closing_elements(model, topology)]
    near = {base}
    while new := {root for pair in pairs if near & pair for root in pair} - near:
        near |= new
    if near == {base}:
        return topology
    links = [_beside(model, link, base) if link.carrier in near - {base} else link for link in topology.links]
    depth: dict[Carrier, int] = {topology.world: 0}
    placed: list[Link] = []
    while links:  # parents first
        ready = [link for link in links if link.parent in depth]
        for link in ready:
            depth[link.carrier] = depth[link.parent] + 1
        placed += [replace(link, depth=depth[link.carrier]) for link in ready]
        links = [link for link in links if link.carrier not in depth]
    return replace(topology, links=tuple(placed))


def _beside(model: Elaborated, link: Link, base: Carrier) -> Link:
    assert isinstance(link.carrier, Body)
    joint = Free(base, link.carrier)
    joint._name = model.path(link.carrier)
    return Link(link.carrier, base, joint, False, 2)
