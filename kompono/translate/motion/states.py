"""Rates of a model's own states, and values of them, traced where symbols have a meaning."""

from __future__ import annotations

import casadi as ca

from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer


def state_rates(tracer: Tracer, model: Elaborated) -> Vector:
    """Rates of the model's own states, in order, at the state that symbols mean now."""
    rates = [tracer.call(lambda s=s: s.rate, path=model.path(s), free=True) for s in model.states]
    return ca.densify(ca.vertcat(ca.SX(0, 1), *rates))
