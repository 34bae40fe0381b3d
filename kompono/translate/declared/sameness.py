"""A name for everything a translation depends on, so that it can be found again instead of being made again.

Elements of our own classes enter by their class and all their attributes: their code is known by its source. Any other
element enters by what a translation would see of it: the attributes our base classes have, and the expressions its laws
return (`laws.py`). So it does not matter where a law gets its numbers from: a dictionary, a file, the environment. All
expressions are written as one CasADi function, in which symbols count by place, not by name. Whatever cannot be looked
at to its end (a law that fails on symbols or returns something else each time, an overridden method nobody here knows)
makes a model nameless: it is translated each time, as if there were no cache.
"""

from __future__ import annotations

import hashlib
import warnings
from inspect import getattr_static
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.foreign.element import Fmu, functions_of, known_by
from kompono.given import plain
from kompono.model.body import STARTS, Body, Carrier, Ground
from kompono.model.constraint import Constraint, Coupling
from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw
from kompono.model.sensor import Sensor
from kompono.model.signal import Input, Output, Parameter, time
from kompono.model.state import State
from kompono.model.subsystem import Subsystem
from kompono.sealed.element import Sealed, code_of
from kompono.translate.declared.elaborate import Elaborated, elaborate
from kompono.translate.declared.laws import ARGUMENTS, MOTION, law_names, laws
from kompono.translate.declared.open_laws import OpenLaw
from kompono.translate.declared.open_networks import OpenEquations
from kompono.translate.declared.open_signals import WHERE, OpenSignals
from kompono.translate.declared.open_units import OpenUnits, told_units, units_of
from kompono.translate.declared.opening import OPENED, Opening
from kompono.translate.declared.ours import altered, is_ours, sources, written_by_us
from kompono.translate.declared.sampling import due_together, rates_of
from kompono.translate.declared.words import Nameless, Words, pose_bytes, told_numbers
from kompono.translate.numbers import OpenNumbers
from kompono.translate.texts import written

_OWN = frozenset((
    "_owner", "_name", "_signals", "_frames_with_signals", "shape", "_members", "_exposed", "_lent", "_unassigned",
    "_frames", "_users", "_taken_away", "_simulated", "_modes", "_rows", "_connections", "_fed_by", "_has_source",
    "_next", "_function", "_held", "this",  # of a symbol
))  # fmt: skip
_HARMLESS = frozenset(
    ("run_defaults", "add", "expose", "connect")
)  # what a subsystem may override and no translation sees
_READ: dict[type[Element], tuple[str, ...]] = {  # attributes a translation reads, which a subclass may compute
    Body: ("solid", "start_position", "start_orientation", "start_velocity", "start_angular_velocity"),
    Ground: ("motion",),
    Joint: ("first", "second", "q", "v", "start", "coordinates", "units", "speeds", "freedoms"),
    Constraint: ("first", "second"),
    Coupling: ("joints",),
    Force: ("first", "second"),
    Effort: ("joint",),
    Output: ("expression", "unit"),
    Event: ("guard", "changes"),
    Sensor: ("frames",),
    PairLaw: ("first", "second"),
    JointLaw: ("joints",),
}


def _changes(base: type, kind: type) -> tuple[frozenset[str], list[str]]:
    """What a class of ours offers beside its laws, and which of that a class derived from it defines anew."""
    known = law_names(base) | _HARMLESS
    public = [name for name in dir(base) if not name.startswith("_") and name not in known]
    return frozenset(public), [n for n in public if getattr_static(kind, n) is not getattr_static(base, n)]


_OF_FILES = {  # what such components have that is told by what their file is known by
    Sealed: frozenset(("_file", "_code", "_problem", "_answers")),
    Fmu: frozenset(("_unpacked", "_told", "_ports", "_known", "_functions", "_stepper")),
}


def _file(element: Sealed | Fmu) -> tuple[Any, ...]:
    """What all is said by about a component that is a file."""
    if isinstance(element, Fmu):
        functions = functions_of(element)
        return *known_by(element), functions and functions.place
    return code_of(element).known_by


