"""Coefficients of the Runge-Kutta methods, as data (Hairer, Norsett, Wanner: Solving ODEs I, tables II.1.1, II.5.2;
Kennedy, Carpenter: Applied Numerical Mathematics 44 (2003) 139-181, the implicit half of ARK4(3)6L[2]SA).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tableau:
    """Stage i is taken at t + c[i] h from y + h sum_j a[i][j] k_j; the step ends at y + h sum_j b[j] k_j."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    order: int


MIDPOINT = Tableau(a=((), (1 / 2,)), b=(0, 1), c=(0, 1 / 2), order=2)

CLASSIC = Tableau(
    a=((), (1 / 2,), (0, 1 / 2), (0, 0, 1)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
    c=(0, 1 / 2, 1 / 2, 1),
    order=4,
)

DORMAND_PRINCE = Tableau(
    a=(
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    b=(35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    c=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
    order=5,
)
# difference between the fifth- and fourth-order results, over k_1 .. k_7
DORMAND_PRINCE_ERROR = (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# last coefficient of the interpolant, over k_1 .. k_7
DORMAND_PRINCE_DENSE = (
    -12715105075 / 11282082432,
    0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)


def dense_weights(share: Any) -> list[tuple[int, Any]]:
    """The interpolant of Dormand-Prince at a share of the step (a number or a native value): which k_i it takes, from 0
    on, and how much of h * k_i it adds to the old state.
    """
    rest, found = 1.0 - share, []
    for k, bulge in enumerate(DORMAND_PRINCE_DENSE):
        change = DORMAND_PRINCE.b[k] if k < len(DORMAND_PRINCE.b) else 0.0
        first, last = float(k == 0), float(k == 6)
        if change or last:
            inner = share * (2.0 * change - first - last + rest * bulge) + (first - change)
            found.append((k, share * (change + rest * inner)))
    return found


# L-stable, stiffly accurate, stage order 2; a[i][i] is DIAGONAL for all stages but the first, which is explicit
DIAGONAL = 1 / 4
ESDIRK = Tableau(
    a=(
        (),
        (1 / 4,),
        (8611 / 62500, -1743 / 31250),
        (5012029 / 34652500, -654441 / 2922500, 174375 / 388108),
        (15267082809 / 155376265600, -71443401 / 120774400, 730878875 / 902184768, 2285395 / 8070912),
        (82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211),
    ),
    b=(82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211, 1 / 4),
    c=(0, 1 / 2, 83 / 250, 31 / 50, 17 / 20, 1),
    order=4,
)
_ESDIRK_THIRD = (
    4586570599 / 29645900160,
    0,
    178811875 / 945068544,
    814220225 / 1159782912,
    -3700637 / 11593932,
    61727 / 225920,
)
# difference between the fourth- and third-order results, over k_1 .. k_6
ESDIRK_ERROR = tuple(high - low for high, low in zip(ESDIRK.b, _ESDIRK_THIRD, strict=True))
# the interpolant of order four that is smooth from step to step: coefficients of share^2, share^3, share^4 over k_i
_ESDIRK_DENSE = (
    (-2160447887 / 743597000, 123861731 / 35980500, -1025532137 / 743597000),
    (0, 0, 0),
    (362724125 / 67863456, -2361631375 / 237522096, 2272912625 / 475044192),
    (-12177073 / 3490848, 546083 / 56304, -19304323 / 3490848),
    (177862 / 166175, -11312204 / 3489675, 2205534 / 1163225),
    (-61191 / 2839000, 61191 / 1419500, 648559 / 2839000),
)


def esdirk_weights(share: Any) -> list[tuple[int, Any]]:
    """The same for the implicit pair."""
    found = []
    for k, (second, third, fourth) in enumerate(_ESDIRK_DENSE):
        if second:
            inner = share * (second + share * (third + share * fourth))
            found.append((k, share * (inner + 1.0) if k == 0 else share * inner))
    return found
