"""Subsystem: a component made of bodies, grounds, joints, forces, signals and other subsystems.

Members register by assignment, the way a PyTorch module does, and keep the order of their declaration. What a
subsystem exposes is all that joints and forces outside may touch (its ports).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from kompono.errors import ModelError, nearest
from kompono.given import shown
from kompono.model.element import Element


class Subsystem(Element):
    """A component. Write a class, declare members in `__init__` by assignment, `expose` the bodies others may use.

    `run_defaults` may hold keyword arguments of `simulate` that suit this model (until, step, method, ...). A method
    `figures(result)` may give pictures of a run of it, for its report.
    """

    run_defaults: dict[str, Any] = {}  # noqa: RUF012 (a class attribute users override)

    _members: dict[str, Element]
    _exposed: list[Element]

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        self = super().__new__(cls)
        object.__setattr__(self, "_members", {})
        object.__setattr__(self, "_exposed", [])
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name.startswith("_"):
            return
        if isinstance(value, Element):
            self._register(name, value)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                if isinstance(item, Element):
                    self._register(f"{name}.{index}", item)

    def add(self, name: str, element: Element) -> Element:
        """Register a member under a computed name; the same as `setattr(self, name, element)`."""
        setattr(self, name, element)
        return element

    def expose(self, *elements: Element) -> None:
        """Make members (usually bodies) of this subsystem, or what its parts expose, visible to its owner."""
        for element in elements:
            if not isinstance(element, Element):
                raise ModelError(
                    f"cannot expose {shown(element)}.", path=self.label, fix="Expose bodies, grounds or joints."
                )
            if not self.contains(element):
                raise ModelError(
                    f"cannot expose {element.label}: it is not a member of this subsystem or of its parts.",
                    path=self.label,
                    fix="Assign it to self first.",
                )
            if not any(element is known for known in self._exposed):
                self._exposed.append(element)

    @property
    def members(self) -> dict[str, Element]:
        """The members by name, in order of declaration."""
        return dict(self._members)

    @property
    def exposed(self) -> tuple[Element, ...]:
        """The ports."""
        return tuple(self._exposed)

    def exposes(self, element: Element) -> bool:
        """Whether an owner of this subsystem may use `element`."""
        return any(element is port for port in self._exposed)

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
        raise ModelError(f"there is no {path!r} here.", path=self.label, fix=nearest(path, known))

    def _register(self, name: str, element: Element) -> None:
        if element._owner is not None:
            return  # a second name for something that already has a place (a shortcut)
        if element is self:
            raise ModelError("a subsystem cannot be its own member.", path=self.label)
        where = f"{self.path}.{name}" if self.path else f"{type(self).__name__}.{name}"
        element._check(where)
        replaced = self._members.pop(name, None)
        if replaced is not None:
            replaced._owner, replaced._name = None, ""
        element._owner, element._name = self, name
        self._members[name] = element


def relative_path(element: Element, model: Subsystem) -> str:
    """Dotted path of `element` from `model`, which may itself be a part of something larger."""
    names = []
    current: Element | None = element
    while current is not None and current is not model:
        names.append(current._name)
        current = current._owner
    return ".".join(reversed(names))
