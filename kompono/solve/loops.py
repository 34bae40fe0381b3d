"""Conditions at a state: their values and slopes, how coordinates move, and which of them belong together.

Conditions that share no coordinate, directly or through others, are independent *parts* of the problem. Each is solved
by itself: forty four-bars are forty small problems, and a machine that cannot be closed does not disturb the others.
All parts are looked at with one evaluation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.solve.targets import AskedSpeeds, Targets

if TYPE_CHECKING:
    from kompono.translate.starts.asked import AskedStart

TOLERANCE = 1e-9  # what counts as closed, in the units of the conditions
RANK = 1e-8  # singular values below this, relative to the largest, count as zero
COARSE = 1e-5  # the same while loops are being closed: below it, a slope may be nothing but rounded lengths


@dataclass(frozen=True)
class LoopGroup:
    """Conditions that depend on each other: numbers of rows, speeds, coordinates, targets, speeds asked of closing
    joints, and entries of `holds`.
    """

    rows: np.ndarray
    speeds: np.ndarray
    coordinates: np.ndarray
    targets: np.ndarray
    asked_speeds: np.ndarray
    holds: np.ndarray


@dataclass(frozen=True)
class LoopView:
    """g (rows), G (rows, speeds), and what targets are off (t) with their slopes (t, speeds), at a state."""

    g: np.ndarray
    matrix: np.ndarray
    off: np.ndarray
    slopes: np.ndarray

    def of(self, part: LoopGroup, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual and slopes of a part with those of its targets that are held."""
        kept = part.targets[held[part.targets]]
        residual = np.concatenate([self.g[part.rows], self.off[kept]])
        return residual, np.vstack([self.matrix[part.rows], self.slopes[kept]])


