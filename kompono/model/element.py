"""The base of everything that can be a member of a subsystem: it has an owner, a name and so a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kompono.model.declared import Declared
from kompono.model.making import Record

if TYPE_CHECKING:
    from kompono.model.subsystem import Subsystem


class Element(metaclass=Declared):
    """A member of a subsystem. It gets its name by assignment: `self.pin = Revolute(...)`."""

    _owner: Subsystem | None = None
    _name: str = ""
    _taken_away: bool = False  # it was a member, and is none any more
    _users: tuple[Record, ...] = ()  # elements built on this one

    @property
    def owner(self) -> Subsystem | None:
        """The subsystem this is a member of."""
        return self._owner

    @property
    def path(self) -> str:
        """Dotted path from the model, e.g. `left.damper.piston`; the model itself has the empty path."""
        if self._owner is None:
            return ""
        prefix = self._owner.path
        return f"{prefix}.{self._name}" if prefix else self._name

    @property
    def label(self) -> str:
        """The path, or a stand-in while the element has no owner yet."""
        return self.path or self._name or type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{' ' * bool(self.path)}{self.path}>"

    def _vain(self) -> Mapping[str, str]:
        """Attributes that mean nothing when they are set, and what to do instead."""
        return {}

    def _check(self, where: str) -> None:
        """Raise ModelError if the declaration is wrong; called when the element gets its name."""

    def _instead(self, path: str) -> str:
        """What to do instead of assigning a number or an expression in place of this member."""
        return ""

    def _built_on(self) -> tuple[Element, ...]:
        """The bodies or joints this acts on or looks at."""
        return ()

    def _comes_with(self, path: str) -> Iterable[tuple[str, Element]]:
        """Elements that are members wherever this one is, and their paths there, if its own is `path`."""
        return ()

    def _taken(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Take what is not for the own `__init__`; the rest is."""
        return keywords

    def _records(self) -> list[Record] | None:
        """Where to note the elements made in the own `__init__`; what an element makes for itself needs no note."""
        return None

    def _keep(self, records: list[Record]) -> None:
        """Told of those when the own `__init__` is through."""
