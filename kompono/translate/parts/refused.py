"""Where sealed parts cannot be solved, said with the path of the first; asked of every model."""

from __future__ import annotations

from kompono.errors import ModelError
from kompono.sealed.element import Sealed, code_of
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.registry import EngineEntry, Feature


def refuse_engine(model: Elaborated, entry: EngineEntry) -> None:
    """Raise ModelError where sealed parts cannot be solved."""
    sealed = [part for part in model.subsystems if isinstance(part, Sealed)]
    if model.model in sealed:
        raise ModelError(
            "a sealed part alone is no model.", path=type(model.model).__name__,
            fix="Make it a member of a Subsystem, and connect its ports.",
        )  # fmt: skip
    refused = entry.refusal(Feature.SEALED_PARTS) if sealed else None
    if refused is not None:
        reason, fix = refused
        raise ModelError(
            f"{reason}, so engine={entry.name!r} cannot use it.", path=model.path(sealed[0]), fix=f"{fix}."
        )
    hidden = [part for part in sealed if not code_of(part).shows_states]
    if hidden and not entry.by_joints:
        raise ModelError(
            f"its state is kept elsewhere, so engine={entry.name!r} cannot use it.", path=model.path(hidden[0]),
            fix="Use engine='relative'.",
        )  # fmt: skip
