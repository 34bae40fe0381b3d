"""Starts of bodies that hang on joints: coordinates and speeds nobody gave are chosen so that the bodies are near them.

They rank behind start values of joints: where such values keep a body from its place, the others are left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kompono.solve.loops import RANK, Loops

if TYPE_CHECKING:
    from kompono.translate.starts.asked import AskedBody

SIZE = 13  # position, quaternion, velocity, angular velocity of a body in the routine `placement`
PLACES = {
    "position": slice(0, 3),
    "orientation": slice(3, 7),
    "velocity": slice(7, 10),
    "angular_velocity": slice(10, 13),
}
MET = 1e-7  # [m, rad] what counts as met when a place is looked for
STEPS = 60


def hanging(loops: Loops, kinds: tuple[str, str]) -> list[AskedBody]:
    """Bodies on joints of which one of these kinds of start was asked."""
    return [body for body in loops.start.bodies if body.root is None and any(k in body.values for k in kinds)]


def bring_near(loops: Loops, state: np.ndarray) -> np.ndarray:
    """The state with coordinates nobody gave moved until bodies are as near as possible to their places."""
    bodies = hanging(loops, ("position", "orientation"))
    if not bodies:
        return state
    movable = loops.firmness() == 0
    residual = _places(loops, state, bodies)
    if np.abs(residual).max() < MET or not movable.any():
        return state
    near, damping = state, 1e-3
    for _ in range(STEPS):
        matrix = _slopes(loops, near, bodies, ("velocity", "angular_velocity"), ("position", "orientation"))[:, movable]
        g, _, rows, _ = loops.conditions(near)
        matrix, off = np.vstack([matrix, rows[:, movable]]), np.concatenate([residual, g])
        step = np.zeros(loops.nv)
        weight = np.sqrt(damping) * np.linalg.norm(matrix, axis=0)
        padded = np.vstack([matrix, np.diag(weight)])
        step[movable] = -np.linalg.lstsq(padded, np.concatenate([off, np.zeros(len(weight))]), rcond=RANK)[0]
        trial = loops.move(near, step / max(1.0, np.abs(step).max()))
        tried = _places(loops, trial, bodies)
        size, before = np.linalg.norm(np.concatenate([tried, loops.conditions(trial)[0]])), np.linalg.norm(off)
        if size < before:
            near, residual, damping = trial, tried, damping / 10
        else:
            damping *= 10
        if before < 1e-13 or damping > 1e8 or (size < before and size > before * (1 - 1e-9)):
            break
    contradicted = loops.start.given_coordinates.max(initial=0) > 1 and np.abs(residual).max() > MET
    return state if contradicted else near


def follow(loops: Loops, state: np.ndarray) -> np.ndarray:
    """The state with speeds that neither conditions nor the user decide chosen by the velocities of bodies."""
    kinds = ("velocity", "angular_velocity")
    bodies = hanging(loops, kinds)
    if not bodies:
        return state
    held = np.eye(loops.nv)[loops.start.given_speeds > 0]
    rows = [held, loops.conditions(state)[2]]
    if loops.speeds.size:
        rows.append(loops.measured(state)[3][loops.speeds.place])
    free = _null_space(np.vstack(rows))
    off = _velocities(loops, state, bodies)
    if not free.shape[1] or np.abs(off).max() < 1e-12:
        return state
    matrix = _slopes(loops, state, bodies, kinds, kinds) @ free
    state = state.copy()
    state[loops.nq : loops.nq + loops.nv] -= free @ np.linalg.lstsq(matrix, off, rcond=RANK)[0]
    return state


def turn_roots(loops: Loops, state: np.ndarray) -> np.ndarray:
    """The state with velocities of bodies placed in the world as asked for: their speeds are in axes that may have been
    turned since.
    """
    state = state.copy()
    for body in loops.start.bodies:
        if body.root is not None and not body.level:
            q, v = body.root[0], loops.nq + body.root[1]
            back = matrix_of(state[q + 3 : q + 7]).T
            for kind, place in (("velocity", v), ("angular_velocity", v + 3)):
                if kind in body.values and not np.array_equal(state[q + 3 : q + 7], loops.start.state[q + 3 : q + 7]):
                    state[place : place + 3] = back @ body.values[kind]
    return state


def actual(loops: Loops, state: np.ndarray, bodies: list[AskedBody]) -> dict[str, dict[str, np.ndarray]]:
    """What was asked of bodies (position, orientation, velocities) as it is, by path and kind."""
    found = {}
    placed = _placed(loops, state) if any(body.root is None for body in bodies) else np.zeros((0, SIZE))
    for body in bodies:
        if body.root is None:
            values = placed[body.number]
        else:
            q, v = body.root[0], loops.nq + body.root[1]
            turned = np.eye(3) if body.level else matrix_of(state[q + 3 : q + 7])
            speeds = turned @ state[v : v + 3], turned @ state[v + 3 : v + 6]
            values = np.concatenate([state[q : q + 7], *speeds])
        found[body.path] = {kind: values[PLACES[kind]] for kind in body.values}
    return found


def turn_between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rotation vector (3) [rad] in the world that takes quaternion `one` to `other`."""
    a0, a, b0, b = one[0], one[1:], other[0], other[1:]
    scalar, vector = a0 * b0 + a @ b, a0 * b - b0 * a - np.cross(b, a)
    length = np.linalg.norm(vector)
    angle = 2 * np.arctan2(length, abs(scalar))
    return np.zeros(3) if length < 1e-300 else np.copysign(angle, scalar) * vector / length


