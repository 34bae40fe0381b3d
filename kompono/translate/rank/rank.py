"""What conditions can do at all: combinations no coordinate of their loop can move, and how large the others are.

Rank is decided where it can be decided. At arbitrary states, off the conditions too, the rows G of an element are
compared with what they would be if every joint of its path were free. A combination c with c^T G = 0 at all of them is
implied by the joints of the loop whatever happens (the conditions out of the plane of a planar loop, the second hinge
of a door): it is taken out for good, however the machine is turned in space. What is left to run time is the loss of
rank on the conditions (parallel rods) and at singular positions. A pivot of G M^-1 G^T is compared there with its own
size at arbitrary states, d, times the least share of it that other rows leave, so that neither units nor masses nor
the order of elimination matter:

    dropped where pivot < tolerance * reference,      reference = d * (smallest eigenvalue of G M^-1 G^T scaled to 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import casadi as ca
import numpy as np

from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.motion.conditions import Closure
from kompono.translate.numbers import OpenNumbers
from kompono.translate.structure.independent import independent_sets
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import Tracer

DEAD = 1e-11  # a combination smaller than this, relative to its free size, is rounding
PIVOT = 1e-12  # of a mass matrix, relative to its diagonal: below this it counts as singular
LEAST = 1e-8  # smallest share of its first size that a pivot is expected to have left


@dataclass(frozen=True)
class LiveRows:
    """The rows of an element that can move: `combine` (live, rows) makes them of those declared, `spread` (rows, live)
    goes back; None where all declared rows are live. `size` (live,) is that of their first diagonals, `reference`
    (live,) what their pivots are compared with, `slip` (live, slips) what is added to them where others imply them
    (see `redundant`).
    """

    combine: np.ndarray | None
    spread: np.ndarray | None
    size: np.ndarray
    reference: np.ndarray
    slip: np.ndarray | None = None
    judged: bool = False  # whether it is known of all its rows that they are independent or have slips
    traced: tuple[ca.SX, ca.SX] | None = None  # `combine`, and `spread` times that, with symbols for their numbers

    def opened(self, name: str, numbers: OpenNumbers | None) -> LiveRows:
        """The same with numbers that are put in after tracing."""
        if numbers is None or self.combine is None or self.spread is None or not self.combine.size:
            return self
        named = {"combine": self.combine, "without noise": self.spread @ self.combine}
        combine, whole = (numbers.found(f"{name} {what}", matrix, ones=True) for what, matrix in named.items())
        return replace(self, traced=(combine, whole))

    def _combining(self, combine: np.ndarray) -> ca.SX:
        return ca.SX(ca.sparsify(ca.DM(combine))) if self.traced is None else self.traced[0]

    def declared(self, values: np.ndarray) -> np.ndarray:
        """Sizes of the rows as declared from those of live rows; dead ones are as large as the largest."""
        if self.combine is None:
            return values
        share = self.combine**2 / np.maximum(np.sum(self.combine**2, axis=1, keepdims=True), 1e-300)
        found = share.T @ values
        return np.where(found > 1e-9 * values.max(initial=0.0), found, values.max(initial=1.0))

    @property
    def slips(self) -> int:
        """How many slips there are."""
        return 0 if self.slip is None else self.slip.shape[1]

    def implied(self) -> np.ndarray:
        """Combinations (declared rows, implied) of rows that others (slips, the first ones), or the joints of the loop,
        imply.
        """
        live = np.zeros((len(self.size), 0)) if self.slip is None else self.slip / self.size[:, None]
        if self.combine is None or self.spread is None:
            return live
        count = self.combine.shape[1]
        if not len(self.size):
            return np.eye(count)
        left, sizes, _ = np.linalg.svd(self.spread / np.linalg.norm(self.spread, axis=0))
        return np.hstack([self.combine.T @ live, left[:, int(np.sum(sizes > 1e-6)) :]])

    def with_slips(self, slip: np.ndarray | None) -> LiveRows:
        """The same rows with slips, perhaps none; None if that is left to pivots."""
        return replace(self, slip=slip if slip is not None and slip.shape[1] else None, judged=slip is not None)

    def rows(self, value: Matrix, tracer: Tracer) -> Matrix:
        """Live rows of a matrix or column that has one row for each condition declared."""
        if self.combine is None:
            return value
        matrix = self._combining(self.combine)
        return tracer.call(lambda block: matrix @ block, value)

    def closure(self, closure: Closure[Joint], tracer: Tracer) -> Closure[Joint]:
        """The same conditions by their live rows alone."""
        if self.combine is None:
            return closure
        parts = {name: self.rows(getattr(closure, name), tracer) for name in ("residual", "rate", "bias")}
        columns = {key: self.rows(block, tracer) for key, block in closure.columns.items()}
        return replace(closure, groups=(len(self.reference),), columns=columns, **parts)

    def multipliers(self, value: Vector, tracer: Tracer) -> Vector:
        """Multipliers of the conditions as declared."""
        if self.combine is None:
            return value
        matrix = self._combining(self.combine).T
        return tracer.call(lambda block: matrix @ block, value)

    def without_noise(self, value: Matrix, tracer: Tracer) -> Matrix:
        """Declared rows of a matrix, with exact zeros in the place of what cannot move."""
        if self.combine is None or self.spread is None:
            return value
        matrix = ca.sparsify(ca.DM(self.spread @ self.combine)) if self.traced is None else self.traced[1]
        return tracer.call(lambda block: matrix @ block, value)


@dataclass(frozen=True)
class RankSample:
    """Rows of every element on all speeds, by element, the free size of each, and the mass matrix, at one state."""

    rows: dict[Element, np.ndarray]
    free: dict[Element, np.ndarray]
    mass: np.ndarray


def find_live(samples: Sequence[RankSample], groups: dict[Element, tuple[int, ...]]) -> dict[Element, LiveRows]:
    """The live rows of all elements; `groups` are the sizes of their groups of like rows."""
    combined = {key: _combinations(key, samples, sizes) for key, sizes in groups.items()}
    sizes = _sizes(samples, {key: combine for key, (combine, _) in combined.items()})
    return {
        key: LiveRows(*((None, None) if whole(combine) else (combine, spread)), *sizes[key])
        for key, (combine, spread) in combined.items()
    }


def whole(combine: np.ndarray) -> bool:
    """Whether a combination takes all rows as they are."""
    return combine.shape[0] == combine.shape[1] and bool(np.all(combine == np.eye(len(combine))))


def _combinations(
    key: Element, samples: Sequence[RankSample], groups: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """`combine` and `spread` of an element: rows that are live by themselves stay as they are, dead ones go, and those
    that share a dead combination are turned into live ones across it.
    """
    count = sum(groups)
    if not count:
        return np.zeros((0, 0)), np.zeros((0, 0))
    free = np.max([sample.free[key] for sample in samples], axis=0)
    starts = np.cumsum([0, *groups])
    for start, end in pairwise(starts):
        free[start:end] = free[start:end].max(initial=0.0)
    free[free == 0] = 1.0
    stacked = np.hstack([sample.rows[key] for sample in samples]) / free[:, None]
    left, sizes, _ = np.linalg.svd(stacked, full_matrices=count > stacked.shape[1])
    dead = left[:, np.concatenate([sizes, np.zeros(count - len(sizes))]) <= DEAD]
    share = np.sum(dead**2, axis=1)
    alone, mixed = np.flatnonzero(share < 1e-9), np.flatnonzero((share >= 1e-9) & (share <= 1 - 1e-9))
    if not len(mixed):
        chosen = np.eye(count)[alone]
        return chosen, chosen.T
    across = np.linalg.svd(dead[mixed])[0]
    turned = np.zeros((len(mixed) - np.linalg.matrix_rank(dead[mixed], tol=1e-6), count))
    turned[:, mixed] = across[:, len(mixed) - len(turned) :].T
    turned[np.abs(turned) < 1e-14] = 0.0
    scaled = np.vstack([np.eye(count)[alone], turned])
    mean = np.sqrt(scaled**2 @ free**2)
    return mean[:, None] * scaled / free, free[:, None] * scaled.T / mean


def _sizes(
    samples: Sequence[RankSample], combine: dict[Element, np.ndarray]
) -> dict[Element, tuple[np.ndarray, np.ndarray]]:
    """Typical first diagonals and pivots of all live rows."""
    ends = np.cumsum([0, *(len(matrix) for matrix in combine.values())])
    if not ends[-1]:
        return {key: (np.zeros(0), np.zeros(0)) for key in combine}
    all_sizes, all_shares = [], []
    for sample in samples:
        rows = np.vstack([matrix @ sample.rows[key] for key, matrix in combine.items()])
        square = _mobility(sample.mass, rows)
        sizes = np.diag(square).copy()
        all_sizes.append(sizes)
        all_shares.append(_shares(square, sizes))
    with np.errstate(all="ignore"):
        sizes, shares = np.nanmedian(all_sizes, axis=0), np.nanmedian(all_shares, axis=0)
    sizes = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
    reference = sizes * np.clip(shares, LEAST, 1.0)
    return {key: (sizes[a:b], reference[a:b]) for key, a, b in zip(combine, ends[:-1], ends[1:], strict=True)}


def _mobility(mass: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """G M^-1 G^T: what hangs together in M by itself."""
    found = np.zeros((len(rows), len(rows)))
    for places, _ in independent_sets((mass != 0) | (mass.T != 0) | np.eye(len(mass), dtype=bool)):
        moved = np.flatnonzero(np.any(rows[:, places] != 0, axis=1))
        own, through = mass[places[:, None], places], rows[moved[:, None], places]
        found[moved[:, None], moved] += _of_one(own, through)
    return found


def _of_one(mass: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The same; without what has no mass, if M is singular."""
    try:
        factor = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        factor = None
    if factor is None or np.any(np.diag(factor) ** 2 < PIVOT * np.diag(mass)):
        return rows @ np.linalg.lstsq(mass, rows.T, rcond=1e-15)[0]
    half = np.linalg.solve(factor, rows.T)
    return half.T @ half


def _shares(square: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Least eigenvalue above rounding of the matrix scaled to a unit diagonal, for the rows of each set that hangs
    together.
    """
    scale = np.sqrt(np.where(sizes > 0, sizes, 1.0))
    scaled = square / np.outer(scale, scale)
    shares = np.ones(len(sizes))
    left = set(range(len(sizes)))
    while left:
        together, frontier = set(), {left.pop()}
        while frontier:
            row = frontier.pop()
            together.add(row)
            frontier |= {int(k) for k in np.flatnonzero(np.abs(scaled[row]) > 1e-13)} & left
            left -= frontier
        places = sorted(together)
        block = scaled[np.ix_(places, places)]
        if np.all(np.isfinite(block)):
            values = np.linalg.eigvalsh(block)
            shares[places] = values[values > 1e-11 * max(values[-1], 1e-300)].min(initial=1.0)
    return shares
