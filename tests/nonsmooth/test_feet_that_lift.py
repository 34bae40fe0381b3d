"""Feet share friction by what they bear until they lift, whatever else is held in the machine, and slip together."""

from __future__ import annotations

import numpy as np
import pytest
from nonsmooth.known import names, times

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import AppliedLoad, Brake, Contact, Gravity, Revolute

G, MASS, HEIGHT, TRACK, PULL, INERTIA = 9.81, 10.0, 0.8, 0.6, 40.0, 1.5


class Tipped(Subsystem):
    """A cart that is pulled sideways harder and harder at the height of its centre."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.cart = Body(mass=MASS, inertia=(INERTIA,) * 3, start_position=(0, 0, HEIGHT))
        outer, inner = [[(x, side * TRACK, -HEIGHT) for x in (0.8, -0.8)] for side in (1, -1)]
        self.wheels = Contact(self.ground.plane(), self.cart.points(*outer, *inner), mu=3.0)
        self.pull = AppliedLoad(self.cart, force=(0, PULL * time, 0))


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_both_inner_wheels_lift_when_nothing_is_left_on_them(engine: str) -> None:
    result = simulate(Tipped(), until=1.9, step=1e-3, engine=engine)
    assert sorted(names(result)) == ["wheels.2.opens", "wheels.3.opens"]
    assert np.allclose(times(result), MASS * G * TRACK / (HEIGHT * PULL), rtol=0, atol=1e-9)


class Pushed(Subsystem):
    """A table on four legs, not quite symmetric; elsewhere a strong brake holds a shaft."""

    def __init__(self, brake: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.shaft = Body(mass=1.0, inertia=(1, 1, 1))
        self.pin = Revolute(self.ground, self.shaft, axis="z")
        self.brake = Brake(self.pin, limit=brake)
        self.table = Body(mass=8.0, inertia=(1, 1, 1), start_position=(5, 0, 1))
        points = self.table.points((1, 1, -1), (-1, 1, -1), (-1, -1, -1), (1.2, -1, -1))
        self.legs = Contact(self.ground.plane(), points, mu=0.5)
        self.push = AppliedLoad(self.table.at(0, 0, -1), force=(100 * time, 0, 0))


@pytest.mark.parametrize("brake", [1e2, 1e6, 1e12])
def test_a_strong_brake_elsewhere_has_no_say(brake: float) -> None:
    result = simulate(Pushed(brake), until=0.5, step=1e-3)
    assert names(result) == [f"legs.{k}.slips" for k in range(4)]
    assert np.allclose(times(result), 0.5 * 8.0 * G / 100, rtol=0, atol=1e-9)
    before = result.time < times(result)[0]
    shares = [result[f"legs.{k}.friction.x"][before] / result[f"legs.{k}.normal"][before] for k in range(4)]
    assert np.ptp(shares, axis=0).max() < 1e-9
