"""No status is ok over a wrong result: steps too long, energy from nowhere, channels that are no numbers, conditions
that break on the way, steps that lead nowhere.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum, Swing

from kompono import Body, Force, Ground, Motion, Output, Subsystem, Wrench, simulate, simulate_many, time
from kompono.errors import RunError, RunWarning
from kompono.library import (
    Drive,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    SpringDamper,
    solids,
)

FIXED = ("rk2", "rk4", "adams")


class Stiff(Pendulum):
    """A pendulum with a spring far stiffer than a millisecond can follow."""

    def __init__(self, k: float = 1e9, c: float = 0.0) -> None:
        super().__init__(angle=0.5)
        self.spring = SpringDamper(self.ground.at(1, 0, -1), self.rod.at(0, 0, -0.5), k=k, c=c, rest=1.0)


@pytest.mark.parametrize("method", FIXED)
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_step_far_too_long_is_no_success(method: str, engine: str) -> None:
    with pytest.warns(RunWarning, match="step"):
        result = simulate(Stiff(), until=0.1, step=1e-3, method=method, engine=engine)
    assert not result.status.ok
    with pytest.raises(RunError, match="step"):
        result.check()


def test_the_suggested_step_works() -> None:
    with pytest.warns(RunWarning):
        message = simulate(Stiff(1e6), until=0.1, step=5e-3, channels="pin.angle").status.message
    assert "too long" in message
    step = float(message.partition("try step=")[2].split(" ")[0])
    good = simulate(Stiff(1e6), until=0.1, step=step)
    assert good.check() is good
    reference = simulate(Stiff(1e6), until=0.1, method="dopri5", rtol=1e-10)
    assert abs(good["pin.angle"][-1] - reference["pin.angle"][-1]) < 0.05


@pytest.mark.filterwarnings("error::kompono.errors.RunWarning")
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_steps_that_are_right_are_not_blamed(step: float) -> None:
    assert simulate(Pendulum(angle=2.0), until=2.0, step=step).status.ok
    assert simulate(Stiff(200.0, c=5.0), until=1.0, step=step).status.ok
    assert simulate(Swing(), until=1.0, step=step).status.ok
    assert simulate(Oscillator(), until=0.0).status.ok


class Floor(Force):
    """A stiff floor that damps while it is touched."""

    def wrench(self, motion: Motion) -> Wrench:
        depth = ca.fmax(-motion.position[2], 0)
        return Wrench(force=ca.vertcat(0, 0, 1e4 * depth - 30 * (depth > 0) * motion.velocity[2]))

    def potential(self, motion: Motion) -> Any:
        return 5e3 * ca.fmax(-motion.position[2], 0) ** 2


class Ball(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.ball, axis="z", displacement=0.5)
        self.floor = Floor(self.ground, self.ball)


class Rotor(Subsystem):
    """A wheel that turns by twenty radians a millisecond, exactly."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.wheel = Body(mass=1.0, inertia=(1, 1, 1))
        self.axle = Revolute(self.ground, self.wheel, axis="z", angle_rate=2e4)


@pytest.mark.filterwarnings("error::kompono.errors.RunWarning")
def test_impacts_dampers_and_fast_wheels_are_no_mistakes() -> None:
    assert simulate(Ball(), until=2.0, step=1e-3).status.ok
    assert simulate(Ball(), until=2.0, step=1e-3, every=50).status.ok
    assert simulate(Ball(), until=2.0, step=1e-2, method="dopri5").status.ok
    rotor = simulate(Rotor(), until=0.1, step=1e-3)
    assert rotor.status.ok
    assert rotor["axle.angle"][-1] == pytest.approx(2e3)


def test_energy_from_nowhere_is_noticed_even_where_the_step_seems_right() -> None:
    """An oscillator of 1.2 rad a step loses half its energy with rk4, a little in each step."""
    with pytest.warns(RunWarning, match=r"the energy fell by .* though nothing in the model adds or takes any"):
        result = simulate(Oscillator(k=1.44e4), until=1.0, step=1e-2)
    assert 0 < result.status.time < 1.0
    assert simulate(Oscillator(k=1.44e4), until=1.0, step=1e-3).status.ok
    assert simulate(Oscillator(k=1.44e4, c=100.0), until=1.0, step=1e-3).status.ok


def test_ensembles_look_at_their_steps_and_channels_too() -> None:
    with pytest.warns(RunWarning, match="2 of 4 runs"):
        many = simulate_many(
            _Tunable(), until=0.2, step=1e-2, parameters={"k": [1.0, 4.0, 1e5, 2e5]}, channels="slide.*"
        )
    assert many.failed == [2, 3]
    with pytest.raises(RunError, match="2 of 4 runs did not run as planned; run 2"):
        many.check()


class _Tunable(Oscillator):
    def __init__(self) -> None:
        from kompono import Parameter

        self.k = Parameter(1.0)
        super().__init__(k=self.k)


