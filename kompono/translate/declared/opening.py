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
from kompono.translate.declared.open_laws import Known, OpenLaw, open_law
from kompono.translate.declared.open_networks import open_equations
from kompono.translate.declared.open_signals import SIGNALS, Comparing, open_signals, written
from kompono.translate.declared.open_units import open_units
from kompono.translate.declared.ours import is_ours

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

OPENED = (Force, Effort, Field, Coupling, Law, Subsystem, *SIGNALS)


class Opening:
    """Elements of a model with symbols in the place of their numbers. `coupled` are the couplings this is done for,
    `kinds` the classes that were looked at already: whether they are ours.
    """

    def __init__(self, model: Elaborated, coupled: Collection[Element], kinds: dict[type, bool]) -> None:
        self._model, self._coupled, self._kinds = model, coupled, kinds
        self._alone: dict[Element, OpenLaw | None] = {}

    def of(self, element: Element) -> OpenLaw | None:
        """One of them; nothing where that cannot be, or it has no numbers."""
        if self._known is None:
            return self._by_itself(element)
        if self._all_ours:
            return self._opened(element, self._known)
        law = self._by_itself(element)  # numbers that are compared with one that cannot be a symbol are none
        kept = isinstance(element, SIGNALS) or (law is not None and self._comparing.reads(law.expressions))
        return None if kept else law

    def _by_itself(self, element: Element) -> OpenLaw | None:
        if element not in self._alone:
            self._alone[element] = self._opened(element)
        return self._alone[element]

    def _opened(self, element: Element, known: Known | None = None) -> OpenLaw | None:
        if isinstance(element, Subsystem):
            return open_equations(element, known) if element._equations else None
        if isinstance(element, Law):
            return open_units(element, self._kinds, known)
        if isinstance(element, SIGNALS):
            return open_signals(element, self._kinds, known)
        opens = not isinstance(element, Coupling) or element in self._coupled
        return open_law(element, self._kinds, known) if opens else None

    @cached_property
    def _comparing(self) -> Comparing:
        return Comparing(self._signals)

    @cached_property
    def _signals(self) -> list[Element]:
        return [element for element in self._model.model.walk() if isinstance(element, SIGNALS)]

    @cached_property
    def _known(self) -> Known | None:
        """Symbols by number, one for all elements, where one of them asks how something compares with a signal: what
        stands in both is one expression then, and computed once, so `raw == limited` is exact. With symbols of its own
        each would be computed for itself.
        """
        return Known() if self._signals and self._compares() else None

    def _compares(self) -> bool:
        for element in (self._model.model, *self._model.model.walk()):
            if isinstance(element, SIGNALS):
                if self._comparing.signals(element):
                    return True
            elif isinstance(element, OPENED):
                law = self._by_itself(element)
                if law is not None and self._comparing.law(law.expressions):
                    return True
        return False

    @cached_property
    def _all_ours(self) -> bool:
        """Whether all signals with numbers are of classes of ours, which can have symbols for these."""
        return all(
            is_ours(type(one)) or all(part.is_symbolic() for part in written(one)) for one in self._signals
        )  # fmt: skip


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
