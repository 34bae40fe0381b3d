"""Unstable settings are told before a run, or end it with a reason; stiffness and damping can be given."""

from __future__ import annotations

import re

import numpy as np
import pytest
from discrete.machines import Bouncing
from reference.support import example
from solve.machines import Oscillator, Pendulum

from kompono import Body, Ground, RunError, Simulation, Subsystem, TranslationError, simulate, time
from kompono.library import Gravity, Revolute, SpringDamper
from kompono.solve.integrate import Settings


def stable_step(message: str) -> float:
    found = re.search(r"steps up to ([0-9.e-]+) s", message)
    assert found
    return float(found[1])


def test_a_stiff_spring_is_named_and_the_step_that_is_stable_is() -> None:
    with pytest.raises(RunError, match=r"left\.damper\.spring") as error:
        simulate(example("car").Car(), until=0.1, step=4e-4, engine="discrete")
    step = stable_step(str(error.value))
    assert 5e-5 < step < 4e-4
    assert simulate(example("car").Car(), until=0.1, step=step, engine="discrete").status.ok


def test_a_joint_made_too_stiff_is_named() -> None:
    car = example("car").Car
    with pytest.raises(RunError, match="right_arm") as error:
        simulate(car(), until=0.1, step=1e-4, engine="discrete", stiffness={"right_arm": 1e10})
    step = stable_step(str(error.value))
    result = simulate(car(), until=0.02, step=step, engine="discrete", stiffness={"right_arm": 1e10})
    assert result.status.ok


def test_the_bound_is_close_to_the_limit() -> None:
    """Just below the limit of a mass on a spring a run is fine, just above it is refused: omega h = 2."""
    for step, good in ((0.99, True), (1.01, False)):
        if good:
            assert simulate(Oscillator(), until=100.0, step=step, engine="discrete").status.ok
        else:
            with pytest.raises(RunError, match="spring"):
                simulate(Oscillator(), until=100.0, step=step, engine="discrete")


class Hardening(Subsystem):
    """A weight on a spring that becomes stiffer without end: some day no step is small enough."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.weight = Body(mass=1.0, inertia=(0.1, 0.1, 0.1), start_position=(0, 0, -1))
        self.spring = SpringDamper(self.ground, self.weight, k=1e3 * 10 ** (10 * time), rest=1.0)


def test_a_run_that_becomes_unstable_returns_its_reason_and_what_it_has() -> None:
    result = simulate(Hardening(), until=1.0, step=1e-4, engine="discrete")
    assert not result.status.ok
    assert result.status.message.startswith("spring")
    assert stable_step(result.status.message) < 1e-4
    assert 0.5 < result.status.time < 1.0
    early = result.time < 0.3
    assert np.abs(result["weight.position.z"][early] + 1).max() < 0.1


def test_links_chosen_automatically_are_stable_in_every_position() -> None:
    """A pendulum that turns over and an engine at full speed keep the stiffness of their start."""
    assert simulate(Pendulum(angle=3.0, angle_rate=5.0), until=2.0, step=1e-3, every=10, engine="discrete").status.ok
    engine = example("engine").Engine(starter=False)
    assert simulate(engine, until=0.05, step=5e-5, every=100, engine="discrete").status.ok


def test_softer_joints_give_more() -> None:
    sag = {}
    for k in (1e5, 2e5):
        options = {"stiffness": {"p*": (k, 1e3)}, "damping": {"pin": (5e2, 1e-2)}}
        result = simulate(Pendulum(), until=0.5, step=1e-4, every=10, engine="discrete", **options)
        sag[k] = result["rod.position.z"][-1] + 0.5
    assert sag[1e5] == pytest.approx(-9.81 / 1e5, rel=1e-3)
    assert sag[2e5] == pytest.approx(-9.81 / 2e5, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stiffness": {"pim": 1.0}}, "pin"),
        ({"stiffness": -1.0}, "not negative"),
        ({"damping": {"pin": (1.0, 2.0, 3.0)}}, "2 groups"),
        ({"method": "rk4"}, "leapfrog"),
        ({"projection": "standard"}, "absolute"),
    ],
)
def test_bad_options_are_told(options, text: str) -> None:
    with pytest.raises(RunError, match=text):
        simulate(Pendulum(), until=0.1, engine="discrete", **options)


def test_options_of_links_belong_to_this_engine() -> None:
    with pytest.raises(RunError, match="discrete"):
        simulate(Pendulum(), until=0.1, stiffness=1e5)


class Needle(Subsystem):
    """A rod without any inertia about its axis."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.rod = Body(mass=1.0, inertia=(0.1, 0.1, 0.0))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y")


def test_a_body_without_inertia_about_an_axis_is_refused_with_its_name() -> None:
    with pytest.raises(TranslationError, match=r"rod.*no inertia about some axis"):
        simulate(Needle(), until=0.1, engine="discrete")


def test_a_step_much_too_long_ends_with_a_reason() -> None:
    simulation = Simulation(Bouncing(), engine="discrete")
    result = simulation.run(Settings("leapfrog", 10.0, 2e-2, 1))
    assert len(result.time) > 1
    assert result.status.ok or "step" in result.status.message