def test_a_channel_that_is_no_number_is_named_with_its_first_time() -> None:
    class Moving(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.wheel = Body(mass=1.0, inertia=(1, 1, 1))
            self.axle = Revolute(self.ground, self.wheel, axis="z")
            self.root = Output(ca.sqrt(0.5 - time))  # nothing moves by it

    with pytest.warns(RunWarning, match=r"root: the channel is infinite or not a number in 50\d of 1001 rows"):
        result = simulate(Moving(), until=1.0)
    assert result.time[-1] == 1.0
    assert result.status.time == pytest.approx(0.5, abs=2e-3)
    assert simulate(Moving(), until=1.0, channels="axle.angle").status.ok  # what was asked for is good


def test_a_result_that_is_right_warns_of_nothing_and_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = simulate(Pendulum(angle=0.3), until=0.1)
    assert result.check() is result


def test_the_warning_points_to_the_line_that_asked() -> None:
    class Gauge(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.gauge = Output(ca.log(-1 - self.pin.angle**2))

    with pytest.warns(RunWarning) as caught:
        result = simulate(Gauge(), until=0.1)
    assert caught[0].filename == __file__
    assert not pickle.loads(pickle.dumps(result)).status.ok


class Contradiction(Pendulum):
    """Two drives that agree for 0.2 s only."""

    def __init__(self) -> None:
        super().__init__()
        self.other = Body(solids.rod(mass=1.0, length=1.0, radius=0.01))
        self.hinge = Revolute(self.ground, self.other.at(0, 0, 0.5), axis="y")
        self.weld = Revolute(self.rod.at(0, 0, -0.5), self.other.at(0, 0, -0.5), axis="y")
        self.first = Drive(self.pin, time)
        self.second = Drive(self.hinge, time + ca.fmax(time - 0.2, 0) ** 3)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_run_whose_drives_contradict_on_the_way_ends_there(method: str) -> None:
    with pytest.warns(RunWarning, match="cannot be kept"):
        result = simulate(Contradiction(), until=1.0, step=1e-3, method=method)
    assert result.status.time == result.time[-1]
    assert 0.2 < result.time[-1] < 0.25
    assert result["pin.angle"][200] == pytest.approx(0.2, abs=1e-9)


class Tiny(Pendulum):
    """A body that is next to nothing on a stiff damper."""

    def __init__(self) -> None:
        super().__init__(angle=0.3)
        self.dust = Body(mass=1e-12, inertia=(1e-16, 1e-16, 1e-16))
        self.needle = Revolute(self.rod.at(0, 0, -0.5), self.dust, axis="y", angle=0.1)
        self.friction = JointEffort(self.needle, -1.0 * self.needle.angle - 1e-3 * self.needle.angle_rate)


def test_steps_that_lead_nowhere_end_with_the_component_to_blame() -> None:
    with pytest.warns(RunWarning, match=r"steps have become as short as .*needle.*esdirk4"):
        result = simulate(Tiny(), until=1.0, step=0.1, method="dopri5")
    assert result.status.time < 1e-3


def test_a_limit_of_steps_is_kept() -> None:
    for method, most in (("dopri5", 50), ("RK45", 20)):
        with pytest.warns(RunWarning, match="max_steps"):
            result = simulate(Pendulum(angle=1.0), until=100.0, step=1.0, method=method, max_steps=most)
        assert 0 < result.status.time < 100
        assert result.statistics["steps"] + result.statistics["rejected"] <= most
    assert simulate(Pendulum(angle=1.0), until=1.0, method="dopri5", max_steps=100_000).status.ok


def test_the_jacobian_is_compiled_before_the_clock_starts() -> None:
    from kompono.simulation import Simulation
    from kompono.solve.integrate import Settings

    simulation = Simulation(Pendulum(angle=0.3), cache=False)
    made: list[str] = []
    prepare = simulation.kernel.prepare
    simulation.kernel.prepare = lambda *a, **k: (prepare(*a, **k), made.extend(simulation.kernel._evaluators))[0]
    simulation.run(Settings("Radau", 0.1, 0.01))
    assert {"jacobian", "derivative"} <= set(made)


class Toggle(Subsystem):
    """A crank of 1 m that is driven, on a rod of 0.5 m: beyond 30 degrees the rod is too short."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.crank, self.rod = (Body(solids.rod(mass=1, length=x, radius=0.02, axis="x")) for x in (1.0, 0.5))
        self.slider = Body(mass=1.0, inertia=(1, 1, 1))
        lean = np.arcsin(2 * np.sin(0.2))
        self.pin = Revolute(self.ground, self.crank.at(-0.5, 0, 0), axis="y", angle=0.2, angle_rate=1.0)
        self.knee = Revolute(self.crank.at(0.5, 0, 0), self.rod.at(-0.25, 0, 0), axis="y", angle=-0.2 - lean)
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=np.cos(0.2) + 0.5 * np.cos(lean))
        self.wrist = Revolute(self.rod.at(0.25, 0, 0), self.slider, axis="y")
        self.drive = Drive(self.pin, 0.2 + time)


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_machine_that_locks_says_so_where_it_does(method: str, engine: str) -> None:
    with pytest.warns(RunWarning, match=r"(seems to lock|cannot be reached)"):
        result = simulate(Toggle(), until=2.0, method=method, engine=engine)
    assert result.status.time == pytest.approx(np.pi / 6 - 0.2, abs=2e-3)
    assert result.time[-1] < 0.33


class Spinner(Pendulum):
    """A pendulum with a light disc that rubs so much that a millisecond hardly follows."""

    def __init__(self, rate: float) -> None:
        super().__init__(angle=0.5)
        self.disc = Body(mass=1e-3, inertia=1e-6 * np.eye(3))
        self.axle = Revolute(self.rod, self.disc, axis="z", angle=0.0, angle_rate=rate)
        self.rubbing = RotationalSpringDamper(self.axle, c=2.6e-3)


def test_what_hardly_moves_does_not_condemn_a_run() -> None:
    """A thousandth of the motion that is wrong by all of itself is not the motion; as much as the rest of it is."""
    assert simulate(Spinner(1e-4), until=5e-3, step=1e-3).status.ok
    with pytest.warns(RunWarning, match="too long"):
        assert not simulate(Spinner(1.0), until=5e-3, step=1e-3).status.ok
