"""Multipliers for fixed modes: held rows do not move, sliding ones oppose slip with their limit.

Sliding units are eliminated first: with the direction of the measured reaction N kept, the limit mu |N| is linear in
the multipliers, and repeating that is Newton's method on the norm. Planar units at zero slip may turn: their slip
begins in the direction of their acceleration, which is found by the same iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kompono.solve.laws.pseudo import shared_inverse
from kompono.solve.laws.shares import PASSES as SHARINGS
from kompono.solve.laws.shares import are_steady, first_weights, next_weights
from kompono.solve.laws.torn import TURNS, torn_forces
from kompono.solve.laws.units import LawProblem, Layout, SolvedUnit, UnitChoice, UnitMode, layout

OFF, HELD, SLIDES = int(UnitMode.OFF), int(UnitMode.HELD), int(UnitMode.SLIDES)
STILL = 1e-13  # directions that change less are found
PASSES = 60  # of Newton's method, at most
IMMOBILE = 1e-12  # of the most mobile row of a contact: a row that forces move less is moved by rounding alone
HASTE = 15  # passes of whole steps, from then on halves
NOTHING = 1e-15  # of the terms of a reaction: less is rounding and has no direction
NEGLIGIBLE = 1e-13  # of the most mobile row of all: its motion is compared as it is
TURNLESS = 1e-10  # of the largest effect of turns: combinations of turns that change less change nothing
TURN = 0.7  # rad a direction turns in one pass, at most
IDLE = 1e-9  # of what friction moves if nothing else holds: less is rounding


@dataclass
class UnitStates:
    """Modes and directions of slip, per unit, on the way; `z` is the guess that directions of reactions start from.
    `torn`: rows that are held contradict each other; `tear` says how far what tears at them has gone.
    """

    modes: list[int]
    ways: list[tuple[float, float]]
    z: np.ndarray | None = None
    torn: bool = False
    tear: float = 0.0

    def copy(self) -> UnitStates:
        """The same, to be changed."""
        return UnitStates(self.modes[:], self.ways[:], self.z)


def state_of(choice: UnitChoice) -> UnitStates:
    """A choice as lists."""
    return UnitStates(choice.modes.tolist(), [(x, y) for x, y in choice.directions.tolist()], choice.z)


def choice_of(state: UnitStates, z: np.ndarray) -> UnitChoice:
    """Lists as a choice; directions only where something slides."""
    ways = [way if mode == SLIDES else (0.0, 0.0) for mode, way in zip(state.modes, state.ways, strict=True)]
    return UnitChoice(np.array(state.modes, dtype=int), np.array(ways).reshape(-1, 2), z)


class System:
    """A problem with its layout, and numbers that every pass needs."""

    def __init__(self, problem: LawProblem, units: Sequence[SolvedUnit] | Layout) -> None:
        self.layout = units if isinstance(units, Layout) else layout(units)
        self.problem, self.A, self.b = problem, problem.A, problem.b
        self.B, self.n0, self.size = problem.B, problem.n0, len(problem.b)
        diagonal = self.A.diagonal()
        mobile = diagonal > IMMOBILE * self._mates(diagonal)
        if not mobile.all():
            self.A = np.where(mobile[:, None] & mobile, self.A, 0.0)
        mobile &= diagonal > NEGLIGIBLE * diagonal.max(initial=0.0)
        self.root = np.sqrt(np.where(mobile, diagonal, 1.0))
        self.scale = 1.0 / self.root
        self.mu, self.limit = problem.mu.tolist(), problem.limit.tolist()
        self.mu_static, self.limit_static = problem.mu_static.tolist(), problem.limit_static.tolist()

    def _mates(self, diagonal: np.ndarray) -> np.ndarray:
        """Of each row the largest mobility of its contact, friction included."""
        found, layout = diagonal.copy(), self.layout
        for unit, rows in enumerate(layout.rows):
            contact = layout.contacts[unit]
            together = list(rows) + (list(layout.rows[contact]) if contact is not None else [])
            found[together] = max(float(found[together].max()), float(diagonal[together].max()))
        return found


@dataclass
class Reduced:
    """The problem with sliding and held rows eliminated, linear as long as directions stay.

    z = offset + spread(x) for loads x (m, any) on other rows; D (m, s) are the ways of s sliding units, `gain` (s, m)
    their limits per multiplier, `reach` (m, held) the multipliers per held one, `inverse` that of the held rows.
    """

    system: System
    held: list[int]
    D: np.ndarray | None
    gain: np.ndarray | None
    limits: np.ndarray | None
    reach: np.ndarray | None
    inverse: np.ndarray | None
    redundant: bool = False
    block: np.ndarray | None = None
    weights: np.ndarray | None = None

    def spread(self, loads: np.ndarray) -> np.ndarray:
        """What loads (m, ...) on other rows cause in all rows, sliding and held ones included."""
        if self.D is not None and self.gain is not None:
            loads = loads - self.D @ (self.gain @ loads)
        if self.inverse is None or self.reach is None:
            return loads
        return loads - self.reach @ (self.inverse @ (self.system.A[self.held] @ loads))

    def offset(self) -> np.ndarray:
        """Multipliers without other loads (m)."""
        system = self.system
        z = np.zeros(system.size)
        if self.D is not None:
            z -= self.D @ self.limits
        if self.inverse is None or self.reach is None:
            return z
        moved = system.b[self.held] if self.D is None else system.b[self.held] + system.A[self.held] @ z
        return z - self.reach @ (self.inverse @ moved)

    def torn(self, z: np.ndarray, tear: float) -> np.ndarray | None:
        """Multipliers (m), with what redundant rows bear that tear at each other; None if they do not."""
        if not self.redundant or self.block is None or self.weights is None or self.reach is None:
            return None
        more = torn_forces(self.system, self.held, self.block, z, self.weights)
        return None if more is None else z + tear * (self.reach @ more)


def reduce(
    system: System, state: UnitStates, sliding: list[int], normals: dict[int, np.ndarray], weights: np.ndarray
) -> Reduced:
    """Eliminate what slides (units) and what is held, with the directions of measured reactions kept; weights (m) say
    how redundant rows share.
    """
    rows, modes = system.layout.rows, state.modes
    held = [row for unit, mode in enumerate(modes) if mode == HELD for row in rows[unit]]
    D = gain = limits = None
    if sliding:
        D, gain, limits = _slid(system, state, sliding, normals)
    if not held:
        return Reduced(system, held, D, gain, limits, None, None)
    reach = np.zeros((system.size, len(held)))
    reach[held, range(len(held))] = 1.0
    block = system.A[held]
    if gain is not None and D is not None:
        reach -= D @ gain[:, held]
    small = block[:, held] if D is None else block @ reach
    inverse, redundant = shared_inverse(small, system.scale[held], weights[held])
    return Reduced(system, held, D, gain, limits, reach, inverse, redundant, small, weights)


def _slid(
    system: System, state: UnitStates, sliding: list[int], normals: dict[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ways (m, s), limits per multiplier (s, m) and limits without any (s) of the sliding units."""
    D, gain = np.zeros((system.size, len(sliding))), np.zeros((len(sliding), system.size))
    limits = np.empty(len(sliding))
    for column, unit in enumerate(sliding):
        for row, part in zip(system.layout.rows[unit], state.ways[unit], strict=False):
            D[row, column] = part
        limits[column] = system.limit[unit]
        first, last = system.layout.measures[unit]
        if last > first and system.mu[unit]:
            if system.layout.linear[unit]:
                gain[column] = system.mu[unit] * system.B[first]
                limits[column] += system.mu[unit] * system.n0[first]
            else:
                normal = system.mu[unit] * normals[unit]
                gain[column] = normal @ system.B[first:last]
                limits[column] += normal @ system.n0[first:last]
    mixed = gain @ D
    if mixed.any():
        mixed = _inverted(np.eye(len(sliding)) + mixed)
        gain, limits = mixed @ gain, mixed @ limits
    return D, gain, limits


