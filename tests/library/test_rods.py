"""Links and struts: the massless rod with hinge and ball is one with vanishing mass; a strut is spring and damper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, ModelError, Subsystem, inspect, rotation, simulate
from kompono.library import Gravity, Link, Revolute, Spherical, Strut, Universal, Weld, solids

ENGINES = ("relative", "absolute")
BOX = solids.box(mass=2, size=(0.1, 0.2, 0.3))


class Hung(Subsystem):
    """A brick on a rod that swings about y; massless, or of `mass` with a hinge and a ball joint of its own."""

    def __init__(self, mass: float = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.brick = Body(BOX)
        corner = self.brick.at(0.05, 0.1, 0.15)
        if mass:
            self.rod = Body(mass=mass, inertia=(mass, mass, mass))
            self.pin = Revolute(self.ground, self.rod.at(-0.5, 0, 0), axis="y", angle=0.4)
            self.ball = Spherical(self.rod.at(0.5, 0, 0), corner, wz=2.0)
            turn = rotation("y", -0.4)
            self.ball.start.update({f"e{k}": float(turn[k]) for k in range(4)})
        else:
            self.link = Link(self.ground, corner, length=1.0, axis="y", along="x", angle=0.4, wz=2.0)


def vector(result: Any, path: str) -> np.ndarray:
    return np.stack([result[f"{path}.{k}"] for k in "xyz"], axis=-1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_link_is_a_rod_without_mass(engine: str) -> None:
    link = simulate(Hung(), until=1.0, step=1e-3, engine=engine)
    rods = [simulate(Hung(mass), until=1.0, step=1e-3) for mass in (1e-4, 1e-5)]
    gaps = [np.abs(vector(link, "brick.position") - vector(rod, "brick.position")).max() for rod in rods]
    assert gaps[1] < 1e-4
    assert gaps[1] < 0.2 * gaps[0]
    assert np.ptp(link["energy.total"]) < 2e-6
    assert inspect(Hung(), engine=engine).degrees_of_freedom == 4
    assert link.units["link.swing"] == "rad/s"


class Suspended(Subsystem):
    """A plate on three links: closed loops, some of the links closing."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(solids.box(mass=3, size=(1, 1, 0.1)), start_position=(0.1, 0, -0.99))
        feet = [(0.5, 0, 0), (-0.3, 0.4, 0), (-0.3, -0.4, 0)]
        self.links = [
            Link(self.ground.at(*foot), self.plate.at(*foot), length=1.0, axis="y", along="-z") for foot in feet
        ]


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
def test_links_close_loops_on_both_engines() -> None:
    """Parallel cranks in planes across y: the plate swings without turning, a pendulum of length 1."""
    results = [simulate(Suspended(), until=1.0, step=1e-3, engine=engine) for engine in ENGINES]
    for result in results:
        assert result.status.ok
        assert np.abs(vector(result, "plate.angular_velocity")).max() < 1e-9
        assert np.abs(np.hypot(result["plate.position.x"], result["plate.position.z"]) - 1).max() < 1e-9
        assert np.ptp(result["energy.total"]) < 1e-8
    assert np.abs(results[0]["plate.position.x"] - results[1]["plate.position.x"]).max() < 1e-9


@pytest.mark.parametrize("bad", [{"length": 0}, {"length": "1"}, {"length": 1.0, "axis": "z", "along": "z"}])
def test_a_link_that_cannot_be_is_told(bad: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        Link(Ground(), Body(BOX), **bad)


class Leg(Subsystem):
    """A load on an upright strut."""

    def __init__(self, *, turns: bool = True) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.strut = Strut(length=0.5, k=2e4, c=300.0, rest=0.55, mass=1.0, turns=turns)
        self.load = Body(solids.box(mass=20, size=(0.2, 0.2, 0.2)))
        self.foot = Weld(self.ground, self.strut.bottom)
        self.head = (Weld if turns else Universal)(self.strut.top, self.load)


def test_a_strut_is_spring_and_damper() -> None:
    """It settles where the spring carries the load and its own rod."""
    result = simulate(Leg(), until=3.0, step=1e-3)
    weight = 20.5 * 9.81
    assert result["strut.spring.tension"][-1] == pytest.approx(-weight, rel=1e-6)
    assert result["strut.slide.displacement"][-1] == pytest.approx(0.55 - weight / 2e4, rel=1e-6)
    assert result["strut.slide.displacement"][0] == pytest.approx(0.5)
    assert np.all(np.diff(result["energy.total"]) < 1e-9)
    k, m, t = 2e4, 20.5, result.time[:40]
    delta, omega = 300 / (2 * m), np.sqrt(k / m - (300 / (2 * m)) ** 2)
    away = 0.5 - (0.55 - weight / 2e4)
    expected = np.exp(-delta * t) * away * (np.cos(omega * t) + delta / omega * np.sin(omega * t))
    assert np.abs(result["strut.slide.displacement"][:40] - 0.55 + weight / 2e4 - expected).max() < 1e-8


def test_a_strut_may_be_kept_from_turning_and_wrong_lengths_are_told() -> None:
    assert inspect(Leg(turns=True)).degrees_of_freedom == 2
    assert inspect(Leg(turns=False)).degrees_of_freedom == 3
    with pytest.raises(ModelError, match="length"):
        Strut(length=-1.0)
