"""contact="soft": laws as forces, with bristles that remember, on all engines, methods and lanes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.known import known
from nonsmooth.law_machines import Dry, Leg, Stop

from kompono import (
    Body,
    Ground,
    ModelError,
    ModelWarning,
    RunError,
    Simulation,
    Subsystem,
    simulate,
    simulate_many,
    time,
)
from kompono.library import Contact, EndStops, Gravity, JointEffort, Prismatic, Revolute, solids
from kompono.model.law import JointLaw, Unit
from kompono.solve.integrate import Settings


class Ball(Subsystem):
    """n01 with a restitution."""

    def __init__(self, restitution: float = 0.8, **given: Any) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.ball, axis="z", displacement=1.0)
        self.floor = _Floor(self.slide, restitution, given)


class _Floor(JointLaw):
    def __init__(self, joint: Any, restitution: float, given: dict[str, Any]) -> None:
        super().__init__(joint)
        self.restitution, self.given = restitution, given

    def units(self) -> Unit:
        return Unit(gap=self.joints[0].q[0], restitution=self.restitution, **self.given)


class Rubbing(Subsystem):
    """n06."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Prismatic(self.ground, self.mass, axis="x")
        self.push = JointEffort(self.slide, -100 * self.slide.displacement + 5 * ca.cos(4 * time))
        self.friction = Dry(self.slide, limit=1.962)