class Loops:
    """The conditions of a model at `time`, with constant inputs and parameters."""

    def __init__(
        self, kernel: Any, time: float, inputs: np.ndarray, parameters: np.ndarray, start: AskedStart, *,
        anew: bool = False,
    ) -> None:  # fmt: skip
        self.kernel, self.time, self.inputs, self.parameters, self.start = kernel, time, inputs, parameters, start
        self.nq, self.nv = len(kernel.program.coordinates), len(kernel.program.speeds)
        self.rows = start.rows
        self.targets, self.speeds = Targets(start.joints), AskedSpeeds(start.joints)
        self.borrowed, self.anew = False, anew  # whether something is known from a start before, or may not be

    def evaluate(self, routine: str, state: np.ndarray) -> tuple[np.ndarray, ...]:
        """The outputs of a routine."""
        return self.kernel.evaluate(routine, self.time, state, self.inputs, self.parameters)

    def conditions(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """g, g_dot, G (rows, speeds) and u."""
        g, g_dot, matrix, bias = self.evaluate("conditions", state)
        return g, g_dot, matrix.reshape(self.nv, len(g)).T, bias

    def measured(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates of closing joints and d rates / d v, their speeds and d speeds / d v."""
        q, _, slopes, speeds, speed_slopes = self.evaluate("measured", state)
        return q, slopes.reshape(self.nv, len(q)).T, speeds, speed_slopes.reshape(self.nv, len(speeds)).T

    def look(self, state: np.ndarray, goal: np.ndarray) -> LoopView:
        """Everything a Newton step needs; `goal` are the values of the targets."""
        g, _, matrix, _ = self.conditions(state)
        if not self.targets.size:
            return LoopView(g, matrix, np.zeros(0), np.zeros((0, self.nv)))
        q, slopes, _, _ = self.measured(state)
        return LoopView(g, matrix, *self.targets.off(q, slopes, goal))

    def rate(self, state: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        """q_dot of these speeds at a state."""
        moving = np.concatenate([state[: self.nq], speeds, state[self.nq + self.nv :]])
        return self.evaluate("rates", moving)[0]

    def move(self, state: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The state with coordinates moved by a step of the speeds (nv), quaternions of unit length."""
        moved = state.copy()
        moved[: self.nq] += self.rate(state, step)
        return self.normalized(moved)

    def normalized(self, state: np.ndarray) -> np.ndarray:
        """The state with quaternions of unit length."""
        if self._turning:
            state = state.copy()
            state[: self.nq] = self.evaluate("normalize", state)[0]
        return state

    @cached_property
    def _turning(self) -> bool:
        """Whether there are quaternions at all: coordinates that one speed moves by way of others."""
        return self.nq != self.nv or not np.array_equal(self.moves, np.eye(self.nv, dtype=bool))

    @cached_property
    def moves(self) -> np.ndarray:
        """Which coordinates each speed moves at the start (nv, nq)."""
        found = functools.partial(self._moved_at, self.start.state)
        return found() if self.nq != self.nv else self._learned("moves", found)

    @cached_property
    def touches(self) -> np.ndarray:
        """Which coordinates each speed may move anywhere (nv, nq)."""
        elsewhere = self.start.state.copy()
        elsewhere[: self.nq] += np.random.default_rng(4).uniform(0.1, 0.5, self.nq)
        return self.moves | self._moved_at(elsewhere) if self.nq != self.nv else self.moves

    def _moved_at(self, state: np.ndarray) -> np.ndarray:
        """Found from q_dot = N v, for each unit speed."""
        states = np.repeat(state[None], self.nv, axis=0)
        states[:, self.nq : self.nq + self.nv] = np.eye(self.nv)
        rates = self.kernel.evaluate_many("rates", self.time, states, self.inputs, self.parameters)
        return np.abs(rates).reshape(self.nv, self.nq) > 1e-12

    @cached_property
    def lengths(self) -> np.ndarray:
        """Which speeds move coordinates in metres (nv)."""
        metres = np.array([unit == "m" for unit in self.start.units], dtype=bool)
        return np.asarray((self.touches & metres).any(axis=1))

    @property
    def speed_units(self) -> tuple[str, ...]:
        """Units of the speeds that are rates of coordinates; of others they are not known."""
        names = dict(zip(self.kernel.program.coordinates, self.start.units, strict=True))
        units = (names.get(name.removesuffix(".rate"), "") for name in self.kernel.program.speeds)
        return tuple(f"{unit}/s" if unit else "" for unit in units)

    def firmness(self) -> np.ndarray:
        """How firmly each speed's coordinates were given (nv)."""
        return np.where(self.moves, self.start.given_coordinates, 0).max(axis=1, initial=0)

    def as_meant(self, state: np.ndarray, parts: Sequence[LoopGroup]) -> dict[int, np.ndarray]:
        """Entries of `holds` that are not positive, by number of part; only parts with such entries."""
        if not self.rows.holds:
            return {}
        bad = self.evaluate("holds", state)[0] < 0
        return {k: part.holds[bad[part.holds]] for k, part in enumerate(parts) if bad[part.holds].any()}

    @cached_property
    def parts(self) -> tuple[LoopGroup, ...]:
        """Conditions and speeds in independent groups; rows no speed moves are a part of their own. Starts of one
        machine that differ in numbers only have the same.
        """
        return self._find_parts() if self._turning else self._learned("parts", self._find_parts)

    def _learned(self, what: str, find: Callable[[], Any]) -> Any:
        """What is the same for starts that differ in numbers only, of the last one or found now."""
        key = self.parameters.tobytes(), self.targets.place.tobytes(), self.speeds.place.tobytes()
        known = self.kernel.learned.get(what)
        if known is None or known[0] != key or self.anew:
            self.kernel.learned[what] = known = key, find()
        else:
            self.borrowed = True
        return known[1]

    def _find_parts(self) -> tuple[LoopGroup, ...]:
        rows = self._pattern()
        group = np.arange(self.nv)
        count, beyond = len(self.rows.elements), len(self.rows.elements) + self.targets.size
        whole = {e: rows[[k for k in range(count) if self.rows.elements[k] == e]].any(axis=0) for e in self.rows.holds}
        blocks = [*rows, *self.touches.T, *whole.values()]
        changed = True
        while changed:
            changed = False
            for block in blocks:
                numbers = group[block]
                if len(numbers) and numbers.min() != numbers.max():
                    group[np.isin(group, numbers)] = numbers.min()
                    changed = True
        where = [int(group[row][0]) if row.any() else -1 for row in rows]
        found = []
        for number in dict.fromkeys(where):
            mine = np.array([k for k, w in enumerate(where) if w == number])
            speeds = np.flatnonzero(group == number)
            own = {self.rows.elements[k] for k in mine if k < count}
            own -= {element for element, moved in whole.items() if moved.any()} if number < 0 else set()
            holds = np.array([k for k, e in enumerate(self.rows.holds) if e in own], dtype=int)
            coordinates = np.flatnonzero(self.touches[speeds].any(axis=0)) if len(speeds) else np.zeros(0, dtype=int)
            targets = mine[(mine >= count) & (mine < beyond)] - count
            found.append(
                LoopGroup(mine[mine < count], speeds, coordinates, targets, mine[mine >= beyond] - beyond, holds)
            )
        return tuple(found)

    def _pattern(self) -> np.ndarray:
        """Which speeds each condition, each target and each speed asked of a closing joint depends on (all rows, nv):
        at the start and at two arbitrary places.
        """
        moves = [0.8 * (np.sin(np.arange(1.0, 1 + self.nv) * 12.9898 + k) * 43758.5453 % 1.0 - 0.5) for k in (1, 2)]
        states = [self.start.state, *(self.move(self.start.state, away) for away in moves)]
        stacked = []
        for state in states:
            view = self.look(state, self.targets.asked)
            speeds = self.measured(state)[3][self.speeds.place] if self.speeds.size else np.zeros((0, self.nv))
            stacked.append(np.abs(np.vstack([view.matrix, view.slopes, speeds])))
        sizes = np.nanmax(stacked, axis=0)
        return sizes > 1e-12 * max(1.0, np.nanmax(sizes, initial=0.0))

    def extent(self, state: np.ndarray, part: LoopGroup) -> float:
        """The size of a part of the machine [m]: its longest lever or displacement, 1 if it has none."""
        metres = np.array([unit == "m" for unit in self.rows.units()], dtype=bool)[part.rows]
        matrix = np.abs(self.conditions(state)[2][part.rows])
        turning = part.speeds[~self.lengths[part.speeds]]
        levers = matrix[metres][:, turning].max(initial=0.0)
        slides = [abs(state[k]) for k in part.coordinates if self.start.units[k] == "m"]
        size = max(levers, *slides, 0.0) if slides else levers
        return float(size) if size > 1e-9 else 1.0


def closed(loops: Loops, state: np.ndarray, parts: Sequence[LoopGroup], gaps: np.ndarray) -> np.ndarray:
    """Which parts are closed, and not half a turn off."""
    good = gaps <= TOLERANCE
    good[list(loops.as_meant(state, parts))] = False
    return good
