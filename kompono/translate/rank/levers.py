"""How the mobility that conditions of a sliding joint feel grows with its travel, and rows at all travels, eased.

Along the free translations e of a joint the rows G of a group on a body change linearly, G + t E, so that the mobility
a = sum_b |G_b W_b G_b^T| grows with the square of the travel from where it is least. A link is made softer by

    phi(p) = 1 / (1 + lambda |p - p*|^2),      lambda = max_e sum_b |E_b W_b E_b^T| / a(p*)

so phi a is about a(p*) everywhere. Rows times sqrt(phi) are what bounds of stability look at: near p*, far from it, and
with whatever the joint lets turn, so the bound holds for all travels and for all neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kompono.translate.rank.reach import Given, Located, rows_on_bodies, turned_poses

TRAVELS = (0.0, *(sign * 10.0**k for k in range(-3, 4) for sign in (1, -1)))  # [m] at which rows are looked at
TURNS = 4  # random turns of each
NONE = 1e-12  # of a mobility: growth that is rounding
AROUND = 16  # directions of several free translations that are looked at

Weights = Sequence[np.ndarray | None]  # mobility (6, 6) of the second and the first body, None: ground


@dataclass(frozen=True)
class Lever:
    """How a group is eased: lambda [1/m^2] and p* (3) [m]."""

    growth: float
    point: np.ndarray

    def eases(self, positions: np.ndarray) -> np.ndarray:
        """phi at relative positions (..., 3)."""
        return 1 / (1 + self.growth * ((positions - self.point) ** 2).sum(axis=-1))

    @property
    def numbers(self) -> np.ndarray:
        """As links have them."""
        return np.concatenate([[self.growth], self.point])


class Slide:
    """A group of rows of a sliding element, as it is in one run; what bodies it moves does not matter yet. `free` are
    directions (n, 3) it may go in, `changes` what a metre of each does to its rows on the second and the first body.
    """

    def __init__(self, given: Given, part: slice) -> None:
        self.given, self.part = given, part
        (self.place,), (turn,) = given.start
        _, gamma = given.law(given.signals, self.place[None], turn[None])
        _, sizes, ways = np.linalg.svd(gamma[0, : given.held, :3])
        self.free = ways[(sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)).sum() :]
        self.here = self._rows(self.place)
        self.changes = [self._minus(self._rows(self.place + way), self.here) for way in self.free]

    def lever(self, weights: Weights) -> Lever:
        """How it grows on bodies with these mobilities."""
        here, changes = self.here, self.changes
        square = np.array([[_trace(one, other, weights) for other in changes] for one in changes])
        if not changes or not np.diag(square).max() > NONE * _trace(here, here, weights):
            return Lever(0.0, np.zeros(3))
        along = -np.linalg.pinv(square) @ np.array([_trace(change, here, weights) for change in changes])
        moved = [now + np.tensordot(along, side, 1) for now, side in zip(here, self._sides, strict=True)]
        growth = max(_mobility(change, weights) for change in self._combined) / _mobility(moved, weights)
        point = self.place + along @ self.free
        return Lever(growth, np.where(np.abs(point) * np.sqrt(growth) > NONE, point, 0.0))

    def travelled(self, about: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Positions (poses, 3) at many travels from a point, and rows (poses, rows, 6) there, second body first."""
        found = [turned_poses(self.given.from_place(about + t * self.free[-1]), turns[:, :TURNS]) for t in TRAVELS]
        rows = [np.concatenate([both[side][:, self.part] for _, both in found]) for side in range(2)]
        return np.concatenate([positions for positions, _ in found]), rows

    def _rows(self, place: np.ndarray) -> list[np.ndarray]:
        """Rows on the second and the first body at a relative position."""
        at: Located = place[None], self.given.start[1]
        _, gamma = self.given.law(self.given.signals, *at)
        return [rows[0, self.part] for rows in rows_on_bodies(gamma, at, self.given.first, self.given.second)]

    @staticmethod
    def _minus(one: list[np.ndarray], other: list[np.ndarray]) -> list[np.ndarray]:
        return [a - b for a, b in zip(one, other, strict=True)]

    @cached_property
    def _sides(self) -> list[np.ndarray]:
        """Changes (n, rows, 6) on each body."""
        return [np.array([change[side] for change in self.changes]) for side in range(2)]

    @cached_property
    def _combined(self) -> list[list[np.ndarray]]:
        """What a metre in each of several directions changes."""
        if len(self.changes) == 1:
            return self.changes
        ways = np.random.default_rng(6).standard_normal((AROUND, len(self.changes)))
        ways = np.concatenate([np.eye(len(self.changes)), ways / np.linalg.norm(ways, axis=1, keepdims=True)])
        return [[np.tensordot(way, side, 1) for side in self._sides] for way in ways]


def _trace(one: Sequence[np.ndarray], other: Sequence[np.ndarray], weights: Weights) -> float:
    pairs = zip(one, other, weights, strict=True)
    return float(sum(np.trace(a @ w @ b.T) for a, b, w in pairs if w is not None))


def _mobility(rows: Sequence[np.ndarray], weights: Weights) -> float:
    return float(sum(np.linalg.norm(a @ w @ a.T, 2) for a, w in zip(rows, weights, strict=True) if w is not None))
