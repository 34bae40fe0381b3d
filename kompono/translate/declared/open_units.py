"""Laws with modes with symbols in the place of their numbers: contact, friction, stops, clutches.

What a law says is in its units: gaps, slips, coefficients, limits. They are asked for once, and the numbers in them
become symbols (see `open_laws`). In elements of our own these are the numbers and expressions they were given, and
radii of their surfaces; zeros stay, since a coefficient that is zero is a row less, and so do directions and places,
of which products vanish. In a law of a user they are all numbers of the expressions it returns.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.model.law import JointLaw, Law, PairLaw, Unit, is_law
from kompono.model.surface import Surface
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Motion
from kompono.translate.declared.laws import MOTION
from kompono.translate.declared.open_laws import MOVING, Known, Numbers, OpenLaw, opened, parts_of, told
from kompono.translate.declared.ours import is_ours

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

_PARTS = ("gap", "speed", "slip", "mu", "mu_static", "limit", "limit_static", "restitution", "point", "stiffness")
_PLACED = ("first", "second", "joints", "rubbing", "_signals", "_modes", "_rows")  # what has no numbers of its own


@dataclass(frozen=True)
class OpenUnits(OpenLaw):
    """The face of a law: its units, whose `shapes` say what is no expression."""

    shapes: tuple[Unit, ...] = ()

    def units_at(self, motion: Motion) -> list[Unit]:
        """Those of a pair, at a relative motion."""
        return list(_put(self.shapes, self._at(slice(None), *parts_of(motion))))

    def units_now(self) -> list[Unit]:
        """Those on joints."""
        return list(_put(self.shapes, self.expressions))


def open_units(law: Law, kinds: dict[type, bool], known: Known | None = None) -> OpenUnits | None:
    """A law with symbols in the place of its numbers, in expressions perhaps some that are `known`; nothing where that
    cannot be, or it has none.
    """
    kind = type(law)
    if kind not in kinds:
        kinds[kind] = is_ours(kind)
    try:
        return _of_ours(law, known) if kinds[kind] else _of_a_user(law, known)
    except Exception:  # what is wrong with a law is told where it is used
        return None


def told_units(units: Sequence[Unit]) -> list[tuple[Any, ...]]:
    """What of units is no expression: words, and the joints that are measured."""
    return [
        (unit.name, unit.impact, [getattr(unit, part) is not None for part in _PARTS], unit.reaction) for unit in units
    ]


def units_of(law: Law) -> list[Unit]:
    """The units of a law on symbols for motion, or now."""
    if isinstance(law, PairLaw):
        return law.units_at(MOTION)
    assert isinstance(law, JointLaw)
    return law.units_now()


def with_numbers(model: Elaborated | None, element: Any) -> Any:
    """The rows of a law with symbols in the place of its numbers; any other element as it is."""
    if model is None or model.numbers is None or not is_law(element):
        return element
    twin = copy.copy(element)
    twin.law = model.law(element.law)
    return twin


def _of_a_user(law: Law, known: Known | None) -> OpenUnits | None:
    units = units_of(law)
    return _made(units, opened(list(_written(units)), [], known=known))


def _of_ours(law: Law, known: Known | None) -> OpenUnits | None:
    clone, numbers = object.__new__(type(law)), list[tuple[ca.SX, float]]()
    held: dict[str, Any] = vars(clone)
    for name, value in vars(law).items():
        held[name] = value if name in _PLACED else _open(name, value, numbers, known)
    units = units_of(clone)
    return _made(units, told(list(_written(units)), numbers))


def _open(name: str, value: Any, numbers: Numbers, known: Known | None) -> Any:
    """An attribute with symbols in the place of the numbers in it; what is neither number nor expression stays."""
    if type(value) is float:
        return _symbol(name, value, numbers)
    if type(value) is tuple or type(value) is list:
        equal = {x: _symbol(name, x, numbers) for x in value if type(x) is float}  # what holds and what slides alike
        return type(value)([equal[x] if type(x) is float else _open(name, x, numbers, known) for x in value])
    if type(value) is dict:
        return {key: _open(name, one, numbers, known) for key, one in value.items()}
    if isinstance(value, Surface) and type(getattr(value, "radius", None)) is float:
        return replace(value, radius=_open("radius", value.radius, numbers, known))  # type: ignore[call-arg]
    found = opened([value], [], known=known) if isinstance(value, ca.SX) else None
    if found is None:
        return value
    numbers.extend(zip(found[1], found[2], strict=True))
    return found[0][0]


def _symbol(name: str, value: float, numbers: Numbers) -> Any:
    if value == 0 or not math.isfinite(value):
        return value
    symbol = Symbol.column(name)
    numbers.append((ca.SX(symbol), value))
    return symbol


def _written(units: Sequence[Unit]) -> Iterator[ca.SX]:
    """All expressions of units, one after the other."""
    for unit in units:
        for part in _PARTS:
            value = getattr(unit, part)
            if value is not None:
                yield ca.SX(value)


def _made(units: Sequence[Unit], found: Any) -> OpenUnits | None:
    return found and OpenUnits(MOVING, *found, shapes=tuple(units))


def _put(shapes: Sequence[Unit], expressions: Sequence[Any]) -> Iterator[Unit]:
    """Units with these expressions."""
    left = iter(expressions)
    for unit in shapes:
        yield replace(unit, **{part: next(left) for part in _PARTS if getattr(unit, part) is not None})
