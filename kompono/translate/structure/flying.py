"""Bodies that fly: laws on pairs touch them, and no joint anywhere holds them. They move by themselves between
contacts, and in world axes a spin does not bend their flight.

Whoever divides a model asks this of the whole: a part does not know who holds what it shows, nor its owner what is held
inside. Sealed parts tell it of their ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kompono.model.body import Carrier
from kompono.model.element import Element
from kompono.model.law import PairLaw
from kompono.sealed.element import Sealed, code_of
from kompono.sealed.shape import Port
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.structure.mates import MatedPair, mated_pairs


def flying_bodies(
    model: Elaborated, cut: Iterable[Element] = (), pairs: Sequence[MatedPair] | None = None
) -> frozenset[Carrier]:
    """Those of a model, of which joints that are `cut` hold nobody; `pairs` of mates, where they are known."""
    touched = touched_bodies(model)
    if not touched:
        return frozenset()
    loose = touched - held_bodies(model, cut, mated_pairs(model) if pairs is None else pairs)
    return frozenset(loose.intersection(model.bodies))


def touched_bodies(model: Elaborated) -> set[Carrier]:
    """What laws on pairs are between."""
    laws = [law for law in model.laws if isinstance(law, PairLaw)]
    told = [body for ports in _ports(model) for body, port in ports if port.touched]
    return _with_ports_beside(model, {*told, *(frame.body for law in laws for frame in (law.first, law.second))})


def held_bodies(model: Elaborated, cut: Iterable[Element], pairs: Iterable[MatedPair]) -> set[Carrier]:
    """What joints and mates are between."""
    left = {*cut}
    joints = [joint for joint in (*model.joints, *(pair.joint for pair in pairs)) if joint not in left]
    told = [body for ports in _ports(model) for body, port in ports if port.joined]
    return _with_ports_beside(model, {*told, *(end.body for joint in joints for end in (joint.first, joint.second))})


def _ports(model: Elaborated) -> list[list[tuple[Carrier, Port]]]:
    """What each sealed part tells of its ports."""
    return [_ports_of(part) for part in model.subsystems if isinstance(part, Sealed)]


def _ports_of(part: Sealed) -> list[tuple[Carrier, Port]]:
    bodies: dict[str, Carrier] = {name: body for name, body in part.members.items() if isinstance(body, Carrier)}
    return [(bodies[port.name], port) for port in code_of(part).manifest.shape.ports]


def _with_ports_beside(model: Elaborated, carriers: set[Carrier]) -> set[Carrier]:
    """With the other ports of sealed parts that are on one body with some of these."""
    found = {*carriers}
    for ports in _ports(model):
        on = {port.on or port.name for body, port in ports if body in carriers}
        found |= {body for body, port in ports if (port.on or port.name) in on}
    return found
