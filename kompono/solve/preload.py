"""The start of a run of the discrete engine: links that carry their loads already.

A link exerts k g + c g_dot, so at the assembled position it exerts nothing, and a run from there would begin with
unloaded joints that ring. What the joints have to carry follows from the machine without links: its conditions would
accelerate by r, and links must take that away. With W = M^-1 = L L^T and H = G L,

    H H^T y = r,      s = H^T y,      H^T K H z = s

the displacements L z stretch the links by G L z, and K of that is just the load; where joints share a load, as their
stiffness says. Conditions on velocities alone have no stretch: they slip by the load over their damping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.compile import Interpreter
from kompono.solve.stiffness import LinkTable

SMALL = 1e-6  # s, of the difference that gives the accelerations of the conditions
ROUNDING = 1e-14  # of the largest entry of a solution
DENSE = 600  # unknowns up to which systems are solved by least squares

Solve = Callable[[Any, np.ndarray], np.ndarray]


def preloaded(
    kernel: Any,
    here: tuple[float, np.ndarray, np.ndarray],
    parameters: tuple[np.ndarray, np.ndarray],
    table: LinkTable,
    strength: tuple[np.ndarray, np.ndarray],
    slips: np.ndarray,
) -> np.ndarray:
    """The states (runs, n) with links that carry the loads of `here` (time, states (runs, n), inputs).

    `parameters` (runs, p) are those without and with links, `strength` stiffness and damping (runs, rows), `slips` says
    which rows are on velocities alone.
    """
    time, states, inputs = here
    fed = np.broadcast_to(inputs, (len(states), len(kernel.program.inputs)))
    missing = _accelerations(kernel, time, states, fed, parameters[0], table.weights)
    weight = np.where(slips, strength[1], strength[0])
    weight[~np.isfinite(missing)] = 0.0
    missing[weight <= 0] = 0.0
    roots = np.linalg.cholesky(table.weights)
    move, speed = (
        np.einsum("rbij,rbj->rbi", roots, change.reshape(*roots.shape[:2], 6)).reshape(len(states), -1)
        for change in _changes(table, roots, weight, missing, slips)
    )
    fine = (np.isfinite(move) & np.isfinite(speed)).all(axis=1, keepdims=True)
    first, count = len(kernel.program.coordinates), len(kernel.program.speeds)
    moved = states.copy()
    moved[:, first : first + count] = np.where(fine, move, 0.0)
    moved = kernel.map("drift", np.full(len(states), time), moved, fed, parameters[1])
    moved[:, first : first + count] = states[:, first : first + count] + speed
    return np.where(fine, moved, states)


def _accelerations(
    kernel: Any, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Second rates (runs, rows) of the conditions in the motion without links, by a central difference of the first."""
    plain, rate, (runs, bodies) = Interpreter(kernel.program), np.zeros_like(states), weights.shape[:2]
    first = len(kernel.program.coordinates)
    kicks = kernel.map("kick", np.full(runs, time), states, inputs, parameters).reshape(runs, bodies, 6)
    turns = states[:, : 12 * bodies].reshape(runs, bodies, 12)[:, :, 3:]  # transposed: column by column
    turns = turns.reshape(runs, bodies, 3, 3)
    v, w = np.split(states[:, first : first + 6 * bodies].reshape(runs, bodies, 6), 2, axis=2)
    spin = np.linalg.solve(weights[..., 3:, 3:], w[..., None])[..., 0]
    places = rate[:, : 12 * bodies].reshape(runs, bodies, 12)
    places[..., :3] = np.einsum("rbji,rbj->rbi", turns, v)
    turning = np.cross(turns.swapaxes(2, 3), w[:, :, None, :]).swapaxes(2, 3)
    places[..., 3:] = turning.reshape(runs, bodies, 9)
    speeds = np.concatenate(
        [
            kicks[..., :3] - np.cross(w, v),
            kicks[..., 3:] - np.einsum("rbij,rbj->rbi", weights[..., 3:, 3:], np.cross(w, spin)),
        ],
        axis=2,
    )
    rate[:, : 12 * bodies] = places.reshape(runs, -1)
    rate[:, first : first + 6 * bodies] = speeds.reshape(runs, -1)

    def rates(h: float) -> np.ndarray:
        return plain.evaluate_rows(
            "condition_rates", np.full((runs, 1), time + h), states + h * rate, inputs, parameters
        )[0]

    return (rates(SMALL) - rates(-SMALL)) / (2 * SMALL)


