"""Nothing declared is left out: every element made for a model is a member of it, in one place.

Looked at when the whole model is known: an element without an owner (never assigned, hidden in a list that grew later,
under a name with an underscore, in a class instead of an object) and one that was assigned in two places would act
nowhere, or not where it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kompono.errors import ModelError
from kompono.model.assignment import unnamed
from kompono.model.element import Element
from kompono.model.force import Field
from kompono.model.making import Record, place
from kompono.model.subsystem import Subsystem, relative_path

_OWN = frozenset(
    ("_owner", "_name", "_members", "_exposed", "_frames", "_lent", "_unassigned", "_users", "_connections")
    + ("_junctions", "_equations")
)


def check_ownership(model: Subsystem, subsystems: Iterable[Subsystem], used: Iterable[Element]) -> None:
    """Raise ModelError for what was made for this model but is no member; `used` are its bodies, grounds and joints."""
    inside = set(subsystems)
    classes: set[type] = set()
    for subsystem in subsystems:
        if type(subsystem) not in classes:
            classes.add(type(subsystem))
            _check_class(model, subsystem)
        _check_attributes(model, subsystem)
        for name, element in subsystem._lent.items():
            _check_lent(model, subsystem, name, element)
        _check_records(model, inside, _declared(subsystem))
    for element in used:
        if element._users:
            _check_records(model, inside, element._users, element)
    model._simulated = True


def _where(model: Subsystem, subsystem: Subsystem) -> str:
    return relative_path(subsystem, model) or type(model).__name__


def _kind(element: Element) -> str:
    return type(element).__name__


def _top(element: Element) -> Element:
    while element._owner is not None:
        element = element._owner
    return element


# -- what is held by attributes


def _check_class(model: Subsystem, subsystem: Subsystem) -> None:
    for kind in type(subsystem).__mro__:
        for name, value in vars(kind).items():
            if not name.startswith("__") and any(True for _ in _held(value)):
                raise ModelError(
                    f"{name} is declared in the class {kind.__name__}, not in its __init__; it would be a member of no "
                    "object.",
                    path=_where(model, subsystem),
                    fix=f"Write self.{name} = ... in __init__.",
                )


def _check_attributes(model: Subsystem, subsystem: Subsystem) -> None:
    """Members are what the attributes hold, no more and no less."""
    found: dict[str, Element] = {}
    for name, value in vars(subsystem).items():
        if isinstance(value, Element):
            if name not in _OWN:
                found[name] = value
        elif name not in _OWN and isinstance(value, list | tuple | Mapping | set | frozenset):
            found.update(_held(value, name))
    found.update([entry for path, element in found.items() for entry in element._comes_with(path)])
    members = subsystem._members
    for path, element in found.items():
        if element._owner is None and element is not model:
            raise ModelError(
                f"self.{path} is a {_kind(element)} that is no member: {_reason(subsystem, path, element)}",
                path=_where(model, subsystem),
                fix=f"Assign it: {_advice(path)}",
            )
    for path, element in members.items():
        if found.get(path) is not element:
            name = path.partition(".")[0]
            raise ModelError(
                f"{path} was taken out of self.{name}, but not out of the model.",
                path=_where(model, subsystem),
                fix=f"Assign what is left: self.{name} = list(self.{name}).",
            )


def _reason(subsystem: Subsystem, path: str, element: Element) -> str:
    name = path.partition(".")[0]
    if name.startswith("_"):
        return "names that begin with an underscore are private."
    if element._taken_away:
        return "it was taken out of the model under its first name."
    return f"it came into self.{name} after that was assigned." if name != path else "it was not assigned to self."


def _advice(path: str) -> str:
    name = path.partition(".")[0]
    if name.startswith("_"):
        return f"self.{name.lstrip('_') or 'name'} = ..."
    return f"self.{name} = ... when it is complete." if name != path else f"self.{name} = ..."


def _held(value: Any, path: str = "") -> Iterator[tuple[str, Element]]:
    """Elements a value holds, with the paths they would have."""
    if isinstance(value, Element):
        yield path, value
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _held(item, f"{path}.{number}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _held(item, f"{path}.{key}")
    else:
        for number, item in enumerate(unnamed(value)):
            yield from _held(item, f"{path}.{number}")


# -- what is held by nobody


def _check_records(
    model: Subsystem, inside: set[Subsystem], records: Iterable[Record], base: Element | None = None
) -> None:
    for record in records:
        element = record[0]
        if element._owner in inside or element is model:
            continue
        top = _top(element)
        if top is _top(model) or top._taken_away or (isinstance(top, Subsystem) and top._simulated):
            continue
        if _part_of_another(model, element):
            continue
        what = f"the {_kind(element)} made in {place(record)}"
        if base is not None:
            what += f", built on {relative_path(base, model)},"
        lost = "is a member of no subsystem" if top is element else f"belongs to {_kind(top)}, which is no member"
        raise ModelError(
            f"{what} {lost}: it would not act.",
            path=_where(model, base.owner if base is not None and base.owner is not None else model),
            fix="Assign it to self under a name: self.name = ...",
        )


def _declared(subsystem: Subsystem) -> Iterable[Record]:
    """What was made in the `__init__` of a subsystem and not assigned. Whole components count only if they were made in
    a file of its classes: another one may well be a model that somebody made and looked at.
    """
    if not subsystem._unassigned:
        return ()
    inits: list[Any] = [kind.__init__ for kind in type(subsystem).__mro__]
    files = {init.__code__.co_filename for init in inits if hasattr(init, "__code__")}
    return [r for r in subsystem._unassigned if not isinstance(r[0], Subsystem) or r[1].co_filename in files]


def _part_of_another(model: Subsystem, element: Element) -> bool:
    """Whether an element of the model keeps this one for itself, as part of its law."""
    return any(
        held is element
        for other in model.walk()
        if not isinstance(other, Subsystem)
        for name, value in vars(other).items()
        if name not in _OWN
        for _, held in _held(value)
    )


# -- what has two places


def _check_lent(model: Subsystem, subsystem: Subsystem, name: str, element: Element) -> None:
    """An element assigned here whose place is elsewhere: below or above in the same model, or exposed to here."""
    owner = element._owner
    if owner is None or subsystem.contains(element):
        return
    above = owner.contains(subsystem)
    if isinstance(element, Field):
        if above and (owner is model or model.contains(owner)):
            return
    elif above or (_top(owner) is _top(subsystem) and _handed_over(subsystem, element)):
        return
    elsewhere = (
        element.path if _top(owner) is _top(subsystem) else f"{_kind(_top(owner))}.{element.path}, another model"
    )
    raise ModelError(
        f"self.{name} is a {_kind(element)} that is already {elsewhere}; an element has one place.",
        path=_where(model, subsystem),
        fix=f"Make one for each: not a default argument {name}={_kind(element)}(...), but self.{name} = "
        f"{_kind(element)}(...) in __init__. To share one, assign it in the common owner first and hand it down.",
    )


def _handed_over(subsystem: Subsystem, element: Element) -> bool:
    """Whether all components around the element expose it, up to one that also holds the subsystem."""
    owner = element._owner
    while owner is not None and not owner.contains(subsystem):
        if not owner.exposes(element):
            return False
        owner = owner._owner
    return True
