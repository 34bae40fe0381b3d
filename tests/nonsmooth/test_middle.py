"""What starts in the middle of a bore, a hollow or a hole is far from all sides; slip on spheres with chosen steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kompono import AssemblyError, Body, Ground, Subsystem, simulate
from kompono.library import Contact, Gravity

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