def _counts(element: Element, name: str, value: Any, opened: OpenLaw | None) -> bool:
    """Whether an attribute has part in a name; numbers and expressions of an `opened` law are in what it returns."""
    if any(name in names and isinstance(element, kind) for kind, names in _OF_FILES.items()):
        return False
    if opened is None or name in _OWN:
        return name not in _OWN
    if isinstance(opened, OpenSignals):
        return name not in WHERE
    if isinstance(opened, OpenEquations):
        return name != "_equations"
    if isinstance(opened, OpenUnits):
        return name in _CONNECTED
    number = type(value) is float or (isinstance(value, np.ndarray | np.generic) and value.dtype == float)
    return not number and not isinstance(value, ca.SX | ca.DM)


def _told(value: Any) -> Any:
    """A number as one that is written with all its digits; arrays and expressions that somebody set show a few."""
    found = plain(value)
    return value if found is None else found


def _told_beside(element: Element) -> list[tuple[Any, ...]]:
    """What the laws of an element say that is no expression: names and units of readings, what units are."""
    if isinstance(element, Force):
        return [(name, unit) for name, (_, unit) in element.readings(MOTION).items()]
    return told_units(units_of(element)) if isinstance(element, PairLaw | JointLaw) else []


def _only_by_others(element: Element, opened: OpenLaw | None) -> bool:
    """Whether numbers an element holds enter equations only by what is written down beside them: those of a component
    by its elements, those of an `opened` law by what it returns.
    """
    return isinstance(element, Subsystem) or (opened is not None and not isinstance(opened, OpenSignals))


_EQUATIONS = ("_equations", "_junctions")  # of a component, beside its elements
_CONNECTED = ("first", "second", "joints")  # what a law with modes has beside its units


class Names(NamedTuple):
    """Names (hexadecimal) of a model with options: `exact` is equal only for what gives equal programs, `open` for what
    gives programs that differ in numbers (see `numbers`) alone.
    """

    exact: str
    open: str


def fingerprint(model: Subsystem | Elaborated, options: Any) -> str:
    """The exact name of a model with options, or Nameless."""
    return names_of(model, options).exact


def names_of(
    model: Subsystem | Elaborated,
    options: Any,
    *,
    again: bool = False,
    numbers: OpenNumbers | None = None,
) -> Names:
    """The names of a model with options, or Nameless; one that had a name before is not looked at twice `again`. Laws
    whose numbers are apart are noted among the `numbers`; poses and lengths that are named there are such, too.
    """
    elaborated = elaborate(model) if isinstance(model, Subsystem) else model
    scribe = _Scribe(elaborated, options, numbers)
    content = scribe.content()
    if scribe.traced and not again:
        other = _Scribe(elaborated, options, numbers)
        if (other.content(), repr(other.numbers)) != (content, repr(scribe.numbers)):
            raise Nameless("a law that gives something else each time")
    if numbers is not None and not again:
        numbers.asked.update(scribe.asked)
    opened = hashlib.sha256(content).hexdigest()
    return Names(hashlib.sha256(f"{opened} {scribe.numbers!r}".encode()).hexdigest(), opened)


