"""Consistent speeds: least changes that fulfil the conditions, with what was given held as far as it can be.

Everything is linear here. Speeds of joints in the tree are held by not moving them, those of joints that close loops
by rows of their own. What the velocities of bodies leave open is chosen last, as near to them as possible.
"""

from __future__ import annotations

import numpy as np

from kompono.solve.loops import RANK, TOLERANCE, LoopGroup, Loops


def match_speeds(loops: Loops, state: np.ndarray, rank: float = RANK, allowed: float = 0.0) -> np.ndarray:
    """The state with consistent speeds; where they contradict, with those that contradict least.

    `rank` and `allowed` (relative) say what lengths that are rounded leave of implied conditions.
    """
    for part in loops.parts:
        state = _match_part(loops, state, part, rank, allowed)
    return state


def _match_part(loops: Loops, state: np.ndarray, part: LoopGroup, rank: float, allowed: float) -> np.ndarray:
    firmness, asked = loops.start.given_speeds[part.speeds], loops.speeds.firmness[part.asked_speeds]
    matched = state
    for level in levels_of(firmness, asked):
        movable = part.speeds[firmness < level]
        held = part.asked_speeds[asked >= level]
        matched = state.copy()
        for _ in range(2):
            residual, matrix = _rows(loops, matched, part, held)
            if len(movable):
                matched[loops.nq + movable] -= np.linalg.lstsq(matrix[:, movable], residual, rcond=rank)[0]
        residual, _ = _rows(loops, matched, part, held)
        scale = 1.0 + np.abs(matched[loops.nq + part.speeds]).max(initial=0.0)
        if np.abs(residual).max(initial=0.0) <= (TOLERANCE + allowed) * scale:
            return matched
    return matched


def levels_of(*firmness: np.ndarray) -> list[int]:
    """What to hold, one attempt after the other: everything of at least this firmness, at last nothing."""
    found = sorted({int(level) for part in firmness for level in part if level})
    return [*found, found[-1] + 1] if found else [1]


def _rows(loops: Loops, state: np.ndarray, part: LoopGroup, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residual and slopes of a part's conditions on the speeds, and of the speeds of closing joints that are held."""
    _, g_dot, matrix, _ = loops.conditions(state)
    if not len(held):
        return g_dot[part.rows], matrix[part.rows]
    _, _, speeds, slopes = loops.measured(state)
    place = loops.speeds.place[held]
    off = speeds[place] - loops.speeds.asked[held]
    return np.concatenate([g_dot[part.rows], off]), np.vstack([matrix[part.rows], slopes[place]])
