"""Signals with symbols in the place of their numbers: outputs, connected inputs, states, samples, events, controllers.

Their expressions are there as soon as they are declared: a gain is a number in one of them, whoever wrote it, a block
or a user. Each number becomes a symbol, as in the law of a user (see `open_laws`): 0, 1/2, 1, 2 and their negatives
stay, and numbers that are equal in one element are one symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.signal import Input, Output
from kompono.model.state import State
from kompono.translate.declared.open_laws import OpenLaw, opened
from kompono.translate.declared.ours import is_ours

if TYPE_CHECKING:
    from kompono.model.connection import Connection
    from kompono.translate.declared.elaborate import Elaborated

SIGNALS = (Output, Input, State, Mode, Event, Controller)
WHERE = frozenset(("expression", "feed", "_rate", "_becomes", "guard", "changes", "reads"))  # attributes that have them


class OpenSignals(OpenLaw):
    """Expressions of an element, in the order of `written`."""


def written(element: Element) -> tuple[ca.SX, ...]:
    """The expressions of a signal, state, mode, event or controller."""
    found: list[Any] = []
    if isinstance(element, Output):
        found = [element.expression]
    elif isinstance(element, Input):
        found = [element.feed]
    elif isinstance(element, State):
        found = [element.rate]
    elif isinstance(element, Mode):
        found = [element._becomes]
    elif isinstance(element, Event):
        found = [element.guard, *(value for _, value in element.changes)]
    elif isinstance(element, Controller):
        found = list(element.reads)
    return tuple(ca.SX(one) for one in found if one is not None)


def open_signals(element: Element, kinds: dict[type, bool]) -> OpenSignals | None:
    """An element with symbols in the place of its numbers; nothing where it has none, or is of a class of a user."""
    kind = type(element)
    if kind not in kinds:
        kinds[kind] = is_ours(kind)
    expressions = written(element) if kinds[kind] else ()
    if all(one.is_symbolic() for one in expressions):
        return None
    found = opened(expressions, [])
    return found and OpenSignals(ca.SX(0, 1), *found)


def said(model: Elaborated, element: Element) -> tuple[ca.SX, ...]:
    """The expressions of an element, perhaps with symbols of numbers in them."""
    found = model.law(element)
    return found.expressions if isinstance(found, OpenSignals) else written(element)


def fed(model: Elaborated, wire: Connection) -> ca.SX:
    """What a connection feeds its input with, perhaps with symbols of numbers in it."""
    return said(model, wire.target)[0] if wire.target.feed is wire.source else wire.source
