"""Time, inputs, outputs and tunable parameters in the expressions of a model."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin, sqrt
from typing import Any

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum, Pushed

from kompono import (
    Body,
    Ground,
    Input,
    ModelError,
    Output,
    Parameter,
    RunError,
    Simulation,
    Subsystem,
    TranslationError,
    simulate,
    time,
)
from kompono.errors import RunWarning
from kompono.library import AppliedLoad, Distance, Gravity, JointEffort, Revolute, SpringDamper, Weld, solids
from kompono.solve.integrate import Settings

METHODS = ("rk4", "adams", "dopri5", "Radau")


class Steered(Subsystem):
    """A mass of 1 kg on a rail, pushed by the input `push` [N]."""

    def __init__(self, push: Input) -> None:
        self.push = push
        self.rail = Pushed(lambda _: push)


# -- time


@pytest.mark.parametrize("method", METHODS)
def test_a_force_may_depend_on_time(method: str) -> None:
    result = simulate(Pushed(ca.cos(3 * time)), until=1.0, method=method, step=1e-3, rtol=1e-9)
    assert result["slide.displacement"][-1] == pytest.approx((1 - cos(3)) / 9, abs=1e-8)


def test_a_ground_moves_as_prescribed_and_carries_what_is_fixed_on_it() -> None:
    class Table(Subsystem):
        def __init__(self) -> None:
            half = time * time / 2
            self.table = Ground((ca.sin(time), 0, 0), orientation=(ca.cos(half), 0, 0, ca.sin(half)))
            self.cup = Body(solids.sphere(mass=1, radius=0.1))
            self.glue = Weld(self.table.at(0, 2, 0), self.cup)

    result = simulate(Table(), until=1.0, step=0.01)
    t = result.time
    turn = t * t
    assert np.abs(result["cup.position.x"] - (np.sin(t) - 2 * np.sin(turn))).max() < 1e-12
    assert np.abs(result["cup.position.y"] - 2 * np.cos(turn)).max() < 1e-12
    assert np.abs(result["cup.angular_velocity.z"] - 2 * t).max() < 1e-12
    assert np.abs(result["cup.angular_acceleration.z"] - 2).max() < 1e-12
    expected = -np.sin(t) - 2 * (2 * np.cos(turn) - 4 * t * t * np.sin(turn))
    assert np.abs(result["cup.acceleration.x"] - expected).max() < 1e-11
    assert np.abs(result["glue.force.x"] - expected).max() < 1e-11  # 1 kg: the weld carries m a


def test_grounds_live_at_any_level_and_there_may_be_many() -> None:
    class Shaker(Subsystem):
        def __init__(self, speed: float) -> None:
            self.plate = Ground((speed * time, 0, 0))
            self.load = Body(solids.sphere(mass=1, radius=0.1))
            self.glue = Weld(self.plate, self.load)

    class Two(Subsystem):
        def __init__(self) -> None:
            self.shakers = [Shaker(1.0), Shaker(-2.0)]

    result = simulate(Two(), until=1.0, step=0.1)
    assert result["shakers.0.load.position.x"][-1] == pytest.approx(1.0)
    assert result["shakers.1.load.position.x"][-1] == pytest.approx(-2.0)


# -- inputs


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_input(method: str) -> None:
    result = simulate(Steered(Input(3.0, unit="N")), until=1.0, method=method, step=0.01)
    assert result["rail.slide.displacement"][-1] == pytest.approx(1.5, abs=1e-8)
    assert np.all(result["push"] == 3.0)
    assert result.units["push"] == "N"


@pytest.mark.parametrize("method", METHODS)
def test_a_table_is_linear_between_its_points_and_constant_beyond(method: str) -> None:
    result = simulate(Steered(Input(table=([0.2, 0.4], [0.0, 2.0]))), until=1.0, method=method, step=0.01, rtol=1e-10)
    t = np.array([0.1, 0.3, 0.4, 0.7, 1.0])
    at = [result.at(x)["push"] for x in t]
    assert np.allclose(at, [0, 1, 2, 2, 2], atol=1e-12)
    speed = 0.2 + 2 * 0.6
    assert result["rail.slide.displacement.rate"][-1] == pytest.approx(speed, abs=1e-6)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5", "RK45", "Radau"])
def test_a_callable_is_asked_once_per_period_and_its_answer_held(method: str) -> None:
    asked: list[float] = []

    def law(t: float) -> float:
        asked.append(t)
        return float(len(asked))

    result = simulate(Steered(Input(law, period=0.1)), until=0.5, method=method, step=0.01, rtol=1e-8)
    assert len(asked) in (5, 6)  # at 0 ... 0.4, perhaps at the end
    assert np.allclose(asked, np.arange(len(asked)) * 0.1, atol=1e-9)
    speed = 0.1 * (1 + 2 + 3 + 4 + 5)
    assert result["rail.slide.displacement.rate"][-1] == pytest.approx(speed, rel=1e-7)
    middle = np.array([result.at(x)["push"] for x in (0.05, 0.15, 0.25, 0.35, 0.45)])
    assert np.allclose(middle, [1, 2, 3, 4, 5])


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_period_that_is_no_multiple_of_the_step_keeps_its_average_rate(method: str) -> None:
    asked: list[float] = []
    simulate(Steered(Input(lambda t: asked.append(t) or 0.0, period=0.025)), until=1.0, method=method, step=0.01)
    assert 40 <= len(asked) <= 41
    assert np.abs(np.array(asked) - 0.025 * np.arange(len(asked))).max() < 0.01


def test_a_callable_may_be_asked_thousands_of_times() -> None:
    result = simulate(Steered(Input(lambda t: 1.0, period=0.001)), until=3.0, step=1e-3)
    assert result["rail.slide.displacement"][-1] == pytest.approx(4.5)


@pytest.mark.parametrize("method", METHODS)
def test_a_callable_can_read_channels_and_so_be_a_controller(method: str) -> None:
    def controller(t: float, read: Callable[[str], float]) -> float:
        return 25 * (1.0 - read("rail.slide.displacement")) - 10 * read("rail.slide.displacement.rate")

    result = simulate(Steered(Input(controller, period=0.01)), until=3.0, method=method, step=0.01, rtol=1e-6)
    assert result.status.ok
    assert result["rail.slide.displacement"][-1] == pytest.approx(1.0, abs=1e-3)


def test_a_controller_that_reads_an_unknown_channel_is_told_the_nearest() -> None:
    with pytest.raises(RunError, match=r"no channel 'rail\.slide\.displacment'.*'rail\.slide\.displacement'"):
        simulate(Steered(Input(lambda t, read: read("rail.slide.displacment"), period=0.1)), until=1.0)


def test_a_callable_that_returns_nonsense_is_named_with_the_time() -> None:
    with pytest.warns(RunWarning, match=r"push: the callable returned nan at t = 0\.3 s"):
        result = simulate(Steered(Input(lambda t: np.nan if t > 0.25 else 1.0, period=0.1)), until=1.0, step=0.01)
    assert not result.status.ok
    assert result.time[-1] == pytest.approx(0.3)
    assert result["rail.slide.displacement.rate"][-1] == pytest.approx(0.3)


def test_inputs_can_be_replaced_for_a_run() -> None:
    def speed(model: Subsystem, replacement: Any = None) -> float:
        inputs = None if replacement is None else {"push": replacement}
        return float(simulate(model, until=1.0, step=0.01, inputs=inputs)["rail.slide.displacement.rate"][-1])

    model = Steered(Input(1.0))
    assert speed(model) == pytest.approx(1.0)
    assert speed(model, 2.0) == pytest.approx(2.0)
    assert speed(model, ([0.0, 1.0], [0.0, 4.0])) == pytest.approx(2.0)
    assert speed(model, (lambda t: 3.0, 0.1)) == pytest.approx(3.0)
    assert speed(model) == pytest.approx(1.0)  # for that run only
    sampled = Steered(Input(lambda t: 1.0, period=0.1))
    assert speed(sampled, lambda t: 5.0) == pytest.approx(5.0)  # keeps the declared period


def test_bad_replacements_name_the_input() -> None:
    model = Steered(Input(1.0))
    with pytest.raises(RunError, match=r"no input 'pusch'.*'push'"):
        simulate(model, until=1.0, inputs={"pusch": 1.0})
    with pytest.raises(RunError, match=r"^push: .*sampling period"):
        simulate(model, until=1.0, inputs={"push": lambda t: 1.0})
    with pytest.raises(RunError, match=r"^push: .*table"):
        simulate(model, until=1.0, inputs={"push": ([0.0, 0.0], [1.0, 2.0])})
    with pytest.raises(RunError, match=r"^push: .*finite"):
        simulate(model, until=1.0, inputs={"push": np.nan})


# -- outputs


def test_outputs_are_expressions_of_joints_bodies_frames_inputs_and_time() -> None:
    class Measured(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.7, angle_rate=1.0)
            tip = self.rod.at(0, 0, -0.5)
            self.gain = Input(2.0)
            self.scale = Parameter(3.0)
            self.double = Output(self.gain * self.scale * self.pin.angle, unit="rad")
            self.power = Output(self.pin.angle_rate * self.rod.position[0] + time)
            self.tip_x = Output(tip.position[0])
            self.tip_vx = Output(tip.velocity[0])
            self.tip_ax = Output(tip.acceleration[0])
            self.spin = Output(tip.angular_velocity[1])
            self.spin_up = Output(self.rod.angular_acceleration[1])

    result = simulate(Measured(), until=1.0, step=0.01)
    angle, rate, second = (result[f"pin.angle{suffix}"] for suffix in ("", ".rate", ".acceleration"))
    assert result.units["double"] == "rad"
    assert np.abs(result["double"] - 6 * angle).max() < 1e-14
    assert np.abs(result["power"] - (rate * result["rod.position.x"] + result.time)).max() < 1e-14
    assert np.abs(result["tip_x"] + np.sin(angle)).max() < 1e-14
    assert np.abs(result["tip_vx"] + np.cos(angle) * rate).max() < 1e-13
    assert np.abs(result["tip_ax"] - (np.sin(angle) * rate**2 - np.cos(angle) * second)).max() < 1e-12
    assert np.abs(result["spin"] - rate).max() < 1e-14
    assert np.abs(result["spin_up"] - second).max() < 1e-13


def test_outputs_inside_a_component_carry_its_path() -> None:
    class Pair(Subsystem):
        def __init__(self) -> None:
            self.parts = [Pendulum(angle=0.1), Pendulum(angle=0.2)]
            for part in self.parts:
                part.sine = Output(ca.sin(part.pin.angle))

    result = simulate(Pair(), until=0.0)
    assert result["parts.1.sine"][0] == pytest.approx(sin(0.2))


def test_a_force_cannot_use_an_acceleration() -> None:
    class Causeless(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.push = AppliedLoad(self.rod, force=(self.rod.acceleration[0], 0, 0))

    with pytest.raises(TranslationError, match=r"acceleration.*Output"):
        simulate(Causeless(), until=0.1)


def test_an_expression_with_a_symbol_of_nobody_is_an_error_with_the_path() -> None:
    stray = ca.SX.sym("stray")

    class Vague(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.push = AppliedLoad(self.rod, force=(stray, 0, 0))

    with pytest.raises((ModelError, TranslationError), match=r"push.*stray"):
        simulate(Vague(), until=0.1)


def test_a_parameter_that_was_not_assigned_is_an_error_with_the_path() -> None:
    with pytest.raises((ModelError, TranslationError), match=r"spring"):
        simulate(Oscillator(k=Parameter(1.0)), until=0.1)


# -- tunable parameters


class Tunable(Subsystem):
    """Mass, geometry, stiffness and rest length can be numbers or parameters of the same names."""

    def __init__(self, values: dict[str, float], *, tunable: bool) -> None:
        p: dict[str, Any] = dict(values)
        if tunable:
            self.mass, self.arm, self.k = (Parameter(values[n]) for n in ("mass", "arm", "k"))
            self.moment, self.rod = Parameter(values["moment"]), Parameter(values["rod"])
            p = {"mass": self.mass, "arm": self.arm, "k": self.k, "moment": self.moment, "rod": self.rod}
        self.ground = Ground()
        self.gravity = Gravity()
        self.bob = Body(mass=p["mass"], inertia=(p["moment"], p["moment"], 0.01))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, p["arm"]), axis="y", angle=0.5)
        self.tail = Body(solids.sphere(mass=0.3, radius=0.1), start_position=(1.0, 0, -1.0))
        self.link = Distance(self.bob, self.tail, length=p["rod"])
        self.spring = SpringDamper(self.ground.at(1, 0, 0), self.bob.at(0, 0, p["arm"] / 4), k=p["k"], rest=0.4)


FIRST = {"mass": 1.0, "arm": 1.0, "k": 5.0, "moment": 0.1, "rod": 1.2}
SECOND = {"mass": 2.5, "arm": 0.8, "k": 9.0, "moment": 0.3, "rod": 1.1}


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
def test_a_tuned_run_equals_the_model_rebuilt_with_those_numbers_and_compiles_nothing_anew() -> None:
    simulation = Simulation(Tunable(FIRST, tunable=True))
    settings = Settings("rk4", 1.0, 1e-3)
    kernel = simulation.kernel
    first = simulation.run(settings, progress=False)
    second = simulation.run(settings, parameters=SECOND, progress=False)
    again = simulation.run(settings, progress=False)
    assert simulation.kernel is kernel
    for values, result in ((FIRST, first), (SECOND, second)):
        rebuilt = simulate(Tunable(values, tunable=False), until=1.0)
        for name in ("pin.angle", "tail.position.x", "energy.total", "pin.force.z"):
            assert np.abs(result[name] - rebuilt[name]).max() < 1e-9 * (1 + np.abs(rebuilt[name]).max()), name
    assert np.abs(first["pin.angle"] - second["pin.angle"]).max() > 1e-2
    assert np.array_equal(first.table, again.table)


def test_two_models_that_differ_only_in_a_parameter_value_share_their_kernels() -> None:
    programs = [Simulation(_with_stiffness(k), cache=False).program for k in (1.0, 2.0)]
    keys = [{call.kernel for call in program.routines["derivative"].calls} for program in programs]
    assert keys[0] == keys[1]
    folded = [set(Simulation(Oscillator(k=k), cache=False).program.kernels) for k in (1.0, 2.0)]
    assert folded[0] != folded[1]


class _Tuned(Oscillator):
    def __init__(self, k: float, mass: float = 1.0) -> None:
        self.k, self.mass = Parameter(k, unit="N/m"), Parameter(mass)
        super().__init__(k=self.k, mass=self.mass)


def _with_stiffness(k: float) -> Oscillator:
    return _Tuned(k)


@pytest.mark.parametrize("method", METHODS)
def test_parameters_count_in_every_method(method: str) -> None:
    result = simulate(_Tuned(1.0), until=1.0, step=0.01, method=method, rtol=1e-9, parameters={"k": 9.0, "mass": 4.0})
    assert result["slide.displacement"][-1] == pytest.approx(cos(sqrt(9 / 4)), abs=1e-6)


def test_an_unknown_parameter_offers_the_nearest() -> None:
    with pytest.raises(RunError, match=r"no tunable parameter 'kk'.*'k'"):
        simulate(_Tuned(1.0), until=0.1, parameters={"kk": 1.0})


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan])
def test_a_tuned_mass_is_checked_like_a_declared_one(mass: float) -> None:
    with pytest.raises((ModelError, RunError), match=r"mass"):
        simulate(_Tuned(1.0), until=0.1, parameters={"mass": mass})


def test_a_parameter_of_a_part_is_named_by_its_path() -> None:
    class Owner(Subsystem):
        def __init__(self) -> None:
            self.part = _Tuned(4.0)

    result = simulate(Owner(), until=1.0, parameters={"part.k": 9.0})
    assert result["part.slide.displacement"][-1] == pytest.approx(cos(3.0), abs=1e-6)


def test_an_effort_uses_the_symbols_of_another_joint() -> None:
    class Follower(Subsystem):
        def __init__(self) -> None:
            self.leader = Oscillator(k=1.0)
            self.ground = Ground()
            self.disc = Body(mass=1.0, inertia=(1, 1, 1))
            self.pin = Revolute(self.ground, self.disc, axis="z")
            self.motor = JointEffort(self.pin, self.leader.slide.displacement)

    result = simulate(Follower(), until=1.0, step=1e-2)
    assert result["pin.angle"][-1] == pytest.approx(1 - cos(1.0), abs=1e-8)
