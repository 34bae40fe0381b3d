"""Random numbers as expressions: the number of a sample and a seed give it, and nothing is remembered.

Two halves of 26 bits go through rounds of a Feistel network, whose function is the middle of a square. Doubles hold
every product exactly. The normal distribution is made by Box and Muller's formula from sums, products, quotients and
square roots alone, with series for its logarithm and cosine: so all machines, engines, methods and lanes of ensembles
get the same bits, which functions of a system's library would not give.
"""

from __future__ import annotations

from math import factorial, log, pi
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import choice, number, scalar, shown
from kompono.library.blocks.ports import Block, period
from kompono.model.event import Mode
from kompono.model.signal import Output, Parameter

HALF = 2.0**26
ROUNDS = 12
WEYL = (0x278DDE7, 0x1F83D9B)  # added to the halves of the key from round to round
SEEDS = 2**52


class Noise(Block):
    """Random samples every `every` [s], held in between: `output` = `mean` + `deviation` times a standard sample.

    `distribution` is `"normal"` or `"uniform"` (of that deviation, so within sqrt(3) of it). Samples are independent.
    `seed`, a whole number from 0 to 2^52 - 1, is a parameter: `parameters={"noise.seed": 7}` gives other samples, and
    equal seeds give equal ones. Normal ones are made of 2^52 values, by Box and Muller, none beyond 6.1 deviations.
    """

    def __init__(
        self, *, seed: int, every: float, deviation: Any = 1.0, mean: Any = 0.0, distribution: str = "normal",
        offset: float = 0.0, unit: str = "",
    ) -> None:  # fmt: skip
        choice(distribution, "the distribution", ("normal", "uniform"))
        self.seed = Parameter(seed_of(seed))
        self.count = Mode(0, every=period(every), offset=offset)
        self.count.next = self.count + 1
        drawn = standard(self.seed, self.count, distribution)
        self.held = Mode(0.0, every=every, offset=offset, unit=unit)
        self.held.next = scalar(mean, "the mean") + scalar(deviation, "the deviation") * drawn
        self.output = Output(self.held.next, unit=unit)


def standard(seed: Any, count: Any, distribution: str = "normal") -> Any:
    """A random number of mean 0 and deviation 1: expression of a seed and a number, both whole."""
    first, second = halves(seed, count)
    if distribution == "uniform":
        return 2 * 3**0.5 * ((first * HALF + second + 0.5) / HALF**2 - 0.5)
    return ca.sqrt(-2 * _log((first + 0.5) / HALF)) * _cos_of_turns((second + 0.5) / HALF)


def halves(seed: Any, count: Any) -> tuple[Any, Any]:
    """Two whole numbers below 2^26."""
    first, second = _split(count)
    keys = _split(seed)
    for turn in range(ROUNDS):
        mixed = _low(second + _low(keys[turn % 2] + ((turn + 1) * WEYL[turn % 2]) % HALF))
        middle = _low(ca.floor((mixed * mixed + mixed) / 2.0**13))
        first, second = second, _low(first + middle)
    return first, second


def _log(x: Any) -> Any:
    """Natural logarithm of a number from 2^-27 to 1: it is doubled into the range around 1, then a series."""
    power: Any = 0.0
    for doublings in (16, 8, 4, 2, 1):
        small = x < 2.0**-doublings
        x = ca.if_else(small, x * 2.0**doublings, x)
        power += doublings * small
    small = x < 0.5**0.5
    x, power = ca.if_else(small, 2 * x, x), power + small
    y = (x - 1) / (x + 1)
    return 2 * y * _series(y * y, [1 / (2 * k + 1) for k in range(12)]) - power * log(2)


def _cos_of_turns(x: Any) -> Any:
    """Cosine of 2 pi x, x from 0 to 1, as a sine of at most a quarter of a turn."""
    angle = 2 * pi * (ca.fabs(x - 0.5) - 0.25)
    return angle * _series(angle * angle, [(-1) ** k / factorial(2 * k + 1) for k in range(12)])


def _series(x: Any, coefficients: list[float]) -> Any:
    value: Any = 0.0
    for coefficient in coefficients[::-1]:
        value = value * x + coefficient
    return value


def _split(whole: Any) -> tuple[Any, Any]:
    high = ca.floor(whole / HALF)
    return high, whole - HALF * high


def _low(whole: Any) -> Any:
    return whole - HALF * ca.floor(whole / HALF)


def seed_of(value: Any) -> float:
    """A seed that may be one."""
    found = number(value, "the seed")
    if found != int(found) or not 0 <= found < SEEDS:
        raise ModelError(f"the seed {shown(value)} is no whole number from 0 to 2^52 - 1.", fix="Give e.g. seed=1.")
    return found
