"""Soft contact and friction: forces of the present state and of bristles that remember, in the place of modes.

Where a gap is negative by p, a spring pushes back that is stiffer on the way in than on the way out (Hunt, Crossley):

    force = k p (1 + beta p_dot / sqrt(p_dot^2 + w^2 p^2)),      w^2 = k a      (a: mobility of the row)

The root is the speed of impact as far as the present state tells it, so that restitution is the same at all speeds. It
chooses beta. Friction is a bristle of deflection z with a damper, in series with a slider that holds up to a limit:

    force = -P(k z + c v),      c z_dot = P(k z + c v) - k z      (P: cut to the limit)

Below the limit z_dot = v: what sticks yields elastically, by limit / k at most, and does not creep.
"""

from __future__ import annotations

import casadi as ca

from kompono.translate.symbolic import Scalar, Vector

LEAST = 0.103  # restitution; what is given lower is this
_TINY = 1e-300
_BETA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0, 2.4, 2.8, 3.2, 3.7, 4.2)
_RESTITUTION = (
    1.0,
    0.93546,
    0.87482,
    0.8176,
    0.7634,
    0.71187,
    0.6627,
    0.61563,
    0.57043,
    0.52689,
    0.48483,
    0.44633,
    0.41281,
    0.35735,
    0.3134,
    0.27779,
    0.24843,
    0.20305,
    0.16984,
    0.14467,
    0.12084,
    0.10281,
)  # that a mass has at each beta


def pushed_back(gap: Scalar, rate: Scalar, stiffness: Scalar, mobility: Scalar, restitution: Scalar) -> Scalar:
    """Force [N, N m] that opens a gap [m, rad], never negative; no number where it is closed and the restitution is
    none.
    """
    depth, speed = ca.fmax(-gap, 0), -rate
    scale = ca.sqrt(speed**2 + stiffness * mobility * depth**2 + _TINY)
    force = stiffness * depth * ca.fmax(1 + beta_of(restitution) * speed / scale, 0)
    if ca.SX(restitution).is_constant():
        return force
    return ca.if_else(ca.logic_or(depth <= 0, restitution >= 0), force, restitution)


def beta_of(restitution: Scalar) -> Scalar:
    """How much stiffer the way in is, from restitution."""
    places = [float(-ca.log(e)) for e in _RESTITUTION]
    return ca.SX(ca.pw_lin(-ca.log(ca.fmax(ca.SX(restitution), LEAST)), places, list(_BETA)))


def bristle(z: Vector, v: Vector, low_high: tuple[Vector, Vector] | Scalar, k: Scalar, c: Scalar, h: Scalar) -> tuple:
    """Force of bristles on their rows, their rates, and what they are h [s] later at constant slip speeds v; limited by
    the length of two, or by the lowest and highest value of one.
    """

    def cut(u: Vector) -> Vector:
        if isinstance(low_high, tuple):
            return ca.fmin(ca.fmax(u, low_high[0]), low_high[1])
        length = ca.sqrt(ca.sumsqr(u) + _TINY)
        return u * (low_high / ca.fmax(length, low_high + _TINY))

    force = cut(k * z + c * v)
    return -force, (force - k * z) / c, (h * cut(k * (z + h * v) + c * v) + c * z) / (c + k * h)


def limit_of(kinetic: Scalar, static: Scalar | None, slip: Vector, scale: Scalar) -> Scalar:
    """Limit of friction at slip speeds: static at rest, kinetic above the speed static friction gives with `scale`;
    without a static one the same at all speeds.
    """
    if static is None:
        return kinetic
    return kinetic + (static - kinetic) * ca.exp(-ca.sumsqr(slip) / ((scale * static) ** 2 + _TINY))
