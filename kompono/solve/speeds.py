"""Consistent speeds: least changes that fulfil the conditions, with what was given held as far as it can be.

Everything is linear here. Speeds of joints in the tree are held by not moving them, those of joints that close loops
by rows of their own. What the velocities of bodies leave open is chosen last, as near to them as possible. All parts
are looked at with one evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kompono.solve.loops import RANK, TOLERANCE, LoopGroup, Loops

_NOTHING = np.zeros(0, dtype=int), np.zeros(0, dtype=int)


@dataclass(eq=False)
class _Unmatched:
    """A part whose speeds are not matched yet, and what to hold in the attempts to come."""

    part: LoopGroup
    levels: list[int]
    movable: np.ndarray
    held: np.ndarray


def match_speeds(loops: Loops, state: np.ndarray, rank: float = RANK, allowed: float = 0.0) -> np.ndarray:
    """The state with consistent speeds; where they contradict, with those that contradict least.

    `rank` and `allowed` (relative) say what lengths that are rounded leave of implied conditions.
    """
    waiting, matched = [_Unmatched(part, _levels(loops, part), *_NOTHING) for part in loops.parts], state.copy()
    while waiting:
        for now in waiting:
            part, level = now.part, now.levels.pop(0)
            matched[loops.nq + part.speeds] = state[loops.nq + part.speeds]
            now.movable = part.speeds[loops.start.given_speeds[part.speeds] < level]
            now.held = part.asked_speeds[loops.speeds.firmness[part.asked_speeds] >= level]
        for _ in range(2):
            for now, (residual, matrix) in zip(waiting, _rows(loops, matched, waiting), strict=True):
                if len(now.movable):
                    step = np.linalg.lstsq(matrix[:, now.movable], residual, rcond=rank)[0]
                    matched[loops.nq + now.movable] -= step
        waiting = [now for now in waiting if now.levels]
        for now, (residual, _) in [*zip(waiting, _rows(loops, matched, waiting), strict=True)]:
            scale = 1.0 + np.abs(matched[loops.nq + now.part.speeds]).max(initial=0.0)
            if np.abs(residual).max(initial=0.0) <= (TOLERANCE + allowed) * scale:
                waiting.remove(now)
    return matched


def _levels(loops: Loops, part: LoopGroup) -> list[int]:
    return levels_of(loops.start.given_speeds[part.speeds], loops.speeds.firmness[part.asked_speeds])


def levels_of(*firmness: np.ndarray) -> list[int]:
    """What to hold, one attempt after the other: everything of at least this firmness, at last nothing."""
    found = sorted({int(level) for part in firmness for level in part if level})
    return [*found, found[-1] + 1] if found else [1]


def _rows(loops: Loops, state: np.ndarray, waiting: Sequence[_Unmatched]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Residual and slopes of conditions of parts on the speeds, and of the speeds of closing joints that are held."""
    if not waiting:
        return []
    _, g_dot, matrix, _ = loops.conditions(state)
    found = [(g_dot[now.part.rows], matrix[now.part.rows]) for now in waiting]
    if not any(len(now.held) for now in waiting):
        return found
    _, _, speeds, slopes = loops.measured(state)
    for k, (now, (residual, rows)) in enumerate(zip(waiting, found, strict=True)):
        if len(now.held):
            place = loops.speeds.place[now.held]
            off = speeds[place] - loops.speeds.asked[now.held]
            found[k] = np.concatenate([residual, off]), np.vstack([rows, slopes[place]])
    return found
