"""Ropes, tethers, media and thrusters: against springs, closed forms and each other."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Input, ModelError, Subsystem, evaluate, simulate
from kompono.library import (
    Gravity,
    MediumDrag,
    Prismatic,
    Rope,
    SpringDamper,
    SumStops,
    Tether,
    Thruster,
    Winch,
    solids,
)

TIGHT: dict[str, Any] = {"method": "dopri5", "rtol": 1e-10, "atol": 1e-12}
EPS = 1e-9


class Hung(Subsystem):
    """Two balls on a rope, or on springs in its place."""

    def __init__(self, kind: str = "rope") -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.a = Body(solids.sphere(mass=1, radius=0.1), start_position=(0.3, 0, -1))
        self.b = Body(solids.sphere(mass=2, radius=0.1), start_position=(-0.3, 0.2, -1.5))
        eye, hook = self.a.at(0.1, 0, 0), self.b.at(0, 0.05, 0.1)
        if kind == "rope":
            ends = self.ground, eye, self.a.at(-0.1, 0, 0.05), hook, self.ground.at(1, 0, 0)
            self.rope = Rope(*ends, k=50.0, rest=1.0)
        else:
            given = {"k": 50.0, "c": 2.0, "rest": 0.6}
            first, second = (self.ground, eye), (self.a, hook)
            make = Rope if kind == "ropes" else SpringDamper
            self.one, self.two = make(*first, **given), make(*second, **given)


def test_a_rope_through_points_keeps_energy_and_has_one_tension() -> None:
    result = simulate(Hung(), until=0.5, step=1e-2, **TIGHT)
    energy = result["energy.kinetic"] + result["energy.potential"]
    assert np.ptp(energy) < 1e-7 * result["energy.kinetic"].max()
    assert np.ptp([result[f"rope.span{k}.tension"] for k in (1, 2, 3)], axis=0).max() < EPS
    other = simulate(Hung(), until=0.5, step=1e-2, engine="absolute", **TIGHT)
    assert abs(other["b.position.x"][-1] - result["b.position.x"][-1]) < 1e-8


def test_ropes_between_two_points_are_springs() -> None:
    names = [f"{body}.{kind}acceleration.*" for body in "ab" for kind in ("", "angular_")]
    at = {"a.velocity.x": 1.0, "b.velocity.z": -2.0, "a.angular_velocity.y": 3.0}
    one, other = (evaluate(Hung(kind), at, channels=names) for kind in ("ropes", "springs"))
    for body in "ab":
        for kind in ("acceleration", "angular_acceleration"):
            assert np.abs(one.vector(f"{body}.{kind}") - other.vector(f"{body}.{kind}")).max() < 1e-12


class Pulled(Subsystem):
    """A block on a rail, pulled by a winch over a tackle whose rope counts twice, with slack before it stretches."""

    def __init__(self, **rope: Any) -> None:
        self.ground, self.control = Ground(), Input(2.0)
        self.block = Body(solids.sphere(mass=2, radius=0.1))
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.5)
        self.rope = Rope(self.ground, self.block, self.ground, **rope)
        self.winch = Winch(self.rope, self.control, gear=-1.0, gain=3.0, bias=(1.0, 0.5, 0.0), force_limits=(0.0, 9.0))


def test_a_winch_pulls_once_for_each_span() -> None:
    here = evaluate(Pulled(), channels=["rail.displacement.acceleration"])
    tension = 3.0 * 2.0 + 1.0 - 0.5 * 1.0  # x is -1, gear times the length 1
    assert abs(here["rail.displacement.acceleration"] + 2 * tension / 2.0) < EPS
    slack = Pulled(k=10.0, rest=(0.0, 1.5), factors=(1.0, 0.5))
    tension = 3.0 * 2.0 + 1.0 - 0.5 * 0.75
    here = evaluate(slack, channels=["rail.displacement.acceleration"])
    assert abs(here["rail.displacement.acceleration"] + 1.5 * tension / 2.0) < EPS


class Thrown(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, 0, -10))
        self.ball = Body(solids.sphere(mass=1, radius=0.1), start_position=(0.3, 0, 0))
        self.tether = Tether(self.ground, self.ball, longest=0.5)


def test_a_tether_is_slack_then_taut_and_loses_what_goes_along_it() -> None:
    result = simulate(Thrown(), until=1.0, step=1e-3)
    assert result.status.ok
    way = np.sqrt(result["ball.position.x"] ** 2 + result["ball.position.z"] ** 2)
    assert way.max() < 0.5 + 1e-11
    taut = np.sqrt(2 * 0.4 / 10)  # falls 0.4 m, to 0.3, -0.4
    loose = result.time < taut
    assert np.abs(result["ball.position.z"][loose] + 5 * result.time[loose] ** 2).max() < 1e-12
    assert np.abs(way[~loose][1:] - 0.5).max() < 1e-11
    across = 0.6 * np.sqrt(2 * 10 * 0.4)  # what is left of the speed, across the rope
    kinetic = result["energy.kinetic"][~loose][1:] - across**2 / 2
    assert np.abs(kinetic + 10 * (result["ball.position.z"][~loose][1:] + 0.4)).max() < 1e-8


class Falling(Subsystem):
    def __init__(self, **drag: Any) -> None:
        self.gravity = Gravity((0, 0, -10))
        self.ball = Body(mass=2.0, inertia=(0.1, 0.2, 0.25), start_angular_velocity=(0, 0, 4))
        self.drag = MediumDrag(self.ball, **drag)


def test_a_medium_slows_as_in_closed_form() -> None:
    result = simulate(Falling(linear=4.0, angular_quadratic=(0, 0, 0.5), wind=(1, 0, 0)), until=1.0, step=1e-3, **TIGHT)
    assert np.abs(result["ball.velocity.z"] + 5 * (1 - np.exp(-2 * result.time))).max() < 1e-9
    assert np.abs(result["ball.velocity.x"] - (1 - np.exp(-2 * result.time))).max() < 1e-9
    assert np.abs(result["ball.angular_velocity.z"] - 4 / (1 + 4 * 0.5 / 0.25 * result.time)).max() < 1e-9
    result = simulate(Falling(quadratic=(1, 1, 0.8)), until=1.0, step=1e-3, **TIGHT)
    assert np.abs(result["ball.velocity.z"] + 5 * np.tanh(2 * result.time)).max() < 1e-9


def test_a_thruster_pushes_along_its_own_axes() -> None:
    class Drone(Subsystem):
        def __init__(self) -> None:
            self.hull, self.control = Body(mass=2.0, inertia=(0.1, 0.2, 0.25)), Input(5.0)
            place = self.hull.at(0.3, 0, 0, orientation=(np.sqrt(0.5), 0, np.sqrt(0.5), 0))  # its z is x of the hull
            self.jet = Thruster(place, self.control, force=(1, 0, 2), torque=(0, 0, 3), gain=2.0, control_limits=(0, 4))

    here = evaluate(Drone(), channels=["hull.acceleration.*", "hull.angular_acceleration.*"])
    assert np.abs(here.vector("hull.acceleration") - np.array([16, 0, -8]) / 2).max() < EPS
    turned = np.array([24 / 0.1, 8 * 0.3 / 0.2, 0])
    assert np.abs(here.vector("hull.angular_acceleration") - turned).max() < 1e-7


def test_stops_of_a_sum_hold_it() -> None:
    class Scales(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity((0, 0, -10))
            self.pans = [Body(solids.sphere(mass=mass, radius=0.1)) for mass in (1.0, 3.0)]
            self.rails = [Prismatic(self.ground, pan, axis="z") for pan in self.pans]
            self.rope = SumStops(*((rail, 1.0) for rail in self.rails), lower=-0.2)

    result = simulate(Scales(), until=1.0, step=1e-3)
    ways = result["rails.0.displacement"], result["rails.1.displacement"]
    assert (ways[0] + ways[1]).min() > -0.2 - 1e-11
    struck = np.sqrt(0.2 / 10)  # both fall 0.1 m; then the rope has the light one rise as fast as the heavy one falls
    since = (result.time - struck)[result.time > struck + 1e-9]
    assert np.abs(ways[1][-len(since) :] + 0.1 + 0.5 * 10 * struck * since + 2.5 * since**2).max() < 1e-9


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda a, b: Rope(a), "a rope runs through frames"),
        (lambda a, b: Rope(a, b, factors=(1, 2)), "2 factors for 1 spans"),
        (lambda a, b: Winch(a, 1.0), "is no rope"),
        (lambda a, b: Tether(a, b), "a tether without lengths"),
        (lambda a, b: Tether(a, b, longest=1, shortest=2), "shortest length is not below"),
        (lambda a, b: MediumDrag(b, linear=-1.0), "is negative"),
        (lambda a, b: MediumDrag(b, quadratic=(1, 2)), "quadratic"),
        (lambda a, b: SumStops(lower=1.0), "stops need terms"),
        (lambda a, b: Thruster(b, 1.0, force=(1, 2)), "the force"),
    ],
)
def test_what_is_wrong_is_told(make: Any, words: str) -> None:
    with pytest.raises(ModelError, match=re.escape(words)):
        make(Ground(), Body(mass=1.0, inertia=(1, 1, 1)))
