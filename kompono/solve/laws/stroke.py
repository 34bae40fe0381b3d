"""One rough contact through an impact, exactly: velocities followed along the normal impulse (Routh).

While the normal impulse grows, friction takes mu times its growth against slip; where slip stops it sticks, or slides
back if sticking needs more. Velocities are then straight lines with one corner, and each law of restitution says where
the impulse ends: Poisson at (1 + e) times the impulse of compression, Newton where the normal velocity is -e times the
one before, Stronge where the contact has given back e^2 of the work it took.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt


@dataclass(frozen=True)
class StrokePiece:
    """A straight piece: velocities (normal, tangent) at its start, their growth per impulse, that of friction."""

    start: float
    length: float
    velocity: tuple[float, float]
    growth: tuple[float, float]
    friction: float


@dataclass(frozen=True)
class StrokeContact:
    """Mobility of one contact (normal, mixed, tangent), velocities before, friction, restitution."""

    normal: float
    mixed: float
    tangent: float
    velocity: tuple[float, float]
    mu: float
    restitution: float


def stroke(contact: StrokeContact, law: str) -> tuple[float, float]:
    """Impulses (normal, tangent) of one contact that closes."""
    pieces = _pieces(contact)
    squeezed = _where_normal_is(pieces, 0.0)
    e = contact.restitution
    if law == "poisson":
        end = (1.0 + e) * squeezed
    elif law == "newton":
        end = _where_normal_is(pieces, -e * contact.velocity[0])
    else:
        end = _where_work_is(pieces, squeezed, -(e**2) * _work(pieces, 0.0, squeezed))
    friction = sum(piece.friction * min(max(end - piece.start, 0.0), piece.length) for piece in pieces)
    return end, friction


def _pieces(contact: StrokeContact) -> list[StrokePiece]:
    """Slip until it stops, and what follows."""
    wn, wt = contact.velocity
    nn, nt, tt, mu = contact.normal, contact.mixed, contact.tangent, contact.mu
    pieces, start = [], 0.0
    if wt != 0.0 and tt > 0.0:
        friction = -mu if wt > 0.0 else mu
        growth = (nn + nt * friction, nt + tt * friction)
        stops = wt * growth[1] < 0.0
        start = -wt / growth[1] if stops else inf
        pieces.append(StrokePiece(0.0, start, (wn, wt), growth, friction))
        if not stops:
            return pieces
        wn += growth[0] * start
    if abs(nt) <= mu * tt:
        friction = -nt / tt if tt > 0.0 else 0.0
        growth = (nn + nt * friction, 0.0)
    else:
        friction = -mu if nt > 0.0 else mu
        growth = (nn + nt * friction, nt + tt * friction)
    return [*pieces, StrokePiece(start, inf, (wn, 0.0), growth, friction)]


def _where_normal_is(pieces: list[StrokePiece], value: float) -> float:
    """The impulse at which the normal velocity rises through a value."""
    for piece in pieces:
        slope, missing = piece.growth[0], value - piece.velocity[0]
        if slope > 0.0 and missing <= slope * piece.length:
            return piece.start + max(missing, 0.0) / slope
    return pieces[-1].start


def _work(pieces: list[StrokePiece], first: float, last: float) -> float:
    """The work of the normal impulse between two of its values."""
    total = 0.0
    for piece in pieces:
        a, b = max(first - piece.start, 0.0), min(last - piece.start, piece.length)
        if b > a:
            total += (b - a) * (piece.velocity[0] + piece.growth[0] * (a + b) / 2)
    return total


def _where_work_is(pieces: list[StrokePiece], first: float, value: float) -> float:
    """The impulse after `first` up to which the normal impulse has done this work."""
    at = first
    for piece in pieces:
        a = max(at - piece.start, 0.0)
        if a >= piece.length:
            continue
        part = _work([piece], at, piece.start + piece.length) if piece.length < inf else inf
        if part >= value:
            speed = piece.velocity[0] + piece.growth[0] * a
            root = sqrt(max(speed**2 + 2 * piece.growth[0] * value, 0.0))
            return at + (2 * value / (speed + root) if speed + root > 0.0 else 0.0)
        value -= part
        at = piece.start + piece.length
    return at
