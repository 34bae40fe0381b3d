"""Signals with symbols in the place of their numbers: outputs, connected inputs, states, samples, events, controllers.

Their expressions are there as soon as they are declared: a gain is a number in one of them, whoever wrote it, a block
or a user. Each number becomes a symbol, as in the law of a user (see `open_laws`): 0, 1/2, 1, 2 and their negatives
stay, and numbers that are equal in one element are one symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.signal import Input, Output
from kompono.model.state import State
from kompono.translate.algorithm import algorithm
from kompono.translate.declared.open_laws import Known, OpenLaw, opened
from kompono.translate.declared.ours import is_ours

if TYPE_CHECKING:
    from kompono.model.connection import Connection
    from kompono.translate.declared.elaborate import Elaborated

SIGNALS = (Output, Input, State, Mode, Event, Controller)
WHERE = frozenset(("expression", "feed", "_rate", "_becomes", "guard", "changes", "reads"))  # attributes that have them


_COMPARED = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE)


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


class Comparing:
    """What of a model compares things that are made of the same: signals, or a law with a signal."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self._made_of = dict[int, frozenset[int]]()
        for element in elements:
            symbol = element if isinstance(element, Output | Input) else None
            if isinstance(element, Mode):
                symbol = element._next
            if symbol is not None:
                self._made_of[ca.SX(symbol).element_hash()] = _symbols(written(element))

    def signals(self, element: Element) -> bool:
        """Whether a signal has a comparison in it, and two symbols that are made of the same."""
        expressions, seen = written(element), set[int]()
        for symbol in _symbols(expressions) if _compares(expressions) else ():
            origins = self._origins(symbol, set())
            if seen & origins:
                return True
            seen |= origins
        return False

    def law(self, expressions: Sequence[ca.SX]) -> bool:
        """Whether these have a comparison in them, and a signal: what else is in a law may be made of the same."""
        return self.reads(expressions) and _compares(expressions)

    def reads(self, expressions: Sequence[ca.SX]) -> bool:
        """Whether there is a signal in these."""
        return bool(self._made_of) and not self._made_of.keys().isdisjoint(_symbols(expressions))

    def _origins(self, symbol: int, known: set[int]) -> set[int]:
        """A symbol and all it is made of."""
        if symbol not in known:
            known.add(symbol)
            for part in self._made_of.get(symbol, ()):
                self._origins(part, known)
        return known


def _symbols(expressions: Sequence[ca.SX]) -> frozenset[int]:
    return frozenset(symbol.element_hash() for symbol in ca.symvar(ca.veccat(ca.SX(0, 1), *expressions)))


def _compares(expressions: Sequence[ca.SX]) -> bool:
    expressions = [one for one in expressions if not one.is_symbolic() and not one.is_constant()]
    if not expressions:
        return False
    column = ca.veccat(*[ca.densify(one) for one in expressions])
    function = ca.Function("signal", [ca.vertcat(*ca.symvar(column))], [column])
    return bool(np.any(np.isin(algorithm(function).op, _COMPARED)))


def open_signals(element: Element, kinds: dict[type, bool], known: Known | None = None) -> OpenSignals | None:
    """An element with symbols in the place of its numbers, perhaps some that are `known`; nothing where it has none, or
    is of a class of a user.
    """
    kind = type(element)
    if kind not in kinds:
        kinds[kind] = is_ours(kind)
    expressions = written(element) if kinds[kind] else ()
    if all(one.is_symbolic() for one in expressions):
        return None
    found = opened(expressions, [], known=known)
    return found and OpenSignals(ca.SX(0, 1), *found)


def said(model: Elaborated, element: Element) -> tuple[ca.SX, ...]:
    """The expressions of an element, perhaps with symbols of numbers in them."""
    found = model.law(element)
    return found.expressions if isinstance(found, OpenSignals) else written(element)


def fed(model: Elaborated, wire: Connection) -> ca.SX:
    """What a connection feeds its input with, perhaps with symbols of numbers in it."""
    return said(model, wire.target)[0] if wire.target.feed is wire.source else wire.source
