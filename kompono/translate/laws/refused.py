"""Where laws with modes cannot be yet, said with the path of the first."""

from __future__ import annotations

from kompono.errors import ModelError, ModelWarning, warn
from kompono.request import SOFT
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.registry import EngineEntry, Feature
from kompono.translate.laws.changing import check_known, sealed_with_laws


def refuse_laws(model: Elaborated, entry: EngineEntry, contact: str) -> None:
    """Raise ModelError for laws an engine does not have, that follow what they cannot, or that cannot be inside sealed
    parts.
    """
    sealed = sealed_with_laws(model)
    if sealed and contact == SOFT:
        raise ModelError(f"contact={SOFT!r} does not go with laws in sealed parts.", path=model.path(sealed[0]),
                         fix=f"Leave contact= out, or ask its author to seal it with contact={SOFT!r}.")  # fmt: skip
    if contact == SOFT:
        return
    check_known(model)
    if not model.laws:
        return
    first = model.path(model.laws[0])
    given = [law for law in model.laws if any(unit.stiffness is not None for unit in law._shapes())]
    if given:
        names = ", ".join(model.path(law) for law in given)
        warn(f"{names}: its stiffness is that of contact={SOFT!r}; here what touches is rigid.", ModelWarning)
    refusal = entry.refusal(Feature.LAWS)
    if refusal is not None:
        message = f"contact and dry friction are not possible on engine {entry.name!r}: {refusal[0]}."
        raise ModelError(message, path=first, fix=f"{refusal[1]}, or contact={SOFT!r}.")
