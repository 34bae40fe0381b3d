"""Which elements have their numbers put in after tracing, and what is traced in their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from kompono.model.constraint import Coupling
from kompono.model.element import Element
from kompono.model.force import Effort, Field, Force
from kompono.model.law import Law
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.open_laws import OpenLaw, open_law
from kompono.translate.declared.open_networks import open_equations
from kompono.translate.declared.open_signals import SIGNALS, open_signals
from kompono.translate.declared.open_units import open_units

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

OPENED = (Force, Effort, Field, Coupling, Law, Subsystem, *SIGNALS)


def opened_element(
    element: Element, model: Elaborated, coupled: Collection[Element], kinds: dict[type, bool]
) -> OpenLaw | None:
    """An element of a model with symbols in the place of its numbers; nothing where that cannot be, or it has none, and
    for couplings that are not among those `coupled`. `kinds` are the classes that were looked at already: whether they
    are ours.
    """
    if isinstance(element, Subsystem):
        return open_equations(element, model) if element._equations else None
    if isinstance(element, Law):
        return open_units(element, kinds)
    if isinstance(element, SIGNALS):
        return open_signals(element, kinds)
    return open_law(element, kinds) if not isinstance(element, Coupling) or element in coupled else None


def opened_elements(
    model: Elaborated, coupled: Collection[Element], asked: Mapping[Element, Any]
) -> dict[str, tuple[Element, Any]]:
    """All of them in a model, by path; those that were not `asked` before are asked now."""
    kinds: dict[type, bool] = {}
    found: dict[str, tuple[Element, Any]] = {}
    for element in (model.model, *model.model.walk()):
        if isinstance(element, OPENED):
            law = asked[element] if element in asked else opened_element(element, model, coupled, kinds)
            if law is not None:
                found[model.path(element)] = element, law
    return found
