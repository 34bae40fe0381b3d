"""Whose symbols the expressions of a model use: coordinates, motion, sensors, signals.

Every element is asked for its expressions once: ours by their attributes, those of a user by their laws. What they use
decides who may see what (`ports.py`) and which joints are worth measuring (`references.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import KomponoError, ModelError
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.connection import Connection
from kompono.model.constraint import Constraint
from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.force import Force
from kompono.model.joint import Joint
from kompono.model.law import PairLaw
from kompono.model.load_cell import LoadCell
from kompono.model.pin import Pin
from kompono.model.sensor import SENSED, Sensor
from kompono.model.signal import Input, Output, Parameter, time
from kompono.model.state import State
from kompono.model.subsystem import Subsystem, relative_path
from kompono.model.symbol import check_numbers
from kompono.spatial.pose import Pose
from kompono.translate.declared.laws import ARGUMENTS, laws
from kompono.translate.declared.networks import Equation
from kompono.translate.declared.ours import is_ours

_SILENT = (Subsystem, Parameter, Input, Sensor, LoadCell, Pin)  # they have no expressions
_OWN = frozenset(("q", "v", "first", "second", "_signals", "_users", "_owner", "_name", "_modes", "_rows"))
_DULL = frozenset((type(None), bool, int, float, str, dict, np.ndarray, ca.DM))
_NAMED = {  # symbols by the name they get
    "parameter": "a Parameter",
    "input": "an Input",
    "output": "an Output",
    "mode": "a Mode",
    "state": "a State",
    "next": "the next value of a Mode",
    "across": "the across variable of a pin",
    "through": "the through variable of a pin",
    "q": "a coordinate of a joint",
    "v": "a speed of a joint",
    **{kind: f"the {kind.replace('_', ' ')} of a body or sensor" for kind in SENSED},
}


def find_uses(model: Subsystem, elements: Iterable[Element]) -> dict[Element, tuple[Element | Frame, ...]]:
    """By element: the elements and frames whose symbols its expressions use, each once. Raises ModelError for
    symbols of nobody in the model.
    """
    ours: dict[type, bool] = {}
    written: list[tuple[Element, list[ca.SX]]] = []
    for element in elements:
        if isinstance(element, _SILENT):
            continue
        kind = type(element)
        if kind not in ours:
            ours[kind] = is_ours(kind)
        found = [ca.vec(part) for part in _expressions(model, element, ours[kind]) if not part.is_constant()]
        if found:
            written.append((element, found))
    if not written:
        return {}
    owners = _symbols(elements)
    return {element: _used(model, element, columns, owners) for element, columns in written}


def uses_time(model: Subsystem, element: Element) -> bool:
    """Whether expressions of an element use time."""
    written = _expressions(model, element, is_ours(type(element)))
    return any(ca.depends_on(ca.vec(part), time) for part in written if not part.is_constant())


def _used(
    model: Subsystem, element: Element, columns: list[ca.SX], owners: Mapping[int, Element | Frame | None]
) -> tuple[Element | Frame, ...]:
    used: dict[Element | Frame, None] = {}
    for symbol in ca.symvar(ca.vertcat(*columns)):
        key = symbol.element_hash()
        if key not in owners:
            name = symbol.name().rpartition("_")[0] if symbol.name()[-1:].isdigit() else symbol.name()
            what = f"{_NAMED[name]}, which" if name in _NAMED else f"the symbol {symbol.name()!r}, which"
            raise ModelError(
                f"it uses {what} is not part of this model.",
                path=relative_path(element, model),
                fix="Use time, and coordinates, motion, inputs, parameters and modes of what is assigned to self.",
            )
        owner = owners[key]
        if owner is not None and owner is not element:
            used[owner] = None
    return tuple(used)


def _symbols(elements: Iterable[Element]) -> dict[int, Element | Frame | None]:
    """Who each symbol belongs to; nobody for time and the arguments of laws."""
    found: dict[int, Element | Frame | None] = {}

    def note(column: Any, owner: Element | Frame | None) -> None:
        for symbol in ca.vertsplit(ca.vec(ca.SX(column))) if column.numel() else ():
            found[symbol.element_hash()] = owner

    for column in (time, *ARGUMENTS):
        note(column, None)
    for element in elements:
        if isinstance(element, Controller):
            for mode in element._held:
                note(mode, mode)
        if isinstance(element, Joint):
            note(element.q, element)
            note(element.v, element)
        elif isinstance(element, ca.SX):
            note(element, element)
            if isinstance(element, Mode) and element._next is not None:
                note(element._next, element._next)
        elif isinstance(element, Carrier):
            for frame in element._frames_with_signals:
                for column in frame._signals.values():
                    note(column, frame)
        if not isinstance(element, Carrier):
            for column in vars(element).get("_signals", {}).values():
                note(column, element)
    return found


def _expressions(model: Subsystem, element: Element, ours: bool) -> list[ca.SX]:
    """All expressions an element brings into the equations."""
    found: list[ca.SX] = []
    if isinstance(element, Body):
        values: Any = (element.solid.mass, element.solid.inertia)
    elif isinstance(element, Ground):
        values = (element.motion,)
    elif isinstance(element, Output):
        values = (element.expression,)
    elif isinstance(element, State):
        values = (element.rate,)
    elif isinstance(element, Mode):
        values = () if element._becomes is None else (element._becomes,)
    elif isinstance(element, Controller):
        values = (element.reads,)
    elif isinstance(element, Connection):
        values = (element.source,)
    elif isinstance(element, Equation):
        values = (element.residual,)
    elif isinstance(element, Event):
        values = (element.guard, [value for _, value in element.changes])
    else:
        values = [value for name, value in vars(element).items() if name not in _OWN]
        if not ours or any(callable(value) for value in values):
            values = _traced(model, element)
        if isinstance(element, Joint | Constraint | Force | PairLaw):
            values = (*values, element.first, element.second)
    _collect(values, found)
    return found


def _traced(model: Subsystem, element: Element) -> list[Any]:
    """What the laws of a user return; what is not a number in it is refused here, for nobody else sees it."""
    where = relative_path(element, model)
    wanted = ("pose", "conditions") if isinstance(element, Joint) else ()
    try:
        found = list(laws(element, *wanted))
    except KomponoError:
        raise
    except Exception as error:
        raise ModelError(
            f"a law of this {type(element).__name__} fails on symbols: {str(error).strip().splitlines()[0]}",
            path=where,
            fix="Laws get symbols: use casadi.if_else for `if`, casadi.fmax for `max`, CasADi's functions.",
        ) from error
    for name, expressions in found:
        check_numbers(expressions, f"what {name} returns", where)
    return [expressions for _, expressions in found]


def _collect(values: Iterable[Any], found: list[ca.SX]) -> None:
    """Add the expressions among values to those found; models have many elements, and most have none."""
    for value in values:
        if type(value) in _DULL:
            continue
        if isinstance(value, ca.SX):
            found.append(ca.SX(value))
        elif isinstance(value, Frame):
            if type(value.pose.position) is not ca.DM:
                _collect((value.pose,), found)
        elif isinstance(value, Pose):
            _collect((value.position, value.rotation), found)
        elif isinstance(value, list | tuple):
            _collect(value, found)
