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
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from inspect import getattr_static
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.model.body import STARTS, Body, Carrier, Frame, Ground, MassProperties
from kompono.model.constraint import Constraint, Coupling
from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw
from kompono.model.lumped import Lump
from kompono.model.sensor import Sensor
from kompono.model.signal import Output, time
from kompono.model.state import State
from kompono.model.subsystem import Subsystem
from kompono.spatial.pose import Pose
from kompono.translate.declared.elaborate import Elaborated, elaborate
from kompono.translate.declared.laws import ARGUMENTS, law_names, laws
from kompono.translate.declared.open_laws import OpenLaw, open_law
from kompono.translate.declared.ours import altered, is_ours, sources, written_by_us
from kompono.translate.numbers import OpenNumbers, pattern_of

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_OWN = frozenset((
    "_owner", "_name", "_signals", "_frames_with_signals", "shape", "_members", "_exposed", "_lent", "_unassigned",
    "_frames", "_users", "_taken_away", "_simulated", "_modes", "_rows", "_connections", "_fed_by", "_has_source",
    "_next", "_function", "_held",
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


def _counts(name: str, value: Any, opened: OpenLaw | None) -> bool:
    """Whether an attribute has part in a name; numbers and expressions of an `opened` law are in what it returns."""
    if opened is None or name in _OWN:
        return name not in _OWN
    number = type(value) is float or (isinstance(value, np.ndarray | np.generic) and value.dtype == float)
    return not number and not isinstance(value, ca.SX | ca.DM)


def _pose_bytes(pose: Pose) -> list[bytes]:
    """The numbers of a pose to the last bit."""
    return [ca.DM(part).full().tobytes() for part in (pose.position, pose.rotation)]


class Nameless(Exception):
    """Something a translation may depend on cannot be followed."""


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


class _Scribe:
    """Writes down a model: words (plain data) and expressions, in the order of declaration."""

    def __init__(self, model: Elaborated, options: Any, numbers: OpenNumbers | None) -> None:
        self._frames: Collection[Frame] = () if numbers is None else numbers.frames or ()  # whose poses are numbers
        self._lengths = {} if numbers is None else numbers.lengths
        self._directions = {} if numbers is None else numbers.directions
        self._coupled = frozenset[Element]() if numbers is None else numbers.coupled
        self._grounds = frozenset[Element]() if numbers is None else numbers.grounds
        self.words: list[Any] = [sources(), ca.CasadiMeta.version(), altered()]
        if self.words[-1] is None:
            raise Nameless("a function of Kompono that was replaced")
        self.numbers: list[Any] = []  # of solids and laws, apart from the words
        self.asked: dict[Element, OpenLaw | None] = {}
        self.traced = False
        self._strict = False  # whether any attribute may matter
        self._ours: dict[type, bool] = {}
        self._changed: dict[type, tuple[frozenset[str], list[str]]] = {}
        self._expressions: list[ca.SX | ca.DM] = []
        self._elements: list[Element] = [model.model, *model.model.walk()]
        self._numbers = {id(element): number for number, element in enumerate(self._elements)}
        self._open: set[int] = set()
        opens = numbers is not None and numbers.pairs is not None  # what mates come to is found anew
        self._loose = opens or not model.constraints  # whether starts of bodies are nothing but that
        self._solids = {id(solid): solid for body in model.bodies if isinstance(solid := body.solid, MassProperties)}
        self.visit(options)
        for element in self._elements:
            self.words.append(("element", model.path(element), self._numbers.get(id(element.owner))))
            self._element(element)

    def content(self) -> bytes:
        """All of it but the numbers as bytes; expressions as one function of all symbols, those of the model first."""
        known = [time, *ARGUMENTS, *self._signals()]
        column = ca.veccat(*[ca.densify(expression) for expression in (*known, *self._expressions)])
        text = ca.Function("all", [ca.vertcat(*ca.symvar(column))], [column]).serialize()
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
        opens = not isinstance(element, Coupling) or element in self._coupled
        opened = open_law(element, self._ours) if opens else None
        if isinstance(element, Force | Effort | Coupling):
            self.asked[element] = opened
        begins = self._start(element) if self._ours[kind] else ()
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
        words, expressions = len(self.words), len(self._expressions)
        self._strict = True
        self.words.append(("ours", type(element).__module__, type(element).__qualname__))
        held = {name: value for name, value in vars(element).items() if _counts(name, value, opened)}
        try:
            self._mapping({name: value for name, value in held.items() if name not in begins})
        except Nameless:
            del self.words[words:], self._expressions[expressions:]
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
            self.numbers.append(tuple(element.start.values()))
            return ("start",)
        if isinstance(element, Mode | State):
            self.numbers.append(element.start)
            return ("start",)
        if isinstance(element, Body) and self._loose:
            names = tuple(f"start_{kind}" for kind in STARTS)
            self.words.append(("start", element.given_start))
            self.numbers.append(tuple(np.asarray(getattr(element, name)).tobytes() for name in names))
            return names
        if isinstance(element, Ground) and element in self._grounds:
            self.words.append("rests")
            self.numbers.append(_pose_bytes(element.motion))
            return ("motion",)
        return ()

    def _sizes(self, element: Joint | Constraint) -> tuple[str, ...]:
        """Write down which lengths and directions of an element are put in after tracing, and, apart, these."""
        names = (*self._lengths.get(element, ()), *self._directions.get(element, ()))
        if names:
            self.words.append(("sizes", names))
            self.numbers.append([np.asarray(getattr(element, name)).tolist() for name in names])
        return names

    def _law(self, opened: OpenLaw | None) -> None:
        """Write down expressions and, apart, the numbers in them."""
        if opened is not None:
            self.words.append(("open law", opened.told, len(opened.expressions)))
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
            if _counts(name, value, opened) and name not in begins:
                self._held(element, name, value)
        self._law(opened)
        self.traced |= opened is not None
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

    def _held(self, element: Element, name: str, value: Any) -> None:
        """An attribute of a user's element: its laws are traced anyway, so only what can be looked at counts."""
        words, expressions = len(self.words), len(self._expressions)
        try:
            self.visit(name)
            self.visit(value)
        except Nameless:
            if isinstance(element, Subsystem):
                raise
            del self.words[words:], self._expressions[expressions:]

    # -- values

    def visit(self, value: Any) -> None:
        """Write down a value and all it holds."""
        if type(value) in _PLAIN:
            self.words.append(value)
        elif isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            if array.dtype == object:
                raise Nameless("an array of objects")
            self.words.append((str(array.dtype), array.shape, array.tobytes()))
        elif isinstance(value, ca.SX | ca.DM):
            self.words.append(("expression", value.shape))
            if not value.is_dense():
                pattern = value.sparsity()
                self.words.append((tuple(pattern.row()), tuple(pattern.colind())))
            self._expressions.append(value)
        elif id(value) in self._numbers:
            self.words.append(("element", self._numbers[id(value)]))
        elif isinstance(value, Frame) and not isinstance(value, Element):
            self._frame(value)
        elif isinstance(value, Element):
            raise Nameless(f"{value.label}, which is not part of the model")
        elif id(value) in self._open:
            self.words.append("within")
        else:
            self._open.add(id(value))
            try:
                self._compound(value)
            finally:
                self._open.discard(id(value))

    def _frame(self, frame: Frame) -> None:
        self.words.append(("frame", self._numbers.get(id(frame.body))))
        if id(frame.body) not in self._numbers:
            raise Nameless("a frame of another model")
        if frame in self._frames:
            self.words.append("open")
            self.numbers.append(_pose_bytes(frame.pose))
            return
        self.visit(frame.pose.position)
        self.visit(frame.pose.rotation)

    def _compound(self, value: Any) -> None:
        if type(value) in (list, tuple):
            self._sequence(type(value).__name__, value)
        elif isinstance(value, Mapping):
            self._mapping(value)
        elif isinstance(value, set | frozenset):
            self._sequence("set", sorted(value, key=repr))
        elif id(value) in self._solids and (pattern := pattern_of(value)) is not None:
            self.words.append(("solid", pattern))
            self.numbers.append((value.mass, value.inertia.tobytes()))
        elif isinstance(value, Lump) and self._coupled and type(value.inertia) is type(value.ratio) is float:
            self.words.append("lump")
            self.numbers.append((value.inertia, value.ratio))
            self._mapping({"joint": value.joint, "place": value.place, "shown": value.shown})
        elif is_dataclass(value) and written_by_us(type(value)):
            self.words.append(type(value).__qualname__)
            self._mapping({f.name: getattr(value, f.name) for f in fields(value) if f.name != "shape"})
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        """Code and other objects. What they do shows in the laws that use them, so of a user's they count by name."""
        if self._strict or not hasattr(value, "__dict__"):
            raise Nameless(f"a {type(value).__name__}")
        self.words.append(("object", getattr(value, "__qualname__", type(value).__qualname__)))

    def _sequence(self, kind: str, values: Iterable[Any]) -> None:
        listed = list(values)
        self.words.append((kind, len(listed)))
        for part in listed:
            self.visit(part)

    def _mapping(self, values: Mapping[Any, Any]) -> None:
        self._sequence("mapping", [part for name in values for part in (name, values[name])])
