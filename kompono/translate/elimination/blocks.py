"""Condense and resolve: symmetric block elimination, with rows that depend on others dropped (DESIGN sections 3 and 4).

The unknowns are accelerations of bodies (6), of joint coordinates (nv) and multipliers of condition rows. Together
they make

    H y + p = 0,     H = [ inertia  G^T ]      p = [ bias ]
                         [ G        0   ]          [ u    ]

Four steps eliminate unknowns; each is recorded, so the matrix part is factored once and `solve` replays only
vectors: `hang` substitutes a_C = sum T_k y_k + d (a child moves with its parent and its joint), `pivot` eliminates
joint accelerations (through their free directions), and, once all columns of a set of condition rows are gone, its
multipliers; a `PortPair` is the acceleration of a port together with the wrench on it (`ported.py`). `solve` runs
forward (condense, leaves to root) and backward (resolve, root to leaves).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.spatial.vectors import symmetric
from kompono.translate.elimination.pairs import PortPair
from kompono.translate.elimination.pivots import TOLERANCE, generalized_inverse, inverse_of
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.numbers import OpenNumbers
from kompono.translate.structure.aligned import squared
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import Tracer

Factors = dict[Unknown, tuple[Matrix, ...]]  # of T, by unknown


@dataclass
class Hang:
    """Body `key` was replaced by its parent's motion and its joint's: a = sum_k T_k y_k + d."""

    key: Unknown
    maps: dict[Unknown, Matrix]
    own: Matrix
    coupled: dict[Unknown, Matrix]
    path: str
    through: dict[Unknown, Matrix] = field(default_factory=dict)  # hung before: their offsets are in d as well
    factors: Factors = field(default_factory=dict)

    def parts(self, k: Unknown) -> tuple[Matrix, ...]:
        """Factors of T_k; the last one acts first."""
        return self.factors.get(k, (self.maps[k],))


@dataclass
class Pivot:
    """Unknown `key` was eliminated: y = -sign (K p + sum_k Z_k y_k), K = (sign * H_ee)^-, Z_k = K H_ek."""

    key: Unknown
    sign: int
    inverse: Matrix
    coupled: dict[Unknown, Matrix]  # H_ek
    scaled: dict[Unknown, Matrix]  # Z_k
    path: str


@dataclass(frozen=True)
class PivotReference:
    """What pivots of a set of condition rows are compared with (rows,), what is added to their block (rows, rows)
    because of slips, and whether these rows are known to be far from depending on each other.
    """

    sizes: Vector
    slip: Matrix | None = None
    apart: bool = False

    @staticmethod
    def of(
        sizes: np.ndarray, slip: np.ndarray | None = None, numbers: OpenNumbers | None = None, path: str = ""
    ) -> PivotReference:
        """From numbers; `slip` is K (rows, slips). With `numbers` they are put in after tracing."""
        added = None if slip is None else -squared(slip)
        if numbers is None:
            return PivotReference(ca.SX(ca.DM(sizes)), None if added is None else ca.SX(ca.sparsify(ca.DM(added))))
        return PivotReference(
            numbers.found(f"{path} reference", sizes), None if added is None else numbers.found(f"{path} slip", added)
        )


@dataclass
class RowSet:
    """Bookkeeping of a set of condition rows."""

    reference: Vector  # what pivots are compared with, per row
    waiting: set[Unknown]  # columns not eliminated yet
    kept: Vector | None = None  # 1 for rows with a multiplier, 0 for rows implied by others
    smallest: Scalar | None = None  # pivot relative to its reference


class Elimination:
    """The matrix part, factored while it is built."""

    def __init__(self, tracer: Tracer, tolerance: Scalar | float = TOLERANCE) -> None:
        self.tracer, self.tolerance = tracer, tolerance
        self.sizes: dict[Unknown, int] = {}
        self.order: dict[Unknown, int] = {}
        self.blocks: dict[tuple[Unknown, Unknown], Matrix] = {}
        self.neighbours: dict[Unknown, set[Unknown]] = {}
        self.rows: dict[Unknown, RowSet] = {}
        self.steps: list[Hang | Pivot | PortPair] = []

    # -- the matrix

    def add(self, key: Unknown, size: int, block: Matrix | None = None) -> None:
        """A new unknown with its diagonal block."""
        self.sizes[key] = size
        self.order[key] = len(self.order)
        self.neighbours[key] = set()
        if block is not None:
            self.blocks[key, key] = ca.SX(block)

    def add_rows(self, key: Unknown, columns: dict[Unknown, Matrix], reference: PivotReference, path: str) -> None:
        """Condition rows G y + u = 0 on unknowns that are all present."""
        self.add(key, reference.sizes.numel(), reference.slip)
        self.rows[key] = RowSet(reference.sizes, set())
        for column, block in columns.items():
            block = ca.sparsify(ca.SX(block))
            if block.nnz():
                self._store(key, column, block)
                self.rows[key].waiting.add(column)
        if not self.rows[key].waiting:
            self.pivot(key, path)

    def expect_rows(self, key: Unknown, reference: PivotReference, waiting: set[Unknown]) -> None:
        """Condition rows whose blocks arise when the `waiting` unknowns are hung on them."""
        self.add(key, reference.sizes.numel(), reference.slip)
        self.rows[key] = RowSet(reference.sizes, set(waiting))

    def nearness(self) -> Vector:
        """How near to a loss of rank this is (2): the smallest pivot of a condition relative to its reference, at most
        1, and the number of conditions with a multiplier.
        """
        smallest, count = ca.SX(1), ca.SX(0)
        for row in self.rows.values():
            smallest = self.tracer.call(ca.fmin, smallest, row.smallest)
            count = self.tracer.call(lambda n, kept: n + ca.sum1(ca.densify(kept)), count, row.kept)
        return ca.vertcat(smallest, count)

    def degree(self, key: Unknown) -> int:
        """How many unknowns a key is coupled with."""
        return len(self.neighbours[key])

    def hang(
        self, key: Unknown, maps: dict[Unknown, Matrix], path: str, through: dict[Unknown, Matrix] | None = None,
        factors: Factors | None = None,
    ) -> None:  # fmt: skip
        """Substitute y_key = sum_k T_k y_k + d (d is given to `solve`); T_k of which `factors` are known is applied one
        after the other: to turn a matrix and then to shift it is less work than both at once.
        """
        own = self.blocks.pop((key, key))
        coupled = {other: self._take(other, key) for other in self._sorted(self.neighbours[key])}
        step = Hang(key, maps, own, coupled, path, through or {}, factors or {})
        self.steps.append(step)
        self._hung(key, maps, path)
        targets, call = list(maps), self.tracer.call
        for i, k in enumerate(targets):
            outer, *inner = step.parts(k)
            moved = call(lambda t, h: t.T @ h, outer, own, path=path)
            term = call(lambda a, t: symmetric(a @ t), moved, outer, path=path)
            for t in inner:
                moved = call(lambda t, a: t.T @ a, t, moved, path=path)
                term = call(lambda t, h: symmetric(t.T @ h @ t), t, term, path=path)
            self._accumulate(k, k, term, path)
            for other in targets[i + 1 :]:
                term = moved
                for t in step.parts(other):
                    term = call(lambda a, t: a @ t, term, t, path=path)
                self._accumulate(k, other, term, path)
            for other, block in coupled.items():
                term = call(
                    lambda t, h, same=other == k: symmetric(t.T @ h.T + h @ t) if same else t.T @ h.T,
                    maps[k],
                    block,
                    path=path,
                )
                self._accumulate(k, other, term, path)
        for row in self.rows.values():
            row.waiting.discard(key)
        self._forget(key)

    def _hung(self, key: Unknown, maps: dict[Unknown, Matrix], path: str) -> None:
        """An unknown was substituted: for who remembers more than blocks."""

    def pivot(self, key: Unknown, path: str) -> None:
        """Eliminate an unknown: joint accelerations (positive pivot) or multipliers (negative, rows may drop)."""
        sign = -1 if key in self.rows else 1
        size = self.sizes[key]
        own = self.blocks.pop((key, key), ca.SX(size, size))
        coupled = {other: self._take(key, other) for other in self._sorted(self.neighbours[key])}
        if sign > 0:
            _check_mass(own, path)
            inverse = self.tracer.call(inverse_of, own, path=path)
        else:
            record = self.rows[key]
            inverse, record.kept, record.smallest = self.tracer.call(
                lambda h, d, t: generalized_inverse(-h, d, t), own, record.reference, self.tolerance, path=path
            )
        scaled = {k: self.tracer.call(lambda a, h: a @ h, inverse, h, path=path) for k, h in coupled.items()}
        self.steps.append(Pivot(key, sign, inverse, coupled, scaled, path))
        names = list(scaled)
        for i, k in enumerate(names):
            for other in names[i:]:
                update = self.tracer.call(
                    lambda h, z, same=other == k: downdate(h, z, sign, same), coupled[k], scaled[other], path=path
                )
                self._accumulate(k, other, update, path)
        for row in self.rows.values():
            row.waiting.discard(key)
        self._forget(key)

    def couple(self, key: Unknown, other: Unknown, block: Matrix) -> None:
        """Add H to the block of two unknowns; what was eliminated before may have coupled them already."""
        self._accumulate(key, other, ca.sparsify(ca.SX(block)), "")

    def left(self, keys: Sequence[Unknown]) -> Matrix:
        """What is left of the matrix on these unknowns, dense."""
        rows = [[self._block(k, other) for other in keys] for k in keys]
        sizes = [self.sizes[key] for key in keys]
        blocks = [
            [ca.SX.zeros(n, m) if block is None else ca.densify(block) for block, m in zip(row, sizes, strict=True)]
            for row, n in zip(rows, sizes, strict=True)
        ]
        return ca.vertcat(*[ca.horzcat(*row) for row in blocks]) if keys else ca.SX(0, 0)

    def ready_rows(self) -> list[Unknown]:
        """Rows whose columns are all eliminated."""
        return [key for key, rows in self.rows.items() if key in self.neighbours and not rows.waiting]

    def _accumulate(self, k: Unknown, other: Unknown, term: Matrix, path: str) -> None:
        if term.nnz() == 0:
            return
        present = self._block(k, other)
        total = (
            term
            if present is None
            else self.tracer.call(
                lambda a, b, same=k == other: symmetric(a + b) if same else a + b, present, term, path=path
            )
        )
        self._store(k, other, total)

    def _block(self, k: Unknown, other: Unknown) -> Matrix | None:
        if (k, other) in self.blocks:
            return self.blocks[k, other]
        if (other, k) in self.blocks:
            return self.blocks[other, k].T
        return None

    def _store(self, k: Unknown, other: Unknown, block: Matrix) -> None:
        self.blocks.pop((other, k), None)
        self.blocks[k, other] = block
        if k != other:
            self.neighbours[k].add(other)
            self.neighbours[other].add(k)

    def _take(self, k: Unknown, other: Unknown) -> Matrix:
        """The block of two unknowns, which is gone after that; an empty one where they are not coupled."""
        block = self._block(k, other)
        self.blocks.pop((k, other), None)
        self.blocks.pop((other, k), None)
        return ca.SX(self.sizes[k], self.sizes[other]) if block is None else block

    def _sorted(self, keys: set[Unknown]) -> list[Unknown]:
        return sorted(keys, key=lambda key: self.order[key])

    def _forget(self, key: Unknown) -> None:
        for other in self.neighbours.pop(key):
            self.neighbours[other].discard(key)

    # -- the vector part

    def solve(self, right: RightSide) -> Solution:
        """All unknowns for given biases and offsets: forward through the steps, then back."""
        return self.back(right, self.forward(right)[1], {})

    def forward(self, right: RightSide) -> tuple[dict[Unknown, Vector], dict[Unknown, Vector]]:
        """Condense: the biases left on unknowns that no step eliminated, and K p of those eliminated by pivots."""
        p = dict(right.bias)
        call = self.tracer.call
        eliminated: dict[Unknown, Vector] = {}
        for step in self.steps:
            if isinstance(step, PortPair):
                biases = call(ca.vertcat, *[p.pop(key, ca.SX(6, 1)) for key in step.keys], path=step.path)
                own = call(lambda k, b: k @ b, step.inverse, biases, path=step.path)
                eliminated[step.keys[0]], eliminated[step.keys[1]] = own, biases
                for k, h in step.coupled.items():
                    _add(p, k, call(lambda h, f: -(h.T @ f), h, own, path=step.path), call, step.path)
                continue
            own = p.pop(step.key, ca.SX(self.sizes[step.key], 1))
            if isinstance(step, Hang):
                offset = self._offset(step, right)
                load = call(lambda f, h, d: f + h @ d, own, step.own, offset, path=step.path)
                for k in step.maps:
                    moved = load
                    for t in step.parts(k):
                        moved = call(lambda t, f: t.T @ f, t, moved, path=step.path)
                    _add(p, k, moved, call, step.path)
                for k, block in step.coupled.items():
                    _add(p, k, call(lambda h, d: h @ d, block, offset, path=step.path), call, step.path)
            else:
                own = call(lambda a, f: a @ f, step.inverse, own, path=step.path)
                eliminated[step.key] = own
                for k, h in step.coupled.items():
                    change = call(lambda h, f, s=step.sign: -s * (h.T @ f), h, own, path=step.path)
                    _add(p, k, change, call, step.path)
        return p, eliminated

    def _offset(self, step: Hang, right: RightSide) -> Vector:
        """d of a hung unknown, with those of unknowns it was defined by."""
        total = right.offsets.get(step.key, ca.SX(self.sizes[step.key], 1))
        for k, t in step.through.items():
            if k in right.offsets:
                total = self.tracer.call(lambda d, t, x: d + t @ x, total, t, right.offsets[k], path=step.path)
        return total

    def back(self, right: RightSide, eliminated: dict[Unknown, Vector], known: dict[Unknown, Vector]) -> Solution:
        """Resolve: all unknowns, from the `known` values of those that no step eliminated."""
        call = self.tracer.call
        y = Solution(known)
        for step in reversed(self.steps):
            if isinstance(step, Hang):
                total = self._offset(step, right)
                for k in step.maps:
                    outer, *inner = step.parts(k)
                    moved = y[k]
                    for t in reversed(inner):
                        moved = call(lambda t, x: t @ x, t, moved, path=step.path)
                    total = call(lambda s, t, x: s + t @ x, total, outer, moved, path=step.path)
                y[step.key] = total
            elif isinstance(step, PortPair):
                own, biases = (eliminated[key] for key in step.keys)
                y[step.keys[0]], y[step.keys[1]] = step.back(self.tracer, own, biases, y, right.watched)
            else:
                total = eliminated[step.key]
                for k, z in step.scaled.items():
                    total = call(lambda s, z, x: s + z @ x, total, z, y[k], path=step.path)
                y[step.key] = call(lambda x, s=step.sign: -s * x, total, path=step.path)
        return y


@dataclass
class RightSide:
    """Vectors of one solve: `bias` p per unknown, `offsets` d per hung body; `watched`: ports whose part cannot be
    resolved to enough digits give no number.
    """

    bias: dict[Unknown, Vector] = field(default_factory=dict)
    offsets: dict[Unknown, Vector] = field(default_factory=dict)
    watched: bool = False


def _add(p: dict[Unknown, Vector], key: Unknown, term: Vector, call: Callable[..., Vector], path: str) -> None:
    p[key] = call(lambda a, b: a + b, p[key], term, path=path) if key in p else term


def _check_mass(own: Matrix, path: str) -> None:
    if any(own[k, k].is_zero() for k in range(own.shape[0])):
        raise TranslationError(
            "no mass or inertia beyond this joint; its acceleration is undetermined.",
            path=path,
            fix="Give the body it moves a mass and inertia, or weld the joint.",
        )


def downdate(coupled: Matrix, scaled: Matrix, sign: int, same: bool) -> Matrix:
    """What an eliminated unknown leaves on the block of two others; `same`: on that of one."""
    product = -sign * (coupled.T @ scaled)
    return ca.sparsify(symmetric(product) if same else product)
