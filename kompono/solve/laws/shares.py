"""How redundant rows share what they bear, as native code has it (`compile/law_shares.py`): by what they can bear."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from kompono.compile.law_shares import FIRM, LEAST, PASSES, STEADY
from kompono.solve.laws.units import Kind, UnitMode

__all__ = ["PASSES", "are_steady", "first_weights", "next_weights"]


def first_weights(system: Any, state: Any) -> tuple[np.ndarray, bool]:
    """Weights (m) of rows where no forces are known yet; whether friction that sticks is among them."""
    weights, sticking = np.full(system.size, FIRM), _sticking(system, state)
    for unit in sticking:
        weights[list(system.layout.rows[unit])] = 1.0
    return weights, bool(sticking)


def next_weights(system: Any, state: Any, z: np.ndarray) -> np.ndarray:
    """The same, from limits with forces z (m)."""
    roots = {unit: sqrt(_limit(system, unit, z)) for unit in _sticking(system, state)}
    own = np.zeros(system.size)
    for unit, root in roots.items():
        own[list(system.layout.rows[unit])] = root
    most = np.where(system.A != 0.0, own, 0.0).max(axis=1, initial=0.0)
    most[most == 0.0] = 1.0
    weights = FIRM * most
    for unit in roots:
        rows = list(system.layout.rows[unit])
        weights[rows] = np.maximum(own[rows], LEAST * most[rows])
    return weights


def are_steady(old: np.ndarray, new: np.ndarray) -> bool:
    """Whether weights are what they were."""
    return bool(np.all(np.abs(new - old) <= STEADY * new))


def _sticking(system: Any, state: Any) -> list[int]:
    kinds, held = system.layout.kinds, int(UnitMode.HELD)
    limits = zip(system.mu_static, system.limit_static, strict=True)
    limited = [mu > 0 or limit > 0 for mu, limit in limits]
    return [
        u for u, mode in enumerate(state.modes) if mode == held and kinds[u] != Kind.ONE_SIDED and limited[u]
    ]  # fmt: skip


def _limit(system: Any, unit: int, z: np.ndarray) -> float:
    """The static limit; what is measured counts as nothing where it pulls."""
    first, last = system.layout.measures[unit]
    size = 0.0
    if last > first:
        force = system.n0[first:last] + system.B[first:last] @ z
        size = max(float(force[0]), 0.0) if system.layout.linear[unit] else float(np.linalg.norm(force))
    return float(system.mu_static[unit] * size + system.limit_static[unit])