class Brick(Subsystem):
    """A box on four legs that lands, slides with a turn, and stops."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.box = Body(
            solids.box(mass=2.0, size=(0.2, 0.2, 0.2)), start_position=(0, 0, 0.11), start_velocity=(1.0, 0.3, 0),
            start_angular_velocity=(0, 0, 0.5),
        )  # fmt: skip
        self.legs = [Leg(self.ground, self.box.at(x, y, -0.1), 0.5) for x in (0.1, -0.1) for y in (0.1, -0.1)]


def apexes(result: Any) -> np.ndarray:
    z = result["slide.displacement"]
    return z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])]


def sticks(result: Any) -> tuple[float, float]:
    """Largest error of position in long sticking phases of n06, and speed of creep in them."""
    exact, worst, creep = simulate(Rubbing(), until=10.0, step=1e-3), 0.0, 0.0
    events = known("n06")["a"]["events"]
    for one, other in pairwise(events):
        inside = (result.time > one["t"] + 0.02) & (result.time < other["t"] - 0.02)
        if one["kind"] == "stop" and np.count_nonzero(inside) > 2 and other["t"] - one["t"] > 0.05:
            x = result["slide.displacement"][inside]
            truth = np.interp(result.time[inside], exact.time, exact["slide.displacement"])
            worst = max(worst, float(np.abs(x - truth).max()))
            creep = max(creep, float(abs(x[-1] - x[0]) / np.ptp(result.time[inside])))
    return worst, creep


@pytest.mark.parametrize(("engine", "step"), [("relative", 1e-3), ("absolute", 1e-3), ("discrete", 1e-5)])
def test_a_ball_bounces_by_its_restitution_at_all_speeds_and_rests(engine: str, step: float) -> None:
    result = simulate(Ball(), until=5.0, step=step, every=round(1e-3 / step), engine=engine, contact="soft")
    assert result.status.ok
    assert result.statistics["events"] == []
    assert apexes(result)[:4] == pytest.approx([0.8 ** (2 * k) for k in range(1, 5)], rel=0.04)
    assert abs(result["slide.displacement"][-1]) < 1.1e-4  # it rests on its spring, m g / k deep
    assert abs(result["slide.displacement.rate"][-1]) < 1e-9
    assert result["floor.normal"][-1] == pytest.approx(9.81, rel=1e-9)


def test_restitution_of_soft_laws() -> None:
    for given in (0.2, 0.5, 0.9, 1.0):
        result = simulate(Ball(given), until=1.4, step=2e-4, contact="soft")
        assert np.sqrt(apexes(result)[0]) == pytest.approx(given, abs=0.02)


def test_an_elastic_ball_keeps_its_energy() -> None:
    """Equal steps over the ends of contacts lose a little: a thousandth at each."""
    tried: list[tuple[dict[str, Any], float]] = [({"step": 1e-4}, 0.02), ({"step": 1e-3, "method": "dopri5"}, 1e-4)]
    for options, loss in tried:
        result = simulate(Ball(1.0), until=20.0, contact="soft", **options)
        assert apexes(result) == pytest.approx(np.ones(len(apexes(result))), abs=loss)


def test_friction_with_memory_on_the_discrete_engine() -> None:
    """n06 at 1e-5 s."""
    result = simulate(Rubbing(), until=10.0, step=1e-5, every=100, engine="discrete", contact="soft")
    error, creep = sticks(result)
    assert error < 1e-5
    assert creep < 1e-9


def test_soft_friction_converges_with_the_step_and_does_not_creep() -> None:
    errors = [sticks(simulate(Rubbing(), until=10.0, step=step, contact="soft"))[0] for step in (1e-3, 1e-4)]
    assert errors[0] < 5e-4
    assert errors[1] < 5e-5


def test_the_first_impact_on_the_discrete_engine_is_right_to_a_step() -> None:
    result = simulate(Ball(), until=0.5, step=1e-5, every=1, engine="discrete", contact="soft")
    first = result.time[np.argmax(result["slide.displacement"] < 0)]
    assert first == pytest.approx(np.sqrt(2 / 9.81), abs=1e-5)


def test_friction_in_a_plane_is_that_of_events() -> None:
    exact = simulate(Brick(), until=1.0, step=1e-3)
    engines = {"relative": 1e-3, "absolute": 1e-4, "discrete": 1e-5}
    for engine, step in engines.items():
        soft = simulate(Brick(), until=1.0, contact="soft", engine=engine, step=step)
        assert soft.status.ok
        for axis in "xyz":
            path = f"box.position.{axis}"
            assert soft[path][-1] == pytest.approx(exact[path][-1], abs=5e-4)
        assert not soft.statistics.get("events")


def test_engines_agree() -> None:
    one, other = (simulate(Brick(), until=0.5, engine=e, contact="soft") for e in ("relative", "absolute"))
    assert one["box.position.x"] == pytest.approx(other["box.position.x"], abs=1e-5)


@pytest.mark.parametrize("method", ["rk2", "adams", "dopri5", "Radau", "LSODA"])
def test_all_methods_have_soft_laws(method: str) -> None:
    result = simulate(Ball(), until=1.0, step=5e-4, method=method, contact="soft")
    assert result.status.ok
    assert apexes(result)[0] == pytest.approx(0.64, rel=0.03)


def test_rare_records_do_not_make_a_floor_soft() -> None:
    """Methods that choose their steps: `step` is the distance of records."""
    result = simulate(Ball(), until=1.0, contact="soft", method="dopri5", step=0.05).check()
    assert result["ball.position.z"].min() > -0.02


def test_ensembles_stay_on_lanes() -> None:
    heights = np.linspace(0.5, 1.0, 20)
    many = simulate_many(Ball(), until=1.0, contact="soft", initial={"slide.displacement": heights})
    assert many.statistics["lanes"] > 1
    assert not many.failed
    alone = simulate(Ball(), until=1.0, contact="soft", initial={"slide.displacement": heights[3]})
    assert many["slide.displacement"][3] == pytest.approx(alone["slide.displacement"], abs=1e-12)


def test_stiffness_follows_the_step_of_a_run_or_is_given() -> None:
    simulation = Simulation(Ball(), contact="soft")
    result = simulation.run(Settings("rk4", until=3.0, step=1e-4))
    assert result["slide.displacement"] == pytest.approx(
        simulate(Ball(), until=3.0, step=1e-4, contact="soft")["slide.displacement"], abs=1e-12
    )
    result = simulate(Ball(0.0, stiffness=1e4), until=3.0, contact="soft")
    assert result["slide.displacement"][-1] == pytest.approx(-9.81e-4, rel=1e-6)


def test_a_contact_and_stops_as_stiff_as_given() -> None:
    class Resting(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 0.1))
            self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1), stiffness=2e4)
            self.weight = Body(solids.sphere(mass=1.0, radius=0.1))
            self.rail = Prismatic(self.ground, self.weight, axis="z")
            self.stops = EndStops(self.rail, lower=0.0, stiffness=1e4)

    result = simulate(Resting(), until=2.0, contact="soft")
    assert result["ball.position.z"][-1] - 0.1 == pytest.approx(-9.81 / 2e4, rel=1e-6)
    assert result["rail.displacement"][-1] == pytest.approx(-9.81e-4, rel=1e-6)
    with pytest.warns(ModelWarning, match=r"floor, stops: its stiffness is that of contact='soft'; here .* is rigid"):
        simulate(Resting(), until=0.01)
    for wrong in (0.0, -1.0):
        with pytest.raises(ModelError, match=r"Contact: the stiffness .* is not positive"):
            Contact(Ground().plane(), Body(solids.sphere(mass=1.0, radius=0.1)).sphere(0.1), stiffness=wrong)


def test_a_free_wheel_holds_softly() -> None:
    class Ratchet(JointLaw):
        def units(self) -> Unit:
            return Unit(speed=self.joints[0].v[0])

    class Wheel(Subsystem):
        def __init__(self) -> None:
            self.ground, self.wheel = Ground(), Body(solids.cylinder(mass=1.0, radius=0.1, length=0.1))
            self.axle = Revolute(self.ground, self.wheel, axis="z", angle_rate=1.0)
            self.motor = JointEffort(self.axle, 0.05 * ca.cos(5 * time))
            self.ratchet = Ratchet(self.axle)

    exact, soft = (simulate(Wheel(), until=3.0, contact=contact) for contact in ("events", "soft"))
    truth = np.interp(soft.time, exact.time, exact["axle.angle"])
    assert soft["axle.angle"] == pytest.approx(truth, abs=1e-3)


def test_what_soft_laws_cannot_be_is_said() -> None:
    class Journal(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity, self.bar = Ground(), Gravity(), Body(solids.rod(mass=1.0, length=1.0))
            self.pin = Revolute(self.ground, self.bar.at(0, 0, 0.5), axis="y", angle=1.0)
            self.friction = Dry(self.pin, mu=0.01, reaction=self.pin)

    with pytest.raises(ModelError, match=r"friction: friction by the reaction of a joint.*contact='events'"):
        simulate(Journal(), until=1.0, contact="soft")
    with pytest.raises(ModelError, match=r"not possible on engine 'discrete'.*contact='soft'"):
        simulate(Ball(), until=1.0, engine="discrete")
    with pytest.raises(RunError, match=r"there is no contact 'sof'. Did you mean 'soft'"):
        simulate(Ball(), until=1.0, contact="sof")


def test_a_floor_too_stiff_for_the_step_is_refused() -> None:
    for engine in ("discrete", "relative"):
        with pytest.raises(RunError, match=r"floor: its stiffness is too high for a step of 1e-05 s. Use step=2.8e-06"):
            simulate(Ball(0.8, stiffness=1e11), until=1.0, step=1e-5, engine=engine, contact="soft")
    assert simulate(Ball(0.8, stiffness=1e9), until=1.0, method="dopri5", contact="soft").status.ok


def test_stops_of_two_sides() -> None:
    class Between(Subsystem):
        def __init__(self) -> None:
            self.ground, self.mass = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
            self.slide = Prismatic(self.ground, self.mass, axis="x", displacement_rate=1.0)
            self.low, self.high = Stop(self.slide, -0.1, 0.5), Stop(self.slide, 0.1, 0.5, -1.0)

    result = simulate(Between(), until=1.0, step=1e-4, contact="soft")
    exact = simulate(Between(), until=1.0, step=1e-4)
    assert np.abs(result["slide.displacement"]).max() < 0.1005
    assert result["slide.displacement.rate"][-1] == pytest.approx(exact["slide.displacement.rate"][-1], rel=0.05)
