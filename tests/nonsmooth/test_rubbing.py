"""Dry friction on every kind of joint, in loops, with limits that change, in ensembles; where it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.known import names, times
from nonsmooth.shafts import Block, FourBar

from kompono import (
    Body,
    Ground,
    Input,
    ModelError,
    Parameter,
    Result,
    RunError,
    Subsystem,
    simulate,
    simulate_many,
    time,
)
from kompono.library import (
    Brake,
    Cylindrical,
    DryFriction,
    Free,
    Gravity,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    Weld,
    solids,
)

G = 9.81
moved = pytest.mark.filterwarnings("ignore:assembly moved")


def run(model: Subsystem, until: float = 1.0, **options: Any) -> Result:
    result = simulate(model, until=until, **({"step": 1e-3} | options))
    assert result.status.ok
    return result


def test_a_sleeve_rubs_along_and_about_its_axis() -> None:
    joint = lambda a, b: Cylindrical(a, b, axis="x", displacement_rate=0.5, angle_rate=2.0)  # noqa: E731
    result = run(Block(joint, lambda j: DryFriction(j, mu=0.2, radius=0.1)))
    assert names(result) == ["law.displacement.sticks", "law.angle.sticks"]
    assert np.allclose(times(result), [0.5 / (0.2 * G), 2.0 * 0.05 / (0.2 * 0.1 * G)], rtol=0, atol=1e-9)


def test_one_of_two_freedoms_rubs() -> None:
    joint = lambda a, b: Cylindrical(a, b, axis="x", displacement_rate=0.5, angle_rate=2.0)  # noqa: E731
    result = run(Block(joint, lambda j: DryFriction(j, preload=0.2, coordinate="angle")))
    assert names(result) == ["law.sticks"]
    assert abs(times(result)[0] - 2.0 * 0.05 / 0.2) < 1e-9
    assert abs(result["joint.displacement"][-1] - 0.5) < 1e-12


def test_a_plate_rubs_along_the_direction_of_slip() -> None:
    joint = lambda a, b: Planar(a, b, x_rate=0.6, y_rate=0.8)  # noqa: E731
    result = run(Block(joint, lambda j: DryFriction(j, mu=0.1, radius=0.0)), until=2.0)
    assert names(result) == ["law.slide.sticks"]
    assert abs(times(result)[0] - 1 / (0.1 * G)) < 1e-9
    way = 0.5 / (0.1 * G)
    assert np.allclose([result["joint.x"][-1], result["joint.y"][-1]], [0.6 * way, 0.8 * way], rtol=0, atol=1e-9)
    alone = run(Block(joint, lambda j: DryFriction(j, mu=0.1, coordinate="slide")), until=2.0)
    assert names(alone) == ["law.sticks"]
    assert times(alone) == times(result)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_screw_rubs_by_the_force_along_its_axis(engine: str) -> None:
    model = Block(lambda a, b: Screw(a, b, pitch=0.1), lambda j: DryFriction(j, mu=0.1, radius=0.05))
    result = run(model, engine=engine)
    turning = -0.095 * G / (0.05 + 0.1 * 0.095)  # J a = (p - mu r) F, m p a = m g - F
    assert abs(result["joint.angle"][-1] - turning / 2) < 1e-10


BALL: dict[str, Callable[..., Any]] = {
    "ball": lambda a, b: Spherical(a, b.at(0, 0, 0.2), wx=1.0),
    "cross": lambda a, b: Universal(a, b.at(0, 0, 0.2), angle1_rate=1.0),
}


@pytest.mark.parametrize("joint", BALL.values(), ids=BALL)
def test_a_ball_and_a_cross_come_to_rest(joint: Callable[..., Any]) -> None:
    result = run(Block(joint, lambda j: DryFriction(j, mu=0.3, radius=0.05)))
    pinned = run(Block(lambda a, b: Revolute(a, b.at(0, 0, 0.2), axis="x", angle_rate=1.0),
                       lambda j: DryFriction(j, mu=0.3, radius=0.05)))  # fmt: skip
    assert np.allclose(times(result), times(pinned), rtol=0, atol=1e-9)


def test_stribeck_begins_with_the_static_value_and_has_no_jump() -> None:
    joint = lambda a, b: Prismatic(a, b, axis="x")  # noqa: E731
    rubs = lambda j: DryFriction(j, mu=0.1, mu_static=0.2, stribeck=0.1)  # noqa: E731
    result = run(Block(joint, rubs, force=5 * time), channels="joint.*")
    assert abs(times(result)[0] - 0.2 * G / 5) < 1e-9
    grid = np.linspace(0.4, 1.0, 601)
    v = np.interp(grid, result.time, result["joint.displacement.rate"])
    a, mu = np.gradient(v, grid), 0.1 + 0.1 * np.exp(-((v / 0.1) ** 2))
    assert np.abs(a - (5 * grid - mu * G))[1:-1].max() < 1e-3


@moved
def test_pins_of_a_loop_rub_wherever_it_is_cut() -> None:
    rubbing = ("p0", "p1", "p2")
    one = run(FourBar(rubbing), until=1.5, step=5e-4, cut=["halves"])
    other = run(FourBar(rubbing[::-1]), until=1.5, step=5e-4)
    assert names(one) == names(other) == ["dry.p2.slips"] * 3
    assert np.allclose(times(one), times(other), rtol=0, atol=1e-10)


@moved
def test_all_pins_of_a_loop_rub_where_a_weld_closes_it() -> None:
    pins = ("p0", "p1", "p2", "p3")
    one, other = (run(FourBar(order), until=1.0, step=5e-4) for order in (pins, pins[::-1]))
    assert len(times(one)) == 4
    assert np.allclose(times(one), times(other), rtol=0, atol=1e-12)


class Braked(Subsystem):
    """A block that slides and is braked by what an input says."""

    def __init__(self, rate: float = 2.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.mu, self.press = Parameter(0.2), Input(0.0)
        self.body = Body(solids.point(mass=1.0))
        self.slide = Prismatic(self.ground, self.body, axis="x", displacement_rate=rate)
        self.friction = DryFriction(self.slide, mu=self.mu, preload=ca.fmax(self.press, 0))


def test_limits_by_parameters_and_inputs() -> None:
    for mu, press in ((0.2, 0.0), (0.4, 0.0), (0.2, 1.0)):
        result = run(Braked(), until=1.5, parameters={"mu": mu}, inputs={"press": press})
        assert abs(times(result)[0] - 2.0 / (mu * G + press)) < 1e-9


@pytest.mark.parametrize("threads", [1, 2])
def test_ensembles(threads: int) -> None:
    mu = np.array([0.15, 0.2, 0.3, 0.4])
    many = simulate_many(Braked(), until=2.0, step=1e-3, parameters={"mu": mu}, threads=threads)
    assert np.allclose(many["slide.displacement"][:, -1], 2.0 / (mu * G), rtol=0, atol=1e-9)
    many = simulate_many(Braked(), until=2.0, step=1e-3, initial={"slide.displacement.rate": [1.0, 0.0, -2.0]})
    assert np.allclose(many["slide.displacement"][:, -1], np.array([1, 0, -4]) / (0.4 * G), rtol=0, atol=1e-9)


class Held(Subsystem):
    """A block that is pulled with 1 N and held by a brake of twice its input."""

    def __init__(self) -> None:
        self.ground, self.press = Ground(), Input(1.0)
        self.body = Body(solids.point(mass=1.0))
        self.slide = Prismatic(self.ground, self.body, axis="x")
        self.pull = JointEffort(self.slide, 1.0)
        self.brake = Brake(self.slide, normal=self.press, mu=2.0)


@pytest.mark.parametrize("press", [([0.0, 1.0, 2.0], [1.0, 0.0, 0.0]), (lambda t: float(t < 0.5), 0.1)])
def test_what_sticks_at_the_start_gives_way_when_the_brake_opens(press: Any) -> None:
    result = run(Held(), inputs={"press": press})
    assert names(result) == ["brake.slips"]
    assert abs(times(result)[0] - 0.5) < 1e-9
    assert not result["slide.displacement"][result.time < 0.5].any()


@pytest.mark.parametrize("method", ["rk2", "adams", "dopri5"])
def test_other_methods(method: str) -> None:
    assert abs(times(run(Braked(), until=1.5, method=method))[0] - 2.0 / (0.2 * G)) < 1e-9


@pytest.mark.parametrize("method", ["Radau", "RK45"])
def test_methods_that_cannot(method: str) -> None:
    with pytest.raises(RunError, match="cannot locate events"):
        simulate(Braked(), until=1.0, step=1e-3, method=method)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (Revolute, {"mu": 0.1}, "lever arm"),
        (Prismatic, {"mu": 0.1, "radius": 0.1}, "does not turn"),
        (Prismatic, {"mu": -0.1}, "negative"),
        (Prismatic, {"preload": -1.0}, "negative"),
        (Prismatic, {"mu": 0.2, "mu_static": 0.1}, "static value"),
        (Prismatic, {"mu": 0.2, "stribeck": 0.1}, "nothing falls"),
        (Prismatic, {"mu": 0.2, "mu_static": 0.3, "stribeck": 0.0}, "not positive"),
        (Prismatic, {"mu": "rough"}, "not a number"),
        (Prismatic, {"mu": 0.1, "coordinate": "angle"}, "no coordinate"),
        (Cylindrical, {"preload": 1.0}, "slides and turns"),
        (Free, {"mu": 0.1, "radius": 0.1}, "transmits no force"),
        (Weld, {"preload": 0.1}, "nothing to move"),
    ],
)
def test_wrong_numbers(kind: type, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        DryFriction(kind(Ground(), Body(mass=1.0, inertia=(1, 1, 1))), **given)
