"""Slip of light things at its end: where its event is located, it has passed through nothing, and is not slow there.

Slip below 1e-8 m/s at an event is none. Events are located to 1e-12 s, in which what is light, and pressed or pulled
hard, gets faster than that; taken for slip that goes on the other way it would turn round for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kompono.compile.law_bounds import SLOW
from kompono.solve.laws.units import Kind

if TYPE_CHECKING:
    from kompono.solve.instant import Instant

LOCATED = 1e-11  # [s], a few times what events are located to


def turning(instant: Instant, fired: Sequence[int]) -> set[int]:
    """Units whose guard `fired` for slip that has passed through nothing: it is against the way it had, by no more than
    it changes while an event is located. If these slip in a plane, all that slips so and is as near to rest, too: what
    slides on several feet stops on all of them.
    """
    slips = {
        k: instant.view.rate[instant.rows(k)]
        for k, unit in enumerate(instant.units)
        if unit.kind != Kind.ONE_SIDED and instant.touching[k] and instant.before[k]
    }
    fast = {k: slip for k, slip in slips.items() if np.linalg.norm(slip) > SLOW}
    against = [k for k in fired if k in fast and _way(instant, k) @ fast[k] < 0.0]
    if not against:
        return set()
    ends = {k for k, slip in fast.items() if np.linalg.norm(slip) <= LOCATED * _changing(instant, k)}
    found = ends.intersection(against)
    planar = any(instant.units[k].kind == Kind.PLANAR for k in found)
    return found | {k for k in ends if planar and instant.units[k].kind == Kind.PLANAR}


def _way(instant: Instant, number: int) -> np.ndarray:
    """The direction in which friction slipped before."""
    unit = instant.units[number]
    return instant.modes_before[list(unit.modes)][1:] if unit.kind == Kind.PLANAR else instant.before[[number]]


def _changing(instant: Instant, number: int) -> float:
    """How fast slip changes about at most [m/s^2, rad/s^2]: by what acts, and by friction at its limit."""
    unit, view, rows = instant.units[number], instant.view, instant.rows(number)
    mu, _, limit = view.numbers[number, :3].tolist()
    measure = float(np.linalg.norm(view.measures[unit.first : unit.first + unit.count]))
    if unit.contact >= 0:  # what presses a closed gap, if it were the only one
        row = instant.units[unit.contact].row
        mobile = _mobility(instant, row)
        measure = max(-float(view.w[row]), 0.0) / mobile if mobile > 0.0 else 0.0
    mobility = max(_mobility(instant, row) for row in rows)
    return float(np.linalg.norm(view.w[rows])) + mobility * (mu * measure + limit)


def _mobility(instant: Instant, row: int) -> float:
    """How a force on a row moves it."""
    return float(instant.column(row)[0][row])
