"""Coefficients of the Runge-Kutta methods, as data (Hairer, Norsett, Wanner: Solving ODEs I, tables II.1.1, II.5.2)."""

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
