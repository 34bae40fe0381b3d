"""What parts elsewhere say to each other at events of laws: outputs of one that another one takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part
    from kompono.translate.parts.moment import Moment

Said = dict[tuple["Part", int], Vector]


def spoken(now: Moment) -> list[tuple[Part, int]]:
    """Outputs of parts elsewhere, by number, that parts elsewhere take where laws are looked at."""
    parts = [part for part in now.compartment.parts if part.elsewhere]
    said = symbols_for([(part, k) for part in parts for k in range(len(part.shown))])
    at, taken = now.at(now.values, said=said), []
    for part in parts:
        names = ("law_look", "law_condense", "law_free", "law_respond") if part.laws.size else ("condense",)
        symbols = [symbol for name in names for symbol in part.closed(name).signals]
        taken += [at.tracer.call(lambda s=symbol: s, path=part.path, free=True) for symbol in symbols]
    return [key for key, symbol in said.items() if any(ca.depends_on(value, symbol) for value in taken)]


def symbols_for(spoken: list[tuple[Part, int]]) -> Said:
    """What stands for outputs that are known."""
    return {(part, k): ca.SX.sym("said", part.closed(f"signal_{k}").function.nnz_out()) for part, k in spoken}


def said_at(now: Moment, spoken: list[tuple[Part, int]]) -> Vector:
    """What parts say at a state."""
    values = [now.tracer.call(lambda o=part.shown[k]: ca.SX(o), path=part.path, free=True) for part, k in spoken]
    return ca.vertcat(ca.SX(0, 1), *values)