def _inverted(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix)


def solve(
    system: System, state: UnitStates, turning: Sequence[int] = (), passes: int = PASSES
) -> tuple[np.ndarray, bool]:
    """Multipliers (m) for these modes, and whether directions were found; those of `turning` units change in place."""
    sliding = [unit for unit, mode in enumerate(state.modes) if mode == SLIDES]
    measures, linear = system.layout.measures, system.layout.linear
    bent = [u for u in sliding if measures[u][1] > measures[u][0] and not linear[u] and system.mu[u]]
    normals = {}
    if bent:
        guess = np.zeros(system.size) if state.z is None else state.z
        normals = {unit: _normal(system, unit, guess) for unit in bent}
    turning = [unit for unit in turning if state.modes[unit] == SLIDES]
    weights, sticks = first_weights(system, state)
    z, redundant, steady, change = np.zeros(system.size), False, False, 0.0
    for made in range(max(passes, SHARINGS)):
        if made >= passes and (steady or not redundant):
            break
        if redundant and 0 < made < SHARINGS and not steady:
            last, weights = weights, next_weights(system, state, z)
            steady = are_steady(last, weights)
        reduced = reduce(system, state, sliding, normals, weights)
        found, redundant = reduced.offset(), reduced.redundant and sticks
        z = found if made < HASTE or turning else (z + found) / 2
        change = _turned(reduced, state, turning, z) if turning else 0.0
        change = max(change, _pointed(system, bent, normals, found))
        if change <= STILL and (not redundant or steady or made >= SHARINGS - 1):
            return _torn(reduced, state, sliding, normals, found), True
        if z is not found:
            _pointed(system, bent, normals, z)
    return _torn(reduced, state, sliding, normals, z), change <= 1e3 * STILL