def matrix_of(e: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion of any length."""
    e0, v = e[0], e[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return ((e0**2 - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * e0 * cross) / (e @ e)


def _placed(loops: Loops, state: np.ndarray) -> np.ndarray:
    """All bodies (n, 13)."""
    (values,) = loops.evaluate("placement", state)
    last = max((body.number for body in loops.start.bodies), default=-1)
    return values[: SIZE * (last + 1)].reshape(-1, SIZE)


def _places(loops: Loops, state: np.ndarray, bodies: list[AskedBody]) -> np.ndarray:
    """How far bodies are from where they were asked to be [m, rad]."""
    placed, off = _placed(loops, state), []
    for body in bodies:
        if "position" in body.values:
            off.append(placed[body.number][PLACES["position"]] - body.values["position"])
        if "orientation" in body.values:
            off.append(turn_between(body.values["orientation"], placed[body.number][PLACES["orientation"]]))
    return np.concatenate(off)


def _velocities(loops: Loops, state: np.ndarray, bodies: list[AskedBody]) -> np.ndarray:
    placed, off = _placed(loops, state), []
    for body in bodies:
        for kind in ("velocity", "angular_velocity"):
            if kind in body.values:
                off.append(placed[body.number][PLACES[kind]] - body.values[kind])
    return np.concatenate(off)


def _slopes(
    loops: Loops, state: np.ndarray, bodies: list[AskedBody], kinds: tuple[str, str], asked: tuple[str, str]
) -> np.ndarray:
    """How velocities of bodies depend on speeds (rows, nv), one unit speed at a time; rows for what was `asked`."""
    chosen = [
        SIZE * body.number + np.arange(SIZE)[PLACES[kind]]
        for body in bodies
        for kind, of in zip(kinds, asked, strict=True)
        if of in body.values
    ]
    picked = np.concatenate(chosen)
    still = state.copy()
    still[loops.nq : loops.nq + loops.nv] = 0.0
    rest = _placed(loops, still).ravel()[picked]
    columns = []
    for k in range(loops.nv):
        still[loops.nq + k] = 1.0
        columns.append(_placed(loops, still).ravel()[picked] - rest)
        still[loops.nq + k] = 0.0
    return np.column_stack(columns)


def _null_space(matrix: np.ndarray) -> np.ndarray:
    _, values, right = np.linalg.svd(matrix)
    rank = int(np.sum(values > RANK * values.max(initial=0.0)))
    return right[rank:].T
