"""What a part is to who keeps it elsewhere: its functions by number, and what their results are."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.sealed.kept import Gives, KeptFunction, KeptPart, gives, numbered, place_of_x
from kompono.translate.parts.border import FIELDS, MOTION
from kompono.translate.parts.compartment import Compartment
from kompono.translate.parts.inside import Part
from kompono.translate.parts.sealed import SealedPart


def function_names(part: Part) -> tuple[str, ...]:
    """All functions of a part by name."""
    return tuple(part.variant.functions) if isinstance(part, SealedPart) else tuple(part._functions)


def function_number(part: Part, name: str) -> int:
    """The number of a function, as its keeper knows it."""
    return numbered(function_names(part))[name]


def group_sizes(part: Part) -> dict[str, int]:
    """Lengths of the groups of arguments its functions take."""
    base = MOTION if part.border.based else 0
    given = part.border.size + part.handed.rows
    return {"time": 1, "base": base, "fields": FIELDS, "x": part.inside.size, "given": given, "forces": part.laws.size}


def kept_part(part: Part) -> tuple[KeptPart, dict[str, ca.Function]]:
    """What a keeper of a closed part is made of, and the functions themselves by name."""
    inside = part.inside
    assert isinstance(inside, Compartment)
    found: list[KeptFunction] = []
    functions: dict[str, ca.Function] = {}
    for name in numbered(function_names(part)):
        closed = part.numbered(name)
        function = closed.function
        takes, before = place_of_x(closed.groups, group_sizes(part))
        others = function.nnz_in() - (inside.size if takes else 0)
        what = gives(name)
        entries = _switched(inside, int(name.removeprefix("switch_"))) if what is Gives.MODES else ()
        found.append(KeptFunction(function.name(), takes, before, others, function.nnz_out(), what, entries))
        if function.nnz_out():
            functions[function.name()] = function
    places = _mode_places(inside)
    of_laws = tuple(places[mode] for modes in inside.laws.modes for mode in modes)
    return KeptPart(inside.size, tuple(_speeds(inside)), tuple(found), of_laws), functions


def _speeds(inside: Any, first: int = 0) -> list[int]:
    """Places of all speeds in x."""
    own = sum(len(joint.coordinates) for joint in inside.joints)
    freedoms = sum(joint.freedoms for joint in inside.joints)
    places = list(range(first + own, first + own + freedoms))
    rest = first + own + freedoms + len(inside.model.memory)
    for part in inside.parts:
        if isinstance(part, SealedPart):
            start = rest + part.variant.coordinates
            places += range(start, start + part.variant.speeds)
        else:
            places += _speeds(part.inside, rest)
        rest += part.inside.size
    return places


def _mode_places(inside: Any, first: int = 0) -> dict[Any, int]:
    """Places of all modes, and of states of one's own, in x."""
    own = sum(len(joint.coordinates) + joint.freedoms for joint in inside.joints)
    found = {mode: first + own + k for k, mode in enumerate(inside.model.memory)}
    rest = first + own + len(inside.model.memory)
    for part in inside.parts:
        if isinstance(part, SealedPart):
            start = rest + part.variant.coordinates + part.variant.speeds
            found |= {mode: start + k for k, mode in enumerate(part.inside.whole.modes)}
        else:
            found |= _mode_places(part.inside, rest)
        rest += part.inside.size
    return found


def _switched(inside: Compartment, number: int) -> tuple[int, ...]:
    """Places in x of what an event changes, in the order of its changes."""
    places = _mode_places(inside)
    return tuple(places[mode] for mode, _ in inside.whole.events[number].changes)
