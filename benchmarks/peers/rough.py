"""Problems with friction and impact whose answers are known, for all simulators alike, and the answers.

- brick: a box of 2 kg on four corners on a slope of 20 degrees, friction `factor` tan 20 degrees.
- slider: the same as a mass on a rail.
- oscillator: Den Hartog's mass of 1 kg on a spring of 100 N/m, friction 1.962 N, driven by 5 cos 4t N, from rest.
- ball: from 1 m, restitution 0.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

G, SLOPE, MASS, SIZE = 9.81, np.deg2rad(20.0), 2.0, (0.2, 0.1, 0.05)
STIFFNESS, FRICTION, FORCE, FREQUENCY, SPAN = 100.0, 1.962, 5.0, 4.0, 9.5
RESTITUTION, APEX = 0.8, 0.8**6  # [m], the third


@dataclass(frozen=True)
class Slope:
    """A run of a brick: friction as a part of tan 20 degrees, speed down the slope [m/s], how long [s]."""

    factor: float
    speed: float
    until: float

    @property
    def mu(self) -> float:
        """The coefficient of friction."""
        return self.factor * np.tan(SLOPE)

    @property
    def way(self) -> float:
        """How far it slides [m]."""
        down = G * np.sin(SLOPE) * (1 - self.factor)
        if down < 0:
            assert self.until >= -self.speed / down
            return -(self.speed**2) / down / 2
        return self.speed * self.until + down * self.until**2 / 2


CREEP, SLIDE, STOP = Slope(1.001, 0.0, 10.0), Slope(0.999, 0.0, 10.0), Slope(1.5, 3.0, 3.0)


def driven(times: np.ndarray) -> np.ndarray:
    """Positions [m] of the oscillator at times [s], by formulas between its events."""
    found = np.zeros(len(times))
    for start, end, way, (mean, a, b) in _phases():
        here = (times >= start) & (times <= end)
        t = times[here]
        found[here] = mean + (_swing(t) + a * np.cos(10 * t) + b * np.sin(10 * t) if way else 0.0)
    return found


def _swing(t: np.ndarray | float) -> np.ndarray | float:
    return FORCE / (STIFFNESS - FREQUENCY**2) * np.cos(FREQUENCY * t)


def _pull(x: float, t: float) -> float:
    return FORCE * np.cos(FREQUENCY * t) - STIFFNESS * x


def _phases() -> Iterator[tuple[float, float, int, tuple[float, float, float]]]:
    """Start, end, direction of slip (0: it sticks), and position = mean + swing + a cos 10t + b sin 10t."""
    t, x = 0.0, 0.0
    while t < SPAN:
        pull = _pull(x, t)
        if abs(pull) <= FRICTION * (1 - 1e-12):
            grid = np.linspace(t, t + 2.0, 4001)
            over = next(k for k, at in enumerate(grid) if abs(_pull(x, at)) > FRICTION)
            end = brentq(lambda at, x=x: abs(_pull(x, at)) - FRICTION, grid[over - 1], grid[over], xtol=1e-15)
            yield t, end, 0, (x, 0.0, 0.0)
            t = end
            pull = _pull(x, t + 1e-9)
        way = 1 if pull > 0 else -1
        mean = -way * FRICTION / STIFFNESS
        rest = x - mean - _swing(t)
        fall = FORCE * FREQUENCY / (STIFFNESS - FREQUENCY**2) * np.sin(FREQUENCY * t) / 10
        c, s = np.cos(10 * t), np.sin(10 * t)
        a, b = rest * c - fall * s, rest * s + fall * c
        end = _stop(t, way, a, b)
        yield t, end, way, (mean, a, b)
        x = float(mean + _swing(end) + a * np.cos(10 * end) + b * np.sin(10 * end))
        t = end


def _stop(t: float, way: int, a: float, b: float) -> float:
    """When the mass stands again."""

    def speed(at: float) -> float:
        swing = -FORCE * FREQUENCY / (STIFFNESS - FREQUENCY**2) * np.sin(FREQUENCY * at)
        return way * (swing - 10 * a * np.sin(10 * at) + 10 * b * np.cos(10 * at))

    grid = t + np.linspace(1e-4, 3.0, 30001)
    stands = next(k for k in range(len(grid)) if speed(grid[k]) < 0)
    return brentq(speed, grid[stands - 1], grid[stands], xtol=1e-15)
