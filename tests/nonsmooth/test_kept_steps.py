"""Steps of what slides are not projected where they end within rounding of what is held, and are where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from nonsmooth.law_machines import Tripod

from kompono import Body, Ground, Simulation, Subsystem, simulate
from kompono.library import Contact, Gravity, solids
from kompono.solve.settling import settler_of

LENGTHS = [f"body.orientation.e{k}" for k in range(4)]


class Sled(Subsystem):
    """It slides on four corners, as long as nothing else is asked."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.sled = Body(solids.box(mass=2.0, size=(0.2, 0.1, 0.05)), start_velocity=(3.0, 0, 0))
        self.feet = Contact(self.ground.plane(), self.sled.corners((0.2, 0.1, 0)), mu=0.2)


def left(engine: str, off: float, each: bool = False) -> float:
    """How high [m] the sled is after some steps, if it begins so high and may as well be on the ground."""
    machine = Simulation(Sled(), engine=engine)
    settler = settler_of(machine.kernel)
    assert settler is not None
    start = settler.start(0.0, machine.assemble().state, np.zeros(0), machine.parameters(), 1e-3)
    place = machine.program.coordinates.index("sled.free.z")
    assert start[place] == 0.0
    start[place] = off
    run = machine.kernel.fixed("rk4", 0.0, start, step=1e-3, parameters=machine.parameters(), each=each)
    run.advance(5)
    return float(run.state[place])


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_what_is_rounding_is_left_and_what_is_more_is_brought_back(engine: str) -> None:
    assert abs(left(engine, 5e-16) - 5e-16) < 1e-19
    assert abs(left(engine, 1e-12)) < 1e-16


def test_runs_that_are_stored_to_go_back_are_projected() -> None:
    assert abs(left("relative", 5e-16, each=True)) < 1e-16


def test_what_turns_is_projected() -> None:
    """Its quaternion would not stay as long as it is, and its feet not on the ground."""
    result = simulate(Tripod(), until=0.3, step=2e-3, method="rk4", progress=False).check()
    lengths = np.sum([result[name] ** 2 for name in LENGTHS], axis=0)
    assert np.abs(lengths - 1.0).max() < 4e-15
    gaps = [np.abs(result[name]).max() for name in result if name.endswith(".gap")]
    assert len(gaps) == 3
    assert max(gaps) < 4e-15


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_sled_stops_where_and_when_it_should(engine: str) -> None:
    result = simulate(Sled(), until=2.0, step=1e-3, method="rk4", engine=engine, progress=False).check()
    stops = 3.0 / (0.2 * 9.81)
    assert {name for _, name in result.statistics["events"]} == {f"feet.{k}.sticks" for k in range(4)}
    assert max(abs(at - stops) for at, _ in result.statistics["events"]) < 1e-11
    assert abs(result["sled.position.x"][-1] - 1.5 * stops) < 1e-11
    assert max(np.abs(result[f"feet.{k}.gap"]).max() for k in range(4)) < 4e-15
