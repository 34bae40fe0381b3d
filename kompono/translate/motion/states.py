"""Rates of a model's own states, and what sampled modes become, traced where symbols have a meaning."""

from __future__ import annotations

from collections.abc import Collection

import casadi as ca

from kompono.model.event import Mode
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.open_signals import said
from kompono.translate.declared.sampling import Rate
from kompono.translate.motion.signals import bind_next
from kompono.translate.symbolic import Scalar, Vector
from kompono.translate.tracer import Tracer


def state_rates(tracer: Tracer, model: Elaborated) -> Vector:
    """Rates of the model's own states, in order, at the state that symbols mean now."""
    rates = [tracer.call(lambda s=s: said(model, s)[0], path=model.path(s), free=True) for s in model.states]
    return ca.densify(ca.vertcat(ca.SX(0, 1), *rates))


def due_modes(model: Elaborated, due: Collection[Rate]) -> list[Mode]:
    """The modes that are sampled when some rates are due."""
    return [mode for mode in model.sampled if (mode.every, mode.offset) in due]


def reads_of(tracer: Tracer, model: Elaborated, due: Collection[Rate]) -> list[tuple[str, Vector]]:
    """What controllers read at an instant, as one named column; zeros for who is not due, and nothing if none is."""
    asked = [(one.every, one.offset) in due for one in model.controllers]
    found = []
    for one, is_due in zip(model.controllers, asked, strict=True):
        column = ca.vertcat(ca.SX(0, 1), *said(model, one))
        path = model.path(one)
        found.append(tracer.call(lambda c=column: c, path=path, free=True) if is_due else ca.SX(len(one.reads), 1))
    return [("reads", ca.vertcat(*[ca.densify(column) for column in found]))] if any(asked) else []


def sampled_values(tracer: Tracer, model: Elaborated, due: Collection[Rate]) -> list[tuple[Mode, Scalar]]:
    """What modes become at an instant when some rates are due, from the state that symbols mean now."""
    modes = due_modes(model, due)
    bind_next(tracer, model, modes)
    path = model.path
    return [(m, tracer.call(lambda m=m: said(model, m)[0], path=f"{path(m)}.next", free=True)) for m in modes]
