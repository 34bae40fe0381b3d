"""Parts whose state is kept elsewhere, by keepers in the same process: the same bits as closed parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parts.machines import Rig, Walker

from kompono import Body, Ground, Simulation, Subsystem
from kompono.elsewhere.hosts import InProcess
from kompono.examples.car import Car
from kompono.library import Revolute
from kompono.request import Request
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
NATIVE = ("rk2", "rk4", "adams", "dopri5")


class Pair:
    """A model with parts closed, and with the same parts elsewhere."""

    def __init__(self, model: Any, paths: tuple[str, ...]) -> None:
        self.closed = Simulation(model(), closed=paths, errors="parts")
        self.away = Simulation(model(), elsewhere=dict.fromkeys(paths, InProcess()))

    def run(self, method: str, until: float, step: float = 1e-3, **options: Any) -> tuple[Any, Any]:
        settings = settings_of(Request(until=until, step=step, method=method))
        return self.closed.run(settings, **options), self.away.run(settings, **options)


@pytest.fixture(scope="module")
def car() -> Pair:
    return Pair(Car, ("left.damper", "right.damper"))


@pytest.fixture(scope="module")
def rig() -> Pair:
    return Pair(Rig, ("platform", "struts.1"))


def same(one: Any, other: Any) -> None:
    assert one.status.ok, one.status
    assert other.status.ok, other.status
    assert list(one) == list(other)
    assert np.array_equal(one.time, other.time)
    for name in one:
        assert np.array_equal(one[name], other[name]), name


@pytest.mark.parametrize("method", NATIVE)
def test_dampers_elsewhere_move_the_car_to_the_last_bit(car: Pair, method: str) -> None:
    same(*car.run(method, 0.05))


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_loops_through_the_border_events_and_modes_inside(rig: Pair, method: str) -> None:
    one, other = rig.run(method, 0.1, 2e-3)
    same(one, other)
    assert one.statistics["events"] == other.statistics["events"]
    assert any(name.startswith("struts.1") for _, name in one.statistics["events"])


def test_parts_on_grounds_of_their_own() -> None:
    same(*Pair(Walker, ("drive", "guide")).run("rk4", 0.1))


class _Weight(Subsystem):
    """A body, and nothing that moves in it."""

    def __init__(self) -> None:
        self.body = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        self.expose(self.body)


class _Hung(Subsystem):
    """It hangs on a pin."""

    def __init__(self) -> None:
        self.ground, self.weight = Ground(), _Weight()
        self.pin = Revolute(self.ground, self.weight.body.at(0, 0, 0.5), axis="y", angle=0.3)


def test_a_part_without_coordinates_is_not_projected() -> None:
    simulation = Simulation(_Hung(), closed=["weight"], elsewhere={"weight": InProcess()})
    assert "project" not in simulation.near.program.routines
    assert "project" not in simulation.translation.program.routines