def _changes(
    table: LinkTable, roots: np.ndarray, weight: np.ndarray, missing: np.ndarray, slips: np.ndarray
) -> list[np.ndarray]:
    """Displacements and changes of speed (runs, 6 bodies), over L, that make links carry what is `missing`."""
    if max(weight.shape[1], 6 * roots.shape[1]) <= DENSE:
        rows = np.zeros((*weight.shape, 6 * roots.shape[1]))
        for first, body, block in table.blocks:
            rows[:, first : first + block.shape[1], 6 * body : 6 * body + 6] += block @ roots[:, body]
        rows[weight <= 0] = 0.0
        changes = _solved(rows, rows.swapaxes(1, 2), weight[..., None], missing[..., None], slips[:, None], _dense)
        return [change[..., 0] for change in changes]
    found: list[list[np.ndarray]] = []
    for run in range(len(weight)):
        held = weight[run] > 0
        rows = _sparse(table.of(run), roots[run], len(held))[held]
        given = weight[run, held, None], missing[run, held, None], slips[held, None]
        found.append([change[:, 0] for change in _solved(rows, rows.T, *given, _factored)])
    return [np.array(changes) for changes in zip(*found, strict=True)]


def _solved(
    rows: Any, across: Any, weight: np.ndarray, missing: np.ndarray, slips: np.ndarray, solve: Solve
) -> list[np.ndarray]:
    """The two changes from H, H^T and what belongs to their rows, as columns."""
    stretch = solve(across @ (rows * weight), across @ solve(rows @ across, missing))
    if not slips.any():
        return [stretch, np.zeros_like(stretch)]
    wanted = rows @ stretch  # what stretches must not slip, and what slips must not stretch
    parts = (np.where(slips, 0.0, wanted), np.where(slips, wanted, 0.0))
    return [across @ solve(rows @ across, part) for part in parts]


def _sparse(table: LinkTable, roots: np.ndarray, count: int) -> Any:
    """H (rows, 6 bodies) of one run, sparse."""
    from scipy.sparse import coo_array  # only this engine needs it

    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for first, body, (block,) in table.blocks:
        i, j = np.meshgrid(np.arange(len(block)), np.arange(6), indexing="ij")
        entries.append(((block @ roots[body]).ravel(), (first + i).ravel(), (6 * body + j).ravel()))
    values, i, j = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
    return coo_array((values, (i, j)), shape=(count, 6 * len(roots))).tocsr()


def _dense(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest solutions of symmetric systems (runs, n, n) that have one, even if a matrix is singular. What is
    rounding in them is zero: what nothing loads is not set swinging.
    """
    values, vectors = np.linalg.eigh(matrix)
    small = np.abs(values) <= 1e-12 * np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    inverse = np.where(small, 0.0, 1.0 / np.where(small, 1.0, values))
    found = vectors @ (inverse[..., None] * (vectors.swapaxes(1, 2) @ right))
    return np.where(np.abs(found) > ROUNDING * np.abs(found).max(axis=1, keepdims=True, initial=0.0), found, 0.0)


def _factored(matrix: Any, right: np.ndarray) -> np.ndarray:
    """A solution of a symmetric sparse system that has one."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    factors = splu((matrix + 1e-12 * matrix.diagonal().max() * eye_array(len(right))).tocsc())
    found = factors.solve(right)
    for _ in range(3):
        found = found + factors.solve(right - matrix @ found)
    return found
