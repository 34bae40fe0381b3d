"""One row by itself, w = b + a z: its mode and its impulse are known at once.

Stops, brakes and smooth contacts mostly change one at a time. What is close to a limit is left to `select`, so that
there is one meaning of a tie.
"""

from __future__ import annotations

from kompono.compile.law_bounds import NEAR, ROUNDING
from kompono.solve.laws.units import Kind, UnitMode


def mode_alone(
    kind: int, a: float, b: float, limits: tuple[float, float], way: float, left: bool
) -> tuple[UnitMode, float] | None:
    """Mode and direction of slip of a row that nothing else acts with; None where that is not obvious.

    `limits` are those of sliding and of sticking friction, `way` is 1 or -1 where it slips already, `left` says that it
    held and must not go on.
    """
    if not a > 0.0:
        return None
    if kind == Kind.ONE_SIDED:
        if b > 0.0:
            return UnitMode.OFF, 0.0
        return (UnitMode.HELD, 0.0) if b < 0.0 and not left else None
    if way:
        return UnitMode.SLIDES, way
    force, (sliding, sticking) = abs(b) / a, limits
    if not left and force < (1.0 - NEAR) * sticking:
        return UnitMode.HELD, 0.0
    beyond = force > (1.0 - ROUNDING) * sliding if left else force > (1.0 + NEAR) * sticking
    return (UnitMode.SLIDES, 1.0 if b > 0.0 else -1.0) if beyond else None


def impulse_alone(a: float, speed: float, restitution: float) -> float:
    """What turns the speed of a closing gap round: all laws agree where there is no friction."""
    return -(1.0 + restitution) * speed / a
