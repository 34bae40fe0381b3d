"""What an assignment to a subsystem means: which elements it holds, by path, and what may take a member's place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.model.body import Body
from kompono.model.element import Element
from kompono.model.symbol import check_numbers
from kompono.spatial.pose import Pose

if TYPE_CHECKING:
    from kompono.model.subsystem import Subsystem

_ONCE = (GeneratorType, map, filter, zip)
_CHECKED = frozenset((float, ca.SX, list, tuple, dict, Pose))  # what may hide a NaN; models have many elements


def elements_in(value: Any, name: str, where: str) -> Iterator[tuple[str, Element]]:
    """Paths and elements of lists, tuples and dictionaries, nested to any depth: `legs.front.0`. Raises ModelError for
    elements in what has no order or no names.
    """
    if isinstance(value, Element):
        yield name, value
        yield from value._comes_with(name)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if not isinstance(item, float | int | str):
                yield from elements_in(item, f"{name}.{number}", where)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            for path, element in elements_in(item, f"{name}.{key}", where):
                if type(key) is not int and (not isinstance(key, str) or not key or "." in key):
                    raise ModelError(
                        f"{name}[{key!r}] is a {type(element).__name__}, and the key makes no path.",
                        path=where,
                        fix="Use names without dots as keys.",
                    )
                yield path, element
    elif isinstance(value, _ONCE):
        raise ModelError(
            f"{name} is a {type(value).__name__}, which gives its elements only once.",
            path=where,
            fix=f"Assign a list: self.{name} = [...].",
        )
    elif any(isinstance(item, Element) for item in unnamed(value)):
        raise ModelError(
            f"{name} is a {type(value).__name__} of elements; its elements have no names.",
            path=where,
            fix="Use a list, a tuple or a dictionary.",
        )


def unnamed(value: Any) -> Any:
    """The items of a collection that gives them no names."""
    if isinstance(value, Set):
        return value
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.ravel()
    return value if type(value).__name__ == "deque" else ()


def check_replaced(owner: Subsystem, name: str, value: Any) -> None:
    """Raise ModelError if a single member would be replaced by what is no element; None takes it away."""
    old = owner._members.get(name)
    if old is None or value is None or isinstance(value, Element):
        return
    kind, path = type(old).__name__, old.path
    given = "an expression" if isinstance(value, ca.SX) else repr(value)
    raise ModelError(
        f"it is the member {name!r}, {_article(kind)}; {given} cannot take its place.",
        path=path,
        fix=old._instead(path) or "Assign another element, or None to take it away.",
    )


def check_declared(element: Element, where: str) -> None:
    """Raise ModelError if an attribute of an element is, or contains, what is not a number."""
    if isinstance(element, Body):
        if isinstance(element.solid.mass, ca.SX) or isinstance(element.solid.inertia, ca.SX):
            check_numbers((element.solid.mass, element.solid.inertia), "its mass or inertia", where)
        return
    for name, value in vars(element).items():
        if type(value) in _CHECKED and name[0] != "_":
            parts = (value.position, value.rotation) if isinstance(value, Pose) else value
            check_numbers(parts, f"its {name}", where)


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'AEIOU' else 'a'} {word}"
