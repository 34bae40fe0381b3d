"""Values written down for a name: words, expressions and, apart, numbers.

A name is made of all words and expressions; numbers that may be exchanged (see `numbers`) are kept beside them. What
cannot be looked at to its end is `Nameless`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Body, Frame, MassProperties
from kompono.model.element import Element
from kompono.model.lumped import Lump
from kompono.spatial.pose import Pose
from kompono.translate.declared.open_laws import opened
from kompono.translate.declared.ours import written_by_us
from kompono.translate.numbers import pattern_of

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def pose_bytes(pose: Pose) -> list[bytes]:
    """The numbers of a pose to the last bit."""
    return [ca.DM(part).full().tobytes() for part in (pose.position, pose.rotation)]


class Nameless(Exception):
    """Something a translation may depend on cannot be followed."""


class Words:
    """What was written down: `words` (plain data), `expressions` and `numbers`. `elements` count by their place, and
    poses of `frames` are numbers, as masses of `bodies` are.
    """

    def __init__(self, elements: Sequence[Element], frames: Collection[Frame], bodies: Iterable[Body]) -> None:
        self.words: list[Any] = []
        self.numbers: list[Any] = []
        self.expressions: list[ca.SX | ca.DM] = []
        self._frames = frames
        self._strict = False  # whether any attribute may matter
        self._lumped = False  # whether numbers of lumps are apart
        self._apart = False  # whether numbers matter by what is made of them alone
        self._places = {id(element): place for place, element in enumerate(elements)}
        self._open: set[int] = set()
        self._solids = {id(solid): solid for body in bodies if isinstance(solid := body.solid, MassProperties)}

    def place(self, element: object) -> int | None:
        """The place of an element; nothing for what is none of them."""
        return self._places.get(id(element))

    def attribute(self, name: str, value: Any, apart: bool) -> None:
        """Write down an attribute; its numbers `apart`, perhaps."""
        self.visit(name)
        self._apart = apart
        try:
            self.visit(value)
        finally:
            self._apart = False

    def visit(self, value: Any) -> None:
        """Write down a value and all it holds."""
        apart = self._apart
        if apart and self._number(value):
            return
        self._apart = apart and type(value) in (list, tuple, dict)
        try:
            self._write(value)
        finally:
            self._apart = apart

    def _write(self, value: Any) -> None:
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
            self.expressions.append(value)
        elif id(value) in self._places:
            self.words.append(("element", self._places[id(value)]))
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

    def _number(self, value: Any) -> bool:
        """Write down a value that is a number, numbers, or an expression with numbers in it: these apart."""
        if type(value) in (int, float):
            self.words.append("number")
            self.numbers.append(value)
        elif isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind in "if":
            array = np.asarray(value)
            self.words.append(("numbers", str(array.dtype), array.shape))
            self.numbers.append(array.tobytes())
        elif isinstance(value, ca.SX) and not value.is_symbolic() and (found := opened([value], [])) is not None:
            self._write(found[0][0])
            self._write(ca.vertcat(*found[1]))
            self.numbers.append(found[2])
        else:
            return False
        return True

    def _frame(self, frame: Frame) -> None:
        self.words.append(("frame", self._places.get(id(frame.body))))
        if id(frame.body) not in self._places:
            raise Nameless("a frame of another model")
        if frame in self._frames:
            self.words.append("open")
            self.numbers.append(pose_bytes(frame.pose))
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
        elif isinstance(value, Lump) and self._lumped and type(value.inertia) is type(value.ratio) is float:
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


def told_numbers(value: Any) -> tuple[list[Any], list[Any]]:
    """What of an attribute is no number, and its numbers; it is one, an array, a pose, or records with such in them."""
    if isinstance(value, Pose):
        value = value.position, value.rotation
    if isinstance(value, float | np.ndarray | ca.DM):
        numbers = np.asarray(value)
        return [numbers.shape], [numbers.tolist()]
    if is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in fields(value))
    if not isinstance(value, tuple):
        return [value], []
    parts = [told_numbers(part) for part in value]
    return [words for words, _ in parts], [number for _, numbers in parts for number in numbers]
