"""What a Python callable remembers, and how it is set back when a run begins.

A controller may keep numbers in attributes of its object, in variables of its closure (`nonlocal`), in mutable default
values or in globals of its module. All places that can hold memory and that a callable reaches are looked at before and
after a run. When the next run begins, what the last run changed becomes what it was before it; what somebody else has
changed meanwhile stays. After a run its memory can therefore be read, and no run sees that of another.

Models, CasADi expressions, modules and classes are no memory.
"""

from __future__ import annotations

import copy
import dis
import functools
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ABSENT: Any = object()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_OUTSIDE = ("kompono", "casadi")  # packages whose objects are not looked into


def owner_of(function: Any) -> Any:
    """Who remembers: the object of a bound method, else the callable itself."""
    return function.__self__ if isinstance(function, types.MethodType) else function


def is_outside(thing: Any) -> bool:
    """Whether a thing is no memory of a callable: a module, a class, a component, an expression."""
    if isinstance(thing, types.ModuleType | type | types.BuiltinFunctionType):
        return True
    return any(base.__module__.partition(".")[0] in _OUTSIDE for base in type(thing).__mro__)


@dataclass
class Reachable:
    """What some callables reach: places that hold values, functions, and what only a copy could set back."""

    places: list[Any] = field(default_factory=list)
    functions: list[types.FunctionType] = field(default_factory=list)
    outside: list[Any] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)


def reach(roots: Iterable[Any]) -> Reachable:
    """Everything reachable from callables; the roots themselves may be components."""
    found, seen = Reachable(), {}
    waiting = [(root, True) for root in roots]
    while waiting:
        thing, root = waiting.pop()
        if isinstance(thing, _PLAIN) or id(thing) in seen:
            continue
        seen[id(thing)] = thing  # kept, so that no other gets its number
        if is_outside(thing) and not root:
            found.outside.append(thing)
            continue
        if isinstance(thing, types.FunctionType):
            found.functions.append(thing)
        places = list(_places(thing))
        found.places += places
        if not places and not isinstance(thing, tuple | frozenset | types.FunctionType | types.MethodType):
            found.others.append(thing)
        inner = [value for place in places for value in _values(place)]
        waiting += [(value, False) for value in (*inner, *_parts(thing))]
    return found


@dataclass(frozen=True)
class Globals:
    """The globals of a module that a function may remember by."""

    table: dict[str, Any]
    names: tuple[str, ...]


def _places(thing: Any) -> Iterator[Any]:
    """The places of a thing that hold what can change."""
    if isinstance(thing, list | dict | set | bytearray | deque | np.ndarray | types.CellType | np.random.Generator):
        yield thing
    elif isinstance(thing, types.FunctionType):
        yield from thing.__closure__ or ()
        yield vars(thing)
        names = tuple(name for name, stored in _named(thing.__code__) if stored or _remembers(thing, name))
        if names:
            yield Globals(thing.__globals__, names)
    else:
        if hasattr(thing, "__dict__"):
            yield _Attributes.of(thing)
        if any("__slots__" in vars(base) for base in type(thing).__mro__[:-1]) and not hasattr(thing, "__len__"):
            yield _Slots(thing)


@dataclass(frozen=True)
class _Attributes:
    """The attributes of an object, which is not kept alive by being remembered."""

    get: Any  # a function that gives the object, or None when it is gone

    @staticmethod
    def of(thing: Any) -> _Attributes:
        try:
            return _Attributes(weakref.ref(thing))
        except TypeError:
            return _Attributes(lambda: thing)

    @property
    def table(self) -> dict[str, Any]:
        thing = self.get()
        return {} if thing is None else vars(thing)


@dataclass(frozen=True)
class _Slots:
    """The slots of an object."""

    thing: Any

    @property
    def names(self) -> list[str]:
        listed = (vars(base).get("__slots__", ()) for base in type(self.thing).__mro__)
        names = [name for slots in listed for name in ([slots] if isinstance(slots, str) else slots)]
        return [name for name in names if name not in ("__dict__", "__weakref__") and not name.startswith("__")]


