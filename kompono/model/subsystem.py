"""Subsystem: a component made of bodies, grounds, joints, forces, signals and other subsystems.

Members register by assignment, the way a PyTorch module does, and keep the order of their declaration; what is replaced
or taken away is no member any more. An element has one place: a second name for one that lies below is a shortcut, any
other second name is noted and judged when the whole model is known (`translate/declared/ownership.py`). What a
subsystem exposes is all that others may touch (its ports).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import casadi as ca

from kompono.errors import ModelError, suggest
from kompono.given import scalar, shown
from kompono.model.assignment import check_declared, check_replaced, elements_in
from kompono.model.body import Frame
from kompono.model.connection import Connection, connect
from kompono.model.element import Element
from kompono.model.making import Record

_OF_PATHS = set(".*?[]")  # what paths and globs are made of, beside names


class Subsystem(Element):
    """A component. Write a class, declare members in `__init__` by assignment, `expose` the bodies others may use.

    `run_defaults` may hold keyword arguments of `simulate` that suit this model (until, step, method, ...). A method
    `figures(result)` may give pictures of a run of it, for its report.
    """

    run_defaults: dict[str, Any] = {}  # noqa: RUF012 (a class attribute users override)
    closed: Any = False  # True: it is solved as a closed part; `Damper(closed=True)` sets it for one

    _members: dict[str, Element]
    _exposed: list[Element]
    _frames: dict[str, Frame]
    _connections: list[Connection]
    _junctions: list[tuple[Element, ...]]  # pins that meet
    _equations: list[ca.SX]  # of the pins
    _lent: dict[str, Element]  # by name: elements assigned here whose place is not below
    _unassigned: tuple[Record, ...] = ()  # made in __init__, without an owner when it ended
    _simulated = False  # it was a model of its own

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        self = super().__new__(cls)
        object.__setattr__(self, "_members", {})
        object.__setattr__(self, "_exposed", [])
        object.__setattr__(self, "_frames", {})
        object.__setattr__(self, "_lent", {})
        for name in ("_connections", "_junctions", "_equations"):
            object.__setattr__(self, name, [])
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Element):
            found = [(name, value), *value._comes_with(name)]
        elif isinstance(value, ca.SX) or value is None:
            found = []
        else:
            found = list(elements_in(value, name, self.label))
        if name in vars(self):
            check_replaced(self, name, value)
            self._take_away(name, dict(found))
        for path, element in found:
            self._register(path, element)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._take_away(name, {})

    def add(self, name: str, element: Element) -> Element:
        """Register a member under a computed name; the same as `setattr(self, name, element)`."""
        if not isinstance(name, str) or not name or set(name) & _OF_PATHS:
            fix = 'Use letters, digits and "_": self.add(f"pin{k}", ...).'
            raise ModelError(f"{shown(name)} is no name: paths are made of names and dots.", path=self.label, fix=fix)
        setattr(self, name, element)
        return element

    def expose(self, *elements: Element, **frames: Frame) -> None:
        """Make members (usually bodies) of this subsystem, or what its parts expose, visible to its owner.

        `expose(eye=self.cylinder.at(0, 0, 0.3))` shows a single frame of a body under a name, and nothing else of it.
        """
        for name, frame in frames.items():
            self._expose_frame(name, frame)
        for element in elements:
            if not isinstance(element, Element):
                raise ModelError(
                    f"cannot expose {shown(element)}.", path=self.label, fix="Expose bodies, grounds or joints."
                )
            if element._owner is not self and not self.contains(element):
                raise ModelError(
                    f"cannot expose {element.label}: it is not a member of this subsystem or of its parts.",
                    path=self.label,
                    fix="Assign it to self first.",
                )
            if not any(element is known for known in self._exposed):
                self._exposed.append(element)

    def connect(self, *ends: Any) -> None:
        """Connect signals or pins of this subsystem and of its parts.

        `connect(source, input, ...)` feeds inputs from a source, which is an output, an input, a mode, a state, a
        parameter, or any scalar expression. `connect(pin, pin, ...)` lets pins of a network meet.

        Inputs, outputs and parameters are public; modes and states of a part must be exposed. Units are compared where
        both are given. An input is fed once, and then not by `inputs=` of a run.
        """
        connect(self, ends)

    def require(self, residual: Any) -> None:
        """An equation of this component for its pins: `residual` (scalar) is zero. As many as it has pins.

        `self.require(self.p.v - self.n.v - resistance * self.p.i)`. Anything else in it may be any expression of
        states, modes, signals, time and motion. What stays nonlinear in the pins is iterated in native code.
        """
        self._equations.append(ca.SX(scalar(residual, "the equation", self.label)))

    def _expose_frame(self, name: str, frame: Any) -> None:
        if not isinstance(frame, Frame):
            raise ModelError(
                f"cannot expose {shown(frame)} as {name}.", path=self.label, fix="Give a frame: self.body.at(x, y, z)."
            )
        if not self.contains(frame.body):
            raise ModelError(
                f"cannot expose {name}: its body is not a member of this subsystem or of its parts.",
                path=self.label,
                fix="Assign the body to self first.",
            )
        if name in vars(self) and vars(self)[name] is not frame:
            raise ModelError(f"cannot expose {name}: the name is taken.", path=self.label, fix="Use another name.")
        self._frames[name] = frame
        object.__setattr__(self, name, frame)

    @property
    def exposed_frames(self) -> dict[str, Frame]:
        """Frames that are exposed by name."""
        return dict(self._frames)

    @property
    def members(self) -> dict[str, Element]:
        """The members by name, in order of declaration."""
        return dict(self._members)

    @property
    def exposed(self) -> tuple[Element, ...]:
        """The ports."""
        return tuple(self._exposed)

    def exposes(self, element: Element | Frame) -> bool:
        """Whether an owner of this subsystem may use an element or a frame: it, its body, or a frame it was placed from
        is exposed.
        """
        shown = element.body if isinstance(element, Frame) else element
        if any(shown is port for port in self._exposed):
            return True
        placed = element if isinstance(element, Frame) else None
        while placed is not None:
            if any(placed is frame for frame in self._frames.values()):
                return True
            placed = placed._origin
        return False

    def contains(self, element: Element) -> bool:
        """Whether `element` is a member here or anywhere below."""
        owner = element.owner
        while owner is not None:
            if owner is self:
                return True
            owner = owner.owner
        return False

    def walk(self) -> Iterator[Element]:
        """Every element below this subsystem, depth first, in order of declaration."""
        for member in self._members.values():
            yield member
            if isinstance(member, Subsystem):
                yield from member.walk()

    def find(self, path: str) -> Element:
        """The element at a dotted path below this subsystem."""
        for element in self.walk():
            if relative_path(element, self) == path:
                return element
        known = [relative_path(element, self) for element in self.walk()]
        raise ModelError(f"there is no {path!r} here.", path=self.label, fix=suggest(path, known))

    def _register(self, name: str, element: Element) -> None:
        if element._owner is not None:
            if element._owner is not self and not self.contains(element):
                self._lent[name] = element
            return  # a second name for something that already has a place
        if element is self or (self._owner is not None and isinstance(element, Subsystem) and element.contains(self)):
            raise ModelError("a subsystem cannot be its own member.", path=self.label, fix="Assign another one.")
        where = f"{self.path}.{name}" if self.path else f"{type(self).__name__}.{name}"
        element._check(where)
        if not isinstance(element, Subsystem):
            check_declared(element, where)
        element._owner, element._name = self, name
        element._taken_away = False
        self._members[name] = element

    def _take_away(self, name: str, kept: dict[str, Element]) -> None:
        """Forget the members an attribute had, but for those `kept` under the same path."""
        gone = [path for path in self._members if path == name or path.startswith(f"{name}.")]
        for path in gone:
            element = self._members[path]
            if kept.get(path) is not element:
                del self._members[path]
                element._owner, element._name, element._taken_away = None, "", True
        for path in [path for path in self._lent if path == name or path.startswith(f"{name}.")]:
            del self._lent[path]
        above: Subsystem | None = self if gone else None
        while above is not None:
            above._exposed[:] = [element for element in above._exposed if above.contains(element)]
            for lost in [name for name, frame in above._frames.items() if not above.contains(frame.body)]:
                del above._frames[lost]
            above = above.owner

    def _taken(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Take `closed`, unless the class has a use for it."""
        if "closed" not in keywords:
            return keywords
        from inspect import Parameter, signature  # most declarations do without

        wanted = signature(type(self).__init__).parameters.values()
        if any(each.name == "closed" or each.kind is Parameter.VAR_KEYWORD for each in wanted):
            return keywords
        value = keywords["closed"]
        if not isinstance(value, bool):
            raise ModelError(f"closed = {shown(value)} is neither True nor False.", path=type(self).__name__)
        object.__setattr__(self, "closed", value)
        return {name: given for name, given in keywords.items() if name != "closed"}

    def _records(self) -> list[Record]:
        return []

    def _keep(self, records: list[Record]) -> None:
        self._unassigned = tuple([record for record in records if record[0]._owner is None])


def relative_path(element: Element, model: Subsystem) -> str:
    """Dotted path of `element` from `model`, which may itself be a part of something larger."""
    names = []
    current: Element | None = element
    while current is not None and current is not model:
        names.append(current._name)
        current = current._owner
    return ".".join(reversed(names))
