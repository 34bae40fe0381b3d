"""A model with rotors as inertia on coordinates, where the joint they sit on is in the tree and nobody looks inside.

A rotor is a body, a bearing and a gear. In joint coordinates that is one unknown, one body and one condition for what
comes to a number on the diagonal: for machines from files, which have an armature on every joint, most of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import casadi as ca
import numpy as np

from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.law import PairLaw
from kompono.model.lumped import Lump, Lumped
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.structure.topology import Topology


def lumped(
    model: Elaborated, topology: Topology, find: Callable[[Elaborated], Topology], named: Iterable[str]
) -> tuple[Elaborated, Topology]:
    """The model with as many lumps as can be, and its tree; elements `named` by the user stay as they are."""
    chosen = [part for part in model.subsystems if isinstance(part, Lumped) and _plain(model, part, named)]
    kept = _used(model, chosen)
    chosen = [part for part in chosen if part not in kept]
    while chosen:
        reduced = without(model, chosen)
        tree = find(reduced)
        closing = set(tree.closing)
        open_ = [part for part in chosen if part._lump is not None and part._lump.joint not in closing]
        if len(open_) == len(chosen):
            return reduced, tree
        chosen = open_
    return model, topology


def without(model: Elaborated, parts: Iterable[Lumped]) -> Elaborated:
    """The model without the elements of these parts, and with their lumps."""
    gone = {element for part in parts for element in part.walk()}
    lists = ("bodies", "grounds", "joints", "couplings")
    left = {name: tuple(e for e in getattr(model, name) if e not in gone) for name in lists}
    return replace(model, **left, lumps=tuple(part._lump for part in parts if part._lump is not None))


def traced_lump(model: Elaborated, lump: Lump) -> Lump:
    """A lump, with symbols in the place of its numbers where these are put in after tracing."""
    numbers, path = model.numbers, model.path(lump.shown)
    if numbers is None or numbers.pairs is None or type(lump.inertia) is not float or type(lump.ratio) is not float:
        return lump
    inertia = numbers.found(f"{path} lump", np.array([lump.inertia]))
    return replace(lump, inertia=inertia, ratio=numbers.found(f"{path} ratio", np.array([lump.ratio]), ones=True))


def _plain(model: Elaborated, part: Lumped, named: Iterable[str]) -> bool:
    """Whether a part is on a speed that is the rate of a coordinate, and of numbers and parameters alone."""
    lump, path = part._lump, model.path(part)
    if lump is None or type(lump.joint).rate is not Joint.rate or lump.joint not in model.joints:
        return False
    if any(name == path or name.startswith(f"{path}.") for name in named):
        return False
    known = {ca.SX(parameter).element_hash() for parameter in model.parameters}
    symbols = ca.symvar(ca.vertcat(ca.SX(lump.inertia), ca.SX(lump.ratio)))
    return all(symbol.element_hash() in known for symbol in symbols)


def _used(model: Elaborated, parts: Iterable[Lumped]) -> set[Lumped]:
    """Parts whose elements others use: by their frames, their joints or their signals."""
    owner: dict[Element, Lumped] = {element: part for part in parts for element in part.walk()}
    found: set[Lumped] = set()
    pairs = (law for law in model.laws if isinstance(law, PairLaw))
    for element in (*model.joints, *model.constraints, *model.forces, *model.sensors, *model.cells, *pairs):
        for frame in (getattr(element, "first", None), getattr(element, "second", None)):
            body = getattr(frame, "body", None)
            if body in owner and owner.get(element) is not owner[body]:
                found.add(owner[body])
    for element in (*model.couplings, *model.efforts, *model.laws, *model.cells):
        for joint in (*getattr(element, "joints", ()), getattr(element, "joint", None)):
            if joint in owner and owner.get(element) is not owner[joint]:
                found.add(owner[joint])
    for element, used in model.uses.items():
        for one in used:
            inner = one if isinstance(one, Element) else getattr(one, "body", None)
            if inner in owner and owner.get(element) is not owner[inner]:
                found.add(owner[inner])
    for part in parts:
        if any(part.exposes(member) for member in part.members.values()):
            found.add(part)
    return found