def _named(code: types.CodeType) -> Iterator[tuple[str, bool]]:
    """Global names of a function and of those defined inside it, and whether it assigns to them."""
    stored = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_GLOBAL"}
    yield from ((name, name in stored) for name in code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named(constant)


def _remembers(function: types.FunctionType, name: str) -> bool:
    """Whether a global may hold memory: it is no module or class, nor a function of another module."""
    value = function.__globals__.get(name, ABSENT)
    if value is ABSENT or is_outside(value):
        return False
    return not isinstance(value, types.FunctionType) or value.__globals__ is function.__globals__


def _parts(thing: Any) -> Iterator[Any]:
    """Further things a thing consists of, besides what its places hold."""
    if isinstance(thing, types.FunctionType):
        yield from thing.__defaults__ or ()
        yield from (thing.__kwdefaults__ or {}).values()
    elif isinstance(thing, types.MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, tuple | frozenset):
        yield from thing


def content(place: Any) -> Any:
    """A shallow copy of what a place holds."""
    if isinstance(place, types.CellType):
        try:
            return {"": place.cell_contents}
        except ValueError:  # a variable that has no value yet
            return {}
    if isinstance(place, _Attributes):
        return dict(place.table)
    if isinstance(place, Globals):
        return {name: place.table[name] for name in place.names if name in place.table}
    if isinstance(place, _Slots):
        return {name: getattr(place.thing, name) for name in place.names if hasattr(place.thing, name)}
    if isinstance(place, np.random.Generator):
        return copy.deepcopy(place.bit_generator.state)
    return place.copy()


def _values(place: Any) -> Iterable[Any]:
    if isinstance(place, np.random.Generator):
        return ()
    if isinstance(place, np.ndarray):
        return place.ravel().tolist() if place.dtype == object else ()
    held = content(place)
    return list(held.values()) if isinstance(held, dict) else held


def is_same(one: Any, other: Any) -> bool:
    """Whether contents are the same objects; numbers of arrays are compared."""
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, list | deque | tuple):
        return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
    return one == other


@dataclass
class Left:
    """What a run has changed: places with what they held before it and after it."""

    entries: list[tuple[Any, Any, Any]]

    @staticmethod
    def between(before: Iterable[tuple[Any, Any]]) -> Left:
        """What has changed since places held what they did `before`."""
        entries = []
        for place, old in before:
            new = content(place)
            if has_names(place):
                names = [name for name in {**old, **new} if old.get(name, ABSENT) is not new.get(name, ABSENT)]
                old, new = ({name: held.get(name, ABSENT) for name in names} for held in (old, new))
                changed = bool(names)
            else:
                changed = not is_same(old, new)
            if changed:
                entries.append((place, old, new))
        return Left(entries)

    def set_back(self) -> None:
        """Undo what the run changed, except where somebody has changed it since."""
        for place, before, after in self.entries:
            now = content(place)
            if has_names(place):
                for name, old in before.items():
                    if now.get(name, ABSENT) is after[name]:
                        _put(place, name, old)
            elif is_same(now, after):
                _refill(place, before)


def has_names(place: Any) -> bool:
    """Whether a place holds values by name, that can change one by one."""
    return isinstance(place, dict | types.CellType | Globals | _Slots | _Attributes)


def fill(place: Any, held: Any) -> None:
    """Let a place hold this: values by name (`ABSENT`: none), or all of its content."""
    if has_names(place):
        for name, value in held.items():
            _put(place, name, value)
    else:
        _refill(place, held)


def _put(place: Any, name: str, value: Any) -> None:
    """Write one named value, or take it away."""
    if isinstance(place, types.CellType):
        if value is ABSENT:
            del place.cell_contents
        else:
            place.cell_contents = value
        return
    if isinstance(place, _Slots):
        if value is ABSENT:
            object.__delattr__(place.thing, name)
        else:
            object.__setattr__(place.thing, name, value)
        return
    table = place.table if isinstance(place, Globals | _Attributes) else place
    if value is ABSENT:
        table.pop(name, None)
    else:
        table[name] = value


def _refill(place: Any, before: Any) -> None:
    if isinstance(place, np.random.Generator):
        place.bit_generator.state = before
    elif isinstance(place, np.ndarray):
        if place.shape == before.shape and place.flags.writeable:
            place[...] = before
    elif isinstance(place, list | bytearray):
        place[:] = before
    else:  # a set, a deque
        place.clear()
        (place.update if isinstance(place, set) else place.extend)(before)
