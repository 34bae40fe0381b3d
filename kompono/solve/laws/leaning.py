"""Below which speeds of slip in a plane its direction leans to the one that is chosen: see `compile/slow_slip`.

They are what friction changes in some of the shortest pieces of a step there are. Where slip is near rest and may end,
or pass by, these are far shorter than usual, down to what speeds of slip are known to (`compile/paced`).
"""

from __future__ import annotations

import numpy as np

from kompono.compile.law_bounds import SLOW
from kompono.compile.paced import CLOSE, NEAR, Leaning
from kompono.compile.slow_slip import STEPS
from kompono.solve.laws.units import Kind, LawsInPlay, UnitChoice, UnitMode

ENOUGH = 8.0  # times SLOW: no direction leans at lower speeds while slip ends


def leaning_below(
    part: LawsInPlay, found: UnitChoice, speeds: np.ndarray, step: float, leaning: Leaning
) -> np.ndarray:  # fmt: skip
    """These speeds (units), for units that slip at `speeds`, and pieces no shorter than `step` [s] as a rule."""
    problem, sides = part.problem, np.zeros(len(part.rows))
    reaction = problem.n0 + problem.B @ found.z
    for i, unit in enumerate(part.units):
        if unit.kind == Kind.PLANAR and found.modes[i] == UnitMode.SLIDES:
            size = np.linalg.norm(reaction[unit.first : unit.first + unit.count])
            sides[unit.row : unit.row + 2] = problem.mu[i] * size + problem.limit[i]
    changes = np.abs(problem.A) @ sides
    planar = np.array([unit.kind == Kind.PLANAR for unit in part.units], dtype=bool)
    rows = np.array([unit.row for unit in part.units], dtype=int)
    fastest = np.maximum(changes[rows], changes[rows + planar])  # how fast friction changes slip
    if leaning.closer:
        near = planar & (speeds > 0.0) & (speeds < NEAR * STEPS * step * fastest)
        least = ENOUGH * SLOW / (STEPS * fastest[near].min()) if near.any() else 0.0
        leaning.shortest = step = min(step, max(CLOSE * leaning.times, least))
    return np.maximum(STEPS * step * fastest, SLOW)
