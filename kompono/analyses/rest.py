"""Bring a machine to rest: what is unknown, what must vanish, and how it is searched for.

Unknown are the coordinates along the conditions (P z, see `tangent`), states of one's own, and what is trimmed. Rest
means speeds that prescribed motions leave, and no accelerations. Newton's method with exact slopes, damped, goes first.
Where it does not arrive, or arrives at a position that is not stable though one was asked for, the state follows
z_dot = accelerations in large implicit steps, as a machine in honey would, to a place that is stable (growth counts as
decay in these steps, so that they lead away from where the flow does); Newton's method ends it. What is held has no
say: its accelerations, and forces on it, are left out by weighing with the mass matrix, T^T M a = 0 in the directions
T that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kompono.analyses.held_laws import held_matrix, overlap
from kompono.analyses.mechanics import mass_matrix
from kompono.analyses.point import Point
from kompono.analyses.slopes import Slopes, differences
from kompono.analyses.tangent import RANK, find_tangent, null_space
from kompono.errors import RunError, suggest

SMALL = 1e-10  # accelerations [SI] that count as none, relative to those of the start where these are larger than 1
MOST = 60  # steps of Newton's method
PATIENCE = 400  # steps of the fall-back
NUDGES = 4  # how often a position that is not stable is left

Found = tuple[Point, int, str]  # where, after how many steps, by which method


class Task:
    """What is unknown and what must vanish."""

    def __init__(self, point: Point, held: tuple[str, ...], trimmed: tuple[str, ...]) -> None:
        program = point.simulation.program
        self.held, self.trimmed = held, trimmed
        self.rows = []
        for name in held:
            if name not in program.coordinates:
                raise RunError(f"there is no coordinate {name!r} to hold.", fix=suggest(name, program.coordinates))
            self.rows.append(program.coordinates.index(name))
        known = (*program.inputs, *program.parameters)
        for name in trimmed:
            if name not in known:
                raise RunError(f"there is no input or parameter {name!r} to trim.", fix=suggest(name, known))
        if len(trimmed) > len(held):
            fix = "Hold as many coordinates as are trimmed: then there is one answer."
            raise RunError(f"{len(trimmed)} names are to be trimmed and {len(held)} coordinates held.", fix=fix)
        self.locked = bool(held) and not trimmed  # forces hold it
        self.scale = max(1.0, self.size(point))

    def size(self, point: Point) -> float:
        """The largest acceleration, or rate of a state of one's own."""
        rate = point.rate
        return float(np.abs(np.concatenate([rate[point.place.v], rate[point.place.s]])).max(initial=0.0))

    def values(self, point: Point) -> dict[str, float]:
        """What was trimmed, by name."""
        program = point.simulation.program
        known = dict(zip(program.inputs, point.inputs, strict=True))
        known |= dict(zip(program.parameters, point.parameters, strict=True))
        return {name: float(known[name]) for name in self.trimmed}

    def directions(self, point: Point) -> np.ndarray:
        """Changes of the state (state, k) that are free: coordinates along the conditions, held ones apart, and states
        of one's own.
        """
        tangent = find_tangent(point)
        count, speeds = len(tangent.coordinates), len(tangent.speeds)
        moves = tangent.basis[:, :count].copy()
        moves[point.place.v] = 0.0
        if self.rows:
            moves = moves @ null_space(moves[self.rows])
        return np.hstack([moves, tangent.basis[:, count + speeds :]])

    def residual(self, point: Point) -> np.ndarray:
        """What must vanish."""
        rate = point.rate
        accelerations, own = rate[point.place.v], rate[point.place.s]
        if self.locked:
            matrix = np.vstack([held_matrix(point), point.coordinate_rates()[self.rows]])
            left = np.eye(matrix.shape[1]) - np.linalg.pinv(matrix, rcond=RANK) @ matrix
            weights = mass_matrix(point)
            accelerations = left @ (weights @ accelerations) / np.abs(np.diag(weights)).max(initial=1e-300)
        return np.concatenate([accelerations, own])

    def slopes(self, point: Point, directions: np.ndarray) -> np.ndarray:
        """d residual / d unknowns."""
        if self.locked:
            return differences(point, directions, lambda there: self.residual(there.at_rest()))
        slopes = Slopes(point, "derivative")
        program = point.simulation.program
        columns = [slopes.along(directions)]
        for name in self.trimmed:
            if name in program.inputs:
                columns.append(slopes.of_inputs()[:, [program.inputs.index(name)]])
            else:
                columns.append(slopes.of_parameters()[:, [program.parameters.index(name)]])
        matrix = np.hstack(columns)
        return np.vstack([matrix[point.place.v], matrix[point.place.s]])

    def flow(self, point: Point, directions: np.ndarray) -> np.ndarray:
        """From the residual to rates of the unknowns."""
        place, own = point.place, len(point.simulation.program.states)
        moves = np.linalg.pinv(directions[place.q, : directions.shape[1] - own]) @ point.coordinate_rates()
        return np.block([[moves, np.zeros((len(moves), own))], [np.zeros((own, moves.shape[1])), np.eye(own)]])

    def moved(self, point: Point, directions: np.ndarray, step: np.ndarray) -> Point:
        """The point with its unknowns changed, loops closed."""
        program, count = point.simulation.program, directions.shape[1]
        inputs, parameters = point.inputs.copy(), point.parameters.copy()
        for name, change in zip(self.trimmed, step[count:], strict=True):
            if name in program.inputs:
                inputs[program.inputs.index(name)] += change
            else:
                parameters[program.parameters.index(name)] += change
        changed = point.with_inputs(inputs).with_parameters(parameters)
        there = changed.with_state(point.state + directions @ step[:count]).closed()
        for _ in range(10 if self.rows else 0):  # closing may have moved what is held
            off = point.state[self.rows] - there.state[self.rows]
            if np.abs(off).max() < 1e-13 * max(1.0, np.abs(point.state[self.rows]).max()):
                break
            basis = find_tangent(there).basis
            back = basis @ np.linalg.lstsq(basis[self.rows], off, rcond=None)[0]
            there = there.with_state(there.state + back).closed()
        return there.at_rest()


