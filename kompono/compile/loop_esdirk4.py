"""ESDIRK4(3)6L[2]SA: five implicit stages with one matrix, L-stable and stiffly accurate, for stiff motion.

Rates of stages are (y - b) / g, not f(y): what Newton's method leaves of a stiff component is not multiplied by its
stiffness. For the same reason the last rate begins the next step even where a projection has moved the state a little.
"""

from __future__ import annotations

from typing import Any

from kompono.compile.emit import BOOL, Value
from kompono.compile.loop_fixed import weighted
from kompono.compile.machine import Machine
from kompono.compile.newton_stage import begin_step, solve_stage
from kompono.compile.pairs import Pair
from kompono.compile.tableaux import DIAGONAL, ESDIRK, ESDIRK_ERROR, esdirk_weights

_GUESS = 3  # rates of stages before that a guess is extrapolated from
PLACES = (0, 1, 2, 3, 4, 6)  # of the rates: the last one is where that of Dormand-Prince is


def _attempt(machine: Machine, time: Value, end: Value, h: Value) -> Value:
    code, g = machine.code, h * DIAGONAL
    solved = code.variable(BOOL, True)
    names = [f"rate{i}" for i in PLACES]
    begin_step(machine, time, h, g)
    for i in range(1, len(names)):
        with code.when(solved.get()):
            machine.combine("base", "state", weighted(h, ESDIRK.a[i], names))
            machine.combine("stage", "base", [(g * weight, names[k]) for k, weight in _guess(i)])
            solved.set(solve_stage(machine, end if ESDIRK.c[i] == 1 else time + ESDIRK.c[i] * h, g))
            per_g = 1.0 / g
            machine.combine(names[i], "", [(per_g, "stage"), (0.0 - per_g, "base")])
    machine.copy("next", "stage")
    return solved.get()


def _guess(stage: int) -> list[tuple[int, float]]:
    """Weights of earlier rates for that of a stage: the polynomial through those nearest in time."""
    c = ESDIRK.c
    near = sorted(range(stage), key=lambda k: abs(c[k] - c[stage]))[:_GUESS]
    found = []
    for k in near:
        weight = 1.0
        for other in near:
            weight *= (c[stage] - c[other]) / (c[k] - c[other]) if other != k else 1.0
        found.append((k, weight))
    return found


def _between(share: Any) -> list[tuple[int, Any]]:
    return [(PLACES[k], weight) for k, weight in esdirk_weights(share)]


_WEIGHTS = tuple(ESDIRK_ERROR[PLACES.index(k)] if k in PLACES else 0.0 for k in range(7))
GUESSES = {stage: _guess(stage) for stage in range(1, len(PLACES))}
ESDIRK4 = Pair(_attempt, _WEIGHTS, 0.25, _between, keeps=True)
