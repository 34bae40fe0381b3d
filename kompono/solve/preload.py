"""The start of a run of the discrete engine: links that carry their loads already.

A link exerts k g + c g_dot, so at the assembled position it exerts nothing, and a run from there would begin with
unloaded joints that ring. What the joints have to carry follows from the machine without links: its conditions would
accelerate by r, and links must take that away. With W = M^-1 = L L^T and H = G L,

    H H^T y = r,      s = H^T y,      H^T K H z = s

the displacements L z stretch the links by G L z, and K of that is just the load; where joints share a load, as their
stiffness says. Conditions on velocities alone have no stretch: they slip by the load over their damping.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.compile import Interpreter
from kompono.solve.stiffness import LinkTable

SMALL = 1e-6  # s, of the difference that gives the accelerations of the conditions
DENSE = 600  # unknowns up to which systems are solved by least squares


def preloaded(
    kernel: Any,
    here: tuple[float, np.ndarray, np.ndarray],
    parameters: tuple[np.ndarray, np.ndarray],
    table: LinkTable,
    strength: tuple[np.ndarray, np.ndarray],
    slips: np.ndarray,
) -> np.ndarray:
    """The state with links that carry the loads of `here` (time, state, inputs).

    `parameters` are those without and with links, `strength` stiffness and damping of each row, `slips` says which rows
    are on velocities alone.
    """
    time, state, inputs = here
    missing = _accelerations(kernel, time, state, inputs, parameters[0], table.weights)
    matrix, roots = _scaled(table, len(missing))
    weight = np.where(slips, strength[1], strength[0])
    held = (weight > 0) & np.isfinite(missing)
    rows, weight = matrix[held], weight[held]
    needed = rows.T @ _solve(rows @ rows.T, missing[held])
    stretch = _solve(rows.T @ _times(weight, rows), needed)
    changes = [stretch, np.zeros_like(stretch)]
    if slips.any():  # what stretches must not slip, and what slips must not stretch
        wanted = rows @ stretch
        parts = (np.where(slips[held], 0.0, wanted), np.where(slips[held], wanted, 0.0))
        changes = [rows.T @ _solve(rows @ rows.T, part) for part in parts]
    move, speed = (np.einsum("bij,bj->bi", roots, change.reshape(-1, 6)).ravel() for change in changes)
    if not (np.isfinite(move).all() and np.isfinite(speed).all()):
        return state
    first, count = len(kernel.program.coordinates), len(kernel.program.speeds)
    moved = state.copy()
    moved[first : first + count] = move
    moved = np.array(kernel.evaluate("drift", time, moved, inputs, parameters[1])[0])
    moved[first : first + count] = state[first : first + count] + speed
    return moved


def _accelerations(
    kernel: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Second rates (rows) of the conditions in the motion without links, by a central difference of the first."""
    plain, rate = Interpreter(kernel.program), np.zeros_like(state)
    first, bodies = len(kernel.program.coordinates), len(weights)
    kicks = np.asarray(kernel.evaluate("kick", time, state, inputs, parameters)[0]).reshape(bodies, 6)
    turns = state[: 12 * bodies].reshape(bodies, 12)[:, 3:].reshape(bodies, 3, 3)  # transposed: column by column
    v, w = np.split(state[first : first + 6 * bodies].reshape(bodies, 6), 2, axis=1)
    spin = np.linalg.solve(weights[:, 3:, 3:], w[:, :, None])[:, :, 0]
    places = rate[: 12 * bodies].reshape(bodies, 12)
    places[:, :3] = np.einsum("bji,bj->bi", turns, v)
    places[:, 3:] = np.cross(turns.transpose(0, 2, 1), w[:, None, :]).transpose(0, 2, 1).reshape(bodies, 9)
    speeds = rate[first : first + 6 * bodies].reshape(bodies, 6)
    speeds[:, :3] = kicks[:, :3] - np.cross(w, v)
    speeds[:, 3:] = kicks[:, 3:] - np.einsum("bij,bj->bi", weights[:, 3:, 3:], np.cross(w, spin))

    def rates(h: float) -> np.ndarray:
        return plain.evaluate("condition_rates", time + h, state + h * rate, inputs, parameters)[0]

    return (rates(SMALL) - rates(-SMALL)) / (2 * SMALL)


def _scaled(table: LinkTable, count: int) -> tuple[Any, np.ndarray]:
    """H (rows, 6 bodies), sparse, and L (bodies, 6, 6)."""
    from scipy.sparse import coo_array  # only this engine needs it

    roots = np.linalg.cholesky(table.weights)
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for first, body, block in table.blocks:
        i, j = np.meshgrid(np.arange(len(block)), np.arange(6), indexing="ij")
        entries.append(((block @ roots[body]).ravel(), (first + i).ravel(), (6 * body + j).ravel()))
    values, i, j = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
    return coo_array((values, (i, j)), shape=(count, 6 * len(roots))).tocsr(), roots


def _times(weight: np.ndarray, rows: Any) -> Any:
    from scipy.sparse import diags_array

    return diags_array(weight) @ rows


def _solve(matrix: Any, right: np.ndarray) -> np.ndarray:
    """A solution of a symmetric system that has one, even if the matrix is singular."""
    if len(right) <= DENSE:
        return np.linalg.lstsq(matrix.toarray(), right, rcond=1e-12)[0]
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    factors = splu((matrix + 1e-12 * matrix.diagonal().max() * eye_array(len(right))).tocsc())
    found = factors.solve(right)
    for _ in range(3):
        found = found + factors.solve(right - matrix @ found)
    return found