class _Scribe(Words):
    """Writes down a model, in the order of declaration."""

    def __init__(self, model: Elaborated, options: Any, numbers: OpenNumbers | None) -> None:
        self._elements: list[Element] = [model.model, *model.model.walk()]
        super().__init__(self._elements, () if numbers is None else numbers.frames or (), model.bodies)
        self._lengths = {} if numbers is None else numbers.lengths
        self._directions = {} if numbers is None else numbers.directions
        self._coupled = frozenset[Element]() if numbers is None else numbers.coupled
        self._grounds = frozenset[Element]() if numbers is None else numbers.grounds
        self._lumped = bool(self._coupled)
        self._rates = rates_of(model.modes)
        self._ours: dict[type, bool] = {}
        self._opening = Opening(model, self._coupled, self._ours)
        self.words += [sources(), ca.CasadiMeta.version(), altered()]
        if self.words[-1] is None:
            raise Nameless("a function of Kompono that was replaced")
        self.asked: dict[Element, OpenLaw | None] = {}
        self.traced = False
        self._changed: dict[type, tuple[frozenset[str], list[str]]] = {}
        anew = numbers is not None and (numbers.placed or numbers.pairs is not None)  # what mates come to is found
        self._loose = anew or not model.constraints  # whether starts of bodies are nothing but that
        self.visit([options, due_together(self._rates)])
        for element in self._elements:
            self.words.append(("element", model.path(element), self.place(element.owner)))
            self._element(element)

    def content(self) -> bytes:
        """All of it but the numbers as bytes; expressions as one function of all symbols, those of the model first."""
        known = [time, *ARGUMENTS, *self._signals()]
        column = ca.veccat(*[ca.densify(expression) for expression in (*known, *self.expressions)])
        text = written(ca.Function("all", [ca.vertcat(*ca.symvar(column))], [column]))
        return repr(self.words).encode() + text.encode()

    def _signals(self) -> list[ca.SX]:
        """The symbols that stand for coordinates, signals and motion; who they belong to is noted in words."""
        found: list[ca.SX] = []
        for number, element in enumerate(self._elements):
            if isinstance(element, ca.SX):
                found.append(ca.SX(element))
            if isinstance(element, Controller):
                found += [ca.SX(mode) for mode in element._held]
            if isinstance(element, Mode) and element._next is not None:
                self.words.append(("next", number))
                found.append(ca.SX(element._next))
            if isinstance(element, Carrier):
                for frame in element._frames_with_signals:
                    self._frame(frame)
                    for kind, symbols in frame._signals.items():
                        self.words.append(("signal", number, kind))
                        found.append(symbols)
            else:
                for kind, symbols in vars(element).get("_signals", {}).items():
                    self.words.append(("signal", number, kind))
                    found.append(symbols)
        return found

    # -- elements

    def _element(self, element: Element) -> None:
        kind = type(element)
        if kind not in self._ours:
            self._ours[kind] = is_ours(kind)
        opened = self._opening.of(element)
        if isinstance(element, OPENED):
            self.asked[element] = opened
        if isinstance(element, Sealed | Fmu):
            self.words.append(("file", *_file(element)))
        begins = (*self._start(element), *self._sampling(element)) if self._ours[kind] else ()
        if isinstance(element, Event):
            self.visit([changed for changed, _ in element.changes])
        if isinstance(element, Joint | Constraint):
            begins += self._sizes(element)
        if self._ours[kind] and self._attributes(element, opened, begins):
            return
        self.words.append(("foreign", type(element).__qualname__))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._look(element, opened, begins)
        except Exception as error:
            raise Nameless(f"{element.label}: {error}") from error

    def _attributes(self, element: Element, opened: OpenLaw | None, begins: tuple[str, ...]) -> bool:
        """Write down class and attributes of an element of ours; False if one of them is not plain data. Numbers of an
        `opened` law count by what it returns; how it `begins` is told.
        """
        words, expressions = len(self.words), len(self.expressions)
        self._strict = True
        self.words.append(("ours", type(element).__module__, type(element).__qualname__))
        held = {name: value for name, value in vars(element).items() if _counts(element, name, value, opened)}
        try:
            apart = _only_by_others(element, opened)
            for name in (name for name in held if name not in begins):
                self.attribute(name, held[name], apart and name not in _EQUATIONS)
        except Nameless:
            del self.words[words:], self.expressions[expressions:]
            return False
        finally:
            self._strict = False
        self._law(opened)
        return True

    def _start(self, element: Element) -> tuple[str, ...]:
        """Write down what of a start is given, and where it is, apart: what follows from that is found anew. Gives the
        attributes that are told by it. Poses of mates are those of the start.
        """
        if isinstance(element, Joint):
            self.words.append(("start", tuple(element.start)))
            self.numbers.append(tuple(map(_told, element.start.values())))
            return "start", "limits"  # what keeps the limits is an element of its own
        if isinstance(element, Mode | State):
            self.numbers.append(_told(element.start))
            return ("start",)
        if isinstance(element, Parameter):
            self.numbers.append(_told(element.value))
            return ("value",)
        if isinstance(element, Input) and isinstance(element.value, int | float):
            self.numbers.append((element.value, [part.tobytes() for part in element.table or ()]))
            return "value", "table"
        if isinstance(element, Body) and self._loose:
            names = tuple(f"start_{kind}" for kind in STARTS)
            self.words.append(("start", element.given_start))
            self.numbers.append(tuple(np.asarray(getattr(element, name)).tobytes() for name in names))
            return names
        if isinstance(element, Ground) and element in self._grounds:
            self.words.append("rests")
            self.numbers.append(pose_bytes(element.motion))
            return ("motion",)
        return ()

    def _sampling(self, element: Element) -> tuple[str, ...]:
        """Write down which of all rates an element is sampled at, and, apart, when that is: a run is told."""
        if not isinstance(element, Mode | Controller) or element.every is None:
            return ()
        rate = element.every, element.offset
        self.words.append(("rate", self._rates.index(rate)))
        self.numbers.append(rate)
        return "every", "offset"

    def _sizes(self, element: Joint | Constraint) -> tuple[str, ...]:
        """Write down which lengths and directions of an element are put in after tracing, and, apart, these."""
        names = (*self._lengths.get(element, ()), *self._directions.get(element, ()))
        if names:
            told = [told_numbers(getattr(element, name)) for name in names]
            self.words.append(("sizes", names, [words for words, _ in told]))
            self.numbers.append([numbers for _, numbers in told])
        return names

    def _law(self, opened: OpenLaw | None) -> None:
        """Write down expressions and, apart, the numbers in them."""
        if opened is not None:
            self.words.append(("open law", opened.told, len(opened.expressions)))
            if isinstance(opened, OpenUnits):
                self.visit(told_units(opened.shapes))
            for part in (opened.arguments, ca.vertcat(*opened.symbols), *opened.expressions):
                self.visit(part)
            self.numbers.append(opened.values)

    def _look(self, element: Element, opened: OpenLaw | None, begins: tuple[str, ...]) -> None:
        """Write down what a translation sees of an element of a user."""
        base = next(kind for kind in type(element).__mro__ if written_by_us(kind))
        self.words.append((base.__module__, base.__qualname__))
        if type(element) not in self._changed:
            self._changed[type(element)] = _changes(base, type(element))
        public, changed = self._changed[type(element)]
        self._strict = True
        for name in (*changed, *(name for name in vars(element) if name in public)):
            self.visit(name)
            self._overridden(element, name)
        for kind, names in _READ.items():
            if isinstance(element, kind):
                for name in names:
                    self.visit(getattr(element, name))
        self._strict = False
        for name, value in vars(element).items():
            if _counts(element, name, value, opened) and name not in begins:
                self._held(element, name, value, _only_by_others(element, opened))
        self._law(opened)
        self.traced |= opened is not None and not isinstance(opened, OpenSignals | OpenEquations)
        if opened is None:
            self.visit(_told_beside(element))
        for name, expressions in laws(element) if opened is None else ():
            self.traced = True
            self.words.append(("law", name, None if expressions is None else len(expressions)))
            for expression in expressions or ():
                self.visit(expression)

    def _overridden(self, element: Element, name: str) -> None:
        value = getattr(element, name)
        if not callable(value):
            self.visit(value)
        elif name in ("speed_names", "start_names"):
            self.visit(value())
        else:
            raise Nameless(f"{element.label}.{name}, a method nobody here knows")

    def _held(self, element: Element, name: str, value: Any, apart: bool) -> None:
        """An attribute of a user's element: its laws are traced anyway, so only what can be looked at counts."""
        words, expressions = len(self.words), len(self.expressions)
        try:
            self.attribute(name, value, apart and name not in _EQUATIONS)
        except Nameless:
            if isinstance(element, Subsystem):
                raise
            del self.words[words:], self.expressions[expressions:]
