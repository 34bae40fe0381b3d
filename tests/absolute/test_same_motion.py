"""Whatever the coordinates and the order of elimination, the accelerations and the motion are the same."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from absolute.support import MODELS, accelerations, instant, moving_state, placed, run, simulation
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws.mechanisms import Case, difference, evaluate, loops, nestings, redundant_loops, trees

from kompono import Body, Ground, Simulation, Subsystem, simulate, time
from kompono.library import (
    Cylindrical,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Screw,
    solids,
)

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
EXACT = 1e-11
FEW = settings(
    max_examples=3, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_are_those_of_joint_coordinates(name: str) -> None:
    at = instant(name)
    tree = accelerations(simulation(name, "relative"), at, moving_state(name, at))
    for projection in ("distributed", "successive"):
        other = simulation(name, "absolute", projection)
        found = accelerations(other, at, placed(name, other, at))
        values = np.array([found[key] for key in tree])
        assert difference(values, np.array(list(tree.values()))) < EXACT, projection


def test_the_projection_does_not_change_the_accelerations() -> None:
    at = instant("squeezer")
    expected = accelerations(simulation("squeezer", "relative"), at, moving_state("squeezer", at))
    for projection in ("standard", "none", "baumgarte"):
        other = simulation("squeezer", "absolute", projection)
        found = accelerations(other, at, placed("squeezer", other, at))
        values = np.array([found[key] for key in expected])
        assert difference(values, np.array(list(expected.values()))) < 1e-9, projection


@pytest.mark.parametrize("lever", [0.0, 0.3, 3e2])
def test_a_body_held_by_one_joint(lever: float) -> None:
    """Its conditions are far from depending on each other, and nothing is solved twice, or it is on a long lever."""

    class Held(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.body = Body(solids.box(mass=2.0, size=(0.3, 0.2, 0.1)))
            self.pin = Revolute(self.ground, self.body.at(lever, 0.1, 0.05), axis=(1, 2, 3), angle=0.4, angle_rate=3.0)

    motions = []
    for engine in ("relative", "absolute"):
        result = simulate(Held(), until=1e-3, step=1e-3, engine=engine, progress=False)
        motions.append([result[f"{path}.{axis}"][0] for path in ("body.acceleration", "pin.force") for axis in "xyz"])
    assert difference(np.array(motions[1]), np.array(motions[0])) < 1e-13


@FEW
@given(st.data(), st.one_of(trees(bodies=(2, 4)), loops(bodies=(3, 4)), redundant_loops()))
def test_random_mechanisms(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    expected = case.solution.acceleration[case.m.bodies]
    for projection in ("distributed", "successive"):
        e = evaluate(case.m, nesting, engine="absolute", projection=projection)
        assert difference(e.accelerations, expected) < EXACT, projection


# -- motion


class Winch(Subsystem):
    """A drum turned by a motor through a gear of 7, against a torsion spring that counts turns, on a moving base."""

    def __init__(self) -> None:
        self.base = Ground((0.1 * ca.sin(3 * time), 0, 0.05 * time**2))
        self.gravity = Gravity()
        self.rotor = Body(solids.cylinder(mass=1.0, length=0.1, radius=0.05))
        self.drum = Body(solids.cylinder(mass=5.0, length=0.2, radius=0.1))
        self.rotor_bearing = Revolute(self.base.at(0.3, 0, 0), self.rotor.at(0.02, 0, 0), axis="z", angle=0.2)
        self.drum_bearing = Revolute(self.base, self.drum.at(0.03, 0.01, 0), axis="z")
        self.gear = Gear(self.rotor_bearing, self.drum_bearing, ratio=1 / 7, offset=0.1)
        self.motor = JointEffort(self.rotor_bearing, 0.4 + 0.1 * ca.cos(5 * time))
        self.spring = RotationalSpringDamper(self.drum_bearing, k=0.3, c=0.02, rest=0.5)


class Hoist(Subsystem):
    """A spindle driven several turns lifts a nut; a sleeve on a turning table follows."""

    def __init__(self) -> None:
        angle = 0.4 * time
        self.ground = Ground()
        self.table = Ground((1, 0, 0), orientation=[ca.cos(angle / 2), 0, 0, ca.sin(angle / 2)])
        self.gravity = Gravity()
        self.nut = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.05)))
        self.sleeve = Body(solids.box(mass=1.0, size=(0.1, 0.05, 0.05)))
        self.slider = Body(solids.box(mass=1.0, size=(0.05, 0.05, 0.05)))
        self.spindle = Screw(self.ground, self.nut.at(0.01, 0, 0), pitch=0.02, axis="z", angle_rate=9.0)
        self.turning = Drive(self.spindle, 9 * time + 2 * time**2)
        self.post = Cylindrical(self.table, self.sleeve.at(0.02, 0, 0), axis="z", angle_rate=12.0)
        self.rack = Prismatic(self.table.at(0.2, 0, 0), self.slider, axis="x")
        self.coupled = Gear(
            self.spindle, self.post, ratio=0.05, second_coordinate="displacement", first_coordinate="angle"
        )
        self.cord = Gear(self.post, self.rack, ratio=0.03, first_coordinate="angle")


@pytest.mark.parametrize(
    ("model", "names", "turns"),
    [
        (Winch, ("rotor_bearing.angle", "drum_bearing.angle", "drum.position.z", "rotor.velocity.x"), 2),
        (Hoist, ("spindle.angle", "post.angle", "post.displacement", "rack.displacement", "slider.position.y"), 3),
    ],
)
def test_couplings_turns_and_moving_grounds(model: type[Subsystem], names: tuple[str, ...], turns: int) -> None:
    tree, free = (run(Simulation(model(), engine=e, native=False), 2.0, 0.1) for e in ("relative", "absolute"))
    for name in (*names, "energy.total"):
        assert difference(free[name], tree[name]) < 1e-8, name
    assert np.abs(free[names[0]]).max() > 2 * np.pi * turns  # what is counted are whole turns
    assert free["drift.position"].max() < 1e-13
    assert free["drift.velocity"].max() < 1e-12


def test_reactions_and_efforts_are_the_same() -> None:
    tree, free = (run(Simulation(Winch(), engine=e, native=False), 0.3, 0.1) for e in ("relative", "absolute"))
    for kind in ("force", "torque"):
        for axis in "xyz":
            name = f"drum_bearing.{kind}.{axis}"
            assert difference(free[name], tree[name]) < 1e-8, name


@pytest.mark.parametrize("name", ["skew window", "car", "squeezer"])
def test_projections_lead_to_the_same_motion(name: str) -> None:
    """They differ in what they correct, which is of the size of the integration error."""
    until = {"skew window": 0.1, "car": 0.02, "squeezer": 0.002}[name]
    expected = run(simulation(name, "relative"), until, until, rtol=1e-12)
    positions = [key for key in expected.names if ".position." in key]
    for projection in ("standard", "successive", "distributed"):
        found = run(simulation(name, "absolute", projection), until, until, rtol=1e-12)
        far = [abs(found[key][-1] - expected[key][-1]) for key in positions]
        assert max(far) < 1e-10, projection
