"""Many runs of the discrete engine: on lanes they are single runs, made ready together as each is by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ensembles.machines import Fragile

from kompono import Body, Event, Ground, Mode, Parameter, Simulation, Subsystem, simulate, simulate_many
from kompono.examples.car import Car
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.library import DryFriction, Gravity, JointEffort, Prismatic, Revolute, SpringDamper, solids
from kompono.ready import settle
from kompono.solve.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore")
RUNS, STEP = 11, 1e-5


class Rubbing(Subsystem):
    """A slider that sticks and slips, pushed to and fro."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.block = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.block, axis="x")
        self.drive = JointEffort(self.slide, -100 * self.slide.displacement)
        self.friction = DryFriction(self.slide, preload=1.962)


class Tearing(Subsystem):
    """Two masses on a spring that tears when it is longer than its limit."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.limit, self.whole = Parameter(0.02, unit="m"), Mode(1)
        self.block = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.block, axis="z")
        self.spring = SpringDamper(self.ground.at(0, 0, 1), self.block, k=300 * self.whole, rest=1.0)
        self.tear = Event(-self.slide.displacement - self.limit, {self.whole: 0})


def both(model: Subsystem, given: dict[str, Any], channels: str, **settings: Any) -> Any:
    """The ensemble on lanes, which is to rounding the one made run by run; its runs are those of `simulate`."""
    settings = {"until": 0.01, "step": STEP, "every": 100, "engine": "discrete", "channels": channels, **settings}
    many, single = (simulate_many(model, **given, **settings, lanes=lanes) for lanes in (4, 1))
    assert many.statistics["lanes"] == 4
    np.testing.assert_allclose(many.table, single.table, rtol=0, atol=1e-13)
    assert many.failed == single.failed
    last = {kind: {name: values[-1] for name, values in some.items()} for kind, some in given.items()}
    alone = simulate(model, **last, **settings)
    for name in many.names:
        np.testing.assert_allclose(many[name][-1], alone[name], rtol=1e-9, atol=1e-12)
    return many


def test_windows_a_car_and_a_rubbing_slider() -> None:
    speeds = {"initial": {"feet.0.angle.rate": np.linspace(-2, -1, RUNS)}}
    both(NFourBar(2), speeds, "feet.*angle*")
    both(Car(), {"initial": {"guide.displacement": np.linspace(0.35, 0.36, RUNS)}}, "body.position.*")
    places = {"initial": {"slide.displacement": np.linspace(-0.05, 0.05, RUNS)}}
    both(Rubbing(), places, "slide.displacement*", contact="soft")


def test_runs_with_events_leave_their_lanes() -> None:
    limits = {"parameters": {"limit": np.linspace(1e-5, 9e-4, RUNS)}}
    many = both(Tearing(), limits, "slide.displacement*")
    counts = [len(events) for events in many.statistics["events"]]
    assert set(counts) == {0, 1}
    assert 0 < many.statistics["steps_alone"] < 0.01 * many.statistics["steps"]
    free = np.array(counts) == 1
    assert (np.diff(many["slide.displacement"][free, -1]) > 0).all()  # who tears later falls less far


def test_a_run_that_fails_disturbs_nobody() -> None:
    limits = np.full(300, 100.0)
    limits[[7, 200]] = 0.5 * 0.005**2, -1.0
    settings = {"until": 0.01, "step": STEP, "every": 1000, "engine": "discrete", "channels": "slide.*"}
    many = simulate_many(Fragile(), parameters={"limit": limits}, **settings)
    assert many.failed == [7, 200]
    assert "not a number" in many.status[7].message
    assert many.status[7].time == pytest.approx(0.005, rel=0.01)
    kept = np.delete(many["slide.displacement"][:, -1], [7, 200])
    np.testing.assert_allclose(kept, kept[0], rtol=0)
    assert kept[0] == pytest.approx(0.5 * 0.01**2, rel=1e-3)


def test_starts_made_together_are_those_made_one_by_one() -> None:
    class Swing(Subsystem):
        """A slider on a sledge, with a rod on a pin: rows that turn, and some that do not."""

        def __init__(self) -> None:
            self.ground, self.gravity, self.mass = Ground(), Gravity(), Parameter(1.0, unit="kg")
            self.sledge = Body(mass=self.mass, inertia=(0.1, 0.2, 0.3))
            self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.05))
            self.block = Body(solids.sphere(mass=0.5, radius=0.1))
            self.rail = Prismatic(self.ground, self.sledge, axis="x")
            self.pin = Revolute(self.sledge, self.rod.at(0, 0, 0.5), axis="y", angle=1.0)
            self.bead = Prismatic(self.rod, self.block, axis="z", displacement=0.1)

    simulation = Simulation(Swing(), engine="discrete")
    settings, feed = Settings("leapfrog", 1.0, STEP), simulation.feed()
    starts = [
        simulation.assemble({"bead.displacement": 0.03 * k, "pin.angle": 0.2 * k, "rail.displacement": 0.1 * k}).state
        for k in range(5)
    ]
    masses = np.linspace(1, 2, 5)[:, None]
    together = settle(simulation, settings, masses, feed, np.array(starts))
    for k in range(5):
        states, values, failed = settle(simulation, settings, masses[k : k + 1], feed, starts[k][None])
        assert not failed
        assert not together[2]
        np.testing.assert_allclose(together[1][k], values[0], rtol=1e-11)
        np.testing.assert_allclose(together[0][k], states[0], rtol=0, atol=1e-13)


def test_only_unstable_runs_are_refused() -> None:
    class Stiff(Subsystem):
        """A mass on a spring that may be too stiff for the step."""

        def __init__(self) -> None:
            self.ground, self.stiffness = Ground(), Parameter(1.0, unit="N/m")
            self.block = Body(solids.sphere(mass=1.0, radius=0.1))
            self.slide = Prismatic(self.ground, self.block, axis="x", displacement=0.1)
            self.spring = SpringDamper(self.ground, self.block, k=self.stiffness)

    stiffness = [1e3, 1e12, 1e4]
    many = simulate_many(Stiff(), until=1e-3, parameters={"stiffness": stiffness}, engine="discrete", step=STEP)
    assert many.failed == [1]
    assert "spring" in many.status[1].message
    assert "unstable" in many.status[1].message
