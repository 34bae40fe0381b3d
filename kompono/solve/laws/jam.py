"""Why no forces fit: a sliding contact whose friction presses it together faster than it can give way (Painleve).

While a contact slides, its gap answers its own normal force with A_nn - mu d . A_tn; at the critical friction that
vanishes, beyond it pushing closes the gap further, and no force can hold a contact that wants to close.
"""

from __future__ import annotations

import numpy as np

from kompono.solve.laws.check import ONE_SIDED, Freedom
from kompono.solve.laws.forces import HELD, System, UnitStates
from kompono.solve.laws.pseudo import inverse


def critical_friction(system: System, state: UnitStates, freedom: Freedom) -> tuple[list[int], float | None]:
    """Contacts (units) that jam, the worst first, and the friction at which the worst begins to."""
    found = []
    for contact, kind in enumerate(system.layout.kinds):
        if kind != ONE_SIDED:
            continue
        for unit in system.layout.frictions[contact]:
            if freedom.free[unit] or not any(state.ways[unit]):
                continue
            own, pressed = _mobility(system, state, contact, unit)
            mu = system.mu[unit]
            if pressed > 0.0 and mu * pressed > own * (1.0 - 1e-9):
                found.append((own / pressed / mu, contact, own / pressed))
    found.sort()
    return [contact for _, contact, _ in found], found[0][2] if found else None


def _mobility(system: System, state: UnitStates, contact: int, unit: int) -> tuple[float, float]:
    """How much the gap opens per normal force, and closes per friction force, with other closed units held."""
    others = [
        row
        for other, mode in enumerate(state.modes)
        if mode == HELD and other != contact
        for row in system.layout.rows[other]
    ]
    row, A = system.layout.rows[contact][0], system.A
    answer = A[row]
    if others:
        answer = answer - A[row, others] @ inverse(A[np.ix_(others, others)], system.scale[others]) @ A[others]
    first = system.layout.measures[unit][0]
    per_normal = float(system.B[first, row]) if system.layout.linear[unit] else 1.0
    pressed = sum(part * float(answer[k]) for part, k in zip(state.ways[unit], system.layout.rows[unit], strict=False))
    return float(answer[row]), pressed * per_normal
