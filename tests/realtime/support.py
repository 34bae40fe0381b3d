"""A clock that goes only when told to, and a cart to be pushed, for the tests of live runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from kompono import Body, Ground, Input, Subsystem
from kompono.library import JointEffort, Prismatic


class FakeClock:
    """Stands still unless somebody waits (and then wakes up `overshoot` [s] late) or works."""

    def __init__(self, overshoot: Iterator[float] | None = None) -> None:
        self.time = 1.0
        self.overshoot = overshoot or repeat(0.0)
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def wait(self, until: float) -> None:
        assert until > self.time
        self.waits.append(until - self.time)
        self.time = until + next(self.overshoot)

    def work(self, seconds: float) -> None:
        self.time += seconds


class Cart(Subsystem):
    """1 kg on a rail, 1 m from its middle, pushed by two inputs."""

    def __init__(self, **start: float) -> None:
        self.ground = Ground()
        self.force, self.wind = Input(0.0, unit="N"), Input(0.0, unit="N")
        self.cart = Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.cart, axis="x", **(start or {"displacement": 1.0}))
        self.motor = JointEffort(self.rail, self.force + self.wind)


X, V = "rail.displacement", "rail.displacement.rate"


def control(x: float, v: float) -> float:
    """A force that brings the cart to the middle without swinging."""
    return -25 * x - 10 * v