def _torn(
    reduced: Reduced, state: UnitStates, sliding: list[int], normals: dict[int, np.ndarray], z: np.ndarray
) -> np.ndarray:
    """Multipliers (m), with what redundant rows bear that tear at each other, shared by what they can bear then."""
    system, found = reduced.system, reduced.torn(z, state.tear) if reduced.system.problem.driven else None
    state.torn = found is not None
    if found is None:
        return z
    for _ in range(TURNS if first_weights(system, state)[1] else 0):
        again = reduce(system, state, sliding, normals, next_weights(system, state, found))
        more = again.torn(again.offset(), state.tear)
        found = found if more is None else more
    return found


def _pointed(system: System, bent: list[int], normals: dict[int, np.ndarray], z: np.ndarray) -> float:
    """Point the directions of reactions that limit some units to where they are with these multipliers (m); the largest
    change.
    """
    change = 0.0
    for unit in bent:
        new = _normal(system, unit, z)
        change = max(change, float(np.abs(new - normals[unit]).max()))
        normals[unit] = new
    return change


def _normal(system: System, unit: int, z: np.ndarray) -> np.ndarray:
    """The direction (count) of the measured reaction that limits a unit; zeros where there is none."""
    first, last = system.layout.measures[unit]
    force = system.n0[first:last] + system.B[first:last] @ z
    size = float(np.linalg.norm(force))
    terms = float(np.abs(system.n0[first:last]).sum() + (np.abs(system.B[first:last]) @ np.abs(z)).sum())
    return force / size if size > NOTHING * terms else 0.0 * force


def _turned(reduced: Reduced, state: UnitStates, turning: Sequence[int], z: np.ndarray) -> float:
    """Turn directions towards the accelerations they cause; how far (rad), at most."""
    system, count = reduced.system, len(turning)
    w = system.b + system.A @ z
    across, loads = np.zeros((count, system.size)), np.zeros((system.size, count))
    along, alone = np.empty(count), np.empty(count)
    for k, unit in enumerate(turning):
        rows = list(system.layout.rows[unit])
        x, y = state.ways[unit]
        across[k, rows] = -y, x
        force = -(x * z[rows[0]] + y * z[rows[1]])
        loads[rows, k] = y * force, -x * force
        along[k] = max(x * w[rows[0]] + y * w[rows[1]], 0.0)
        alone[k] = abs(force) * max(system.A[row, row] for row in rows)
    slope = across @ (system.A @ reduced.spread(loads)) - np.diag(along)
    missing = across @ w
    kept = np.abs(slope).max(axis=1) <= IDLE * alone  # by others that hold: it neither moves nor turns
    slope[kept], missing[kept] = 0.0, 0.0
    noise = 1e-15 * np.abs(across) @ (np.abs(system.b) + np.abs(system.A) @ np.abs(z))
    step = np.where(np.abs(missing) > noise, -_least(slope, missing), 0.0)
    for unit, angle in zip(turning, np.clip(step, -TURN, TURN), strict=True):
        x, y = state.ways[unit]
        c, s = np.cos(angle), np.sin(angle)
        state.ways[unit] = (float(c * x - s * y), float(s * x + c * y))
    return float(np.abs(step).max())


def _least(slope: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The least turns that bring what is missing: of contacts that squeeze a body friction may turn against each other
    while normal forces balance that, and nothing says how far.
    """
    size = np.abs(slope).max(axis=1)
    size = np.where(size > 0.0, size, 1.0)
    return np.linalg.lstsq(slope / size[:, None], missing / size, rcond=TURNLESS)[0]


def forces(problem: LawProblem, units: Sequence[SolvedUnit], choice: UnitChoice) -> np.ndarray:
    """Multipliers z (m) for fixed modes and directions; of least norm where held rows are redundant."""
    z, _ = solve(System(problem, units), state_of(choice))
    return z
