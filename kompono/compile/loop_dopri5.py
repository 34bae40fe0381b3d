"""Dormand-Prince 5(4): six explicit stages, and the rate at the end, which the next step begins with."""

from __future__ import annotations

from kompono.compile.emit import Value, always
from kompono.compile.loop_fixed import stages
from kompono.compile.machine import Machine
from kompono.compile.pairs import Pair
from kompono.compile.staying import rate_at
from kompono.compile.tableaux import DORMAND_PRINCE, DORMAND_PRINCE_ERROR, dense_weights


def _attempt(machine: Machine, time: Value, end: Value, h: Value) -> Value:
    stages(machine, DORMAND_PRINCE, time, h)
    rate_at(machine, end, "next", "rate6", h)
    return always(machine.code)


DOPRI5 = Pair(_attempt, DORMAND_PRINCE_ERROR, 0.2, dense_weights)
