"""Which elements have their numbers put in after tracing, and what is traced in their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kompono.model.constraint import Coupling
from kompono.model.element import Element
from kompono.model.force import Effort, Field, Force
from kompono.model.law import Law
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.open_laws import OpenLaw, open_law
from kompono.translate.declared.open_networks import open_equations
from kompono.translate.declared.open_signals import SIGNALS, open_signals, rounds_twice
from kompono.translate.declared.open_units import open_units

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

OPENED = (Force, Effort, Field, Coupling, Law, Subsystem, *SIGNALS)


class Opening:
    """Elements of a model with symbols in the place of their numbers. `coupled` are the couplings this is done for,
    `kinds` the classes that were looked at already: whether they are ours.
    """

    def __init__(self, model: Elaborated, coupled: Collection[Element], kinds: dict[type, bool]) -> None:
        self._model, self._coupled, self._kinds = model, coupled, kinds

    def of(self, element: Element) -> OpenLaw | None:
        """One of them; nothing where that cannot be, or it has no numbers."""
        if isinstance(element, Subsystem):
            return open_equations(element, self._model) if element._equations else None
        if isinstance(element, Law):
            return open_units(element, self._kinds)
        if isinstance(element, SIGNALS):
            return None if self._compares else open_signals(element, self._kinds)
        return open_law(element, self._kinds) if not isinstance(element, Coupling) or element in self._coupled else None

    @cached_property
    def _compares(self) -> bool:
        """Whether a signal asks how something compares with another signal. What stands in both is computed once, so
        `raw == limited` is exact; with symbols of its own each would round by itself.
        """
        return rounds_twice(element for element in self._model.model.walk() if isinstance(element, SIGNALS))


def opened_elements(
    model: Elaborated, coupled: Collection[Element], asked: Mapping[Element, Any]
) -> dict[str, tuple[Element, Any]]:
    """All of them in a model, by path; those that were not `asked` before are asked now."""
    opening = Opening(model, coupled, {})
    found: dict[str, tuple[Element, Any]] = {}
    for element in (model.model, *model.model.walk()):
        if isinstance(element, OPENED):
            law = asked[element] if element in asked else opening.of(element)
            if law is not None:
                found[model.path(element)] = element, law
    return found
