"""Slip in a plane that is marked as straight (`compile/straight_slip`), as others see it: who asks how a motion changes
with what acts, and not what it is, takes it for any other slip, and so do laws that settle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.solve.laws.table import UnitTable
from kompono.solve.laws.units import Kind


def usual(program: Any, state: np.ndarray) -> np.ndarray:
    """A state in which slip that is straight is taken for any other."""
    known = program.mode_places
    slips = [unit.modes[0] for unit in program.laws if unit.kind == Kind.PLANAR and unit.modes[0] in known]
    places = [known[mode] for mode in slips]
    state = state.copy()
    state[places] = np.abs(state[places])
    return state


def unmarked(modes: np.ndarray, table: UnitTable) -> tuple[np.ndarray, np.ndarray]:
    """All modes with slip that is straight as any other, and which units slip so."""
    places, straight = table.first_mode[table.planar], np.zeros(len(table.row), dtype=bool)
    straight[table.planar] = modes[places] < 0.0
    modes[places] = np.abs(modes[places])
    return modes, straight
