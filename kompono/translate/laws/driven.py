"""Where redundant conditions may contradict each other: time moves what they hold (see `compile/law_torn.py`)."""

from __future__ import annotations

from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.uses import uses_time


def is_driven(model: Elaborated) -> bool:
    """Whether time moves what joints, conditions, laws or grounds hold, or may do so beyond what a part exposes: two of
    them may want different motions of one body then.
    """
    if "driven" not in model.worked_out:
        model.worked_out["driven"] = bool(model.model.exposed) or _moves(model)
    return model.worked_out["driven"]


def _moves(model: Elaborated) -> bool:
    holding = (*model.joints, *model.constraints, *model.couplings, *model.grounds, *model.laws)
    return any(uses_time(model.model, element) for element in holding)
