"""What is far from surfaces: in the middle of bores, hollows and holes; in front of wavy outlines. Slip on spheres with
chosen steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kompono import AssemblyError, Body, Ground, Subsystem, simulate
from kompono.library import Contact, Gravity, Revolute, RotationalSpringDamper
from kompono.library.surfaces import touches
from kompono.spatial.pose import Pose

G, WIDE, SMALL = 9.81, 0.5, 0.1


def oval(phi: Any) -> Any:
    return WIDE + 0.1 * ca.cos(2 * phi + 0.7)


Pair = Callable[[Ground, Body], tuple[Any, Any]]
HOLLOWS: dict[str, tuple[Pair, float]] = {  # and how far it is down from the middle
    "rotor in a bore": (lambda g, b: (g.cylinder(WIDE, inside=True), b.circle(SMALL, "z")), WIDE - SMALL),
    "ball in a hollow": (lambda g, b: (g.sphere(WIDE, inside=True), b.sphere(SMALL)), WIDE - SMALL),
    "point in a hole": (lambda g, b: (g.curve(oval, inside=True), b.point()), float(oval(-np.pi / 2))),
    "roller in a hole": (lambda g, b: (g.curve(lambda phi: WIDE + 0 * phi, inside=True), b.circle(SMALL, "z")), 0.4),
}
SOLIDS: dict[str, Pair] = {
    "point in a ball": lambda g, b: (g.sphere(1.0), b.point()),
    "point in a shaft": lambda g, b: (g.cylinder(1.0), b.point()),
    "point in a cam": lambda g, b: (g.curve(oval), b.point()),
}


class Middle(Subsystem):
    def __init__(self, make: Pair) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -G, 0))
        self.body = Body(mass=1.0, inertia=(0.01,) * 3)
        self.side = Contact(*make(self.ground, self.body), mu=0.2)


@pytest.mark.parametrize("name", HOLLOWS)
def test_from_the_middle(name: str) -> None:
    make, down = HOLLOWS[name]
    result = simulate(Middle(make), until=0.4)
    assert result.status.ok
    assert result["side.gap"][0] > 0.3
    assert result.statistics["events"][0][1] == "side.strikes"
    assert result.statistics["events"][0][0] == pytest.approx(np.sqrt(2 * down / G), abs=1e-9)


@pytest.mark.parametrize("name", SOLIDS)
def test_the_middle_of_what_is_solid_is_inside(name: str) -> None:
    with pytest.raises(AssemblyError, match=r"side: the gap is -(1|0\.563) at the start"):
        simulate(Middle(SOLIDS[name]), until=0.1)


def test_slip_round_a_hollow_with_chosen_steps() -> None:
    """Tangents of a sphere are not smooth everywhere: dopri5 lost 1e-6 m where slip went from floor to ceiling."""
    rng, mu, until = np.random.default_rng(1), 0.05, 0.4
    down = np.array([*0.3 * rng.normal(size=2), -1.0])
    down = down / np.linalg.norm(down)
    way = np.cross(down, rng.normal(size=3))
    way = 9.0 * way / np.linalg.norm(way)

    def rate(_: float, y: np.ndarray) -> list[float]:
        x, v = y[:3], y[3:]
        force = v @ v - G * x[2]
        return [*v, *(np.array([0, 0, -G]) - force * x - mu * force * v / np.linalg.norm(v))]

    end = solve_ivp(rate, (0, until), [*down, *way], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]

    class Loop(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.bead = Body(mass=0.3, inertia=(0.01,) * 3, start_position=down, start_velocity=way)
            self.bowl = Contact(self.ground.sphere(1.0, inside=True), self.bead.point(), mu=mu)

    result = simulate(Loop(), until=until, method="dopri5")
    seen = [result[f"bead.position.{axis}"] for axis in "xyz"]
    assert max(places.max() for places in seen) > 0.8  # half way up and more
    assert np.array([places[-1] for places in seen]) == pytest.approx(end[:3], abs=1e-11)


WAVY = {  # outline, radius of the roller: all of its hollows are wider
    "ratchet": (lambda phi: 0.1 + 0.006 * ca.sin(12 * phi), 0.008),
    "lobes": (lambda phi: 0.1 + 0.02 * ca.sin(3 * phi), 0.02),
    "tight": (lambda phi: 0.1 + 0.01 * ca.sin(12 * phi), 0.0055),
}


@pytest.mark.parametrize("name", WAVY)
def test_gap_of_a_roller_far_from_a_wavy_cam(name: str) -> None:
    """There are several feet beyond the curve's centres of curvature; the gap was that to the far side of the cam."""
    outline, radius = WAVY[name]
    ground, wheel, centre = Ground(), Body(mass=1.0, inertia=(1, 1, 1)), ca.SX.sym("c", 3)
    cam, roller = ground.curve(outline), wheel.circle(radius, "z")
    gap = ca.Function("gap", [centre], [touches(cam, roller, Pose(centre, ca.SX.eye(3)))[0].gap])
    phi = np.linspace(0, 2 * np.pi, 40001)
    line = np.asarray(outline(phi)).ravel() * np.array([np.cos(phi), np.sin(phi)])
    for distance in np.linspace(0.1, 0.16, 21):
        for angle in np.linspace(0, 2, 41):
            place = distance * np.array([np.cos(angle), np.sin(angle)])
            if distance < float(outline(angle)) + radius:
                continue
            near = np.hypot(*(line - place[:, None])).min() - radius
            found = float(gap([*place, 0]))
            assert found > near - 3e-7
            assert found < near + (3e-7 if near < 3 * radius else 0.1)  # further off, that of another tooth


def test_a_pawl_on_a_ratchet() -> None:
    """Short steps and long ones see the same blows; it fell into the wheel, at another time with each step."""

    class Ratchet(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.wheel, self.pawl = (Body(mass=m, inertia=(k,) * 3) for m, k in ((1.0, 0.01), (0.1, 2e-4)))
            self.shaft = Revolute(self.ground, self.wheel, axis="z", angle_rate=6.0)
            self.pin = Revolute(self.ground.at(-0.12, 0.115, 0), self.pawl.at(-0.06, 0, 0), axis="z")
            self.spring = RotationalSpringDamper(self.pin, k=0.5, rest=-0.5)
            roller = self.pawl.at(0.06, 0, 0).circle(0.008, axis="z")
            self.teeth = Contact(self.wheel.curve(WAVY["ratchet"][0]), roller, mu=0.2, restitution=0.3)

    runs = [simulate(Ratchet(), until=0.3, **given) for given in ({"step": 1e-4}, {"method": "dopri5", "rtol": 1e-11})]
    for run in runs:
        assert run.status.ok
        assert run["teeth.gap"].min() > -1e-9
    first, second = (run.statistics["events"] for run in runs)
    assert [name for _, name in first] == [name for _, name in second]
    assert first[0][0] == pytest.approx(second[0][0], abs=1e-10)
    assert runs[0]["shaft.angle"][-1] == pytest.approx(runs[1]["shaft.angle"][-1], abs=1e-8)
