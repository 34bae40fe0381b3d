"""Bodies of a closed part that no joints inside connect with its base: they float; conditions may hold them to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kompono.model.body import Carrier
from kompono.model.constraint import Constraint
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.structure.topology import Link

if TYPE_CHECKING:
    from kompono.translate.parts.compartment import Compartment


def floating(compartment: Compartment, element: Element) -> Link | None:
    """The root of a tree inside that the conditions of an element hold to the base, which is a tree of its own."""
    base = _base(compartment)
    held = _held_together(compartment, element) if base is not None else ()
    if all(link.carrier is not base for link in held):
        return None
    return next((link for link in held if link.carrier is not base), None)


def _base(compartment: Compartment) -> Carrier | None:
    border = compartment.border
    return border.base.body if border is not None and border.base is not None else None


def _held_together(compartment: Compartment, element: Element) -> tuple[Link, ...]:
    """Roots of the trees that the conditions of an element hold together; the world has none."""
    if not isinstance(element, Joint | Constraint):
        return ()
    topology = compartment.topology
    up, down = topology.path(element.first.body, element.second.body)
    return tuple(link for link in (*up[-1:], *down[:1]) if link.parent is topology.world)