def search(task: Task, point: Point, good: Callable[[Point], bool]) -> Found:
    """A state of rest, a `good` one if there is a way to it."""
    found = _newton(task, point, 0)
    if found is not None and good(found[0]):
        return found
    slow, steps = point, 0
    for _ in range(NUDGES if not task.trimmed else 0):
        slow, more = _honey(task, slow)
        steps += more
        again = _newton(task, slow, steps)
        if again is not None:
            found = again[0], again[1], "relaxation"
            if good(again[0]):
                break
            slow = _nudged(task, again[0])
    if found is not None:
        return found
    names = [*point.simulation.program.speeds, *point.simulation.program.states]
    left = np.abs(task.residual(slow))
    worst = int(np.argmax(left)) if len(left) else 0
    raise RunError(
        f"no equilibrium was found: after {steps} steps {names[worst]} still changes at {left[worst]:.3g} (SI).",
        fix="Give a position near=... it, hold= what nothing keeps in place, or check that forces can balance at all.",
    )


def _newton(task: Task, point: Point, steps: int) -> Found | None:
    """Newton's method; each step is shortened until it helps."""
    size = np.linalg.norm(task.residual(point))
    for count in range(MOST):
        if size <= SMALL * task.scale:
            return _polished(task, point, steps + count)
        directions = task.directions(point)
        slopes, residual = task.slopes(point, directions), task.residual(point)
        step = -np.linalg.lstsq(slopes, residual, rcond=1e-10)[0]
        if not np.isfinite(step).all() or not step.any():
            return None
        for share in _shares(float(np.abs(step[: directions.shape[1]]).max(initial=0.0))):
            there = _tried(lambda s=share, p=point, d=directions, x=step: task.moved(p, d, s * x))
            left = np.inf if there is None else np.linalg.norm(task.residual(there))
            if there is not None and left < (1 - 0.1 * share) * size:
                point, size = there, left
                break
        else:
            return None
    return None


def _shares(length: float) -> Sequence[float]:
    whole = 1.0 if length <= 1.0 else 1.0 / length  # no coordinate by more than a radian or a metre at once
    return [whole * 0.5**k for k in range(8)]


def _polished(task: Task, point: Point, steps: int) -> Found:
    """The last digits."""
    for _ in range(3):
        directions = task.directions(point)
        step = -np.linalg.lstsq(task.slopes(point, directions), task.residual(point), rcond=1e-10)[0]
        there = _tried(lambda p=point, d=directions, s=step: task.moved(p, d, s))
        if there is None or np.linalg.norm(task.residual(there)) >= np.linalg.norm(task.residual(point)):
            break
        point = there
    return point, steps, "newton"


def _honey(task: Task, point: Point) -> tuple[Point, int]:
    """Implicit steps of z_dot = accelerations, longer and longer as these die down; not through what is in the way."""
    size = first = float(np.linalg.norm(task.residual(point)))
    pace = 0.1 / max(first, 1e-12)
    for count in range(PATIENCE):
        if size <= 1e-6 * max(first, 1e-12):
            return point, count
        directions = task.directions(point)
        flow = task.flow(point, directions)
        matrix = np.eye(directions.shape[1]) / pace - _drawn_in(flow @ task.slopes(point, directions))
        step = np.linalg.lstsq(matrix, flow @ task.residual(point), rcond=None)[0]
        share = min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        there = _tried(lambda s=share, p=point, d=directions, x=step: task.moved(p, d, s * x))
        if there is None:
            pace *= 0.25
            continue
        if overlap(there):
            return point, count
        left = float(np.linalg.norm(task.residual(there)))
        pace *= min(4.0, max(0.5, size / max(left, 1e-300)))
        point, size = there, left
    return point, PATIENCE


def _drawn_in(slopes: np.ndarray) -> np.ndarray:
    """Slopes with growth made decay of the same pace: a step then leaves what is not stable, as the flow does."""
    values, vectors = np.linalg.eig(slopes)
    return np.real(vectors @ np.diag(-np.abs(np.real(values)) + 1j * np.imag(values)) @ np.linalg.pinv(vectors))


def _nudged(task: Task, point: Point) -> Point:
    """A little off a position of rest, where accelerations grow the most."""
    directions = task.directions(point)
    values, vectors = np.linalg.eig(task.flow(point, directions) @ task.slopes(point, directions))
    away = np.real(vectors[:, int(np.argmax(np.real(values)))])
    return task.moved(point, directions, 0.02 * away / max(np.abs(away).max(initial=0.0), 1e-300))


def _tried(move: Callable[[], Point]) -> Point | None:
    """Where a step leads, if loops can be closed there."""
    there = move()
    gap = np.abs(there.conditions()[0]).max(initial=0.0)
    return there if np.isfinite(there.state).all() and gap < 1e-9 else None
