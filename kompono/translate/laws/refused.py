"""Where laws with modes cannot be yet, said with the path of the first."""

from __future__ import annotations

from collections.abc import Iterable

from kompono.errors import ModelError
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.registry import EngineEntry, Feature


def refuse_laws(model: Elaborated, entry: EngineEntry, closed: Iterable[Subsystem]) -> None:
    """Raise ModelError for laws an engine does not have, or inside closed parts."""
    if not model.laws:
        return
    first = model.path(model.laws[0])
    refusal = entry.refusal(Feature.LAWS)
    if refusal is not None:
        message = f"contact and dry friction are not possible on engine {entry.name!r}: {refusal[0]}."
        raise ModelError(message, path=first, fix=f"{refusal[1]}.")
    for part in closed:
        inside = next((law for law in model.laws if part.contains(law)), None)
        if inside is not None:
            raise ModelError(
                f"{model.path(part)} cannot be closed: what holds and what slides inside it is chosen by its owner.",
                path=model.path(inside), fix=f"Leave {model.path(part)} open.",
            )  # fmt: skip
