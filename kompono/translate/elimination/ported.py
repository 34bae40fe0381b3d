"""Elimination with ports of closed parts: pairs of acceleration and wrench, and crossings that hang on both ends.

The acceleration of a port is an unknown of its own. Conditions of loops are on joints, so they see the crossing from
base to port, which is *defined* by both: it is put in its place when the port goes, whatever has become of the base.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from kompono.translate.elimination.blocks import Elimination, PivotReference, downdate
from kompono.translate.elimination.pairs import PortPair
from kompono.translate.elimination.pivots import TOLERANCE, pair_inverse
from kompono.translate.elimination.unknowns import Unknown
from kompono.translate.symbolic import Matrix, Scalar
from kompono.translate.tracer import Tracer


@dataclass
class Defined:
    """What an unknown will be hung on, in unknowns that are present, and unknowns that were hung meanwhile."""

    maps: dict[Unknown, Matrix]
    through: dict[Unknown, Matrix] = field(default_factory=dict)


class PortedElimination(Elimination):
    """The matrix part where some bodies are ports of closed parts."""

    def __init__(self, tracer: Tracer, tolerance: Scalar | float = TOLERANCE) -> None:
        super().__init__(tracer, tolerance)
        self.defined: dict[Unknown, Defined] = {}
        self.conditions: dict[Unknown, dict[Unknown, Matrix]] = {}  # G of rows as it was before anything was eliminated

    @property
    def pairs(self) -> list[PortPair]:
        """Ports that were eliminated."""
        return [step for step in self.steps if isinstance(step, PortPair)]

    def add_rows(self, key: Unknown, columns: dict[Unknown, Matrix], reference: PivotReference, path: str) -> None:
        self.conditions[key] = dict(columns)
        super().add_rows(key, columns, reference, path)

    def define(self, key: Unknown, size: int, maps: dict[Unknown, Matrix]) -> None:
        """A new unknown y_key = sum_k T_k y_k + d that `hang_defined` will substitute; some of the others may be hung
        before that.
        """
        self.add(key, size, ca.SX(size, size))
        self.defined[key] = Defined(dict(maps))

    def hang_defined(self, key: Unknown, path: str) -> None:
        """Substitute what was defined; conditions on it go on waiting for the first that it is hung on."""
        defined = self.defined.pop(key)
        for row in self.rows.values():
            if key in row.waiting:
                row.waiting.add(next(iter(defined.maps)))
        self.hang(key, defined.maps, path, defined.through)

    def _hung(self, key: Unknown, maps: dict[Unknown, Matrix], path: str) -> None:
        for defined in self.defined.values():
            if key in defined.maps:
                defined.through[key] = carried = defined.maps.pop(key)
                for k, t in maps.items():
                    moved = self.tracer.call(lambda x, t: x @ t, carried, t, path=path)
                    if k in defined.maps:
                        moved = self.tracer.call(lambda a, b: a + b, defined.maps[k], moved, path=path)
                    defined.maps[k] = moved

    def pair(self, b: Unknown, tau: Unknown, path: str) -> None:
        """Eliminate the acceleration b of a port, on which inertia M hangs, and the wrench tau that a compliance D
        answers: their block is [M, 1; 1, -D].
        """
        m, d = (self.blocks.pop((key, key), ca.SX(6, 6)) for key in (b, tau))
        self._take(b, tau)
        self.neighbours[b].discard(tau)
        self.neighbours[tau].discard(b)
        inverse = self.tracer.call(pair_inverse, m, d, path=path)
        empty = ca.SX(6, 0)
        coupled = {}
        for other in self._sorted(self.neighbours[b] | self.neighbours[tau]):
            above, below = self._take(b, other), self._take(tau, other)
            some = self.sizes[other] > 0
            coupled[other] = self.tracer.call(ca.vertcat, above, below, path=path) if some else ca.vertcat(empty, empty)
        scaled = {k: self.tracer.call(lambda a, h: a @ h, inverse, h, path=path) for k, h in coupled.items()}
        self.steps.append(PortPair((b, tau), inverse, m, d, coupled, scaled, path))
        names = list(scaled)
        for i, k in enumerate(names):
            for other in names[i:]:
                update = self.tracer.call(
                    lambda h, z, same=other == k: downdate(h, z, 1, same), coupled[k], scaled[other], path=path
                )
                self._accumulate(k, other, update, path)
        for row in self.rows.values():
            row.waiting.discard(b)
        self._forget(b)
        self._forget(tau)
