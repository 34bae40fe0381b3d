"""The base of everything that can be a member of a subsystem: it has an owner, a name and so a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kompono.model.declared import Declared

if TYPE_CHECKING:
    from kompono.model.subsystem import Subsystem


class Element(metaclass=Declared):
    """A member of a subsystem. It gets its name by assignment: `self.pin = Revolute(...)`."""

    _owner: Subsystem | None = None
    _name: str = ""

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

    def _check(self, where: str) -> None:
        """Raise ModelError if the declaration is wrong; called when the element gets its name."""
