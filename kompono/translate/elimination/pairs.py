"""The acceleration b of a port of a closed part and the wrench tau on it, which go together.

What hangs on the port has an inertia M, and the part answers b by a compliance D: M b + tau + ... = 0, b - D tau + ...
= 0. Neither M nor D need be invertible; both together always are (`pivots.pair_inverse`).

Where M is heavier than what carries it inside by a factor f, the part multiplies the rounding of tau by f. The first
answer is exact to f^2 times rounding. It is refined in both equations, then the wrench in that of the part alone, which
leaves f times rounding. Where the last refinement still changes something, digits are gone: no number is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import Tracer

REFINEMENTS = 2  # of the wrench on a port after one of everything; of corrections one is enough
UNSETTLED = 1e-7  # the share of a port's acceleration the last of them may still change
_TINY = 1e-300


@dataclass
class PortPair:
    """Both were eliminated: y = -(K p + sum_k Z_k y_k), y = (b, tau)."""

    keys: tuple[Unknown, Unknown]
    inverse: Matrix
    load: Matrix  # M
    compliance: Matrix  # -D
    coupled: dict[Unknown, Matrix]
    scaled: dict[Unknown, Matrix]
    path: str
    unsettled: list[Scalar] = field(default_factory=list)  # of each answer that was watched: the share changed last

    def back(self, tracer: Tracer, own: Vector, biases: Vector, y: Solution, watched: bool) -> tuple[Vector, Vector]:
        """b and tau from what is known (K p, p, and unknowns eliminated later); `watched`: no number where tau does not
        settle.
        """
        total, given = own, biases
        for k, z in self.scaled.items():
            total = tracer.call(lambda s, z, x: s + z @ x, total, z, y[k], path=self.path)
        for k, h in self.coupled.items():
            given = tracer.call(lambda u, h, x: u + h @ x, given, h, y[k], path=self.path)
        b, tau = tracer.call(lambda x: (-x[:6], -x[6:]), total, path=self.path)
        if not watched:
            return b, self._refined(tracer, b, tau, given)[0]
        b, tau = self._both(tracer, b, tau, given)
        change = ca.SX(6, 1)
        for _ in range(REFINEMENTS):
            tau, change = self._refined(tracer, b, tau, given)
        return b, self._settled(tracer, b, tau, given, change)

    def _both(self, tracer: Tracer, b: Vector, tau: Vector, given: Vector) -> tuple[Vector, Vector]:
        def left(m: Matrix, h: Matrix, b: Vector, tau: Vector, given: Vector) -> Vector:
            return ca.vertcat(m @ b + tau, b + h @ tau) + given

        rest = tracer.call(left, self.load, self.compliance, b, tau, given, path=self.path)
        change = tracer.call(lambda k, rest: k @ rest, self.inverse, rest, path=self.path)
        return tracer.call(lambda b, t, d: (b - d[:6], t - d[6:]), b, tau, change, path=self.path)

    def _refined(self, tracer: Tracer, b: Vector, tau: Vector, given: Vector) -> tuple[Vector, Vector]:
        """tau as what the part answers wants it, and its change."""
        rest = tracer.call(lambda b, h, t, u: b + h @ t + u[6:], b, self.compliance, tau, given, path=self.path)
        change = tracer.call(lambda k, rest: k[6:, 6:] @ rest, self.inverse, rest, path=self.path)
        return tracer.call(lambda t, d: t - d, tau, change, path=self.path), change

    def _settled(self, tracer: Tracer, b: Vector, tau: Vector, given: Vector, change: Vector) -> Vector:
        call, none = tracer.call, float("nan")
        moved, size = call(
            lambda h, d, b, u: (_length(h @ d), _length(b) + _length(u[6:])), self.compliance, change, b, given,
            path=self.path,
        )  # fmt: skip
        self.unsettled.append(call(lambda d, s: d / ca.fmax(s, _TINY), moved, size, path=self.path))
        return call(lambda t, d, s: t * ca.if_else(d <= UNSETTLED * s, 1, none), tau, moved, size, path=self.path)


def _length(column: Vector) -> Scalar:
    """The sum of sizes of entries."""
    return ca.sum1(ca.fabs(ca.densify(column)))
